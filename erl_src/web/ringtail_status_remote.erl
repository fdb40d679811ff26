%% @doc What the application knows of itself in a VM without Riak: the counterpart of
%% `ringtail_status'.
-module(ringtail_status_remote).

-export([data/0, json/0, metrics/0]).

-spec data() -> [{atom(), term()}].
data() ->
    [{version, ringtail_config:version()}, {mode, standalone}, {state, ringtail_routes:state()},
     {clusters, [{Name, cluster(Name)} || Name <- ringtail_remote_clusters:names()]},
     {companion, ringtail_companion:status()},
     {routes, length(ringtail_routes:installed())},
     {route, ringtail_config:route()},
     {requests, ringtail_count:all()},
     {problems, ringtail_config:problems()}].

cluster(Name) ->
    Members = ringtail_remote_clusters:members(Name),
    Up = ringtail_remote_clusters:up(Name),
    condition(ringtail_remote_clusters:freshness(Name))
        ++ identity(ringtail_remote_clusters:identity(Name))
        ++ [{error, Detail} || {_, Detail} <- [ringtail_remote_clusters:failure(Name)]]
        ++ [{ring_size, proplists:get_value(ring_size, ringtail_remote_clusters:info(Name))},
            {members, [{Node, Status} || {Node, _, Status, _} <- Members]},
            {up, Up},
            {down, [Node || {Node, _, _, _} <- Members, not lists:member(Node, Up)]},
            {seeds, ringtail_remote_clusters:seeds(Name)},
            {route, ringtail_remote_clusters:route(Name)}].

condition({never, _}) -> [{condition, unreachable}];
condition({Condition, Age}) -> [{condition, Condition}, {age, Age div 1000}].

identity({ok, Token, Uuid, _}) -> [{token, Token}, {cluster_uuid, Uuid}];
identity({error, _}) -> [].

%% @doc The same as mochijson2 wants it.
-spec json() -> [{atom(), term()}].
json() ->
    [{Key, json(Key, Value)} || {Key, Value} <- data()].

json(version, Version) when is_list(Version) -> list_to_binary(Version);
json(clusters, Clusters) ->
    {struct, [{ringtail_json:text(Name),
               {struct, [{Key, cluster_json(Key, Value)} || {Key, Value} <- Cluster]}}
              || {Name, Cluster} <- Clusters]};
json(companion, Pairs) -> {struct, [{Key, plain(Value)} || {Key, Value} <- Pairs]};
json(requests, Pairs) -> {struct, Pairs};
json(problems, Texts) -> [ringtail_json:text(Text) || Text <- Texts];
json(_, undefined) -> null;
json(_, Value) -> Value.

cluster_json(members, Members) -> {struct, Members};
cluster_json(_, undefined) -> null;
cluster_json(_, Value) -> Value.

plain(undefined) -> null;
plain(Value) when is_atom(Value); is_number(Value); is_binary(Value) -> Value;
plain(Value) -> ringtail_json:text(io_lib:format("~p", [Value])).

%% @doc The same as numbers that can be drawn over time.
-spec metrics() -> [ringtail_metrics:metric()].
metrics() ->
    Names = ringtail_remote_clusters:names(),
    Fresh = [{Name, ringtail_remote_clusters:freshness(Name)} || Name <- Names],
    [{"ringtail_serving", gauge, "1 while the routes are installed.",
      [{[], ringtail_metrics:truth(ringtail_routes:state() =:= serving)}]},
     {"ringtail_engine_up", gauge, "1 while the companion answers.",
      [{[], ringtail_metrics:truth(ringtail_engine:condition() =:= ok)}]},
     {"ringtail_cluster_current", gauge, "1 while what is known of the cluster is up to date.",
      [{[{cluster, Name}], ringtail_metrics:truth(element(1, Freshness) =:= current)}
       || {Name, Freshness} <- Fresh]},
     {"ringtail_cluster_age_seconds", gauge, "How long ago the cluster told its topology.",
      [{[{cluster, Name}], Age div 1000}
       || {Name, {Condition, Age}} <- Fresh, Condition =/= never]},
     {"ringtail_ring_partitions", gauge, "Partitions of the cluster's ring.",
      [{[{cluster, Name}], Size}
       || Name <- Names, {ring_size, Size} <- ringtail_remote_clusters:info(Name)]},
     {"ringtail_node_up", gauge, "1 for a member whose riak_kv the node that told sees up.",
      [{[{cluster, Name}, {node, Node}],
        ringtail_metrics:truth(lists:member(Node, ringtail_remote_clusters:up(Name)))}
       || Name <- Names, {Node, _, _, _} <- ringtail_remote_clusters:members(Name)]},
     {"ringtail_object_requests_total", counter,
      "Requests of the object route, by what was decided.",
      [{[{outcome, Counter}], Count} || {Counter, Count} <- ringtail_count:all()]}].
