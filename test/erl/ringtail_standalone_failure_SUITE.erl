%% @doc What goes wrong around the standalone mode: clusters that do not answer or are away, callers
%% that go, a companion that is killed, primaries that are down.
-module(ringtail_standalone_failure_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).
-import(ringtail_test_clusters, [get/2, get/3, object/5, requests/1]).
-import(ringtail_test_standalone, [vm/1, rpc/4, path/1, connect/2]).

-define(HTTP, ringtail_test_http).
-define(MIB, 1048576).

all() ->
    [slow_cluster_delays_no_other, dead_callers_leave_nothing, companion_killed,
     companion_killed_while_a_body_passes, primary_down, cluster_out_of_reach_and_back,
     clusters_change_in_a_console].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) -> ringtail_test_clusters:start(Config).

end_per_suite(Config) -> ringtail_test_clusters:stop(Config).

%% All are served while those requests still hang.
slow_cluster_delays_no_other(Config) ->
    Vm = vm(Config),
    Slow = object(Config, "tarpit", "default", "b", "k"),
    Stuck = [spawn_monitor(fun() -> ?HTTP:request(get, Slow) end) || _ <- lists:seq(1, 100)],
    ok = ringtail_test_cluster:wait(fun() -> requests(Vm) >= 100 end),
    Url = object(Config, "prod", "one", "b", "quick"),
    {204, _, _} = ?HTTP:request(put, Url, [], {"a/b", <<"x">>}),
    [{200, _, <<"x">>} = ?HTTP:request(get, Url) || _ <- lists:seq(1, 50)],
    ?assertEqual([], [Pid || {Pid, _} <- Stuck, not is_process_alive(Pid)]),
    [exit(Pid, kill) || {Pid, _} <- Stuck].

%% The client of a request that hangs goes away: nothing of it is left.
dead_callers_leave_nothing(Config) ->
    Vm = vm(Config),
    Slow = object(Config, "tarpit", "default", "b", "k"),
    Sockets = [begin
                   Socket = connect(Slow, [{recbuf, 65536}]),
                   ok = gen_tcp:send(Socket, ["GET ", path(Slow),
                                              "?timeout=3000 HTTP/1.1\r\nHost: x\r\n\r\n"]),
                   Socket
               end || _ <- lists:seq(1, 20)],
    ok = ringtail_test_cluster:wait(fun() -> requests(Vm) >= 20 end),
    [gen_tcp:close(Socket) || Socket <- Sockets],
    ok = ringtail_test_cluster:wait(fun() -> requests(Vm) =:= 0 end, 60000).

companion_killed(Config) ->
    Vm = vm(Config),
    Url = object(Config, "prod", "one", "b", "survivor"),
    {204, _, _} = ?HTTP:request(put, Url, [], {"a/b", <<"x">>}),
    [begin
         kill_companion(Vm),
         %% A read finds the next companion; a write that did not begin does, too.
         ?assertMatch({200, _, <<"x">>}, again(fun() -> ?HTTP:request(get, Url) end)),
         ?assertMatch({204, _,
                       _}, again(fun() -> ?HTTP:request(put, Url, [], {"a/b", <<"x">>}) end))
     end || _ <- [1, 2, 3]],
    ?assertMatch({200, _, _}, get(Config, "/explore/clusters/prod/preflist")).

%% A clear error or success, and success before long.
again(Request) -> again(Request, 600).

again(Request, Left) ->
    case Request() of
        {Status, _, Body} when Status =:= 502; Status =:= 503 ->
            ?assertMatch({struct, [{<<"error">>, _} | _]}, mochijson2:decode(Body)),
            ?assert(Left > 0),
            timer:sleep(100),
            again(Request, Left - 1);
        Answer ->
            Answer
    end.

kill_companion(Vm) ->
    {os_pid, Pid} = lists:keyfind(os_pid, 1, rpc(Vm, ringtail_companion, status, [])),
    [os:cmd("kill -9 " ++ integer_to_list(Pid)) || is_integer(Pid)].

companion_killed_while_a_body_passes(Config) ->
    Vm = vm(Config),
    Url = object(Config, "prod", "one", "b", "cut"),
    {204, _, _} = ?HTTP:request(put, Url, [], {"a/b", crypto:strong_rand_bytes(20 * ?MIB)}),
    Reader = connect(Url, [{recbuf, 65536}]),
    ok = gen_tcp:send(Reader, ["GET ", path(Url), " HTTP/1.1\r\nHost: x\r\n\r\n"]),
    {ok, _} = gen_tcp:recv(Reader, 100000),
    Writer = connect(Url, [{recbuf, 65536}]),
    ok = gen_tcp:send(Writer, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                               "Content-Type: a/b\r\nContent-Length: ",
                               integer_to_list(20 * ?MIB), "\r\n\r\n",
                               crypto:strong_rand_bytes(10 * ?MIB)]),
    kill_companion(Vm),
    %% The reader sees that the body is short.
    ?assert(drained(Reader, 100000) < 20 * ?MIB),
    ok = gen_tcp:send(Writer, crypto:strong_rand_bytes(10 * ?MIB)),
    {ok, Answer} = gen_tcp:recv(Writer, 0, 30000),
    ?assertMatch(<<"HTTP/1.1 502", _/binary>>, Answer),
    [gen_tcp:close(Socket) || Socket <- [Reader, Writer]],
    {200, _, Whole} = again(fun() -> ?HTTP:request(get, Url) end),
    ?assertEqual(20 * ?MIB, byte_size(Whole)).

drained(Socket, Got) ->
    case gen_tcp:recv(Socket, 0, 30000) of
        {ok, More} -> drained(Socket, Got + byte_size(More));
        {error, closed} -> Got
    end.

primary_down(Config) ->
    Prod = proplists:get_value(prod, Config),
    [Node | _] = standin:nodes(Prod),
    Keys = [Key || N <- lists:seq(1, 100), Key <- ["down" ++ integer_to_list(N)],
                   [{_, Owner}] <- [standin:rpc(Prod, Node, ringtail, primaries,
                                                [{<<"one">>, <<"b">>}, list_to_binary(Key)])],
                   Owner =/= Node],
    [_, Other] = standin:nodes(Prod),
    Url = object(Config, "prod", "one", "b", hd(Keys)),
    {204, _, _} = ?HTTP:request(put, Url, [], {"a/b", <<"x">>}),
    ok = standin:kill(Prod, Other),
    [begin
         {503, _, _} = Answer = Request(),
         ?assertMatch(#{<<"error">> := <<"no_primary">>}, ?HTTP:json(Answer))
     end || Request <- [fun() -> ?HTTP:request(get, Url) end,
                        fun() -> ?HTTP:request(put, Url, [], {"a/b", <<"y">>}) end]],
    ok = standin:restart(Prod, Other),
    ok = standin:rpc(Prod, Other, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(Prod),
    ok = ringtail_test_cluster:wait(fun() -> {200, _, <<"x">>} = ?HTTP:request(get, Url), true end).

cluster_out_of_reach_and_back(Config) ->
    Vm = vm(Config),
    Lab = proplists:get_value(lab, Config),
    [Node] = standin:nodes(Lab),
    Path = "/explore/clusters/lab/preflist",
    {200, _, Map} = get(Config, Path),
    ok = standin:stop(Lab, Node),
    ok = rpc(Vm, ringtail_remote_clusters, refresh, ["lab", 20000]),
    timer:sleep(1100),
    {200, _, Map} = Stale = get(Config, Path),
    ?assertEqual("110 - \"Response is Stale\"", ?HTTP:header("Warning", Stale)),
    ?assert(list_to_integer(?HTTP:header("Age", Stale)) >= 1),
    {200, _, _} = Topology = get(Config, "/explore/clusters/lab/topology"),
    ?assert(is_list(?HTTP:header("Warning", Topology))),
    {503, _, _} = get(Config,
                      "/riak/primary/clusters/lab/types/default/buckets/b/keys/k?route=proxy"),
    {503, _, _} = get(Config,
                      "/explore/clusters/lab/bucket_types/default/buckets/b/keys/k/preflist"),
    ?assertMatch(#{<<"clusters">> := #{<<"lab">> := #{<<"condition">> := <<"stale">>,
                                                      <<"error">> := _}}},
                 ?HTTP:json(get(Config, "/ringtail/status"))),
    ok = standin:restart(Lab, Node),
    ok = standin:rpc(Lab, Node, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(Lab),
    ok = ringtail_test_cluster:wait(fun() -> ?HTTP:header("Warning",
                                                          get(Config, Path)) =:= undefined end),
    Object = "/riak/primary/clusters/lab/types/default/buckets/b/keys/k?route=proxy",
    ?assertMatch({404, _, _}, get(Config, Object)).

clusters_change_in_a_console(Config) ->
    Vm = vm(Config),
    {ok, Clusters} = rpc(Vm, application, get_env, [ringtail, clusters]),
    {prod, Seeds} = lists:keyfind(prod, 1, Clusters),
    ok = rpc(Vm, application, set_env,
             [ringtail, clusters, [{new, Seeds}, {bad, []} | lists:keydelete(prod, 1, Clusters)]]),
    Status = fun(Name) ->
                     element(1, get(Config, "/explore/clusters/" ++ Name ++ "/preflist")) end,
    ok = ringtail_test_cluster:wait(fun() -> Status("new") =:= 200 end),
    ok = ringtail_test_cluster:wait(fun() -> Status("prod") =:= 404 end),
    ?assertMatch(#{<<"problems">> := [_]}, ?HTTP:json(get(Config, "/ringtail/status"))),
    ok = rpc(Vm, application, set_env, [ringtail, clusters, Clusters]),
    ok = ringtail_test_cluster:wait(fun() -> Status("prod") =:= 200 end).
