%% The application in running nodes of the stand-in: starting, stopping, following the ring,
%% surviving what it stands on.
-module(ringtail_node_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1, get/1]}]).

all() ->
    [start_serves_and_stop_leaves_the_node_as_it_was, started_twice,
     a_replaced_nif_gets_the_ring_anew,
     a_reload_was_answered_before_the_snapshot_was_there, late_answers_do_not_stay_in_the_mailbox,
     begin_and_end_were_not_in_the_log, why_it_cannot_serve_is_said_once,
     a_slow_server_does_not_hold_up_the_status,
     a_node_that_publishes_no_more_left_its_entry_in_the_ring,
     a_listener_that_went_stayed_in_the_ring,
     owners_are_printed_with_all_their_digits, started_while_the_ring_changes,
     decisions_equal_riak_core_while_the_ring_changes,
     a_ring_storm_costs_few_builds, events_without_a_change_cost_no_build,
     token_is_the_same_on_all_nodes_once_settled,
     console, routes_survive_the_router,
     a_node_that_shut_down_answered_with_riaks_own_routes, without_a_snapshot_503,
     whether_this_node_is_up_goes_with_every_ring, handlers_come_back,
     a_lost_snapshot_is_built_again,
     started_while_the_node_boots, endpoints_are_published_and_follow_the_configuration].

suite() -> [{timetrap, {seconds, 180}}].

init_per_suite(Config) ->
    [{cluster, ringtail_test_cluster:bare(#{nodes => 3, ring_size => 64, types => types()})}
     | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

types() ->
    [{<<"t1">>, [{n_val, 1}]}, {<<"t3">>, [{n_val, 3}]}, {<<"t5">>, [{n_val, 5}]},
     {<<"tb">>, [{chash_keyfun, {riak_core_util, chash_bucketonly_keyfun}}]},
     {<<"tc">>, [{n_val, 2}, {chash_keyfun, {ringtail_test_keyfun, by_prefix}}]}].

init_per_testcase(start_serves_and_stop_leaves_the_node_as_it_was, Config) ->
    Config;
init_per_testcase(_, Config) ->
    ok = ringtail_test_cluster:begin_all(c(Config)),
    Config.

end_per_testcase(_, _) ->
    ok.

start_serves_and_stop_leaves_the_node_as_it_was(Config) ->
    C = c(Config),
    Before = [{Node, rpc(C, Node, ringtail_test_probe, facts, [])} || Node <- nodes(C)],
    ok = ringtail_test_cluster:begin_all(C),
    [{200, _, _} = get(C, Node, "/explore/clusters/default/preflist") || Node <- nodes(C)],
    %% Some of these are forwarded, so that there are connections between the nodes to be left
    %% behind.
    [{204, _, _} = ringtail_test_http:request(put,
                                              ringtail_test_cluster:url(standin:url(C, Node), "t1",
                                                                        {"b", integer_to_list(K)}),
                                              [], {"text/plain", <<"x">>})
     || Node <- nodes(C), K <- lists:seq(1, 20)],
    [?assertNotEqual(Facts, rpc(C, Node, ringtail_test_probe, facts, []))
     || {Node, Facts} <- Before],
    [ok = rpc(C, Node, ringtail, stop, []) || Node <- nodes(C)],
    [ok = rpc(C, Node, ringtail, stop, []) || Node <- nodes(C)],
    [same(C, Node, Key, Value) || {Node, Facts} <- Before, {Key, Value} <- maps:to_list(Facts)],
    ok = ringtail_test_cluster:wait(
           fun() -> [] =:= [Meta || On <- nodes(C), Of <- nodes(C), Meta <- [published(C, On, Of)],
                                    Meta =/= {ringtail, 1, []}] end),
    [?assertMatch({404, _, _}, get(C, Node, "/explore/clusters/default/preflist"))
     || Node <- nodes(C)].

same(C, Node, Key, Value) ->
    Now = fun() -> maps:get(Key, rpc(C, Node, ringtail_test_probe, facts, [])) end,
    _ = ringtail_test_cluster:wait(fun() -> Now() =:= Value end, 5000),
    After = Now(),
    ?assertEqual({Node, Key, {gone, []}, {come, []}},
                 {Node, Key, {gone, Value -- After}, {come, After -- Value}}).

started_twice(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Routes = rpc(C, Node, webmachine_router, get_routes, []),
    ok = rpc(C, Node, ringtail, start, []),
    ok = rpc(C, Node, ringtail, start, []),
    ?assertEqual(Routes, rpc(C, Node, webmachine_router, get_routes, [])),
    ?assertEqual(length(Routes), length(lists:usort(Routes))).

decisions_equal_riak_core_while_the_ring_changes(Config) ->
    C = c(Config),
    [One, Two | _] = nodes(C),
    ok = standin:ring_storm(C, One, #{kind => owners, rate => 10}),
    Compared = rpc(C, Two, ringtail_test_probe, compare, [10000]),
    Changes = standin:stop_storm(C, One),
    ?assertMatch({ok, _}, Compared),
    {ok, Rings} = Compared,
    ?assert(Changes > 0),
    ?assert(Rings > 1).

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

routes_survive_the_router(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Routes = rpc(C, Node, webmachine_router, get_routes, []),
    Router = rpc(C, Node, erlang, whereis, [webmachine_router]),
    true = rpc(C, Node, erlang, exit, [Router, kill]),
    ok = ringtail_test_cluster:wait(fun() -> is_pid(rpc(C, Node, erlang, whereis,
                                                        [webmachine_router])) end),
    ok = ringtail_test_cluster:wait(fun() -> rpc(C, Node, webmachine_router, get_routes,
                                                 []) =:= Routes end),
    %% The list itself is lost when webmachine's supervisor is: our part of it comes back.
    [ok = rpc(C, Node, webmachine_router, remove_route, [Route])
     || Route <- rpc(C, Node, ringtail_routes, installed, [])],
    true = rpc(C, Node, erlang, exit, [rpc(C, Node, erlang, whereis, [webmachine_router]), kill]),
    ok = ringtail_test_cluster:wait(fun() -> lists:sort(rpc(C, Node, webmachine_router, get_routes,
                                                            [])) =:= lists:sort(Routes) end),
    ?assertMatch({200, _, _}, get(C, Node, "/explore/clusters/default/preflist")).

%% Its listeners are there to the end, and a path of ours without our routes is one of Riak's link
%% walks, or a method that is not allowed: as final an answer as there is.
a_node_that_shut_down_answered_with_riaks_own_routes(Config) ->
    C = c(Config),
    Node = lists:last(nodes(C)),
    Slow = ringtail_test_slow_stop,
    ok = rpc(C, Node, ringtail, stop, []),
    ok = rpc(C, Node, Slow, begin_it, []),
    ok = ringtail_test_cluster:begin_all(C),
    Url = standin:url(C, Node),
    Paths = ["/riak/primary/clusters/default/types/t1/buckets/b/keys/k",
             "/explore/clusters/default/preflist", "/ringtail/status"],
    ok = rpc(C, Node, init, stop, []),
    ok = ringtail_test_cluster:wait(
           fun() -> is_pid(rpc(C, Node, erlang, whereis, [Slow])) end),
    Answers = [ringtail_test_http:request(get, Url ++ Path) || Path <- Paths],
    Put = ringtail_test_http:request(put, Url ++ hd(Paths), [], {"text/plain", "v"}),
    ok = standin:kill(C, Node),
    ok = standin:restart(C, Node),
    ?assertEqual([503, 503, 200, 503], [Status || {Status, _, _} <- Answers ++ [Put]]).

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
    ok = ringtail_test_cluster:wait(fun() -> not IsUp() end, 2000),
    Before = Builds(),
    {ok, _} = rpc(C, Node, riak_core_ring_manager, ring_trans,
                  [fun ringtail_test_probe:mark/2, down]),
    ok = ringtail_test_cluster:wait(fun() -> Builds() > Before end, 5000),
    ?assertNot(IsUp()),
    ok = rpc(C, Node, riak_core_node_watcher, node_up, []),
    ok = ringtail_test_cluster:wait(IsUp, 2000).

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

started_while_the_node_boots(Config) ->
    C = c(Config),
    Node = lists:last(nodes(C)),
    ok = standin:restart(C, Node, #{boot_delay => 2000, until => listening}),
    ok = rpc(C, Node, ringtail, start, []),
    ?assertMatch({404, _, _}, get(C, Node, "/explore/clusters/default/preflist")),
    ?assertNotEqual(serving, rpc(C, Node, ringtail_routes, state, [])),
    ok = ringtail_test_cluster:wait(fun() -> rpc(C, Node, ringtail_routes, state,
                                                 []) =:= serving end),
    Status = fun() -> element(1, get(C, Node, "/explore/clusters/default/preflist")) end,
    ok = ringtail_test_cluster:wait(fun() -> Status() =:= 200 end).

endpoints_are_published_and_follow_the_configuration(Config) ->
    C = c(Config),
    [One, Two | _] = nodes(C),
    [?assertEqual([{http, <<"127.0.0.1">>, port(standin:url(C, Node))}],
                  [E || {http, _, _} = E <- rpc(C, One, ringtail_ring, endpoints, [Node])])
     || Node <- nodes(C)],
    Before = token(C, One),
    ok = rpc(C, Two, application, set_env, [ringtail, advertise, [{http, "riak.example", 80}]]),
    ok = ringtail_test_cluster:wait(fun() -> rpc(C, One, ringtail_ring, endpoints,
                                                 [Two]) =:= [{http, <<"riak.example">>, 80}] end),
    ?assertNotEqual(Before, token(C, One)),
    ok = rpc(C, Two, application, unset_env, [ringtail, advertise]),
    ok = ringtail_test_cluster:wait(fun() -> token(C, One) =:= Before end).

console(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Status = rpc(C, Node, ringtail, status, []),
    ?assertEqual(serving, proplists:get_value(state, Status)),
    ?assertEqual(64, proplists:get_value(ring_size, Status)),
    ?assertEqual(64, length(rpc(C, Node, ringtail, owners, []))),
    [{_, Primary}] = rpc(C, Node, ringtail, primaries, [{<<"t1">>, <<"b">>}, <<"k">>]),
    ?assertMatch([{{_, Primary}, primary}],
                 rpc(C, Node, ringtail, preflist, [{<<"t1">>, <<"b">>}, <<"k">>])),
    ?assertEqual(rpc(C, Node, ringtail, primaries, [<<"b">>, <<"k">>]),
                 rpc(C, Node, ringtail, primaries, [{<<"default">>, <<"b">>}, <<"k">>])),
    Where = rpc(C, Node, ringtail, where, [{<<"t1">>, <<"b">>}, <<"k">>]),
    ?assert(string:str(Where, "t1/b/k is on " ++ atom_to_list(Primary)) > 0),
    ?assert(string:str(rpc(C, Node, ringtail, where, [<<"b">>, <<0, 255>>]), "<<0,255>>") > 0),
    ?assertMatch({error, {no_type, _}},
                 rpc(C, Node, ringtail, where, [{<<"none">>, <<"b">>}, <<"k">>])),
    [?assert(is_list(rpc(C, Node, ringtail_console, text, [What])))
     || What <- [status, owners, topology]],
    ok = rpc(C, Node, ringtail, stop, []),
    ?assertMatch({error, {not_running, _}}, rpc(C, Node, ringtail, owners, [])),
    ?assertMatch({error, {not_running, _}}, rpc(C, Node, ringtail, where, [<<"b">>, <<"k">>])),
    ?assertMatch({error, {not_running, _}}, rpc(C, Node, ringtail, topology, [])),
    ?assertEqual(not_running, proplists:get_value(state, rpc(C, Node, ringtail, status, []))).

%% ---- Inside ----

c(Config) -> proplists:get_value(cluster, Config).

nodes(C) -> standin:nodes(C).

rpc(C, Node, M, F, A) -> standin:rpc(C, Node, M, F, A).

get(C, Node, Path) -> ringtail_test_http:request(get, standin:url(C, Node) ++ Path).

token(C, Node) ->
    ringtail_test_http:header("x-ringtail-topology",
                              get(C, Node, "/explore/clusters/default/preflist")).

port(Url) -> list_to_integer(lists:last(string:tokens(Url, ":"))).

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

begin_and_end_were_not_in_the_log(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    {ok, Version} = rpc(C, Node, application, get_key, [ringtail, vsn]),
    Routes = integer_to_list(length(rpc(C, Node, ringtail_routes, installed, []))),
    Said = logged(C, Node, Config,
                  fun() ->
                          ok = rpc(C, Node, ringtail, stop, []),
                          ok = rpc(C, Node, ringtail, start, []),
                          ok = ringtail_test_cluster:serving(C, Node)
                  end),
    ?assertEqual(["ringtail " ++ Version ++ ": stopped, its " ++ Routes ++ " routes are taken out",
                  "ringtail " ++ Version ++ ": serving " ++ Routes ++ " routes, engine nif"], Said).

why_it_cannot_serve_is_said_once(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Refused = fun() ->
                      {engine_refused, _, _} = rpc(C, Node, ringtail_routes, state, []),
                      true
              end,
    Looks = fun() -> element(4, rpc(C, Node, sys, get_state, [ringtail_routes])) end,
    Said = logged(C, Node, Config,
                  fun() ->
                          ok = rpc(C, Node, ringtail, stop, []),
                          ok = rpc(C, Node, application, set_env, [ringtail, engine, port]),
                          ok = rpc(C, Node, application, set_env,
                                   [ringtail, companion, "/nowhere"]),
                          ok = rpc(C, Node, ringtail, start, []),
                          ok = ringtail_test_cluster:wait(Refused),
                          ok = ringtail_test_cluster:wait(fun() -> Looks() >= 2 end, 60000),
                          ok = rpc(C, Node, application, unset_env, [ringtail, companion]),
                          ok = rpc(C, Node, application, unset_env, [ringtail, engine]),
                          ok = ringtail_test_cluster:serving(C, Node)
                  end),
    [Stopped, Cannot, Serving] = Said,
    ?assertMatch({match, _}, re:run(Stopped, "stopped")),
    ?assertMatch({match, _}, re:run(Cannot, "cannot serve, .*put the executable")),
    ?assertMatch({match, _}, re:run(Serving, "serving")).

%% What the application says while this is done.
logged(C, Node, Config, Fun) ->
    File = filename:join(proplists:get_value(priv_dir, Config), "said"),
    _ = file:delete(File),
    #{level := Level} = rpc(C, Node, logger, get_primary_config, []),
    ok = rpc(C, Node, logger, set_primary_config, [level, info]),
    ok = rpc(C, Node, error_logger, logfile, [{open, File}]),
    try
        Fun()
    after
        ok = rpc(C, Node, error_logger, logfile, [close]),
        ok = rpc(C, Node, logger, set_primary_config, [level, Level])
    end,
    {ok, Bytes} = file:read_file(File),
    [Line || "ringtail " ++ _ = Line <- string:tokens(binary_to_list(Bytes), "\n")].

a_slow_server_does_not_hold_up_the_status(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Servers = [ringtail_routes, ringtail_ring_follower, ringtail_endpoint_publisher],
    [ok = rpc(C, Node, sys, suspend, [Server]) || Server <- Servers],
    Answers = [get(C, Node, Path)
               || Path <- ["/ringtail/status", "/ringtail/metrics", "/ringtail"]],
    [ok = rpc(C, Node, sys, resume, [Server]) || Server <- Servers],
    ?assertMatch([{200, _, _}, {200, _, _}, {200, _, _}], Answers).

a_node_that_publishes_no_more_left_its_entry_in_the_ring(Config) ->
    C = c(Config),
    [One, Two | _] = nodes(C),
    {ringtail, 1, [_ | _]} = Before = published(C, One, Two),
    ok = rpc(C, Two, application, set_env, [ringtail, publish, false]),
    ok = everywhere(C, Two, {ringtail, 1, []}),
    ok = ringtail_test_cluster:wait(
           fun() -> rpc(C, One, ringtail_ring, endpoints, [Two]) =:= [] end),
    ok = rpc(C, Two, application, unset_env, [ringtail, publish]),
    ok = everywhere(C, Two, Before).

a_listener_that_went_stayed_in_the_ring(Config) ->
    C = c(Config),
    [One, Two | _] = nodes(C),
    {ringtail, 1, [_ | _]} = Before = published(C, One, Two),
    {ok, Listeners} = rpc(C, Two, application, get_env, [riak_api, http]),
    ok = rpc(C, Two, application, set_env, [riak_api, http, [{"198.51.100.7", 80}]]),
    Others = [E || {Scheme, _, _} = E <- element(3, Before), Scheme =/= http],
    ok = everywhere(C, Two, {ringtail, 1, [{http, <<"198.51.100.7">>, 80} | Others]}),
    ok = rpc(C, Two, application, set_env, [riak_api, http, []]),
    ok = everywhere(C, Two, {ringtail, 1, Others}),
    ok = rpc(C, Two, application, set_env, [riak_api, http, Listeners]),
    ok = everywhere(C, Two, Before).

%% In the rings themselves, and so in the snapshots.
everywhere(C, Of, Meta) ->
    ringtail_test_cluster:wait(
      fun() -> lists:all(fun(On) -> published(C, On, Of) =:= Meta end, nodes(C)) end, 60000).

published(C, On, Of) ->
    {ok, Ring} = rpc(C, On, riak_core_ring_manager, get_my_ring, []),
    rpc(C, On, riak_core_ring, get_member_meta, [Ring, Of, ringtail]).

%% An index can have 49 digits; one column less printed asterisks.
owners_are_printed_with_all_their_digits(Config) ->
    C = c(Config),
    [Node | _] = nodes(C),
    Owners = rpc(C, Node, ringtail, owners, []),
    Text = rpc(C, Node, ringtail_console, text, [owners]),
    [?assertNotEqual(0, string:str(Text, integer_to_list(Index))) || {Index, _} <- Owners],
    ?assertEqual(0, string:str(Text, "*")).

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
             ?assertEqual(serving, lists:last(States))
         end || _ <- lists:seq(1, 5)]
    after
        standin:stop_storm(C, Node),
        standin:settle(C)
    end.
