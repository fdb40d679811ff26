%% @doc Owns the companion and lets any number of processes ask it at once.
%%
%% A caller writes its request to the port itself and gets the answer as a message; this process only passes answers on,
%% by the id in front of them, without decoding them. So the decoding is done by many, and one process does not become the
%% measure of all. Who waits for what is in a table that callers write and this process reads.
%%
%% Nothing here waits for the companion: callers write with `nosuspend', and every wait has an end. When the companion dies
%% all who wait are told, and it is started again (ringtail_port_life says when) and given the last rings it had before
%% anybody is served. One that does not answer for a long time is killed.
%%
%% The process is a child of the application's supervisor. Where the application does not run (a console call in a VM that
%% only has the modules), the first call starts it, and it ends when it has been idle for a while. The companion itself is
%% started by the first call that needs it, so a VM whose NIF loads runs none.
-module(ringtail_port).

-behaviour(gen_server).

-export([start_link/0, call/2, call/3, remember_ring/2, status/0, stop/0, executable/0]).
%% For requests and answers that come in pieces; ringtail_port_stream is the way to use them.
-export([begin_request/3, id/1, await/2, write/3, finish/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3]).
-export_type([failure/0, request/0]).

-define(TABLE, ?MODULE).
-define(DEFAULT_TIMEOUT, 5000).
%% How long a start may take, rings included.
-define(START_TIMEOUT, 10000).
%% A companion that will be started within so many milliseconds is worth waiting for.
-define(WORTH_WAITING, 300).
-define(PING_EVERY, 2000).
-define(DEFAULT_HANG_TIMEOUT, 10000).
-define(IDLE_END, 60000).
-define(DEFAULT_MOST_REQUESTS, 1024).
%% Rows of the table that are no requests.
-define(OTHER_ROWS, 2).
%% How often a full pipe is tried again.
-define(RETRY_PAUSE, 1).
%% The current ring and the one before, for those who still hold it.
-define(REMEMBERED_RINGS, 2).

-type failure() :: {error, {atom(), binary()}}.

%% One that was written and whose last answer has not come: as its caller holds it.
-record(request, {port :: port(), owner :: pid(), ref :: reference(), id :: ringtail_port_calls:id()}).
-opaque request() :: #request{}.

-record(state,
        {supervised :: boolean(),
         port = none :: none | port(),
         os_pid = undefined :: undefined | integer(),
         %% starting: its own requests are answered, in order; down: the timer for the next start runs
         phase = idle :: idle | {starting, reference(), [{atom(), tuple()}]} | up | {down, reference()},
         %% The one request of this process that is not answered.
         own = none :: none | ringtail_port_calls:id(),
         own_since = 0 :: integer(),
         waiting = [] :: [{{pid(), term()}, reference()}],
         rings = [] :: [{Handle :: binary(), Bytes :: binary()}],
         life = ringtail_port_life:new() :: ringtail_port_life:life(),
         last_end = {companion_died, <<"it was never started">>} :: {atom(), binary()},
         starts = 0 :: non_neg_integer(),
         stats = ringtail_port_stats:new() :: ringtail_port_stats:stats(),
         seen = 0 :: non_neg_integer()}).

%% ---- Calls ----

%% @doc Starts the process under a supervisor; one that a console call had started makes room.
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    case gen_server:start_link({local, ?MODULE}, ?MODULE, supervised, []) of
        {error, {already_started, _}} ->
            stop(),
            gen_server:start_link({local, ?MODULE}, ?MODULE, supervised, []);
        Other ->
            Other
    end.

%% @doc Ends the process and the companion.
-spec stop() -> ok.
stop() ->
    try
        gen_server:call(?MODULE, stop)
    catch
        exit:_ -> ok
    end.

%% @doc Has the companion do something, within `{ringtail, port_timeout}' milliseconds (5000).
-spec call(atom(), tuple()) -> {ok, term()} | failure().
call(Operation, Arguments) ->
    call(Operation, Arguments, env(port_timeout, ?DEFAULT_TIMEOUT)).

-spec call(atom(), tuple(), timeout()) -> {ok, term()} | failure().
call(Operation, Arguments, Timeout) ->
    call(Operation, Arguments, Timeout, ringtail_clock:micros()).

call(Operation, Arguments, Timeout, Since) ->
    case begin_request(Operation, Arguments, Timeout, Since) of
        {ok, Request} ->
            Answer = await(Request, remaining(Timeout, Since)),
            finish(Request),
            Answer;
        {error, _} = Error ->
            Error
    end.

%% @doc Writes a request. Whoever does must await/2 its answers, and finish/1 it in the end.
-spec begin_request(atom(), tuple(), timeout()) -> {ok, request()} | failure().
begin_request(Operation, Arguments, Timeout) ->
    begin_request(Operation, Arguments, Timeout, ringtail_clock:micros()).

begin_request(Operation, Arguments, Timeout, Since) ->
    case place() of
        {ok, Port, Owner} ->
            case begin_request(Port, Owner, Operation, Arguments, Timeout, Since) of
                %% It died since: the owner knows by the time it is asked.
                not_sent -> begin_opened(Operation, Arguments, Timeout, Since);
                Begun -> Begun
            end;
        none ->
            begin_opened(Operation, Arguments, Timeout, Since)
    end.

%% Waits for it to be started; who finds it gone again is told so.
begin_opened(Operation, Arguments, Timeout, Since) ->
    case opened(remaining(Timeout, Since)) of
        ok ->
            case place() of
                {ok, Port, Owner} -> sent(begin_request(Port, Owner, Operation, Arguments, Timeout, Since));
                none -> sent(not_sent)
            end;
        {error, _} = Error ->
            Error
    end.

sent(not_sent) -> died(<<"it died again at once">>);
sent(Begun) -> Begun.

%% @doc This ring is in use: it will be loaded again when the companion was restarted.
-spec remember_ring(binary(), binary()) -> ok.
remember_ring(Handle, Bytes) ->
    gen_server:cast(?MODULE, {remember_ring, Handle, Bytes}).

%% @doc How the companion is and how quick.
-spec status() -> [{atom(), term()}].
status() ->
    try
        gen_server:call(?MODULE, status)
    catch
        exit:_ -> [{state, stopped}]
    end.

%% @doc The companion's path: where `{ringtail, companion}' says, else beside this module, else in the application's
%% priv directory.
-spec executable() -> {ok, file:filename()} | failure().
executable() ->
    Paths = case application:get_env(ringtail, companion) of
                {ok, Configured} -> [Configured];
                undefined -> [filename:join(Dir, "ringtail") || Dir <- directories()]
            end,
    case [Path || Path <- Paths, filelib:is_regular(Path)] of
        [Path | _] ->
            {ok, Path};
        [] ->
            Tried = [[" ", Path] || Path <- Paths],
            {error, {no_companion, text("put the executable `ringtail' where one of these looks for it:~s; or set "
                                        "{ringtail, companion}", [Tried])}}
    end.

%% ---- In the caller's process ----

directories() ->
    Beside = case code:which(?MODULE) of
                 Beam when is_list(Beam), Beam =/= [] -> [filename:dirname(filename:absname(Beam))];
                 _ -> []
             end,
    Priv = case code:priv_dir(ringtail) of
               Dir when is_list(Dir) -> [Dir];
               {error, bad_name} -> []
           end,
    Beside ++ Priv.

place() ->
    try ets:lookup(?TABLE, port) of
        [{port, Port, Owner}] -> {ok, Port, Owner};
        [] -> none
    catch
        error:badarg -> none
    end.

%% Waits until the companion is up, or cannot be.
opened(Timeout) ->
    try
        started(),
        %% The answer comes when the time is up at the latest.
        gen_server:call(?MODULE, {open, Timeout}, infinity)
    catch
        exit:_ -> died(<<"its owner ended">>)
    end.

started() ->
    case whereis(?MODULE) of
        undefined -> gen_server:start({local, ?MODULE}, ?MODULE, unsupervised, []);
        _ -> ok
    end.

begin_request(Port, Owner, Operation, Arguments, Timeout, Since) ->
    Ref = erlang:monitor(process, Owner),
    try enter(Ref) of
        {ok, Id} ->
            Request = #request{port = Port, owner = Owner, ref = Ref, id = Id},
            case written(Request, ringtail_port_calls:request(Id, Operation, Arguments), Timeout, Since) of
                ok -> {ok, Request};
                NotSent -> finish(Request), NotSent
            end;
        {error, _} = Error ->
            done(Ref),
            Error
    catch
        %% The table went with its owner.
        error:badarg -> done(Ref), not_sent
    end.

enter(Ref) ->
    case ets:info(?TABLE, size) - ?OTHER_ROWS >= env(port_max_requests, ?DEFAULT_MOST_REQUESTS) of
        true ->
            {error, {busy, <<"too many requests wait for the companion: try again later, or raise {ringtail, port_max_requests}">>}};
        false ->
            Id = ets:update_counter(?TABLE, id, 1),
            true = ets:insert(?TABLE, {Id, self(), Ref, ringtail_clock:micros()}),
            {ok, Id}
    end.

%% @doc What the frames of a request name it by.
-spec id(request()) -> ringtail_port_calls:id().
id(#request{id = Id}) -> Id.

%% @doc Writes another frame of a request.
-spec write(request(), binary(), timeout()) -> ok | failure().
write(Request, Frame, Timeout) ->
    case written(Request, Frame, Timeout, ringtail_clock:micros()) of
        not_sent -> died(<<"its port is closed">>);
        Written -> Written
    end.

%% A full pipe is tried again until the time is up, for a process that the port suspends has no deadline.
written(#request{port = Port} = Request, Frame, Timeout, Since) ->
    try erlang:port_command(Port, Frame, [nosuspend]) of
        true ->
            ok;
        false ->
            case remaining(Timeout, Since) of
                0 ->
                    {error, {busy, <<"the companion does not read as fast as it is asked: try again later">>}};
                _ ->
                    receive after ?RETRY_PAUSE -> ok end,
                    written(Request, Frame, Timeout, Since)
            end
    catch
        error:badarg -> not_sent
    end.

%% @doc The next frame for a request. After one that is no progress, and after an error, no other comes.
-spec await(request(), timeout()) -> ringtail_port_calls:answer().
await(#request{ref = Ref}, Timeout) ->
    receive
        {Ref, {frame, Frame}} -> ringtail_port_calls:answer(Frame);
        {Ref, {died, Why}} -> died(Why);
        {'DOWN', Ref, process, _, _} -> died(<<"its owner ended">>)
    after Timeout ->
        {error, {timeout, <<"the companion did not answer in time">>}}
    end.

%% @doc No answer is wanted any more, if there is one to come. After this no message for the request comes.
-spec finish(request()) -> ok.
finish(#request{ref = Ref, id = Id, owner = Owner}) ->
    _ = [forget(Owner, Id) || unanswered(Id)],
    done(Ref).

unanswered(Id) ->
    try ets:member(?TABLE, Id) catch error:badarg -> false end.

forget(Owner, Id) ->
    try
        gen_server:call(Owner, {forget, Id})
    catch
        exit:_ -> ok
    end.

done(Ref) ->
    erlang:demonitor(Ref, [flush]),
    flush(Ref).

flush(Ref) ->
    receive {Ref, _} -> flush(Ref) after 0 -> ok end.

died(Why) ->
    {error, {companion_died, text("the companion is not there to answer (~s): try again", [Why])}}.

remaining(infinity, _) ->
    infinity;
remaining(Timeout, Since) ->
    max(0, Timeout - max(0, ringtail_clock:micros() - Since) div 1000).

env(Key, Default) ->
    case application:get_env(ringtail, Key) of
        {ok, Value} -> Value;
        undefined -> Default
    end.

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).

%% ---- The owner ----

init(Supervised) ->
    process_flag(trap_exit, true),
    ?TABLE = ets:new(?TABLE, [named_table, public, set, {read_concurrency, true}, {write_concurrency, true}]),
    true = ets:insert(?TABLE, {id, 0}),
    %% The companion's words become atoms with this module, before any answer holds one.
    {module, _} = code:ensure_loaded(ringtail_port_calls),
    _ = erlang:send_after(?PING_EVERY, self(), ping),
    _ = [erlang:send_after(?IDLE_END, self(), {idle, 0}) || Supervised =:= unsupervised],
    {ok, #state{supervised = Supervised =:= supervised}}.

handle_call({open, _}, _, #state{phase = up} = State) ->
    {reply, ok, State};
handle_call({open, Timeout}, From, State) ->
    {noreply, wanted(waiting(From, Timeout, State))};
handle_call({forget, Id}, _, State) ->
    forgotten(Id, State),
    {reply, ok, State};
handle_call(status, _, State) ->
    {reply, report(State), State};
handle_call(stop, _, State) ->
    {stop, normal, ok, State}.

handle_cast({remember_ring, Handle, Bytes}, #state{rings = Rings} = State) ->
    Kept = lists:sublist([{Handle, Bytes} | lists:keydelete(Handle, 1, Rings)], ?REMEMBERED_RINGS),
    {noreply, State#state{rings = Kept}}.

handle_info({Port, {data, Frame}}, #state{port = Port} = State) ->
    case ringtail_port_calls:addressee(Frame) of
        {Id, Kind} -> {noreply, pass_on(Id, Kind, Frame, State)};
        error -> {noreply, ended(<<"it said something that is no answer">>, State)}
    end;
handle_info({Port, {exit_status, Status}}, #state{port = Port} = State) ->
    {noreply, ended(exit_reason(Status), State)};
handle_info({'EXIT', Port, Reason}, #state{port = Port} = State) ->
    {noreply, ended(text("its port failed: ~p", [Reason]), State)};
handle_info({timeout, Timer, start}, #state{phase = {down, Timer}} = State) ->
    {noreply, start(State)};
handle_info({start_timeout, Ref}, #state{phase = {starting, Ref, _}} = State) ->
    {noreply, killed(<<"it did not get ready in time">>, State)};
handle_info({expire, From}, State) ->
    {noreply, expired(From, State)};
handle_info(ping, State) ->
    _ = erlang:send_after(?PING_EVERY, self(), ping),
    _ = [forgotten(Id, State) || {Id, Pid} <- requests(), not is_process_alive(Pid)],
    {noreply, ping(State)};
handle_info({idle, Seen}, #state{seen = Seen, waiting = []} = State) ->
    case ets:info(?TABLE, size) =< ?OTHER_ROWS of
        true -> {stop, normal, State};
        false -> {noreply, idle_again(State)}
    end;
handle_info({idle, _}, State) ->
    {noreply, idle_again(State)};
%% From ports and timers of before.
handle_info(_, State) ->
    {noreply, State}.

terminate(_, State) ->
    _ = closed(<<"it was stopped">>, State),
    ok.

code_change(_, State, _) ->
    {ok, State}.

%% ---- Start and end ----

%% Somebody waits for it to be up.
wanted(#state{phase = idle} = State) ->
    start(State);
wanted(#state{phase = {down, Timer}} = State) ->
    case erlang:read_timer(Timer) of
        Left when is_integer(Left), Left > ?WORTH_WAITING ->
            {Code, Why} = State#state.last_end,
            refuse(Code, text("~s; the next start is in ~w ms", [Why, Left]), State);
        _ ->
            State
    end;
wanted(State) ->
    State.

start(State) ->
    case executable() of
        {ok, Path} ->
            try open_port({spawn_executable, Path},
                          [{args, ["port"]}, {packet, 4}, binary, exit_status, use_stdio, hide]) of
                Port -> starting(Port, State)
            catch
                error:Reason -> not_started(text("~s cannot be run: ~p", [Path, Reason]), State)
            end;
        {error, {_, Detail}} ->
            not_started(Detail, State)
    end.

starting(Port, #state{rings = Rings, starts = Starts} = State) ->
    OsPid = case erlang:port_info(Port, os_pid) of
                {os_pid, Pid} -> Pid;
                undefined -> undefined
            end,
    Ref = make_ref(),
    _ = erlang:send_after(?START_TIMEOUT, self(), {start_timeout, Ref}),
    Steps = [{version, {}} | [{ring_load, {Handle, Bytes}} || {Handle, Bytes} <- lists:reverse(Rings)]],
    next_step(State#state{port = Port, os_pid = OsPid, starts = Starts + 1, phase = {starting, Ref, Steps}}).

%% One request at a time, for a pipe may be full after a ring; then everybody may come.
next_step(#state{phase = {starting, _, []}, port = Port, waiting = Waiting, life = Life} = State) ->
    true = ets:insert(?TABLE, {port, Port, self()}),
    _ = [reply(Waiter, ok) || Waiter <- Waiting],
    State#state{phase = up, waiting = [], life = ringtail_port_life:up(now_ms(), Life)};
next_step(#state{phase = {starting, Ref, [{Operation, Arguments} | Steps]}} = State) ->
    ask(Operation, Arguments, State#state{phase = {starting, Ref, Steps}}).

%% A request of this process itself.
ask(Operation, Arguments, State) ->
    Id = ets:update_counter(?TABLE, id, 1),
    case tell(ringtail_port_calls:request(Id, Operation, Arguments), State) of
        true -> State#state{own = Id, own_since = ringtail_clock:micros()};
        %% A pipe this full is no moment to ask for a sign of life; a closed port ends in a message of its own.
        false -> State
    end.

tell(Frame, #state{port = Port}) when is_port(Port) ->
    try
        erlang:port_command(Port, Frame, [nosuspend])
    catch
        error:badarg -> false
    end;
tell(_, _) ->
    false.

not_started(Why, State) ->
    error_logger:warning_msg("ringtail: the companion does not start: ~s~n", [Why]),
    again(no_companion, Why, State).

ended(Why, #state{phase = Phase} = State0) ->
    error_logger:warning_msg("ringtail: the companion ended: ~s~n", [Why]),
    State = closed(Why, State0),
    case Phase of
        %% Should one of the rings be why, the next start is without them.
        {starting, _, _} -> again(companion_died, Why, State#state{rings = []});
        _ -> again(companion_died, Why, State)
    end.

again(Code, Why, #state{life = Life} = State) ->
    {Delay, Later} = ringtail_port_life:ended(now_ms(), Life),
    Timer = erlang:start_timer(Delay, self(), start),
    Down = State#state{phase = {down, Timer}, life = Later, last_end = {Code, Why}},
    case Delay > ?WORTH_WAITING of
        true -> refuse(Code, text("~s; the next start is in ~w ms", [Why, Delay]), Down);
        false -> Down
    end.

%% The port first: from then on no request can be written, and all that were are in the table.
closed(Why, #state{port = Port} = State) ->
    true = ets:delete(?TABLE, port),
    _ = [try port_close(Port) catch error:badarg -> true end || is_port(Port)],
    Requests = ets:select(?TABLE, [{{'$1', '$2', '$3', '_'}, [{is_integer, '$1'}], [{{'$1', '$2', '$3'}}]}]),
    lists:foreach(fun({Id, Pid, Ref}) ->
                          true = ets:delete(?TABLE, Id),
                          Pid ! {Ref, {died, Why}}
                  end, Requests),
    State#state{port = none, os_pid = undefined, own = none, phase = idle}.

%% It does not react to the end of its input either, so it is not asked.
killed(Why, #state{os_pid = OsPid} = State) ->
    _ = [os:cmd("kill -KILL " ++ integer_to_list(OsPid)) || is_integer(OsPid)],
    ended(Why, State).

exit_reason(Status) when Status > 128 ->
    text("signal ~w", [Status - 128]);
exit_reason(Status) ->
    text("exit status ~w", [Status]).

ping(#state{phase = up, own = none} = State) ->
    ask(version, {}, State);
ping(#state{phase = up, own_since = Since} = State) ->
    case (ringtail_clock:micros() - Since) div 1000 > env(port_hang_timeout, ?DEFAULT_HANG_TIMEOUT) of
        true -> killed(<<"it did not answer any more">>, State);
        false -> State
    end;
ping(State) ->
    State.

%% ---- Answers and waiting callers ----

forgotten(Id, State) ->
    true = ets:delete(?TABLE, Id),
    _ = tell(ringtail_port_calls:cancel(Id), State),
    ok.

%% Callers are not monitored, for most are gone in a moment: those that died waiting are found now and then.
requests() ->
    ets:select(?TABLE, [{{'$1', '$2', '_', '_'}, [{is_integer, '$1'}], [{{'$1', '$2'}}]}]).

pass_on(Id, _, _, #state{own = Id, phase = {starting, _, _}} = State) ->
    next_step(State#state{own = none});
pass_on(Id, _, _, #state{own = Id} = State) ->
    State#state{own = none};
pass_on(Id, Kind, Frame, #state{stats = Stats, seen = Seen} = State) ->
    case ets:lookup(?TABLE, Id) of
        [{Id, Pid, Ref, Since}] ->
            _ = [true = ets:delete(?TABLE, Id) || Kind =:= last],
            Pid ! {Ref, {frame, Frame}},
            State#state{stats = ringtail_port_stats:add(ringtail_clock:micros() - Since, Stats), seen = Seen + 1};
        [] ->
            State
    end.

waiting(From, infinity, #state{waiting = Waiting} = State) ->
    State#state{waiting = [{From, make_ref()} | Waiting]};
waiting(From, Timeout, #state{waiting = Waiting} = State) ->
    State#state{waiting = [{From, erlang:send_after(Timeout, self(), {expire, From})} | Waiting]}.

reply({From, Timer}, Answer) ->
    _ = try erlang:cancel_timer(Timer) catch error:badarg -> false end,
    gen_server:reply(From, Answer).

refuse(Code, Why, #state{waiting = Waiting} = State) ->
    _ = [reply(Waiter, {error, {Code, Why}}) || Waiter <- Waiting],
    State#state{waiting = []}.

expired(From, #state{waiting = Waiting} = State) ->
    case lists:keytake(From, 1, Waiting) of
        {value, Waiter, Others} ->
            reply(Waiter, {error, {timeout, <<"the companion did not start in time">>}}),
            State#state{waiting = Others};
        false ->
            State
    end.

idle_again(#state{seen = Seen} = State) ->
    _ = erlang:send_after(?IDLE_END, self(), {idle, Seen}),
    State.

report(#state{phase = Phase, os_pid = OsPid, starts = Starts, last_end = {_, LastEnd}, rings = Rings, stats = Stats}) ->
    Name = case Phase of
               {Tag, _} -> Tag;
               {Tag, _, _} -> Tag;
               Tag -> Tag
           end,
    [{state, Name}, {os_pid, OsPid}, {starts, Starts}, {last_end, LastEnd}, {rings, length(Rings)},
     {requests, max(0, ets:info(?TABLE, size) - ?OTHER_ROWS)} | ringtail_port_stats:report(Stats)].

now_ms() ->
    ringtail_clock:micros() div 1000.
