%% @doc Each child can be lost without the others: a lost snapshot is built again, lost routes are installed again.
-module(ringtail_sup).

-behaviour(supervisor).

-export([start_link/0]).
-export([init/1]).

start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

%% The routes come last and leave first, so that no request meets a half-stopped application. The bound on restarts is
%% generous because of what happens when it is reached: the application ends and the node is as if it never was there.
init([]) ->
    ok = ringtail_count:new(),
    ok = ringtail_types:new(),
    {ok, {{one_for_one, 10, 10}, [worker(ringtail_port)] ++ children(ringtail_config:mode()) ++ [worker(ringtail_routes)]}}.

children(node) ->
    [worker(ringtail_ring), worker(ringtail_listeners)];
children(standalone) ->
    [worker(ringtail_clusters)].

worker(Module) ->
    {Module, {Module, start_link, []}, permanent, 5000, worker, [Module]}.
