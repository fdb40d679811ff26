%% Test support: starts a node's vnodes when first needed, brings requests to
%% them, and sends home what belongs to another node that is up.
-module(riak_kv_vnode_master).
-behaviour(gen_server).

-export([start_link/0, route/2, forward/3, handoff/3, move/2, cancel/1, settle/0, vnodes/0,
         wipe/0]).
-export([init/1, handle_call/3, handle_info/2, handle_cast/2]).

-define(SETTLE_MS, 250).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

route(Index, Request) ->
    case ets:lookup(?MODULE, Index) of
        [{_, Pid}] -> Pid ! {request, Request};
        [] -> ?MODULE ! {route, Index, Request}
    end.

forward(Node, Index, Request) ->
    erlang:send({?MODULE, Node}, {forwarded, Index, Request}, [noconnect]).

%% Rows of a partition, for the vnode of it on Node.
handoff(Node, Index, Rows) ->
    Pid = gen_server:call({?MODULE, Node}, {vnode, Index}, 10000),
    gen_server:call(Pid, {receive_handoff, Rows}, 30000).

%% The claimant's order to move a partition of this node to another.
move(Index, Target) ->
    Pid = gen_server:call(?MODULE, {vnode, Index}, 10000),
    gen_server:call(Pid, {handoff, Target}, infinity).

cancel(Index) ->
    Pid = gen_server:call(?MODULE, {vnode, Index}, 10000),
    gen_server:call(Pid, cancel_forward, infinity).

%% Sends home now what would be sent home within a quarter of a second.
settle() -> [return(Index, Pid) || {Index, Pid} <- ets:tab2list(?MODULE)], ok.

%% [{Index, NumberOfObjects}]
vnodes() ->
    [{Index, gen_server:call(Pid, size, infinity)} || {Index, Pid} <- ets:tab2list(?MODULE)].

%% Forgets all objects of this node.
wipe() -> [ok = gen_server:call(Pid, wipe, infinity) || {_, Pid} <- ets:tab2list(?MODULE)], ok.

init([]) ->
    process_flag(trap_exit, true),
    ?MODULE = ets:new(?MODULE, [named_table, protected, {read_concurrency, true}]),
    [vnode(Index) || Index <- standin_log:indices(data_dir())],
    spawn_link(fun settler/0),
    {ok, none}.

%% In a process of its own: a handoff takes as long as it takes.
settler() ->
    timer:sleep(?SETTLE_MS),
    settle(),
    settler().

return(Index, Pid) ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    %% What has been sent here ahead of a change of owner stays.
    Coming = element(2, riak_core_ring:next_owner(Ring, Index)) =:= node(),
    case lists:keyfind(Index, 1, riak_core_ring:all_owners(Ring)) of
        {_, Node} when Node =/= node(), not Coming ->
            _ = lists:member(Node, riak_core_node_watcher:nodes(riak_kv))
                andalso (catch gen_server:call(Pid, {return, Node}, 60000));
        _ -> ok
    end.

handle_call({vnode, Index}, _From, State) -> {reply, vnode(Index), State}.

handle_cast(_, State) -> {noreply, State}.

handle_info({route, Index, Request}, State) ->
    vnode(Index) ! {request, Request},
    {noreply, State};
handle_info({forwarded, Index, Request}, State) ->
    vnode(Index) ! {forwarded, Request},
    {noreply, State};
handle_info({'EXIT', Pid, Reason}, State) ->
    case ets:match(?MODULE, {'$1', Pid}) of
        [[Index]] ->
            logger:error("vnode ~p ended: ~p", [Index, Reason]),
            ets:delete(?MODULE, Index),
            {noreply, State};
        [] -> {stop, Reason, State}
    end;
handle_info(_, State) -> {noreply, State}.

vnode(Index) ->
    case ets:lookup(?MODULE, Index) of
        [{_, Pid}] -> Pid;
        [] ->
            {ok, Pid} = riak_kv_vnode:start_link(Index, data_dir()),
            ets:insert(?MODULE, {Index, Pid}),
            Pid
    end.

data_dir() ->
    case application:get_env(riak_core, platform_data_dir) of
        {ok, Dir} -> filename:join(Dir, "kv");
        undefined -> undefined
    end.
