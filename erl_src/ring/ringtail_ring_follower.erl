%% @doc Follows Riak's ring and its view of who is up, and keeps what they say in the table that
%% `ringtail_ring' reads. When to build is decided in `ringtail_ring_schedule', what to build in
%% `ringtail_ring_snapshot'.
%%
%% What Riak announces comes by way of `ringtail_ring_events'; a build runs in a process of its own.
-module(ringtail_ring_follower).

-behaviour(gen_server).

-export([start_link/0, refresh/1, reload/2]).
-export([format_status/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3]).

-define(TABLE, ringtail_ring_snapshot).
%% Where the object `ring' has it.
-define(IS_UP, 4).
%% Between tries to hear events, while Riak starts or an event process is being restarted. In ms.
-define(REGISTER_MS, 250).
%% Events can be lost while a handler is down: compare with what Riak says now and then.
-define(COMPARE_MS, 5000).

-record(state, {rebuild = ringtail_ring_schedule:new() :: ringtail_ring_schedule:state(),
                builder = none :: none | {pid(), erlang:timestamp()},
                built_id = none :: term(),              % riak_core's ring id of the snapshot
                anew = false :: boolean(),              % load the ring though it is the same
                heard = [] :: [{pid(), ring | up}],     % the event processes that hold our handlers
                history =
                    ringtail_topology_history:history() :: ringtail_topology_history:history(),
                waiting = [] :: [term()],               % callers that want a later build
                served = [] :: [term()]}).              % those whose build runs

start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Returns once the table holds the snapshot of Riak's present ring; `timeout' when that
%% takes too long.
-spec refresh(Milliseconds :: pos_integer()) -> ok | timeout | ringtail_ring:missing().
refresh(Timeout) ->
    ask(refresh, Timeout).

%% @doc Returns once the table holds another ring than this one, which the engine no longer takes:
%% it was loaded by a version of the NIF that was replaced since. The ring is loaded anew, whoever
%% asks and however many do.
-spec reload(ringtail_engine:ring(), Milliseconds :: pos_integer()) ->
          ok | timeout | ringtail_ring:missing().
reload(Refused, Timeout) ->
    ask({reload, Refused}, Timeout).

ask(Request, Timeout) ->
    case ringtail_call:ask(?MODULE, Request, Timeout) of
        {ok, Answer} -> Answer;
        {error, _} -> timeout
    end.

%% ---- gen_server ----

init([]) ->
    process_flag(trap_exit, true),
    ?TABLE = ets:new(?TABLE, [named_table, protected, {read_concurrency, true}]),
    ets:insert(?TABLE, [{state, ok}, {up, []}]),
    self() ! {register, ring},
    self() ! {register, up},
    _ = erlang:send_after(?COMPARE_MS, self(), compare),
    {ok, #state{}}.

handle_call(refresh, From, #state{built_id = Id} = State) ->
    case ring_id() of
        Id when Id =/= none, State#state.builder =:= none -> {reply, ok, State};
        _ -> {noreply, changed(State#state{waiting = [From | State#state.waiting]})}
    end;
handle_call({reload, Refused}, From, State) ->
    case ringtail_table:find(?TABLE, ring) of
        {ring, Refused, _, _} ->
            {noreply, changed(State#state{anew = true, waiting = [From | State#state.waiting]})};
        _ ->
            {reply, ok, State}
    end;
handle_call(_, _, State) ->
    {reply, {error, unknown_call}, State}.

handle_cast(_, State) ->
    {noreply, State}.

handle_info(ring_changed, State) ->
    flush(ring_changed),
    {noreply, changed(State)};
handle_info(up_changed, State) ->
    flush(up_changed),
    {noreply, see_up(State)};
handle_info(timer, #state{rebuild = Rebuild} = State) ->
    {noreply, perform(ringtail_ring_schedule:timer(Rebuild), State)};
handle_info({built, Builder, Id, Result}, #state{builder = {Builder, Began}} = State) ->
    {noreply, built(Id, Result, Began, State)};
handle_info({'EXIT', Builder, Reason}, #state{builder = {Builder, Began}} = State) ->
    Detail = iolist_to_binary(io_lib:format("building the snapshot failed: ~P", [Reason, 20])),
    {noreply, built(none, {error, {snapshot_failed, Detail}}, Began, State)};
handle_info({register, What}, State) ->
    {noreply, register_handler(What, State)};
%% A handler was dropped, or its event process died (we are linked to it, and are told nothing
%% else).
handle_info({gen_event_EXIT, {riak_core_ring_events, _}, _}, State) ->
    {noreply, again(ring, State)};
handle_info({gen_event_EXIT, {riak_core_node_watcher_events, _}, _}, State) ->
    {noreply, again(up, State)};
handle_info({'EXIT', Process, _}, #state{heard = Heard} = State) ->
    case lists:keyfind(Process, 1, Heard) of
        {Process, What} -> {noreply, again(What, State)};
        false -> {noreply, State}       % a builder that is done
    end;
handle_info(compare, State) ->
    _ = erlang:send_after(?COMPARE_MS, self(), compare),
    {noreply, compare(see_up(State))};
handle_info(_, State) ->
    {noreply, State}.

terminate(_, _) ->
    ok.

code_change(_, State, _) ->
    {ok, State}.

%% For crash reports: the history is hundreds of topologies.
format_status(_, [_, State]) ->
    [{data, [{"State", State#state{history = ringtail_topology_history:history()}}]}].

%% ---- Events ----

%% Adding the handler calls it at once, with the present ring; before there is one that fails, and
%% is tried again.
register_handler(What, #state{heard = Heard} = State) ->
    case lists:keymember(What, 2, Heard) of
        true -> State;      % asked for twice: a handler dropped and its process dead
        false ->
            case ringtail_ring_events:hear(What) of
                {ok, Manager} -> State#state{heard = [{Manager, What} | Heard]};
                not_yet -> again(What, State)
            end
    end.

again(What, #state{heard = Heard} = State) ->
    _ = erlang:send_after(?REGISTER_MS, self(), {register, What}),
    State#state{heard = lists:keydelete(What, 2, Heard)}.

flush(Message) ->
    receive
        Message -> flush(Message)
    after 0 ->
        ok
    end.

see_up(State) ->
    Before = ringtail_ring:up(),
    case lists:sort(up_nodes()) of
        Before ->
            State;
        Up ->
            ringtail_endpoint_table:down(Before -- Up),
            ets:insert(?TABLE, {up, Up}),
            _ = ets:update_element(?TABLE, ring, {?IS_UP, lists:member(node(), Up)}),
            State
    end.

up_nodes() ->
    try
        riak_core_node_watcher:nodes(riak_kv)
    catch
        error:_ -> []       % its table is gone: the node watcher is being restarted
    end.

compare(#state{built_id = Id} = State) ->
    case ring_id() of
        Id -> State;
        _ -> changed(State)
    end.

ring_id() ->
    try
        riak_core_ring_manager:get_ring_id()
    catch
        error:_ -> none
    end.

%% ---- Building ----

changed(#state{rebuild = Rebuild} = State) ->
    perform(ringtail_ring_schedule:changed(Rebuild), State).

perform({Rebuild, Effects}, State) ->
    lists:foldl(fun effect/2, State#state{rebuild = Rebuild}, Effects).

effect({timer, Milliseconds}, State) ->
    _ = erlang:send_after(Milliseconds, self(), timer),
    State;
effect(build, #state{waiting = Waiting, built_id = Built, anew = Anew, served = []} = State) ->
    Server = self(),
    Known = case Anew of
                true -> none;
                false -> Built
            end,
    Builder = spawn_link(fun() -> build(Server, Known) end),
    State#state{builder = {Builder, os:timestamp()}, anew = false, waiting = [], served = Waiting}.

%% The id is read before the ring: when the ring changes in between, the id is the older one and
%% the next comparison sees that it is.
build(Server, BuiltId) ->
    Id = ring_id(),
    Result = case Id =:= BuiltId andalso Id =/= none of
                 true -> unchanged;
                 false -> build()
             end,
    Server ! {built, self(), Id, Result}.

build() ->
    case ringtail_ring_of_riak:mine() of
        {ok, Ring} -> ringtail_ring_snapshot:build(Ring, node());
        {error, _} -> {error, {no_ring, <<"this node has no ring yet; try again in a moment">>}}
    end.

%% Who waits is answered last, when every reader of the table sees what was waited for.
built(Id, Result, Began, #state{rebuild = Rebuild, served = Served} = State) ->
    {Answer, Ended} = kept(Id, Result, State),
    _ = [gen_server:reply(From, Answer) || From <- Served],
    Step = case Answer of
               ok -> ringtail_ring_schedule:built(Rebuild, took(Began));
               {error, _} -> ringtail_ring_schedule:failed(Rebuild)
           end,
    perform(Step, Ended#state{builder = none, served = []}).

kept(_, unchanged, State) ->
    {ok, State};
kept(Id, {ok, Objects}, #state{history = History} = State) ->
    Longer = longer(Objects, History),
    keep([{history, Longer} | Objects]),
    {ok, State#state{built_id = Id, history = Longer}};
kept(_, {error, Failure}, State) ->
    report(Failure),
    {{error, Failure}, State}.

%% As one: readers see the old snapshot or the new one, and a token that is told is one that can
%% be asked from. Endpoints of nodes that left go after that.
keep(Objects) ->
    Present = [Key || {{endpoints, _} = Key, _} <- Objects],
    Past = [Key || [Key] <- ets:match(?TABLE, {{endpoints, '$1'}, '_'}),
                   not lists:member({endpoints, Key}, Present)],
    {value, {ring, Ring, Size}, Others} = lists:keytake(ring, 1, Objects),
    IsUp = lists:member(node(), ringtail_ring:up()),
    ets:insert(?TABLE, [{state, ok}, {builds, ringtail_ring:builds() + 1}, {ring, Ring, Size, IsUp}
                        | Others]),
    _ = [ets:delete(?TABLE, {endpoints, Node}) || Node <- Past],
    ringtail_endpoint_publisher:ring_changed().

longer(Objects, History) ->
    {identity, Token, _, _} = lists:keyfind(identity, 1, Objects),
    {canonical, Canonical} = lists:keyfind(canonical, 1, Objects),
    ringtail_topology_history:remember(Token, Canonical, History).

%% The last good snapshot stays: an old map costs a client one more hop, no map costs it the
%% service. Said once per reason.
report({_, Detail} = Failure) ->
    Known = ringtail_ring:state(),
    case {error, Failure} of
        Known ->
            ok;
        New ->
            ets:insert(?TABLE, {state, New}),
            error_logger:warning_msg("ringtail: no new snapshot of the ring: ~s~n", [Detail])
    end.

took(Began) ->
    timer:now_diff(os:timestamp(), Began) div 1000.
