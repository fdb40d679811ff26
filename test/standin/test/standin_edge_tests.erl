%% What surrounds a cluster: https and users, a slow boot, bytes counted between
%% nodes, ports taken over, indexes, code put first on the path, and that no
%% process stays behind.
-module(standin_edge_tests).

-include_lib("eunit/include/eunit.hrl").

-import(standin_kv_client, [put/4, get/3, key_at/4]).

all_test_() ->
    [{timeout, 90, T}
     || T <- [fun security/0, fun security_over_http/0, fun boot_delay/0,
              fun http_between_nodes_is_counted/0,
              fun address_taken_over/0, fun indexes/0, fun patches_come_first/0,
              fun restart_keeps_or_forgets/0, fun stop_leaves_nothing/0,
              fun nodes_end_with_their_controller/0, fun failed_start_says_why/0,
              fun script/0]].

with(Options, Fun) ->
    {ok, C} = standin:start_cluster(Options),
    try Fun(C) after standin:stop_cluster(C) end.

%% --- users ---

security() ->
    Users = [{"reader", "secret", [{"t", ["riak_kv.get"]}]},
             {"writer", "geheim", [{{"t", "b"}, ["riak_kv.get", "riak_kv.put", "riak_kv.delete"]}]},
             {"both", "x:y", [{any, ["riak_kv.get", "riak_kv.put"]}]}],
    with(#{nodes => 2, https => true, types => [{<<"t">>, [{n_val, 1}]}], security => Users},
         fun(C) ->
        [N1 | _] = standin:nodes(C),
        #{cacertfile := CA} = standin:tls(C),
        Ask = fun(User, Method, Bucket) ->
            %% By name: httpc of OTP 25 does not match an address.
            Url = re:replace(standin:url(C, N1, https), "127.0.0.1", "localhost", [{return, list}])
                ++ "/types/t/buckets/" ++ Bucket ++ "/keys/k",
            Auth = [{"authorization", "Basic " ++ base64:encode_to_string(User)} || User =/= none],
            Request = case Method of put -> {Url, Auth, "text/plain", "v"}; _ -> {Url, Auth} end,
            Tls = [{verify, verify_peer}, {cacertfile, CA}],
            {ok, {{_, Code, _}, _, Body}} = httpc:request(Method, Request, [{ssl, Tls}], []),
            {Code, Body}
        end,
        {ok, _} = application:ensure_all_started(inets),
        {ok, _} = application:ensure_all_started(ssl),
        ?assertMatch({401, _}, Ask(none, get, "b")),
        ?assertMatch({401, _}, Ask("reader:wrong", get, "b")),
        ?assertMatch({401, _}, Ask("nobody:secret", get, "b")),
        ?assertMatch({204, _}, Ask("writer:geheim", put, "b")),
        ?assertEqual({200, "v"}, Ask("writer:geheim", get, "b")),
        ?assertEqual({200, "v"}, Ask("reader:secret", get, "b")),
        ?assertEqual({403, "Permission denied: User 'reader' does not have 'riak_kv.put' on t/b"},
                     Ask("reader:secret", put, "b")),
        ?assertMatch({403, _}, Ask("reader:secret", delete, "b")),
        ?assertMatch({403, _}, Ask("writer:geheim", get, "other")),
        ?assertMatch({404, _}, Ask("both:x:y", get, "other")),
        %% A grant that is taken away holds at once, on every node.
        ok = standin:rpc(C, N1, riak_core_security, add_revoke,
                         [["writer"], {"t", "b"}, ["riak_kv.get"]]),
        ?assertMatch({403, _}, Ask("writer:geheim", get, "b")),
        ok = standin:rpc(C, N1, riak_core_security, disable, []),
        ?assertEqual({200, "v"}, Ask(none, get, "b"))
    end).

security_over_http() ->
    with(#{nodes => 1, security => true}, fun(C) ->
        [N1] = standin:nodes(C),
        ?assertEqual({426,
                      <<"Security is enabled and Riak does not accept credentials over HTTP. "
                        "Try HTTPS instead.">>},
                     get(C, N1, "/buckets/b/keys/k")),
        ?assertMatch({426, _}, get(C, N1, "/ping"))
    end).

%% --- boot ---

boot_delay() ->
    with(#{nodes => 1}, fun(C) ->
        [N1] = standin:nodes(C),
        ok = standin:restart(C, N1, #{boot_delay => 2000, until => listening}),
        ?assertEqual({error, no_ring}, standin:rpc(C, N1, riak_core_ring_manager, get_my_ring, [])),
        ?assertEqual([], standin:rpc(C, N1, riak_core_node_watcher, nodes, [riak_kv])),
        %% It listens and routes, but has nothing to serve yet.
        ?assertMatch({404, _}, get(C, N1, "/buckets/b/keys/k")),
        ok = standin:rpc(C, N1, riak_core, wait_for_service, [riak_kv]),
        ?assertMatch({ok, _}, standin:rpc(C, N1, riak_core_ring_manager, get_my_ring, [])),
        ?assertMatch({200, <<"OK">>}, get(C, N1, "/ping"))
    end).

%% --- traffic ---

http_between_nodes_is_counted() ->
    with(#{nodes => 2, types => [{<<"t">>, [{n_val, 1}]}]}, fun(C) ->
        [N1, N2] = standin:nodes(C),
        Path = key_at(C, N1, "t", "b"),
        Value = binary:copy(<<"x">>, 1000000),
        ok = standin:reset_traffic(C),
        204 = put(C, N1, Path, Value),
        {200, Value} = get(C, N1, Path),
        %% From outside: not counted.
        ?assertMatch(#{http := 0, connections := 0}, standin:traffic(C)),
        %% From one node to another, connection closed after it.
        {T, B, K} = Path,
        Url = lists:concat([standin:url(C, N1), "/types/", T, "/buckets/", B, "/keys/", K]),
        Fetch = fun(Node) ->
            {ok, {{_, 200, _}, _, Body}} =
                standin:rpc(C, Node, httpc, request,
                            [get, {Url, [{"connection", "close"}]}, [], [{body_format, binary}]]),
            ?assertEqual(Value, Body)
        end,
        Fetch(N2),
        #{http := Http, connections := 1} = standin:traffic(C),
        %% Some of it may still lie in buffers when the request is done.
        ?assert(Http >= 900000),
        ?assert(Http < 1010000),
        ok = standin:reset_traffic(C),
        ?assertMatch(#{http := 0, connections := 0}, standin:traffic(C))
    end).

%% --- addresses ---

%% A node's port answers for a node of another cluster.
address_taken_over() ->
    with(#{nodes => 2}, fun(C) ->
        [_, N2] = standin:nodes(C),
        Url = standin:url(C, N2),
        #{port := Port} = uri_string:parse(Url),
        ok = standin:kill(C, N2),
        with(#{nodes => 1, ports => [#{http => Port}]}, fun(Other) ->
            [Stranger] = standin:nodes(Other),
            ?assertEqual(Url, standin:url(Other, Stranger)),
            ?assertNotEqual(riak_core_ring:cluster_name(standin:ring(C, hd(standin:nodes(C)))),
                            riak_core_ring:cluster_name(standin:ring(Other, Stranger)))
        end)
    end).

indexes() ->
    with(#{nodes => 2, ring_size => 8, backend => riak_kv_eleveldb_backend,
           types => [{<<"t">>, []}]}, fun(C) ->
        [N1, N2] = standin:nodes(C),
        [begin
             {204, _, _, _} = standin_kv_client:request(C, N1, "PUT", {"t", "b", [K]},
                                                        [{"Content-Type", "text/plain"},
                                                         {"x-riak-index-age_int",
                                                          integer_to_list(K)}], <<"v">>)
         end || K <- lists:seq($a, $j)],
        Json = fun(Path) -> {200, Body} = get(C, N2, "/types/t/buckets/b/index/" ++ Path),
                   mochijson2:decode(Body) end,
        ?assertEqual({struct, [{<<"keys">>, [<<"b">>, <<"c">>, <<"d">>]}]}, Json("$key/b/d")),
        ?assertEqual({struct, [{<<"keys">>, [<<"c">>]}]}, Json("age_int/99")),
        ?assertEqual({struct,
                      [{<<"results">>, [{struct, [{<<"98">>, <<"b">>}]},
                                        {struct, [{<<"99">>, <<"c">>}]}]}]},
                     Json("age_int/98/99?return_terms=true")),
        {struct, [{<<"keys">>, [<<"a">>, <<"b">>, <<"c">>, <<"d">>]}, {<<"continuation">>, More}]} =
            Json("$key/a/z?max_results=4"),
        Next = mochiweb_util:urlencode([{"continuation", binary_to_list(More)}]),
        ?assertMatch({struct, [{<<"keys">>, [<<"e">>, <<"f">>, <<"g">>, <<"h">>]}, _]},
                     Json("$key/a/z?max_results=4&" ++ Next)),
        ?assertMatch({400, _}, get(C, N1, "/types/t/buckets/b/index/age_int/x/y"))
    end).

%% --- code and data ---

patches_come_first() ->
    Dir = filename:join(os:getenv("STANDIN_LOGS"), "patch" ++ os:getpid()),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    {ok, riak_kv_wm_ping, Code} = compile:forms(
        [{attribute, 1, module, riak_kv_wm_ping}, {attribute, 1, export, [{patched, 0}]},
         {function, 1, patched, 0, [{clause, 1, [], [], [{atom, 1, yes}]}]}]),
    ok = file:write_file(filename:join(Dir, "riak_kv_wm_ping.beam"), Code),
    try
        with(#{nodes => 1, patches => [Dir], env => [{anything, [{key, 42}]}]}, fun(C) ->
            [N1] = standin:nodes(C),
            ?assertEqual(yes, standin:rpc(C, N1, riak_kv_wm_ping, patched, [])),
            ?assertEqual({ok, 42}, standin:rpc(C, N1, application, get_env, [anything, key])),
            ?assertEqual(Dir, hd(standin:rpc(C, N1, code, get_path, [])))
        end)
    after file:del_dir_r(Dir)
    end.

restart_keeps_or_forgets() ->
    lists:foreach(fun({Persist, Want}) ->
        with(#{nodes => 1, persist => Persist}, fun(C) ->
            [N1] = standin:nodes(C),
            204 = put(C, N1, "/buckets/b/keys/k?w=1&dw=1", <<"v">>),
            ok = standin:kill(C, N1),
            ok = standin:restart(C, N1),
            ?assertMatch({Want, _}, get(C, N1, "/buckets/b/keys/k"))
        end)
    end, [{true, 200}, {false, 404}]).

%% --- ends ---

alive(Pid) -> os:cmd("kill -0 " ++ Pid ++ " 2>&1") =:= "".

stop_leaves_nothing() ->
    {ok, C} = standin:start_cluster(#{nodes => 3}),
    Nodes = standin:nodes(C),
    Pids = [standin:os_pid(C, N) || N <- Nodes],
    Dir = filename:dirname(standin:dir(C, hd(Nodes))),
    ?assert(filelib:is_dir(Dir)),
    ?assert(lists:all(fun alive/1, Pids)),
    ok = standin:stop_cluster(C),
    ?assertNot(lists:any(fun alive/1, Pids)),
    ?assertNot(filelib:is_dir(Dir)),
    ok = standin:stop_cluster(C).

nodes_end_with_their_controller() ->
    {Port, Lines, State} = run_script(["--nodes", "2"], 2),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    Pids = [rpc_script(State, hd(string:split(L, " ")), "os:getpid()") || L <- Lines],
    Numbers = [string:trim(P, both, "\"\n") || P <- Pids],
    ?assert(lists:all(fun alive/1, Numbers)),
    Cwd = rpc_script(State, hd(string:split(hd(Lines), " ")), "element(2, file:get_cwd())"),
    os:cmd("kill -9 " ++ integer_to_list(Pid)),
    ok = gone(Numbers, 5000),
    %% Files are what a killed controller does leave.
    ok = file:del_dir_r(filename:dirname(string:trim(Cwd, both, "\"\n"))),
    ok = file:delete(State).

gone(Pids, Left) ->
    case lists:any(fun alive/1, Pids) of
        false -> ok;
        true when Left > 0 -> timer:sleep(50), gone(Pids, Left - 50);
        true -> error({still_there, Pids})
    end.

failed_start_says_why() ->
    {ok, Taken} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Taken),
    ?assertError({standin, {{standin, {not_started, _, _}}, _}},
                 standin:start_cluster(#{nodes => 1, ports => [#{http => Port}]})),
    gen_tcp:close(Taken).

%% --- the script ---

script() ->
    {Port, [Line, _], State} = run_script(["--nodes", "2", "--type", "t=[{n_val, 1}]", "--https"],
                                          2),
    [Name, "http://127.0.0.1:" ++ _ = Url, "https://127.0.0.1:" ++ _] = string:tokens(Line, " "),
    {ok, {{_, 200, _}, _, "OK"}} = httpc:request(Url ++ "/ping"),
    NVal = "proplists:get_value(n_val, riak_core_bucket_type:get(<<\"t\">>)).",
    ?assertEqual("1\n", rpc_script(State, Name, NVal)),
    ?assertMatch("standin: error: " ++ _, rpc_script(State, Name, "error(oops)")),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    [Dir] =
        string:split(string:trim(rpc_script(State, Name,
                                            "filename:dirname(element(2, file:get_cwd()))"), both,
                                            "\"\n"), "\n"),
    ?assert(filelib:is_dir(Dir)),
    os:cmd("kill -TERM " ++ integer_to_list(Pid)),
    ok = gone([integer_to_list(Pid)], 10000),
    ?assertNot(filelib:is_dir(Dir)),
    ?assertNot(filelib:is_file(State)),
    ok = eventually_no_node(Name, 5000).

eventually_no_node(Name, Left) ->
    [Short, _] = string:split(Name, "@"),
    {ok, Names} = erl_epmd:names({127, 0, 0, 1}),
    case lists:keymember(Short, 1, Names) of
        false -> ok;
        true when Left > 0 -> timer:sleep(50), eventually_no_node(Name, Left - 50);
        true -> error({still_there, Name})
    end.

script_file() -> filename:join([os:getenv("STANDIN_VECTORS"), "..", "standin", "standin"]).

run_script(Args, Lines) ->
    State = filename:join(os:getenv("STANDIN_LOGS"), "state"
                          ++ integer_to_list(erlang:unique_integer([positive]))),
    Port = open_port({spawn_executable, script_file()},
                     [{args, ["start", "--state", State | Args]}, {line, 1000}, exit_status,
                      use_stdio]),
    {Port, [receive {Port, {data, {eol, Line}}} -> Line after 30000 -> error(no_line) end
            || _ <- lists:seq(1, Lines)], State}.

rpc_script(State, Node, Expr) ->
    Quoted = "'" ++ lists:flatten(string:replace(Expr, "'", "'\\''", all)) ++ "'",
    os:cmd(lists:concat([script_file(), " rpc --state ", State, " ", Node, " ", Quoted, " 2>&1"])).
