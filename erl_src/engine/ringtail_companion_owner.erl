%% @doc Owns the companion, which any number of processes ask at once by `ringtail_companion_call'.
%%
%% Requests come as messages, and all that are there go out in one write; answers are passed on by
%% the id in front of them, without decoding them. So what this process does for one request is
%% little, and less the more there are.
%%
%% Nothing here waits for the companion: what its pipe has no room for is kept and tried again, and
%% every caller has a deadline. When it dies all who were heard are told, those who were not wait
%% for the next one, and it is started again (`ringtail_companion_restarts' says when) and given the
%% last rings it had before anybody is served. One that does not answer for a long time is killed.
%%
%% The process is a child of the application's supervisor. Where the application does not run (a
%% console call in a VM that only has the modules), the first call starts it, and it ends when it
%% has been idle for a while. The companion itself is started by the first call that needs it, so a
%% VM whose NIF loads runs none.
-module(ringtail_companion_owner).

-behaviour(gen_server).

-export([start_link/0, start/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3,
         format_status/2]).

-define(NAME, ringtail_companion).
%% The last id given, which callers count up, and how the companion is.
-define(TABLE, ringtail_companion).
%% How long a start may take, rings included.
-define(START_TIMEOUT, 10000).
%% A companion that will be started within so many milliseconds is worth waiting for.
-define(WORTH_WAITING, 300).
-define(PING_EVERY, 2000).
-define(STARTED_AGAIN, "; it is started again in a while").
-define(IDLE_END, 60000).
%% As many messages at least are taken for one write, where so many are there, and one more for
%% every eight that wait. More would save more writes, but the companion and this VM would work in
%% turns instead of at once.
-define(BATCH, 3).
%% How often a full pipe is tried again.
-define(RETRY_PAUSE, 1).
%% The current ring and the one before, for those who still hold it.
-define(REMEMBERED_RINGS, 2).

-type id() :: ringtail_companion_codec:id().

-record(state,
        {port = none :: none | port(),
         os_pid = undefined :: undefined | integer(),
         %% starting: own requests are answered, in order; down: the next start's timer runs
         phase = idle :: idle | {starting, reference(), [Step :: {atom(), tuple()}]} | up
                       | {down, reference()},
         unwritten = ringtail_companion_outbox:new() :: ringtail_companion_outbox:outbox(),
         waiting = 0 :: non_neg_integer(),              % callers, in ringtail_companion_waiting
         retry = none :: none | reference(),
         frames = ringtail_companion_frames:new() :: ringtail_companion_frames:frames(),
         %% The one request of this process that is not answered.
         own = none :: none | id(),
         own_since = 0 :: integer(),
         rings = [] :: [{Handle :: binary(), Bytes :: binary()}],
         life = ringtail_companion_restarts:new() :: ringtail_companion_restarts:life(),
         condition :: ringtail_companion_condition:condition(),
         starts = 0 :: non_neg_integer(),
         stats = ringtail_companion_stats:new() :: ringtail_companion_stats:stats(),
         seen = 0 :: non_neg_integer(),                 % answers passed on
         heard = 0 :: non_neg_integer()}).              % messages of the port

%% ---- Starting it ----

-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?NAME}, ?MODULE, supervised, options()).

-spec start() -> {ok, pid()} | {error, term()}.
start() ->
    gen_server:start({local, ?NAME}, ?MODULE, unsupervised, options()).

%% What it passes on are large binaries in small terms: a heap that is seldom swept would hold many.
options() ->
    [{spawn_opt, [{fullsweep_after, 10}]}].

%% ---- The process ----

init(Supervised) ->
    process_flag(trap_exit, true),
    ?TABLE = ets:new(?TABLE, [named_table, public, set, {write_concurrency, true}]),
    true = ets:insert(?TABLE, {id, 0}),
    %% The companion's words become atoms with this module, before any answer holds one.
    {module, _} = code:ensure_loaded(ringtail_companion_codec),
    _ = erlang:send_after(?PING_EVERY, self(), ping),
    _ = [erlang:send_after(?IDLE_END, self(), {idle, 0}) || Supervised =:= unsupervised],
    {ok, #state{condition = ringtail_companion_condition:new(?TABLE)}}.

handle_call({forget, Id}, _, State) ->
    {Outcome, Left} = forgotten(Id, State),
    {reply, Outcome, Left};
handle_call({give_up, Id}, _, State) ->
    {Outcome, Left} = forgotten(Id, silent(Id, State)),
    {reply, Outcome, Left};
handle_call(status, _, State) ->
    {reply, report(State), State};
handle_call(stop, _, State) ->
    {stop, normal, ok, State}.

handle_cast({remember_ring, Handle, Bytes}, #state{rings = Rings} = State) ->
    Kept = lists:sublist([{Handle, Bytes} | lists:keydelete(Handle, 1, Rings)], ?REMEMBERED_RINGS),
    {noreply, State#state{rings = Kept}}.

handle_info({request, Id, Pid, Ref, Frame}, State) ->
    More = ?BATCH - 1 + State#state.waiting div 8,
    {noreply, written(more_requests(More, requested(Id, Pid, Ref, Frame, State)))};
handle_info({frame, Id, Frame}, State) ->
    {noreply, written(unwritten(frame, Id, Frame, State))};
handle_info({Port, {data, Bytes}}, #state{port = Port, frames = Frames, heard = Heard} = State) ->
    case ringtail_companion_frames:add(Bytes, Frames) of
        {Whole, Rest} ->
            Condition = ringtail_companion_condition:heard(State#state.condition),
            Hearing = State#state{frames = Rest, heard = Heard + 1, condition = Condition},
            {noreply, pass_on(Whole, Hearing)};
        error -> {noreply, nonsense(State)}
    end;
handle_info({Port, {exit_status, Status}}, #state{port = Port} = State) ->
    {noreply, ended(ringtail_companion_program:ending(Status), State)};
handle_info({'EXIT', Port, Reason}, #state{port = Port} = State) ->
    {noreply, ended(ringtail_companion_program:failure(Reason), State)};
handle_info({timeout, Timer, write}, #state{retry = Timer} = State) ->
    {noreply, written(State#state{retry = none})};
handle_info({timeout, Timer, start}, #state{phase = {down, Timer}} = State) ->
    {noreply, start(State)};
handle_info({start_timeout, Ref}, #state{phase = {starting, Ref, _}} = State) ->
    {noreply, killed(<<"it did not get ready in time">>, State)};
handle_info({said, Why, Text}, #state{condition = Condition} = State) ->
    {noreply, State#state{condition = ringtail_companion_condition:said(Why, Text, Condition)}};
handle_info(ping, #state{condition = Condition} = State) ->
    _ = erlang:send_after(?PING_EVERY, self(), ping),
    Steady = State#state{condition = ringtail_companion_condition:steady(Condition)},
    {noreply, ping(without_the_dead(Steady))};
handle_info({idle, Seen}, #state{seen = Seen, waiting = 0} = State) ->
    {stop, normal, State};
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

%% For logs: no bytes of requests or rings, which may be anybody's, and many.
format_status(Why, [_, State]) ->
    Shown = State#state{unwritten = ringtail_companion_outbox:new(), rings = [],
                        frames = ringtail_companion_frames:new()},
    case Why of
        normal -> [{data, [{"State", Shown}]}];
        terminate -> Shown
    end.

%% ---- Requests on their way ----

%% What else has come meanwhile goes the same way in the same write.
more_requests(0, State) ->
    State;
more_requests(Count, State) ->
    receive
        {request, Id, Pid, Ref, Frame} ->
            more_requests(Count - 1, requested(Id, Pid, Ref, Frame, State))
    after 0 ->
        State
    end.

requested(Id, Pid, Ref, Frame, State) ->
    case State#state.waiting >= ringtail_config:port_max_requests() of
        true ->
            Pid ! {Ref, {refused, busy, <<"too many requests wait for the companion: try again "
                                          "later, or raise {ringtail, port_max_requests}">>}},
            State;
        false ->
            unwritten(request, Id, Frame, enter(Id, {Pid, Ref}, State))
    end.

unwritten(Kind, Id, Frame, #state{unwritten = Unwritten} = State) ->
    State#state{unwritten = ringtail_companion_outbox:add(Kind, Id, Frame, Unwritten)}.

%% Writes all there is. A pipe that has no room for it is tried again in a moment.
written(#state{unwritten = Unwritten} = State) ->
    case ringtail_companion_outbox:is_empty(Unwritten) of
        true -> State;
        false -> write(State)
    end.

write(#state{phase = up, retry = none, port = Port, unwritten = Unwritten} = State) ->
    case ringtail_companion_program:write(Port, ringtail_companion_outbox:bytes(Unwritten)) of
        true -> State#state{unwritten = ringtail_companion_outbox:new()};
        false -> State#state{retry = erlang:start_timer(?RETRY_PAUSE, self(), write)}
    end;
write(#state{phase = up} = State) ->
    State;
write(State) ->
    wanted(State).

%% The caller waits no longer.
forgotten(Id, State) ->
    case ringtail_companion_waiting:find(Id) of
        {_, _, _, _} -> forgotten_before_its_end(Id, leave(Id, State));
        undefined -> {answered, State}
    end.

%% Whoever can do without it should not wait for one that says nothing to anybody.
silent(Id, #state{heard = Heard, condition = Condition} = State) ->
    case ringtail_companion_waiting:find(Id) of
        {_, _, _, Heard} -> State#state{condition = ringtail_companion_condition:silent(Condition)};
        _ -> State
    end.

forgotten_before_its_end(Id, #state{unwritten = Unwritten, phase = Phase} = State) ->
    case ringtail_companion_outbox:has_request(Id, Unwritten) of
        true ->
            Outcome = case Phase of
                          up -> not_written;
                          _ -> not_started
                      end,
            {Outcome, State#state{unwritten = ringtail_companion_outbox:without(Id, Unwritten)}};
        false when Phase =:= up ->
            {written, written(unwritten(frame, Id, ringtail_companion_codec:cancel(Id), State))};
        false ->
            {written, State}
    end.

%% Callers are not monitored here, for most are gone in a moment: those that died waiting are found
%% now and then.
without_the_dead(State) ->
    lists:foldl(fun({Id, {Pid, _, _, _}}, Left) ->
                        case is_process_alive(Pid) of
                            true -> Left;
                            false -> element(2, forgotten(Id, Left))
                        end
                end, State, ringtail_companion_waiting:all()).

enter(Id, Caller, #state{waiting = Waiting, heard = Heard} = State) ->
    ok = ringtail_companion_waiting:enter(Id, Caller, Heard),
    State#state{waiting = Waiting + 1}.

leave(Id, #state{waiting = Waiting} = State) ->
    ok = ringtail_companion_waiting:leave(Id),
    State#state{waiting = Waiting - 1}.

%% ---- Answers ----

pass_on([Frame | Frames], State) ->
    case ringtail_companion_codec:addressee(Frame) of
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
    case ringtail_companion_waiting:find(Id) of
        {Pid, Ref, Since, _} ->
            Pid ! {Ref, {frame, Frame}},
            Counted = ringtail_companion_stats:add(ringtail_clock:micros() - Since, Stats),
            Passed = State#state{stats = Counted, seen = Seen + 1},
            case Kind of
                last -> leave(Id, Passed);
                progress -> Passed
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
wanted(#state{phase = {down, Timer}} = State) ->
    case erlang:read_timer(Timer) of
        Left when is_integer(Left) -> refused_unless_near(Left, State);
        false -> State
    end;
wanted(State) ->
    State.

start(State) ->
    case ringtail_companion_program:open() of
        {ok, Port, OsPid} -> starting(State#state{port = Port, os_pid = OsPid});
        {error, Why} -> again(lost(no_companion, Why, State))
    end.

starting(#state{rings = Rings, starts = Starts} = State) ->
    Ref = make_ref(),
    _ = erlang:send_after(?START_TIMEOUT, self(), {start_timeout, Ref}),
    Loads = [{ring_load, {Handle, Bytes}} || {Handle, Bytes} <- lists:reverse(Rings)],
    next_step(State#state{starts = Starts + 1, phase = {starting, Ref, [{version, {}} | Loads]},
                          frames = ringtail_companion_frames:new()}).

%% One request at a time, for a pipe may be full after a ring; then everybody may come.
next_step(#state{phase = {starting, _, []}, life = Life, condition = Condition} = State) ->
    written(State#state{phase = up,
                        life = ringtail_companion_restarts:up(ringtail_clock:millis(), Life),
                        condition = ringtail_companion_condition:up(Condition)});
next_step(#state{phase = {starting, Ref, [{Operation, Arguments} | Steps]}, port = Port} = State) ->
    {Id, Frame} = own_request(Operation, Arguments),
    %% Where it cannot be written, it is noticed as the end of the process or of the time it has.
    _ = ringtail_companion_program:write(Port, ringtail_companion_frames:framed(Frame)),
    State#state{phase = {starting, Ref, Steps}, own = Id, own_since = ringtail_clock:millis()}.

own_request(Operation, Arguments) ->
    Id = ets:update_counter(?TABLE, id, 1),
    {Id, ringtail_companion_codec:request(Id, Operation, Arguments)}.

ended(Why, #state{phase = Phase} = State0) ->
    State = #state{condition = Condition} = closed(Why, State0),
    case Phase of
        %% Should one of the rings be why, the next start is without them.
        {starting, _, _} ->
            Unready = ringtail_companion_condition:unready(companion_died, Why, Condition),
            again(State#state{condition = Unready, rings = []});
        _ ->
            again(lost(companion_died, Why, State))
    end.

lost(Code, Why, #state{condition = Condition} = State) ->
    State#state{condition = ringtail_companion_condition:lost(Code, Why, Condition)}.

again(#state{life = Life} = State) ->
    {Delay, Later} = ringtail_companion_restarts:ended(ringtail_clock:millis(), Life),
    Timer = erlang:start_timer(Delay, self(), start),
    refused_unless_near(Delay, State#state{phase = {down, Timer}, life = Later}).

%% Nobody is kept waiting for a start that is far off. When it is to be is not said: whoever logs a
%% reason once would log each of these.
refused_unless_near(Delay, State) when Delay > ?WORTH_WAITING ->
    {Code, Why} = ringtail_companion_condition:last_end(State#state.condition),
    refused(Code, <<Why/binary, ?STARTED_AGAIN>>, State);
refused_unless_near(_, State) ->
    State.

%% What was written may have been carried out: its callers are told. What was not can be written to
%% the next one.
closed(Why, #state{port = Port, unwritten = Unwritten} = State) ->
    ok = ringtail_companion_program:close(Port),
    Kept = ringtail_companion_outbox:requests(Unwritten),
    Heard = lists:foldl(fun({Id, {Pid, Ref, _, _}}, Left) ->
                                case ringtail_companion_outbox:has_request(Id, Kept) of
                                    true -> Left;
                                    false -> Pid ! {Ref, {died, Why}}, leave(Id, Left)
                                end
                        end, State, ringtail_companion_waiting:all()),
    Heard#state{port = none, os_pid = undefined, own = none, phase = idle, unwritten = Kept,
                retry = none}.

refused(Code, Why, #state{unwritten = Unwritten} = State) ->
    Told = lists:foldl(fun(Id, Left) ->
                               {Pid, Ref, _, _} = ringtail_companion_waiting:find(Id),
                               Pid ! {Ref, {refused, Code, Why}},
                               leave(Id, Left)
                       end, State, ringtail_companion_outbox:ids(Unwritten)),
    Told#state{unwritten = ringtail_companion_outbox:new()}.

%% It does not react to the end of its input either, so it is not asked.
killed(Why, #state{os_pid = OsPid} = State) ->
    ok = ringtail_companion_program:kill(OsPid),
    ended(Why, State).

ping(#state{phase = up, own = none} = State) ->
    {Id, Frame} = own_request(version, {}),
    written(unwritten(frame, Id, Frame,
                      State#state{own = Id, own_since = ringtail_clock:millis()}));
ping(#state{phase = up, own_since = Since} = State) ->
    case ringtail_clock:millis() - Since > ringtail_config:port_hang_timeout() of
        true -> killed(<<"it did not answer any more">>, State);
        false -> State
    end;
ping(State) ->
    State.

idle_again(#state{seen = Seen} = State) ->
    _ = erlang:send_after(?IDLE_END, self(), {idle, Seen}),
    State.

report(#state{phase = Phase, waiting = Waiting, os_pid = OsPid, starts = Starts,
              condition = Condition, rings = Rings, stats = Stats}) ->
    {_, LastEnd} = ringtail_companion_condition:last_end(Condition),
    Name = case is_tuple(Phase) of
               true -> element(1, Phase);
               false -> Phase
           end,
    [{state, Name}, {os_pid, OsPid}, {starts, Starts}, {last_end, LastEnd}, {rings, length(Rings)},
     {requests, Waiting} | ringtail_companion_stats:report(Stats)].
