%% The application in running nodes of the stand-in: starting, stopping, its routes, what it
%% publishes and says.
-module(ringtail_node_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1, get/1]}]).

-import(ringtail_test_object, [c/1, nodes/1, rpc/5, get/3, token/2]).

all() ->
    [start_serves_and_stop_leaves_the_node_as_it_was, started_twice,
     begin_and_end_were_not_in_the_log, why_it_cannot_serve_is_said_once,
     a_slow_server_does_not_hold_up_the_status,
     a_node_that_publishes_no_more_left_its_entry_in_the_ring,
     a_listener_that_went_stayed_in_the_ring, owners_are_printed_with_all_their_digits, console,
     routes_survive_the_router, a_node_that_shut_down_answered_with_riaks_own_routes,
     started_while_the_node_boots, endpoints_are_published_and_follow_the_configuration].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) ->
    Options = #{nodes => 3, ring_size => 64, types => ringtail_test_cluster:types()},
    [{cluster, ringtail_test_cluster:bare(Options)} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

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
    _ = ringtail_test_cluster:wait(fun() -> Now() =:= Value end),
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

%% ---- Inside ----

port(Url) -> list_to_integer(lists:last(string:tokens(Url, ":"))).
