%% @doc What the application knows of itself, as data: for the console, the status route and the
%% metrics route.
-module(ringtail_status).

-export([data/0, json/0, metrics/0]).

-spec data() -> [{atom(), term()}].
data() ->
    [{version, ringtail_config:version()}] ++
        engine(ringtail_engine:condition()) ++
        [{nif_problem, Why} || Why <- [ringtail_engine:nif_problem()], Why =/= none] ++
        [{state, ringtail_routes:state()}, {snapshot, ringtail_ring:state()}]
        ++ identity() ++
        [{ring_size, proplists:get_value(ring_size, ringtail_ring:info())},
         {builds, ringtail_ring:builds()},
         {members, [{Node, Status} || {Node, _, Status, _} <- ringtail_ring:members()]},
         {up, ringtail_ring:up()},
         {down, [Node || {Node, _, _, _} <- ringtail_ring:members(),
                         not lists:member(Node, ringtail_ring:up())]},
         {endpoints, ringtail_endpoints:local()},
         {routes, length(ringtail_routes:installed())},
         {route, ringtail_config:route()},
         {requests, ringtail_count:all()},
         {problems, ringtail_config:problems() ++ ringtail_relay:problems()}].

engine(ok) ->
    [{engine, ringtail_engine:name()}, {engine_up, true}];
engine({lost, Why}) ->
    [{engine, ringtail_engine:name()}, {engine_up, false}, {engine_problem, Why}].

%% @doc The same as mochijson2 wants it.
-spec json() -> [{atom(), term()}].
json() ->
    [{Key, json(Key, Value)} || {Key, Value} <- data()].

json(version, Version) when is_list(Version) -> list_to_binary(Version);
json(state, {engine_refused, Code, Detail}) ->
    {struct, [{error, engine_refused}, {code, Code}, {message, Detail}]};
json(Problem, Why) when Problem =:= engine_problem; Problem =:= nif_problem ->
    ringtail_json:text(Why);
json(snapshot, {error, {Code, Detail}}) -> {struct, [{error, Code}, {message, Detail}]};
json(members, Members) ->
    {struct, [{ringtail_json:name(Node), Status} || {Node, Status} <- Members]};
json(endpoints, Endpoints) -> ringtail_endpoints:to_json(Endpoints);
json(requests, Pairs) -> {struct, Pairs};
json(Key, Nodes) when Key =:= up; Key =:= down -> [ringtail_json:name(Node) || Node <- Nodes];
json(problems, Texts) -> [ringtail_json:text(Text) || Text <- Texts];
json(_, undefined) -> null;
json(_, Value) -> Value.

%% @doc The same as numbers that can be drawn over time.
-spec metrics() -> [ringtail_metrics:metric()].
metrics() ->
    Members = ringtail_ring:members(),
    Up = ringtail_ring:up(),
    [{"ringtail_serving", gauge, "1 while the routes are installed and there is a ring.",
      [{[], ringtail_metrics:truth(ringtail_routes:state() =:= serving)}]},
     {"ringtail_engine_up", gauge,
      "1 while the NIF or the companion computes, 0 while riak_core does.",
      [{[], ringtail_metrics:truth(ringtail_engine:condition() =:= ok)}]},
     {"ringtail_ring_partitions", gauge, "Partitions of the ring.",
      [{[], Size} || {ring_size, Size} <- ringtail_ring:info()]},
     {"ringtail_snapshots_total", counter, "Snapshots of the ring built since the start.",
      [{[], ringtail_ring:builds()}]},
     {"ringtail_node_up", gauge, "1 for a member whose riak_kv this node sees up.",
      [{[{node, Node}], ringtail_metrics:truth(lists:member(Node, Up))}
       || {Node, _, _, _} <- Members]},
     {"ringtail_object_requests_total", counter,
      "Requests of the object route, by what was decided.",
      [{[{outcome, Counter}], Count} || {Counter, Count} <- ringtail_count:all()]}].

identity() ->
    case ringtail_ring:identity() of
        {ok, Token, Cluster, Node} -> [{token, Token}, {cluster_uuid, Cluster}, {node_uuid, Node}];
        {error, _} -> []
    end.
