%% @doc Each child can be lost without the others: a lost snapshot is built again, lost routes are
%% installed again.
-module(ringtail_sup).

-behaviour(supervisor).

-export([start_link/0]).
-export([init/1]).

start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

%% The routes come last and leave first, so that no request meets a half-stopped application. The
%% bound on restarts is generous because of what happens when it is reached: the application ends
%% and the node is as if it never was there.
init([]) ->
    ok = ringtail_count:new(),
    ok = ringtail_bucket_types:new(),
    ok = ringtail_endpoint_table:new(),
    ok = ringtail_relay_work:new(),
    {Followers, Origin} = origin(ringtail_config:mode()),
    Children = [worker(Module, []) || Module <- [ringtail_companion | Followers]],
    {ok, {{one_for_one, 10, 10}, Children ++ [worker(ringtail_routes, [Origin])]}}.

%% The one place where it is decided whether this VM is a Riak node or serves other clusters.
origin(node) -> {[ringtail_ring_follower, ringtail_endpoint_publisher], ringtail_node_source};
origin(standalone) -> {[ringtail_remote_clusters], ringtail_remote_source}.

worker(Module, Args) ->
    {Module, {Module, start_link, Args}, permanent, 5000, worker, [Module]}.
