%% What suites ask of their cluster, and the cluster of those about the object route.
-module(ringtail_test_object).

-include_lib("stdlib/include/assert.hrl").

-compile({no_auto_import, [nodes/1]}).

-export([cluster/0, c/1, nodes/1, one/1, take/2, rpc/5, get/3, token/2, bucket/1, route/4,
         fetch/5, put/6, places/3, served/3, headers_are_there/1]).

cluster() ->
    Types = [{<<"t1">>, [{n_val, 1}, {allow_mult, false}]}, {<<"t3">>, [{n_val, 3}]},
             {<<"t5">>, [{n_val, 5}]},
             {<<"tb">>, [{n_val, 1}, {chash_keyfun, {riak_core_util, chash_bucketonly_keyfun}}]},
             {<<"tc">>, [{n_val, 1}, {chash_keyfun, {ringtail_test_keyfun, by_prefix}}]}],
    ringtail_test_cluster:start(#{nodes => 4, ring_size => 8, types => Types, persist => true}).

c(Config) -> proplists:get_value(cluster, Config).

nodes(C) -> standin:nodes(C).

one(C) -> hd(nodes(C)).

take(N, List) -> lists:sublist(lists:append(lists:duplicate(N, List)), N).

rpc(C, Node, M, F, A) -> standin:rpc(C, Node, M, F, A).

get(C, Node, Path) -> ringtail_test_http:request(get, standin:url(C, Node) ++ Path).

token(C, Node) ->
    ringtail_test_http:header("x-ringtail-topology",
                              get(C, Node, "/explore/clusters/default/preflist")).

bucket("default") -> <<"b">>;
bucket(Type) -> {list_to_binary(Type), <<"b">>}.

route(C, Node, Type, Key) ->
    ringtail_test_cluster:url(standin:url(C, Node), Type, {"b", binary_to_list(Key)}).

fetch(C, Node, Type, Key, Query) ->
    ringtail_test_http:request(get, route(C, Node, Type, Key) ++ Query).

put(C, Node, Type, Key, Query, Value) ->
    ringtail_test_http:request(put, route(C, Node, Type, Key) ++ Query, [], {"text/plain", Value}).

%% A primary of the key and a node that is none.
places(C, Type, Key) ->
    Primaries = rpc(C, one(C), ringtail_test_probe, primary_nodes, [bucket(Type), Key]),
    {hd(Primaries), hd(nodes(C) -- Primaries)}.

%% What it gives, and how many callbacks `Node' was asked to run meanwhile.
served(C, Node, Fun) ->
    Serve = {ringtail_relay_work, serve, 5},
    1 = rpc(C, Node, erlang, trace_pattern, [Serve, true, [call_count]]),
    Result = Fun(),
    {call_count, Count} = rpc(C, Node, erlang, trace_info, [Serve, call_count]),
    1 = rpc(C, Node, erlang, trace_pattern, [Serve, false, [call_count]]),
    {Result, Count}.

headers_are_there(Answer) ->
    Token = ringtail_test_http:header("x-ringtail-topology", Answer),
    ?assert(is_list(Token) andalso ringtail_topology_history:is_token(Token)),
    [?assertMatch([_, _, _, _, _], string:split(ringtail_test_http:header(Name, Answer), "-", all))
     || Name <- ["x-ringtail-node", "x-ringtail-cluster"]].
