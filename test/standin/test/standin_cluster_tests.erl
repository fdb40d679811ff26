%% A cluster of real nodes: what they agree on, and what happens to data when
%% nodes die, return, join and leave.
-module(standin_cluster_tests).

-include_lib("eunit/include/eunit.hrl").

-import(standin_kv_client, [put/4, get/3, primaries/4, key_at/4]).

-define(TYPES, [{<<"n1">>, [{n_val, 1}]}, {<<"n3">>, [{allow_mult, false}]}]).

%% Tests of one cluster, in this order; each leaves it whole.
cluster_test_() ->
    Tests = [fun agree/1, fun native_route_crosses_nodes/1, fun fallback_and_back/1,
             fun quorums_mean_something/1, fun killed_node_disappears_and_returns/1,
             fun ring_change_arrives/1, fun one_node_with_another_ring/1, fun slow/1,
             fun storms/1, fun moving_ring_loses_nothing/1, fun custom_keyfun/1,
             fun listings/1, fun conditional_put/1, fun tombstones_are_reaped/1],
    {setup, fun() -> {ok, C} = standin:start_cluster(#{nodes => 4, types => ?TYPES}), C end,
     fun standin:stop_cluster/1,
     fun(C) ->
             [{timeout, 120, {atom_to_list(element(2, erlang:fun_info(T, name))),
                              fun() -> T(C) end}} || T <- Tests] end}.

membership_test_() -> {timeout, 180, fun membership/0}.

agree(C) ->
    Nodes = standin:nodes(C),
    ?assertEqual(Nodes, standin:up_nodes(C)),
    Rings = [standin:ring(C, N) || N <- Nodes],
    [First | _] = Rings,
    ?assertEqual(4, lists:sum([N || {_, {N, _}} <- riak_core_ring:ring_version(First)])),
    [?assertEqual(riak_core_ring:all_owners(First), riak_core_ring:all_owners(R)) || R <- Rings],
    ?assertEqual(lists:zip(Nodes, Nodes),
                 [{riak_core_ring:owner_node(R), N} || {R, N} <- lists:zip(Rings, Nodes)]),
    [?assertEqual([{N, valid} || N <- Nodes], riak_core_ring:all_member_status(R)) || R <- Rings],
    %% Four in a row are four nodes.
    [?assertEqual(4,
                  length(lists:usort([N
                                      || {_,
                                          N} <- lists:sublist(riak_core_ring:preflist(<<(I):160>>,
                                                                                      First), 4)])))
     || {I, _} <- riak_core_ring:all_owners(First)].

native_route_crosses_nodes(C) ->
    [N1, N2 | _] = standin:nodes(C),
    Path = key_at(C, N1, "n1", "cross"),
    Value = binary:copy(<<"x">>, 1024 * 1024),
    ok = standin:reset_traffic(C),
    204 = put(C, N1, Path, Value),
    {200, Value} = get(C, N1, Path),
    #{total := Local} = standin:traffic(C),
    ?assert(Local < 100 * 1024),
    {200, Value} = get(C, N2, Path),
    #{dist := Crossed, http := 0, connections := 0} = standin:traffic(C),
    ?assert(Crossed >= 1024 * 1024),
    ?assert(Crossed < 1024 * 1024 + 200 * 1024),
    204 = put(C, N2, Path, Value),
    #{dist := Twice} = standin:traffic(C),
    ?assert(Twice - Crossed >= 1024 * 1024),
    ?assert(Twice - Crossed < 1024 * 1024 + 200 * 1024).

fallback_and_back(C) ->
    [N1, N2 | _] = standin:nodes(C),
    Path = key_at(C, N2, "n1", "fallback"),
    204 = put(C, N1, Path, <<"before">>),
    ok = standin:kill(C, N2),
    ok = standin:settle(C),
    ?assertMatch({404, _}, get(C, N1, Path)),
    %% Riak's own route writes to a fallback while the primary is away.
    204 = put(C, N1, Path, <<"meanwhile">>),
    ?assertMatch({503, <<"PW-value", _/binary>>}, wrote(C, N1, Path, "?pw=1")),
    ?assertMatch({503, <<"PR-value", _/binary>>}, read(C, N1, Path, "?pr=1")),
    ok = standin:restart(C, N2),
    ok = standin:settle(C),
    %% Both versions are home: the one kept over the restart, the one handed back.
    ok = eventually(fun() ->
        case get(C, N2, Path) of
            {300, Text} -> length(binary:split(Text, <<"\n">>, [global, trim])) =:= 3;
            {200, <<"before">>} -> false
        end
    end).

wrote(C, Node, {T, B, K}, Query) ->
    {Code, _, _, Body} = standin_kv_client:request(C, Node, "PUT",
                                                   lists:concat(["/types/", T, "/buckets/", B,
                                                                 "/keys/", K, Query]),
                                                   [{"Content-Type", "text/plain"}], <<"v">>),
    {Code, iolist_to_binary(Body)}.

read(C, Node, {T, B, K}, Query) ->
    get(C, Node, lists:concat(["/types/", T, "/buckets/", B, "/keys/", K, Query])).

quorums_mean_something(C) ->
    [N1 | _] = Nodes = standin:nodes(C),
    Path = key_at(C, N1, "n3", "quorum"),
    Primaries = [N || {_, N} <- primaries(C, N1, Path, 3)],
    [_, P2, P3] = Primaries,
    ?assertEqual(3, length(lists:usort(Primaries))),
    204 = put(C, N1, Path, <<"v1">>),
    ?assertMatch({204, _}, wrote(C, N1, Path, "?pw=3")),
    [ok = standin:kill(C, N) || N <- [P2, P3]],
    ok = standin:settle(C),
    ?assertEqual({503, <<"PW-value unsatisfied: 1/2\n">>}, wrote(C, N1, Path, "?pw=2")),
    ?assertEqual({503, <<"PR-value unsatisfied: 1/3\n">>}, read(C, N1, Path, "?pr=3")),
    ?assertMatch({204, _}, wrote(C, N1, Path, "?w=3")),
    ?assertMatch({200, _}, read(C, N1, Path, "?pr=1&r=1")),
    ?assertMatch({400, _}, read(C, N1, Path, "?r=4")),
    [ok = standin:restart(C, N) || N <- [P2, P3]],
    ok = standin:settle(C),
    ?assertEqual(Nodes, standin:up_nodes(C)),
    ok = eventually(fun() -> {200, <<"v">>} =:= read(C, P3, Path, "?r=3&pr=3") end).

killed_node_disappears_and_returns(C) ->
    [N1, _, _, N4] = standin:nodes(C),
    Up = fun() -> standin:rpc(C, N1, riak_core_node_watcher, nodes, [riak_kv]) end,
    ?assert(lists:member(N4, Up())),
    Old = standin:url(C, N4),
    ok = standin:kill(C, N4),
    ok = eventually(fun() -> not lists:member(N4, Up()) end, 500),
    ok = standin:restart(C, N4, #{ports => new}),
    ok = eventually(fun() -> lists:member(N4, Up()) end, 2000),
    ?assertNotEqual(Old, standin:url(C, N4)),
    %% Port, environment and membership are as they should be after it.
    #{port := Port} = uri_string:parse(standin:url(C, N4)),
    ?assertEqual({ok, [{"127.0.0.1", Port}]},
                 standin:rpc(C, N4, application, get_env, [riak_api, http])),
    ?assertEqual(valid, riak_core_ring:member_status(standin:ring(C, N4), N4)).

ring_change_arrives(C) ->
    [N1 | _] = Nodes = standin:nodes(C),
    Ids = [standin:rpc(C, N, riak_core_ring_manager, get_ring_id, []) || N <- Nodes],
    ok = standin:rpc(C, N1, standin_node, eval,
                     ["{ok, _} = riak_core_ring_manager:ring_trans(fun(R, _) -> "
                      "{new_ring, riak_core_ring:update_member_meta(node(), R, node(), port, 7)} "
                      "end, []), ok."]),
    ok = eventually(fun() -> [7, 7, 7,
                              7] =:= [riak_core_ring:get_member_meta(standin:ring(C, N), N1, port)
                                      || N <- Nodes] end, 1000),
    [?assert(standin:rpc(C, N, riak_core_ring_manager, get_ring_id, []) > Id)
     || {N, Id} <- lists:zip(Nodes, Ids)],
    %% The ring that readers get is marked, the raw one is not.
    {ok, My} = standin:rpc(C, N1, riak_core_ring_manager, get_my_ring, []),
    ?assertEqual({ok, true}, riak_core_ring:get_meta(riak_core_ring_tainted, My)),
    ?assertEqual(undefined, riak_core_ring:get_meta(riak_core_ring_tainted, standin:ring(C, N1))),
    ok = eventually(fun() -> standin:rpc(C, N1, riak_core_ring, ring_ready, []) end, 20000).

one_node_with_another_ring(C) ->
    [N1, N2 | _] = Nodes = standin:nodes(C),
    [{Index, Owner} | _] = riak_core_ring:all_owners(standin:ring(C, N1)),
    Other = hd(Nodes -- [Owner]),
    ok = standin:set_ring(C, N2, fun(R) -> riak_core_ring:transfer_node(Index, Other, R) end),
    timer:sleep(1500),
    Says = fun(N) -> riak_core_ring:index_owner(standin:ring(C, N), Index) end,
    ?assertEqual({Owner, Other}, {Says(N1), Says(N2)}),
    ok = standin:heal(C, N2),
    ok = eventually(fun() -> length(lists:usort([Says(N) || N <- Nodes])) =:= 1 end).

slow(C) ->
    [N1 | _] = standin:nodes(C),
    ok = standin:slow_node(C, N1, 300),
    {Time, _} = timer:tc(fun() -> get(C, N1, {"n3", "slow", "k"}) end),
    ok = standin:slow_node(C, N1, 0),
    ?assert(Time >= 300000).

storms(C) ->
    [N1 | _] = Nodes = standin:nodes(C),
    Before = standin:rpc(C, N1, standin_storm, count, []),
    ok = standin:ring_storm(C, N1, #{kind => meta, rate => 1000, duration => 1000}),
    timer:sleep(1500),
    Changes = standin:stop_storm(C, N1) - Before,
    ?assert(Changes > 300),
    Last = fun(N) -> riak_core_ring:get_meta({standin, storm}, standin:ring(C, N)) end,
    ok = eventually(fun() -> length(lists:usort([Last(N) || N <- Nodes])) =:= 1 end).

%% Partitions travel while clients read and write: no error, nothing lost.
moving_ring_loses_nothing(C) ->
    [N1, N2 | _] = standin:nodes(C),
    Paths = [{"n1", "moving", integer_to_list(I)} || I <- lists:seq(1, 200)],
    [204 = put(C, N2, P, <<"0">>) || P <- Paths],
    ok = standin:ring_storm(C, N1, #{kind => owners, rate => 4}),
    Before = riak_core_ring:all_owners(standin:ring(C, N1)),
    Rounds = [[begin
                   %% Read, then write with what was read: one version stays.
                   {200, _, Headers, _} = standin_kv_client:request(C, N2, "GET", P, [], none),
                   Clock = standin_wm_client:header("x-riak-vclock", Headers),
                   {204, _, _, _} = standin_kv_client:request(C, N2, "PUT", P,
                                                              [{"Content-Type", "text/plain"},
                                                               {"X-Riak-Vclock", Clock}],
                                                             integer_to_binary(R))
               end || P <- Paths] || R <- lists:seq(1, 10)],
    ?assert(standin:stop_storm(C, N1) > 0),
    ?assertEqual(10, length(Rounds)),
    ok = standin:settle(C),
    ?assertNotEqual(Before, riak_core_ring:all_owners(standin:ring(C, N1))),
    ?assertEqual([{200, <<"10">>} || _ <- Paths], [get(C, N1, P) || P <- Paths]).

custom_keyfun(C) ->
    [N1 | _] = standin:nodes(C),
    ok = standin:create_type(C, <<"custom">>, [{chash_keyfun, {standin_keyfun, first_byte}}]),
    Props = standin:rpc(C, N1, riak_core_bucket, get_bucket, [{<<"custom">>, <<"b">>}]),
    ?assertEqual({standin_keyfun, first_byte}, proplists:get_value(chash_keyfun, Props)),
    Hash = fun(K) ->
                   standin:rpc(C, N1, riak_core_util, chash_key,
                               [{{<<"custom">>, <<"b">>}, K}]) end,
    ?assertEqual(Hash(<<"abc">>), Hash(<<"axyz">>)),
    ?assertNotEqual(Hash(<<"abc">>), Hash(<<"bbc">>)),
    204 = put(C, N1, {"custom", "b", "abc"}, <<"v">>),
    ?assertEqual({200, <<"v">>}, get(C, N1, {"custom", "b", "abc"})).

listings(C) ->
    [N1, N2 | _] = standin:nodes(C),
    Keys = [iolist_to_binary(io_lib:format("k~3..0b", [I])) || I <- lists:seq(1, 100)],
    [204 = put(C, N1, {"n3", "list", binary_to_list(K)}, <<"v">>) || K <- Keys],
    {200, Body} = get(C, N2, "/types/n3/buckets/list/keys?keys=true"),
    {struct, [{<<"keys">>, Listed}]} = mochijson2:decode(Body),
    ?assertEqual(Keys, lists:sort(Listed)),
    {200, Buckets} = get(C, N2, "/types/n3/buckets?buckets=true"),
    {struct, [{<<"buckets">>, Names}]} = mochijson2:decode(Buckets),
    ?assert(lists:member(<<"list">>, Names)),
    {200, Map} = get_json(C, N1, "/"),
    {struct, Resources} = mochijson2:decode(Map),
    ?assertEqual(<<"/ping">>, proplists:get_value(<<"riak_kv_wm_ping">>, Resources)).

get_json(C, Node, Path) ->
    {Code, _, _, Body} = standin_kv_client:request(C, Node, "GET", Path,
                                                   [{"Accept", "application/json"}], none),
    {Code, iolist_to_binary(Body)}.

conditional_put(C) ->
    [N1 | _] = standin:nodes(C),
    Path = {"n3", "cond", "k"},
    Put = fun(Headers) ->
        {Code, _, _, _} = standin_kv_client:request(C, N1, "PUT", Path,
                                                    [{"Content-Type", "text/plain"} | Headers],
                                                    <<"v">>),
        Code
    end,
    ?assertEqual(204, Put([{"If-None-Match", "*"}])),
    ?assertEqual(412, Put([{"If-None-Match", "*"}])),
    {200, _, Headers, _} = standin_kv_client:request(C, N1, "GET", Path, [], none),
    Clock = standin_wm_client:header("x-riak-vclock", Headers),
    ?assertEqual(204, Put([{"X-Riak-If-Not-Modified", Clock}, {"X-Riak-Vclock", Clock}])),
    ?assertEqual(409, Put([{"X-Riak-If-Not-Modified", Clock}, {"X-Riak-Vclock", Clock}])).

tombstones_are_reaped(C) ->
    [N1 | _] = standin:nodes(C),
    Path = {"n1", "tomb", "k"},
    204 = put(C, N1, Path, <<"v">>),
    204 = standin_kv_client:delete(C, N1, Path),
    Deleted = fun() ->
        {404, _, Headers, _} = standin_kv_client:request(C, N1, "GET", Path, [], none),
        standin_wm_client:header("x-riak-deleted", Headers)
    end,
    ?assertNotEqual(undefined, Deleted()),
    ok = eventually(fun() -> Deleted() =:= undefined end, 10000).

membership() ->
    {ok, C} = standin:start_cluster(#{nodes => 3, ring_size => 32, types => ?TYPES}),
    try
        [N1, N2, N3] = standin:nodes(C),
        Paths = [{"n1", "moves", integer_to_list(I)} || I <- lists:seq(1, 300)],
        [204 = put(C, N1, P, <<"v">>) || P <- Paths],
        Whole = fun(Node) ->
                        ?assertEqual([], [P || P <- Paths, get(C, Node, P) =/= {200, <<"v">>}]) end,
        %% One more.
        {ok, N4} = standin:add_node(C, #{}),
        ok = standin:join(C, N4, #{flip => each}),
        ok = standin:settle(C),
        ?assertEqual(lists:sort([N1, N2, N3, N4]), standin_kv_client:owners(C, N2)),
        Whole(N4),
        %% One leaves, and is seen leaving: rvsn one higher with the plan, two
        %% more at the end; the owners change at once and last.
        Sum = fun(R) -> lists:sum([N || {_, {N, _}} <- riak_core_ring:ring_version(R)]) end,
        R0 = standin:ring(C, N1),
        Self = self(),
        spawn_link(fun() -> ok = standin:leave(C, N2, #{pace => 60}), Self ! left end),
        ok = eventually(fun() ->
                                Seen = standin:ring(C, N3),
                                riak_core_ring:member_status(Seen, N2) =:= leaving
                                    andalso riak_core_ring:pending_changes(Seen) =/= []
                        end),
        R1 = standin:ring(C, N3),
        ?assertEqual(Sum(R0) + 1, Sum(R1)),
        ?assertEqual(riak_core_ring:all_owners(R0), riak_core_ring:all_owners(R1)),
        ok = eventually(fun() -> [S
                                  || {_, _, _, _,
                                      S} <- riak_core_ring:pending_changes(standin:ring(C, N3)),
                                      S =:= complete] =/= [] end),
        Whole(N1),
        receive left -> ok after 60000 -> error(did_not_leave) end,
        ok = standin:settle(C),
        R2 = standin:ring(C, N1),
        ?assertEqual(Sum(R0) + 3, Sum(R2)),
        ?assertEqual(invalid, riak_core_ring:member_status(R2, N2)),
        ?assertEqual(lists:sort([N1, N3, N4]), standin_kv_client:owners(C, N1)),
        ?assertNot(lists:member(N2, standin:up_nodes(C))),
        Whole(N3),
        %% The claimant leaves too.
        ok = standin:leave(C, N1),
        ok = standin:settle(C),
        ?assertEqual(lists:sort([N3, N4]), standin_kv_client:owners(C, N3)),
        Whole(N4),
        %% One is replaced by a new one.
        {ok, N5} = standin:add_node(C, #{}),
        ok = standin:replace(C, N4, N5),
        ok = standin:settle(C),
        ?assertEqual(lists:sort([N3, N5]), standin_kv_client:owners(C, N3)),
        Whole(N5),
        %% All restart at once, on new ports, and have everything.
        Nodes = standin:up_nodes(C),
        [ok = standin:stop(C, N) || N <- Nodes],
        [ok = standin:restart(C, N, #{ports => new}) || N <- Nodes],
        ok = standin:settle(C),
        Whole(N3)
    after standin:stop_cluster(C)
    end.

eventually(Condition) -> eventually(Condition, 5000).

eventually(Condition, Left) when Left =< 0 -> ?assert(Condition()), ok;
eventually(Condition, Left) ->
    case Condition() of
        true -> ok;
        false -> timer:sleep(50), eventually(Condition, Left - 50)
    end.
