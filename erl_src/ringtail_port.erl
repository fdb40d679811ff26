%% @doc Owns the companion: any number of processes ask it at once through ringtail_port_caller.
%%
%% Requests come as messages, and all that are there go out in one write; answers are passed on by the id in front of
%% them, without decoding them. So what this process does for one request is little, and less the more there are.
%%
%% Nothing here waits for the companion: what its pipe has no room for is kept and tried again, and every caller has a deadline.
%% When it dies all who were heard are told, those who were not wait for the next one, and it is started again
%% (ringtail_port_life says when) and given the last rings it had before anybody is served. One that does not answer for
%% a long time is killed.
%%
%% The process is a child of the application's supervisor. Where the application does not run (a console call in a VM that
%% only has the modules), the first call starts it, and it ends when it has been idle for a while. The companion itself is
%% started by the first call that needs it, so a VM whose NIF loads runs none.
-module(ringtail_port).

-behaviour(gen_server).

-export([start_link/0, start/0, call/2, call/3, remember_ring/2, status/0, stop/0, executable/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3]).
-export_type([failure/0]).

%% The last id given, which callers count up.
-define(TABLE, ?MODULE).
%% How long a start may take, rings included.
-define(START_TIMEOUT, 10000).
%% A companion that will be started within so many milliseconds is worth waiting for.
-define(WORTH_WAITING, 300).
-define(PING_EVERY, 2000).
-define(DEFAULT_HANG_TIMEOUT, 10000).
-define(IDLE_END, 60000).
-define(DEFAULT_MOST_REQUESTS, 1024).
%% As many messages at least are taken for one write, where so many are there, and one more for every eight that wait. More
%% would save more writes, but the companion and this VM would work in turns instead of at once.
-define(BATCH, 3).
%% How often a full pipe is tried again.
-define(RETRY_PAUSE, 1).
%% The current ring and the one before, for those who still hold it.
-define(REMEMBERED_RINGS, 2).

-type failure() :: {error, {atom(), binary()}}.

-record(state,
        {port = none :: none | port(),
         os_pid = undefined :: undefined | integer(),
         %% starting: its own requests are answered, in order; down: the timer for the next start runs
         phase = idle :: idle | {starting, reference(), [{atom(), tuple()}]} | up | {down, reference()},
         %% What has not been written, latest first: requests, and what else is said of those that were.
         unwritten = [] :: [{request | frame, ringtail_port_calls:id(), iodata()}],
         waiting = 0 :: non_neg_integer(),              % callers: see enter/4
         retry = none :: none | reference(),
         frames = ringtail_port_frames:new() :: ringtail_port_frames:frames(),
         %% The one request of this process that is not answered.
         own = none :: none | ringtail_port_calls:id(),
         own_since = 0 :: integer(),
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
    case gen_server:start_link({local, ?MODULE}, ?MODULE, supervised, options()) of
        {error, {already_started, _}} ->
            stop(),
            gen_server:start_link({local, ?MODULE}, ?MODULE, supervised, options());
        Other ->
            Other
    end.

%% @doc Starts the process for as long as it is used.
-spec start() -> {ok, pid()} | {error, term()}.
start() ->
    gen_server:start({local, ?MODULE}, ?MODULE, unsupervised, options()).

%% What it passes on are large binaries in small terms: a heap that is seldom swept would hold many.
options() ->
    [{spawn_opt, [{fullsweep_after, 10}]}].

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
    ringtail_port_caller:call(Operation, Arguments).

-spec call(atom(), tuple(), timeout()) -> {ok, term()} | failure().
call(Operation, Arguments, Timeout) ->
    ringtail_port_caller:call(Operation, Arguments, Timeout).

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
                undefined -> ringtail_files:places(?MODULE, "ringtail")
            end,
    case [Path || Path <- Paths, filelib:is_regular(Path)] of
        [Path | _] ->
            {ok, Path};
        [] ->
            Tried = [[" ", Path] || Path <- Paths],
            {error, {no_companion, text("put the executable `ringtail' where one of these looks for it:~s; or set "
                                        "{ringtail, companion}", [Tried])}}
    end.

%% ---- The process ----

init(Supervised) ->
    process_flag(trap_exit, true),
    ?TABLE = ets:new(?TABLE, [named_table, public, set, {write_concurrency, true}]),
    true = ets:insert(?TABLE, {id, 0}),
    %% The companion's words become atoms with this module, before any answer holds one.
    {module, _} = code:ensure_loaded(ringtail_port_calls),
    _ = erlang:send_after(?PING_EVERY, self(), ping),
    _ = [erlang:send_after(?IDLE_END, self(), {idle, 0}) || Supervised =:= unsupervised],
    {ok, #state{}}.

handle_call({forget, Id}, _, State) ->
    {Outcome, Left} = forgotten(Id, State),
    {reply, Outcome, Left};
handle_call(status, _, State) ->
    {reply, report(State), State};
handle_call(stop, _, State) ->
    {stop, normal, ok, State}.

handle_cast({remember_ring, Handle, Bytes}, #state{rings = Rings} = State) ->
    Kept = lists:sublist([{Handle, Bytes} | lists:keydelete(Handle, 1, Rings)], ?REMEMBERED_RINGS),
    {noreply, State#state{rings = Kept}}.

handle_info({request, Id, Pid, Ref, Frame}, State) ->
    {noreply, written(more_requests(?BATCH - 1 + State#state.waiting div 8, requested(Id, Pid, Ref, Frame, State)))};
handle_info({frame, Id, Frame}, State) ->
    {noreply, written(unwritten(frame, Id, Frame, State))};
handle_info({Port, {data, Bytes}}, #state{port = Port, frames = Frames} = State) ->
    case ringtail_port_frames:add(Bytes, Frames) of
        {Whole, Rest} -> {noreply, pass_on(Whole, State#state{frames = Rest})};
        error -> {noreply, nonsense(State)}
    end;
handle_info({Port, {exit_status, Status}}, #state{port = Port} = State) ->
    {noreply, ended(exit_reason(Status), State)};
handle_info({'EXIT', Port, Reason}, #state{port = Port} = State) ->
    {noreply, ended(text("its port failed: ~p", [Reason]), State)};
handle_info({timeout, Timer, write}, #state{retry = Timer} = State) ->
    {noreply, written(State#state{retry = none})};
handle_info({timeout, Timer, start}, #state{phase = {down, Timer}} = State) ->
    {noreply, start(State)};
handle_info({start_timeout, Ref}, #state{phase = {starting, Ref, _}} = State) ->
    {noreply, killed(<<"it did not get ready in time">>, State)};
handle_info(ping, State) ->
    _ = erlang:send_after(?PING_EVERY, self(), ping),
    {noreply, ping(without_the_dead(State))};
handle_info({idle, Seen}, #state{seen = Seen} = State) ->
    case State#state.waiting of
        0 -> {stop, normal, State};
        _ -> {noreply, idle_again(State)}
    end;
handle_info({idle, _}, State) ->
    {noreply, idle_again(State)};
%% From ports and timers of before.
handle_info(_, State) ->
    {noreply, State}.

terminate(_, State) ->
    _ = refused(companion_died, <<"it was stopped">>, closed(<<"it was stopped">>, State)),
    ok.

code_change(_, State, _) ->
    {ok, State}.

%% ---- Requests on their way ----

%% What else has come meanwhile goes the same way in the same write.
more_requests(0, State) ->
    State;
more_requests(Count, State) ->
    receive
        {request, Id, Pid, Ref, Frame} -> more_requests(Count - 1, requested(Id, Pid, Ref, Frame, State))
    after 0 ->
        State
    end.

requested(Id, Pid, Ref, Frame, State) ->
    case State#state.waiting >= env(port_max_requests, ?DEFAULT_MOST_REQUESTS) of
        true ->
            Pid ! {Ref, {refused, busy, <<"too many requests wait for the companion: try again later, or raise "
                                          "{ringtail, port_max_requests}">>}},
            State;
        false ->
            unwritten(request, Id, Frame, enter(Id, Pid, Ref, State))
    end.

unwritten(Kind, Id, Frame, #state{unwritten = Unwritten} = State) ->
    State#state{unwritten = [{Kind, Id, Frame} | Unwritten]}.

%% Writes all there is. A pipe that has no room for it is tried again in a moment.
written(#state{unwritten = []} = State) ->
    State;
written(#state{phase = up, retry = none, unwritten = Unwritten} = State) ->
    case port_write(lists:foldl(fun({_, _, Frame}, Rest) -> [ringtail_port_frames:framed(Frame) | Rest] end, [], Unwritten), State) of
        true -> State#state{unwritten = []};
        false -> State#state{retry = erlang:start_timer(?RETRY_PAUSE, self(), write)}
    end;
written(#state{phase = up} = State) ->
    State;
written(State) ->
    wanted(State).

%% A port that is closed takes nothing; why it is comes as a message.
port_write(Bytes, #state{port = Port}) ->
    try
        erlang:port_command(Port, Bytes, [nosuspend])
    catch
        error:badarg -> false
    end.

%% The caller waits no longer.
forgotten(Id, State) ->
    case waits(Id) of
        {_, _, _} -> forgotten_before_its_end(Id, leave(Id, State));
        undefined -> {answered, State}
    end.

forgotten_before_its_end(Id, #state{unwritten = Unwritten, phase = Phase} = State) ->
    case lists:any(fun({Kind, Of, _}) -> Kind =:= request andalso Of =:= Id end, Unwritten) of
        true ->
            Outcome = case Phase of
                          up -> not_written;
                          _ -> not_started
                      end,
            {Outcome, State#state{unwritten = [Entry || {_, Of, _} = Entry <- Unwritten, Of =/= Id]}};
        false when Phase =:= up ->
            {written, written(unwritten(frame, Id, ringtail_port_calls:cancel(Id), State))};
        false ->
            {written, State}
    end.

%% Callers are not monitored here, for most are gone in a moment: those that died waiting are found now and then.
without_the_dead(State) ->
    lists:foldl(fun({Id, {Pid, _, _}}, Left) ->
                        case is_process_alive(Pid) of
                            true -> Left;
                            false -> element(2, forgotten(Id, Left))
                        end
                end, State, all_waiting()).

%% Who waits for which answer is in the process dictionary: it is read and written for each request, by this process alone,
%% and a table costs several times as much as all the rest that is done here.
enter(Id, Pid, Ref, #state{waiting = Waiting} = State) ->
    undefined = put(Id, {Pid, Ref, ringtail_clock:micros()}),
    State#state{waiting = Waiting + 1}.

waits(Id) ->
    get(Id).

leave(Id, #state{waiting = Waiting} = State) ->
    {_, _, _} = erase(Id),
    State#state{waiting = Waiting - 1}.

all_waiting() ->
    [Entry || {Id, {_, _, _}} = Entry <- get(), is_integer(Id)].

%% ---- Answers ----

pass_on([Frame | Frames], State) ->
    case ringtail_port_calls:addressee(Frame) of
        {Id, Kind} -> pass_on(Frames, pass_on(Id, Kind, Frame, State));
        error -> nonsense(State)
    end;
pass_on([], State) ->
    State.

pass_on(Id, _, _, #state{own = Id, phase = {starting, _, _}} = State) ->
    next_step(State#state{own = none});
pass_on(Id, _, _, #state{own = Id} = State) ->
    State#state{own = none};
pass_on(Id, Kind, Frame, #state{stats = Stats, seen = Seen} = State) ->
    case waits(Id) of
        {Pid, Ref, Since} ->
            Pid ! {Ref, {frame, Frame}},
            Seen1 = State#state{stats = ringtail_port_stats:add(ringtail_clock:micros() - Since, Stats), seen = Seen + 1},
            case Kind of
                last -> leave(Id, Seen1);
                progress -> Seen1
            end;
        undefined ->
            State
    end.

nonsense(State) ->
    ended(<<"it said something that is no answer">>, State).

%% ---- Start and end ----

%% Somebody waits for it to be up.
wanted(#state{phase = idle} = State) ->
    start(State);
wanted(#state{phase = {down, Timer}, last_end = {Code, Why}} = State) ->
    case erlang:read_timer(Timer) of
        Left when is_integer(Left), Left > ?WORTH_WAITING ->
            refused(Code, text("~s; the next start is in ~w ms", [Why, Left]), State);
        _ ->
            State
    end;
wanted(State) ->
    State.

start(State) ->
    case executable() of
        {ok, Path} ->
            try open_port({spawn_executable, Path}, [{args, ["port"]}, stream, binary, exit_status, use_stdio, hide]) of
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
    next_step(State#state{port = Port, os_pid = OsPid, starts = Starts + 1, phase = {starting, Ref, Steps},
                          frames = ringtail_port_frames:new()}).

%% One request at a time, for a pipe may be full after a ring; then everybody may come.
next_step(#state{phase = {starting, _, []}, life = Life} = State) ->
    written(State#state{phase = up, life = ringtail_port_life:up(now_ms(), Life)});
next_step(#state{phase = {starting, Ref, [{Operation, Arguments} | Steps]}} = State) ->
    {Id, Frame} = own_request(Operation, Arguments),
    %% Where it cannot be written, it is noticed as the end of the process or of the time it has.
    _ = port_write(ringtail_port_frames:framed(Frame), State),
    State#state{phase = {starting, Ref, Steps}, own = Id, own_since = now_ms()}.

own_request(Operation, Arguments) ->
    Id = ets:update_counter(?TABLE, id, 1),
    {Id, ringtail_port_calls:request(Id, Operation, Arguments)}.

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
        true -> refused(Code, text("~s; the next start is in ~w ms", [Why, Delay]), Down);
        false -> Down
    end.

%% What was written may have been carried out: its callers are told. What was not can be written to the next one.
closed(Why, #state{port = Port, unwritten = Unwritten} = State) ->
    _ = [try port_close(Port) catch error:badarg -> true end || is_port(Port)],
    Kept = [Entry || {request, _, _} = Entry <- Unwritten],
    Heard = lists:foldl(fun({Id, {Pid, Ref, _}}, Left) ->
                                case lists:keymember(Id, 2, Kept) of
                                    true -> Left;
                                    false -> Pid ! {Ref, {died, Why}}, leave(Id, Left)
                                end
                        end, State, all_waiting()),
    Heard#state{port = none, os_pid = undefined, own = none, phase = idle, unwritten = Kept, retry = none}.

%% Nobody is kept waiting for a start that is far off.
refused(Code, Why, #state{unwritten = Unwritten} = State) ->
    Told = lists:foldl(fun(Id, Left) ->
                               {Pid, Ref, _} = waits(Id),
                               Pid ! {Ref, {refused, Code, Why}},
                               leave(Id, Left)
                       end, State, [Id || {request, Id, _} <- Unwritten]),
    Told#state{unwritten = []}.

%% It does not react to the end of its input either, so it is not asked.
killed(Why, #state{os_pid = OsPid} = State) ->
    _ = [os:cmd("kill -KILL " ++ integer_to_list(OsPid)) || is_integer(OsPid)],
    ended(Why, State).

exit_reason(Status) when Status > 128 ->
    text("signal ~w", [Status - 128]);
exit_reason(Status) ->
    text("exit status ~w", [Status]).

ping(#state{phase = up, own = none} = State) ->
    {Id, Frame} = own_request(version, {}),
    written(unwritten(frame, Id, Frame, State#state{own = Id, own_since = now_ms()}));
ping(#state{phase = up, own_since = Since} = State) ->
    case now_ms() - Since > env(port_hang_timeout, ?DEFAULT_HANG_TIMEOUT) of
        true -> killed(<<"it did not answer any more">>, State);
        false -> State
    end;
ping(State) ->
    State.

idle_again(#state{seen = Seen} = State) ->
    _ = erlang:send_after(?IDLE_END, self(), {idle, Seen}),
    State.

report(#state{phase = Phase, waiting = Waiting, os_pid = OsPid, starts = Starts, last_end = {_, LastEnd}, rings = Rings, stats = Stats}) ->
    Name = case Phase of
               {Tag, _} -> Tag;
               {Tag, _, _} -> Tag;
               Tag -> Tag
           end,
    [{state, Name}, {os_pid, OsPid}, {starts, Starts}, {last_end, LastEnd}, {rings, length(Rings)},
     {requests, Waiting} | ringtail_port_stats:report(Stats)].

now_ms() ->
    ringtail_clock:micros() div 1000.

env(Key, Default) ->
    case application:get_env(ringtail, Key) of
        {ok, Value} -> Value;
        undefined -> Default
    end.

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
