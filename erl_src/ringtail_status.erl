%% @doc What the application knows of itself, as data: for the console and, later, for the status route.
-module(ringtail_status).

-export([data/0]).

-spec data() -> [{atom(), term()}].
data() ->
    [{version, version()}, {state, ringtail_routes:state()}, {snapshot, ringtail_ring:state()}]
        ++ identity() ++
        [{ring_size, proplists:get_value(ring_size, ringtail_ring:info())},
         {builds, ringtail_ring:builds()},
         {members, [{Node, Status} || {Node, _, Status, _} <- ringtail_ring:members()]},
         {up, ringtail_ring:up()},
         {down, [Node || {Node, _, _, _} <- ringtail_ring:members(), not lists:member(Node, ringtail_ring:up())]},
         {endpoints, ringtail_endpoints:local()},
         {routes, length(ringtail_routes:installed())},
         {route, ringtail_config:route()},
         {problems, ringtail_config:problems()}].

version() ->
    case application:get_key(ringtail, vsn) of
        {ok, Version} -> Version;
        undefined -> undefined
    end.

identity() ->
    case ringtail_ring:identity() of
        {ok, Token, Cluster, Node} -> [{token, Token}, {cluster_uuid, Cluster}, {node_uuid, Node}];
        {error, _} -> []
    end.
