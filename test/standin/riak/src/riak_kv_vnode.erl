%% Test support: one partition's data on one node, as a process. Objects are in
%% memory and, so that a killed node has them when it comes back, in a log.
%%
%% A partition moves by copying: {handoff, Target} sends everything to the same
%% partition on Target and from then on passes every request there, so nothing
%% written meanwhile is lost. When the ring says that another node owns the
%% partition and it is up, what is left here is sent there and dropped; that is
%% also how a fallback gives back what it took for a primary that was away.
-module(riak_kv_vnode).
-behaviour(gen_server).

-export([start_link/2, ask/4, tell/4]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(state, {index, actor, table, log, forward = none, data_dir}).

-define(HANDOFF_MS, 30000).
-define(REAP_MS, 3000).

start_link(Index, DataDir) -> gen_server:start_link(?MODULE, {Index, DataDir}, []).

%% Asynchronous: the answer comes as {Ref, {Index, Node}, Answer}.
%% Request: {get, BKey} | {put, BKey, Obj, AllowMult} (a replica)
%%        | {coordinate, BKey, Obj, AllowMult} | {reap, BKey, VClock}
%%        | {fold, Fun, Acc}
ask(Index, Node, Ref, Request) -> tell(Index, Node, {self(), Ref}, Request).

tell(Index, Node, ReplyTo, Request) when Node =:= node() ->
    riak_kv_vnode_master:route(Index, {ReplyTo, {Index, Node}, Request});
tell(Index, Node, ReplyTo, Request) ->
    erlang:send({riak_kv_vnode_master, Node}, {route, Index, {ReplyTo, {Index, Node}, Request}},
                [noconnect]).

init({Index, DataDir}) ->
    process_flag(trap_exit, true),
    Table = ets:new(?MODULE, [ordered_set, protected]),
    Log = standin_log:open(DataDir, Index, fun(Entry) -> replay(Table, Entry) end),
    {ok, #state{index = Index, table = Table, log = Log, data_dir = DataDir,
                actor = crypto:strong_rand_bytes(8)}}.

replay(Table, {put, BKey, Obj}) -> ets:insert(Table, {BKey, Obj});
replay(Table, {delete, BKey}) -> ets:delete(Table, BKey);
replay(Table, clear) -> ets:delete_all_objects(Table).

%% --- handoff, from the claimant or the master of this node ---

handle_call(size, _From, State) -> {reply, ets:info(State#state.table, size), State};
handle_call(wipe, _From, State) -> {reply, ok, clear(State)};
handle_call({handoff, Target}, _From, State) ->
    case copy(Target, State) of
        ok -> {reply, ok, State#state{forward = Target}};
        Error -> {reply, Error, State}
    end;
handle_call({receive_handoff, Rows}, _From, State) ->
    lists:foreach(fun({BKey, Obj}) -> replica(BKey, Obj, true, State) end, Rows),
    {reply, ok, compact(State#state{forward = none})};
handle_call(cancel_forward, _From, State) -> {reply, ok, State#state{forward = none}};
handle_call({return, Owner}, _From, State = #state{table = Table}) ->
    case ets:info(Table, size) of
        0 -> {reply, ok, State#state{forward = Owner}};
        _ ->
            case copy(Owner, State) of
                ok -> {reply, ok, clear(State#state{forward = Owner})};
                Error -> {reply, Error, State}
            end
    end.

clear(State = #state{table = Table, log = Log}) ->
    ets:delete_all_objects(Table),
    standin_log:write(Log, clear),
    compact(State).

copy(Target, #state{index = Index, table = Table}) ->
    try
        batches(Index, Target, ets:select(Table, [{'_', [], ['$_']}], 50))
    catch exit:Reason -> {error, Reason}
    end.

batches(Index, Target, '$end_of_table') -> riak_kv_vnode_master:handoff(Target, Index, []);
batches(Index, Target, {Rows, Continuation}) ->
    ok = riak_kv_vnode_master:handoff(Target, Index, Rows),
    batches(Index, Target, ets:select(Continuation)).

handle_cast(_, State) -> {noreply, State}.

%% --- requests ---

handle_info({reap, BKey, VClock}, State) ->
    _ = case ets:lookup(State#state.table, BKey) of
            [{_, Obj}] ->
                Same = vclock:equal(riak_object:vclock(Obj), VClock)
                    andalso riak_object:is_deleted(Obj),
                Same andalso delete(BKey, State);
            [] -> ok
        end,
    {noreply, State};
handle_info({request, {ReplyTo, Id, Request}}, State) ->
    case forward_to(State) of
        none -> {noreply, serve(Request, ReplyTo, Id, State)};
        Node ->
            riak_kv_vnode_master:forward(Node, State#state.index, {ReplyTo, Id, Request}),
            {noreply, State}
    end;
handle_info({forwarded, {ReplyTo, Id, Request}}, State) ->
    {noreply, serve(Request, ReplyTo, Id, State)};
handle_info(_, State) -> {noreply, State}.

%% Passed on only while the target is there to take it, and never by a node
%% that owns the partition by now.
forward_to(#state{forward = none}) -> none;
forward_to(#state{forward = Node}) ->
    case lists:member(Node, nodes()) of
        true -> Node;
        false -> none
    end.

serve(Request, ReplyTo, Id, State) ->
    reply(ReplyTo, Id, answer(Request, State)),
    compact(State).

reply({Pid, Ref}, Id, Answer) -> erlang:send(Pid, {Ref, Id, Answer}, [noconnect]).

answer({get, BKey}, State) ->
    case ets:lookup(State#state.table, BKey) of
        [{_, Obj}] -> {ok, Obj};
        [] -> {error, notfound}
    end;
answer({put, BKey, Obj, AllowMult}, State) ->
    {dw, replica(BKey, Obj, AllowMult, State)};
answer({coordinate, BKey, New, AllowMult}, State) ->
    Old = case ets:lookup(State#state.table, BKey) of
              [{_, Obj}] -> Obj;
              [] -> none
          end,
    {dw, store(BKey, riak_object:coordinate(Old, New, State#state.actor, AllowMult), State)};
answer({reap, BKey, VClock}, _State) ->
    erlang:send_after(app_helper:get_env(riak_kv, delete_mode, ?REAP_MS), self(),
                      {reap, BKey, VClock}),
    ok;
answer({fold, Fun, Acc}, State) ->
    {ok, ets:foldl(Fun, Acc, State#state.table)}.

replica(BKey, Obj, AllowMult, State) ->
    case ets:lookup(State#state.table, BKey) of
        [{_, Old}] ->
            case riak_object:reconcile([Old, Obj], AllowMult) of
                Old -> Old;
                Merged -> store(BKey, Merged, State)
            end;
        [] -> store(BKey, Obj, State)
    end.

store(BKey, Obj, #state{table = Table, log = Log}) ->
    ets:insert(Table, {BKey, Obj}),
    standin_log:write(Log, {put, BKey, Obj}),
    Obj.

delete(BKey, #state{table = Table, log = Log}) ->
    ets:delete(Table, BKey),
    standin_log:write(Log, {delete, BKey}).

compact(State = #state{log = Log, table = Table}) ->
    Rewrite = fun(Write) -> ets:foldl(fun({K, O}, ok) -> Write({put, K, O}) end, ok, Table) end,
    State#state{log = standin_log:compact(Log, Rewrite)}.

terminate(_Reason, #state{log = Log}) -> standin_log:close(Log).
