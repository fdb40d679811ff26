%% Test support: the three applications of a stand-in node and their
%% supervisors. They start in another order than Riak's: listeners first, so
%% that a node can be asked things while it has no ring yet; what riak_core
%% starts of itself are the event managers, all else waits for boot/0.
-module(standin_app).
-behaviour(application).
-behaviour(supervisor).

-export([start/2, stop/1, init/1, boot/0]).

start(_Type, riak_kv) ->
    ok = riak_core_bucket:append_bucket_defaults(
           riak_core_bucket_type:defaults(default_type) ++ [{write_once, false}, {repl, true}]),
    {ok, Sup} = supervisor:start_link({local, riak_kv_sup}, ?MODULE, riak_kv),
    %% One at the front each, so from the last to the first.
    [webmachine_router:add_route(R) || R <- lists:reverse(riak_kv_web:dispatch_table())],
    ok = riak_core_node_watcher:service_up(riak_kv, Sup),
    {ok, Sup};
start(_Type, riak_api) ->
    {ok, Sup} = supervisor:start_link({local, riak_api_sup}, ?MODULE, riak_api),
    ok = riak_api_web:listen(Sup),
    {ok, Sup};
start(_Type, riak_core) ->
    supervisor:start_link({local, riak_core_sup}, ?MODULE, riak_core).

stop(_) -> ok.

%% The rest of riak_core: from here on there is a ring.
boot() ->
    [{ok, _} = supervisor:start_child(riak_core_sup, worker(M))
     || M <- [riak_core_ring_manager, riak_core_gossip, riak_core_metadata,
              riak_core_node_watcher]],
    ok.

init(riak_core) ->
    ets:new(standin_event_guards, [named_table, public]),
    {ok, {strategy(), [worker(M) || M <- [riak_core_ring_events, riak_core_node_watcher_events]]}};
init(riak_kv) ->
    {ok, {strategy(), [worker(M) || M <- [riak_kv_vnode_master, riak_kv_delete_sup]]}};
init(riak_api) -> {ok, {strategy(), [worker(standin_traffic)]}}.

%% Tests kill processes on purpose. One that falls must not take the services
%% that the node watcher knows of with it.
strategy() -> #{strategy => one_for_one, intensity => 100, period => 1}.

worker(Module) -> #{id => Module, start => {Module, start_link, []}, shutdown => 5000}.
