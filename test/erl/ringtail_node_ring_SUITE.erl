%% The snapshot in running nodes of the stand-in: it follows the ring, is lost and built again,
%% and costs no more than it must.
-module(ringtail_node_ring_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1, get/1]}]).

-import(ringtail_test_object, [c/1, nodes/1, rpc/5, get/3, token/2]).

all() ->
    [a_replaced_nif_gets_the_ring_anew, a_reload_was_answered_before_the_snapshot_was_there,
     late_answers_do_not_stay_in_the_mailbox, started_while_the_ring_changes,
     decisions_equal_riak_core_while_the_ring_changes, a_ring_storm_costs_few_builds,
     events_without_a_change_cost_no_build, token_is_the_same_on_all_nodes_once_settled,
     without_a_snapshot_503, whether_this_node_is_up_goes_with_every_ring, handlers_come_back,
     a_lost_snapshot_is_built_again].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) ->
    Options = #{nodes => 3, ring_size => 64, types => ringtail_test_cluster:types()},
    [{cluster, ringtail_test_cluster:bare(Options)} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

init_per_testcase(_, Config) ->
    ok = ringtail_test_cluster:begin_all(c(Config)),
    Config.

end_per_testcase(_, _) ->
    ok.

decisions_equal_riak_core_while_the_ring_changes(Config) ->
    C = c(Config),
    [One, Two | _] = nodes(C),
    ok = standin:ring_storm(C, One, #{kind => owners, rate => 10}),
    Compared = compared(C, Two),
    Changes = standin:stop_storm(C, One),
    ?assertEqual(ok, Compared),
    ?assert(Changes > 0).

%% Until the ring has changed meanwhile.
compared(C, Node) ->
    case rpc(C, Node, ringtail_test_probe, compare, [10000]) of
        {ok, Rings} when Rings > 1 -> ok;
        {ok, _} -> compared(C, Node);
        Different -> Different
    end.

%% 1,000 changes in a second: at most one build for each of the shortest rests, and then the
%% newest ring is the one seen.
a_ring_storm_costs_few_builds(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Before = rpc(C, Node, ringtail_ring, builds, []),
    Began = erlang:monotonic_time(millisecond),
    ok = standin:ring_storm(C, Node, #{kind => meta, rate => 1000, duration => 1000}),
    [?assertMatch({200, _, _}, get(C, Node, "/explore/clusters/default/preflist"))
     || _ <- lists:seq(1, 100)],
    timer:sleep(1000),
    _ = standin:stop_storm(C, Node),
    Took = erlang:monotonic_time(millisecond) - Began,
    ok = rpc(C, Node, ringtail_ring_follower, refresh, [5000]),
    Builds = rpc(C, Node, ringtail_ring, builds, []) - Before,
    ct:pal("~b builds in ~b ms", [Builds, Took]),
    ?assert(Builds >= 1),
    ?assert(Builds =< Took div 20 + 2).

events_without_a_change_cost_no_build(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    ok = standin:settle(C),
    ok = rpc(C, Node, ringtail_ring_follower, refresh, [5000]),
    [?assert(hears(C, Node, Manager))
     || Manager <- [riak_core_ring_events, riak_core_node_watcher_events]],
    ?assertEqual({builds, 0}, builds_while_nothing_changes(C, Node, 20)).

%% Rings still travel between the nodes after what went before: measured again when one arrived
%% meanwhile. The id is read before anything else, so that a ring that comes while the snapshot is
%% awaited counts as one.
builds_while_nothing_changes(C, Node, Tries) when Tries > 0 ->
    timer:sleep(300),
    Id = rpc(C, Node, riak_core_ring_manager, get_ring_id, []),
    ok = rpc(C, Node, ringtail_ring_follower, refresh, [5000]),
    Before = rpc(C, Node, ringtail_ring, builds, []),
    {ok, Ring} = rpc(C, Node, riak_core_ring_manager, get_my_ring, []),
    [ok = rpc(C, Node, riak_core_ring_events, ring_update, [Ring]) || _ <- lists:seq(1, 200)],
    timer:sleep(300),
    Builds = rpc(C, Node, ringtail_ring, builds, []) - Before,
    case rpc(C, Node, riak_core_ring_manager, get_ring_id, []) of
        Id -> {builds, Builds};
        _ -> builds_while_nothing_changes(C, Node, Tries - 1)
    end.

token_is_the_same_on_all_nodes_once_settled(Config) ->
    C = c(Config),
    ok = standin:settle(C),
    ok = ringtail_test_cluster:wait(fun() -> length(lists:usort([token(C, Node)
                                                                 || Node <- nodes(C)])) =:= 1 end),
    [First | _] = nodes(C),
    ?assert(ringtail_topology_history:is_token(token(C, First))).

without_a_snapshot_503(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    ok = rpc(C, Node, supervisor, terminate_child, [ringtail_sup, ringtail_ring_follower]),
    [begin
         Answer = get(C, Node, Path),
         ?assertMatch({Path, {503, _, _}}, {Path, Answer}),
         ?assertEqual("1", ringtail_test_http:header("retry-after", Answer)),
         ?assertMatch(#{<<"error">> := _, <<"message">> := _}, ringtail_test_http:json(Answer))
     end || Path <- ["/explore/clusters/default/preflist", "/explore/clusters/default/topology",
                     "/explore/clusters/default/bucket_types/t1/buckets/b/keys/k/preflist",
                     "/riak/primary/clusters/default/types/t1/buckets/b/keys/k"]],
    {ok, _} = rpc(C, Node, supervisor, restart_child, [ringtail_sup, ringtail_ring_follower]),
    ok = ringtail_test_cluster:serving(C, Node),
    ?assertMatch({200, _, _}, get(C, Node, "/explore/clusters/default/preflist")).

%% Riak drops a handler that fails, or restarts its event process. Over HTTP Riak's resource is
%% asked first and refuses by itself, so what the decision reads is asked for here.
whether_this_node_is_up_goes_with_every_ring(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    IsUp = fun() -> {ok, _, _, Up} = rpc(C, Node, ringtail_ring, here, []), Up end,
    Builds = fun() -> rpc(C, Node, ringtail_ring, builds, []) end,
    ?assert(IsUp()),
    ok = rpc(C, Node, riak_core_node_watcher, node_down, []),
    ok = ringtail_test_cluster:wait(fun() -> not IsUp() end),
    Before = Builds(),
    {ok, _} = rpc(C, Node, riak_core_ring_manager, ring_trans,
                  [fun ringtail_test_probe:mark/2, down]),
    ok = ringtail_test_cluster:wait(fun() -> Builds() > Before end),
    ?assertNot(IsUp()),
    ok = rpc(C, Node, riak_core_node_watcher, node_up, []),
    ok = ringtail_test_cluster:wait(IsUp).

handlers_come_back(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    [begin
         true = rpc(C, Node, erlang, exit, [rpc(C, Node, erlang, whereis, [Manager]), kill]),
         ok = ringtail_test_cluster:wait(fun() -> hears(C, Node, Manager) end)
     end || Manager <- [riak_core_ring_events, riak_core_node_watcher_events]].

%% A supervised handler links its owner with the event process.
hears(C, Node, Manager) ->
    {links, Links} = rpc(C, Node, erlang, process_info,
                         [rpc(C, Node, erlang, whereis, [ringtail_ring_follower]), links]),
    lists:member(rpc(C, Node, erlang, whereis, [Manager]), Links).

a_lost_snapshot_is_built_again(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    true = rpc(C, Node, erlang, exit,
               [rpc(C, Node, erlang, whereis, [ringtail_ring_follower]), kill]),
    Status = fun() -> element(1, get(C, Node, "/explore/clusters/default/preflist")) end,
    ok = ringtail_test_cluster:wait(fun() -> Status() =:= 200 end),
    ?assertEqual(serving, rpc(C, Node, ringtail_routes, state, [])).

%% Routes answered 503 foreign_ring after the NIF's module was loaded again, until the ring changed.
a_replaced_nif_gets_the_ring_anew(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Path = "/explore/clusters/default/bucket_types/t3/buckets/b/keys/k/preflist",
    {module, ringtail_nif} = rpc(C, Node, code, load_file, [ringtail_nif]),
    ?assertMatch({200, _, _}, get(C, Node, Path)),
    {module, ringtail_nif} = rpc(C, Node, code, load_file, [ringtail_nif]),
    ?assertMatch([_, _, _], rpc(C, Node, ringtail, primaries, [{<<"t3">>, <<"b">>}, <<"k">>])).

%% Whoever had asked then read the old ring from the table, and its answer was 503; the history
%% came later still.
a_reload_was_answered_before_the_snapshot_was_there(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    {ok, [{inserted, Keys} | Later]} = rpc(C, Node, ringtail_test_probe, reloaded, []),
    [?assert(lists:member(Key, Keys))
     || Key <- [ring, identity, headers, preflist, history, state]],
    ?assertEqual([answered], [Event || Event <- Later, Event =:= answered]).

late_answers_do_not_stay_in_the_mailbox(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    ?assertEqual({{error, timeout}, {ok, last}, {error, gone}, []},
                 rpc(C, Node, ringtail_test_probe, late_answers, [])).

%% The engine's snapshot was compared with riak_core's next ring, found to differ, and the routes
%% were taken out.
started_while_the_ring_changes(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    ok = standin:ring_storm(C, Node, #{kind => owners, rate => 200}),
    try
        [begin
             ok = rpc(C, Node, ringtail, stop, []),
             ok = rpc(C, Node, ringtail, start, []),
             States = [begin timer:sleep(20), rpc(C, Node, ringtail_routes, state, []) end
                       || _ <- lists:seq(1, 60)],
             ?assertEqual([], [State || {engine_refused, _, _} = State <- States]),
             ok = ringtail_test_cluster:wait(
                    fun() -> rpc(C, Node, ringtail_routes, state, []) =:= serving end)
         end || _ <- lists:seq(1, 5)]
    after
        standin:stop_storm(C, Node),
        standin:settle(C)
    end.

%% ---- Inside ----
