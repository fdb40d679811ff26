%% Requests that go through another node, when that node is slow, dies, does not run Ringtail or has many at once.
-module(ringtail_hop_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1]}]).

suite() -> [{timetrap, {seconds, 90}}].

all() ->
    [a_slow_target_is_given_up, a_target_that_dies_meanwhile, a_write_is_sent_once, many_at_once,
     nodes_that_published_nothing, a_node_without_ringtail, connections_go_when_the_application_stops].

init_per_suite(Config) ->
    [{cluster, ringtail_test_cluster:start(#{nodes => 3, ring_size => 8, persist => true,
                                             types => [{<<"t1">>, [{n_val, 1}, {allow_mult, false}]},
                                                       {<<"tm">>, [{n_val, 1}, {allow_mult, true}]}]})} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

%% The client's timeout and five seconds.
a_slow_target_is_given_up(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"slow">>),
    ok = standin:slow_node(C, Primary, 8000),
    Began = erlang:monotonic_time(millisecond),
    {504, _, _} = Answer = fetch(C, Other, "t1", <<"slow">>, "?timeout=100"),
    Took = erlang:monotonic_time(millisecond) - Began,
    ok = standin:slow_node(C, Primary, 0),
    ?assertMatch(#{<<"error">> := <<"timeout">>}, ringtail_test_http:json(Answer)),
    ?assert(Took >= 5000),
    ?assert(Took < 8000),
    ?assertMatch([_ | _], ringtail_test_http:header("x-ringtail-topology", Answer)).

a_target_that_dies_meanwhile(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"dies">>),
    ok = standin:slow_node(C, Primary, 5000),
    Results = during(fun() -> ok = standin:kill(C, Primary) end,
                     [fun() -> put(C, Other, "t1", <<"dies">>, "", <<"v">>) end, fun() -> fetch(C, Other, "t1", <<"dies">>, "") end]),
    [begin
         ?assertMatch({Status, _, _} when Status =:= 502; Status =:= 504, Answer),
         ?assertMatch(#{<<"error">> := _, <<"message">> := _}, ringtail_test_http:json(Answer))
     end || Answer <- Results],
    restart(C, Primary).

%% Siblings would tell of a second one.
a_write_is_sent_once(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "tm", <<"once">>),
    [begin
         ok = standin:slow_node(C, Primary, #{put => 6000}),
         {504, _, _} = put(C, Other, "tm", <<"once">>, "?timeout=1", <<"v">>),
         ok = standin:slow_node(C, Primary, 0)
     end || _ <- [1]],
    ok = ringtail_test_cluster:wait(fun() -> element(1, fetch(C, Other, "tm", <<"once">>, "")) =:= 200 end),
    timer:sleep(500),
    ?assertMatch({200, _, <<"v">>}, fetch(C, Other, "tm", <<"once">>, "")).

many_at_once(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"many">>),
    Value = crypto:strong_rand_bytes(1048576),
    {204, _, _} = put(C, Primary, "t1", <<"many">>, "", Value),
    Answers = during(fun() -> ok end, [fun() -> fetch(C, Other, "t1", <<"many">>, "") end || _ <- lists:seq(1, 100)]),
    ?assertEqual([], [Status || {Status, _, Body} <- Answers, {Status, Body} =/= {200, Value}]),
    ?assertEqual(100, length(Answers)),
    %% No more are kept than may be idle.
    Idle = 16,
    ok = ringtail_test_cluster:wait(fun() -> length(rpc(C, Other, ringtail_test_probe, connected_to, [port(C, Primary)])) =< Idle end).

nodes_that_published_nothing(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"unpublished">>),
    [ok = rpc(C, Node, application, set_env, [ringtail, publish, false]) || Node <- nodes(C)],
    {ok, _} = {ok, rpc(C, Primary, riak_core_ring_manager, ring_trans, [fun ringtail_endpoints:publish/2, gone])},
    ok = ringtail_test_cluster:wait(fun() -> rpc(C, Other, ringtail_ring, endpoints, [Primary]) =:= [] end),
    ?assertMatch({204, _, _}, put(C, Other, "t1", <<"unpublished">>, "", <<"v">>)),
    {307, _, _} = Answer = fetch(C, Other, "t1", <<"unpublished">>, "?route=redirect"),
    ?assertEqual(route(C, Primary, "t1", <<"unpublished">>) ++ "?route=redirect", ringtail_test_http:header("location", Answer)),
    [ok = rpc(C, Node, application, unset_env, [ringtail, publish]) || Node <- nodes(C)],
    ok = ringtail_test_cluster:wait(fun() -> rpc(C, Other, ringtail_ring, endpoints, [Primary]) =/= [] end).

a_node_without_ringtail(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"without">>),
    {204, _, _} = put(C, Primary, "t1", <<"without">>, "", <<"before">>),
    ok = rpc(C, Primary, ringtail, stop, []),
    [begin
         ?assertMatch({503, _, _}, Answer),
         #{<<"error">> := <<"no_primary">>, <<"message">> := Message} = ringtail_test_http:json(Answer),
         ?assertNotEqual(nomatch, binary:match(Message, <<"ringtail:start()">>))
     end || Answer <- [fetch(C, Other, "t1", <<"without">>, ""), put(C, Other, "t1", <<"without">>, "", <<"after">>)]],
    ok = rpc(C, Primary, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(C),
    ?assertMatch({200, _, <<"before">>}, fetch(C, Other, "t1", <<"without">>, "")).

connections_go_when_the_application_stops(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"gone">>),
    {204, _, _} = put(C, Other, "t1", <<"gone">>, "", <<"v">>),
    Port = port(C, Primary),
    ?assertMatch([_ | _], rpc(C, Other, ringtail_test_probe, connected_to, [Port])),
    ok = rpc(C, Other, ringtail, stop, []),
    ok = ringtail_test_cluster:wait(fun() -> rpc(C, Other, ringtail_test_probe, connected_to, [Port]) =:= [] end),
    ok = rpc(C, Other, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(C).

%% ---- Inside ----

%% The results of these, run at once, while this is done.
during(Fun, Requests) ->
    Self = self(),
    Pids = [spawn_link(fun() -> Self ! {self(), Request()} end) || Request <- Requests],
    timer:sleep(500),
    Fun(),
    [receive {Pid, Result} -> Result end || Pid <- Pids].

restart(C, Node) ->
    ok = standin:restart(C, Node),
    ok = rpc(C, Node, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(C).

port(C, Node) -> list_to_integer(lists:last(string:tokens(standin:url(C, Node), ":"))).

c(Config) -> proplists:get_value(cluster, Config).

nodes(C) -> standin:nodes(C).

rpc(C, Node, M, F, A) -> standin:rpc(C, Node, M, F, A).

route(C, Node, Type, Key) -> ringtail_test_cluster:url(standin:url(C, Node), Type, {"b", binary_to_list(Key)}).

fetch(C, Node, Type, Key, Query) -> ringtail_test_http:request(get, route(C, Node, Type, Key) ++ Query).

put(C, Node, Type, Key, Query, Value) ->
    ringtail_test_http:request(put, route(C, Node, Type, Key) ++ Query, [], {"text/plain", Value}).

places(C, Type, Key) ->
    [Primary] = rpc(C, hd(nodes(C)), ringtail_test_probe, primary_nodes, [{list_to_binary(Type), <<"b">>}, Key]),
    {Primary, hd(nodes(C) -- [Primary])}.
