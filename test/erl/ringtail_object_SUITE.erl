%% The routes over HTTP, in a cluster of four stand-in nodes and eight partitions: the map, who
%% serves a key, what is refused and how.
-module(ringtail_object_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1]}]).

-import(ringtail_test_object, [c/1, nodes/1, one/1, take/2, rpc/5, get/3, bucket/1, route/4,
                               fetch/5, put/6, places/3, headers_are_there/1]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [cluster_preflist_is_riaks_map, cluster_preflist_full, cluster_preflist_not_modified,
     cluster_preflist_gzip, every_name_of_the_cluster, bad_requests_are_json,
     a_malformed_host_harms_nothing, only_primaries_serve, key_preflist_is_riaks, custom_keyfun,
     a_missing_bucket_type_is_told_as_json, a_path_of_another_shape_walks_no_links,
     links_of_the_type_default_are_shown, a_length_that_is_none_stores_nothing,
     a_timeout_beyond_timers_stores_nothing, what_webmachine_refuses_is_json,
     types_are_remembered_only_once_they_exist, odd_keys].

init_per_suite(Config) ->
    [{cluster, ringtail_test_object:cluster()} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

%% ---- The map ----

cluster_preflist_is_riaks_map(Config) ->
    C = c(Config),
    {ok, Ring} = rpc(C, one(C), riak_core_ring_manager, get_my_ring, []),
    Owners = [{integer_to_binary(Index), atom_to_binary(Node, utf8)}
              || {Index, Node} <- rpc(C, one(C), riak_core_ring, all_owners, [Ring])],
    [begin
         {200, _, Body} = Answer = get(C, Node, Prefix ++ "/clusters/default/preflist"),
         {struct, Members} = mochijson2:decode(Body),
         ?assertEqual(Owners, Members),
         headers_are_there(Answer)
     end || Node <- nodes(C), Prefix <- ["/explore", "/admin/explore"]].

cluster_preflist_full(Config) ->
    C = c(Config),
    Full =
        ringtail_test_http:json(get(C, one(C), "/explore/clusters/default/preflist?format=full")),
    Plain = ringtail_test_http:json(get(C, one(C), "/explore/clusters/default/preflist")),
    ?assertEqual(Plain, maps:get(<<"preflist">>, Full)),
    ?assertEqual(8, maps:get(<<"ring_size">>, Full)),
    ?assertEqual([{atom_to_binary(Node, utf8), true, <<"valid">>} || Node <- lists:sort(nodes(C))],
                 [{Name, Up, Status}
                  || #{<<"node">> := Name, <<"up">> := Up,
                       <<"status">> := Status} <- maps:get(<<"nodes">>, Full)]),
    [?assertMatch([_ | _], Endpoints)
     || #{<<"endpoints">> := Endpoints} <- maps:get(<<"nodes">>, Full)].

cluster_preflist_not_modified(Config) ->
    C = c(Config),
    [begin
         Etag = ringtail_test_http:header("etag", get(C, one(C), Path)),
         {304, _, <<>>} = Answer = ringtail_test_http:request(get, standin:url(C, one(C)) ++ Path,
                                                              [{"If-None-Match", Etag}]),
         headers_are_there(Answer),
         ?assertMatch({200, _, _}, ringtail_test_http:request(get, standin:url(C, one(C)) ++ Path,
                                                              [{"If-None-Match", "\"other\""}]))
     end || Path <- ["/explore/clusters/default/preflist",
                     "/explore/clusters/default/preflist?format=full",
                     "/explore/clusters/default/topology"]].

cluster_preflist_gzip(Config) ->
    C = c(Config),
    [begin
         {200, _, Plain} = get(C, one(C), Path),
         {200, _, Body} = Answer = ringtail_test_http:request(get, standin:url(C, one(C)) ++ Path,
                                                              [{"Accept-Encoding", "gzip"}]),
         ?assertEqual("gzip", ringtail_test_http:header("content-encoding", Answer)),
         ?assertEqual(Plain, zlib:gunzip(Body))
     end || Path <- ["/explore/clusters/default/preflist",
                     "/explore/clusters/default/preflist?format=full"]].

every_name_of_the_cluster(Config) ->
    C = c(Config),
    Uuid = ringtail_test_http:header("x-ringtail-cluster",
                                     get(C, one(C), "/explore/clusters/default/preflist")),
    ok = rpc(C, one(C), application, set_env, [ringtail, cluster_alias, "prod"]),
    [?assertMatch({200, _, _}, get(C, one(C), "/explore/clusters/" ++ Name ++ "/preflist"))
     || Name <- ["default", Uuid, string:uppercase(Uuid), "prod"]],
    ok = rpc(C, one(C), application, unset_env, [ringtail, cluster_alias]),
    {404, _, _} = Answer = get(C, one(C), "/explore/clusters/prod/preflist"),
    ?assertMatch(#{<<"error">> := <<"unknown_cluster">>, <<"clusters">> := [<<"default">>, _]},
                 ringtail_test_http:json(Answer)).

bad_requests_are_json(Config) ->
    C = c(Config),
    Preflist = "/explore/clusters/default/preflist",
    Object = "/explore/clusters/default/bucket_types/t1/buckets/b/primary/k",
    [begin
         Answer = ringtail_test_http:request(Method, standin:url(C, one(C)) ++ Path, Headers),
         ?assertEqual({Path, Status}, {Path, element(1, Answer)}),
         ?assertMatch(#{<<"error">> := Code, <<"message">> := _}, ringtail_test_http:json(Answer)),
         headers_are_there(Answer)
     end || {Method, Path, Headers, Status, Code} <-
                [{get, "/explore/clusters/nowhere/preflist", [], 404, <<"unknown_cluster">>},
                 {get, "/explore/clusters/%00%ff/preflist", [], 404, <<"unknown_cluster">>},
                 {get, "/riak/primary/clusters/nowhere/types/t1/buckets/b/keys/k", [], 404,
                  <<"unknown_cluster">>},
                 {delete, Preflist, [], 405, <<"method_not_allowed">>},
                 {patch, Preflist, [], 405, <<"method_not_allowed">>},
                 {post, "/explore/clusters/default/topology", [], 405, <<"method_not_allowed">>},
                 {get, Preflist, [{"Accept", "image/png"}], 406, <<"not_acceptable">>},
                 {get, Preflist ++ "?format=xml", [], 400, <<"bad_format">>},
                 {get, Object ++ "?route=elsewhere", [], 400, <<"bad_route">>},
                 {get, Object, [{"X-Ringtail-Route", "elsewhere"}], 400, <<"bad_route">>},
                 {get, "/explore/clusters/default/topology?from=x", [], 400, <<"bad_token">>},
                 {get, "/explore/clusters/default/topology?to=1-2", [], 400, <<"bad_token">>},
                 {get, "/explore/clusters/default/topology?to=1-0000000000000000", [], 404,
                  <<"unknown_token">>},
                 {get, "/explore/clusters/default/bucket_types/none/buckets/b/keys/k/preflist", [],
                  404, <<"no_type">>}]],
    ?assertMatch({405, _, _}, ringtail_test_http:request(options, standin:url(C, one(C))
                                                         ++ Preflist)).

a_malformed_host_harms_nothing(Config) ->
    C = c(Config),
    Url = standin:url(C, one(C)),
    [begin
         Request = ["GET /explore/clusters/default/preflist HTTP/1.1\r\nHost: ", Host,
                    "\r\nConnection: close\r\n\r\n"],
         Answer = ringtail_test_http:raw(Url, Request),
         ?assert(lists:member(element(1, Answer), [200, 400, 500])),
         ?assertMatch({200, _, _}, get(C, one(C), "/explore/clusters/default/preflist"))
     end || Host <- ["[::1", "a:b:c", "x y", ":", "host:notaport", binary:copy(<<"a">>, 4000)]].

%% ---- Who serves ----

only_primaries_serve(Config) ->
    C = c(Config),
    [begin
         Bucket = bucket(Type),
         Key = integer_to_binary(K),
         Primaries = rpc(C, one(C), ringtail_test_probe, primary_nodes, [Bucket, Key]),
         Served = [Node || Node <- nodes(C),
                   served(put(C, Node, Type, Key, "?route=local", <<"v">>))],
         ?assertEqual({Type, Key, Primaries}, {Type, Key, lists:sort(Served)}),
         [case lists:member(Node, Primaries) of
              true ->
                  ?assertMatch({S, _, _} when S =:= 200; S =:= 300,
                               fetch(C, Node, Type, Key, "?route=local"));
              false -> refused(C, fetch(C, Node, Type, Key, "?route=local"), Primaries)
          end || Node <- nodes(C)]
     end || Type <- ["t1", "t3", "t5", "tb", "default"], K <- lists:seq(1, 6)].

served({204, _, _}) -> true;
served({421, _, _}) -> false.

refused(_C, {421, _, _} = Answer, Primaries) ->
    #{<<"error">> := <<"not_primary">>, <<"primaries">> := Listed} =
        ringtail_test_http:json(Answer),
    headers_are_there(Answer),
    ?assertEqual([atom_to_binary(Node, utf8) || Node <- Primaries],
                 lists:usort([Name || #{<<"node">> := Name} <- Listed])),
    [?assertMatch([_ | _], Endpoints) || #{<<"endpoints">> := Endpoints} <- Listed].

key_preflist_is_riaks(Config) ->
    C = c(Config),
    [begin
         Apl = rpc(C, one(C), ringtail_test_probe, apl, [bucket(Type), Key]),
         #{<<"preflist">> := Listed} =
             ringtail_test_http:json(get(C, one(C),
                                         "/explore/clusters/default/bucket_types/" ++ Type
                                             ++ "/buckets/b/keys/"
                                         ++ binary_to_list(Key) ++ "/preflist")),
         ?assertEqual([{integer_to_binary(Index), atom_to_binary(Node, utf8), Kind =:= primary}
                       || {{Index, Node}, Kind} <- Apl],
                      [{Index, Node, Primary}
                       || #{<<"index">> := Index, <<"node">> := Node,
                            <<"primary">> := Primary} <- Listed]),
         ?assertEqual([Index div ((1 bsl 160) div 8) || {{Index, _}, _} <- Apl],
                      [Position || #{<<"partition">> := Position} <- Listed])
     end || Type <- ["default", "t1", "t3", "t5", "tb", "tc"],
     Key <- [<<"a">>, <<"key">>, <<"zz9">>]].

custom_keyfun(Config) ->
    C = c(Config),
    %% All keys with one first byte have one place, by the operator's own function.
    Places = [begin
                  [Primary] = rpc(C, one(C), ringtail_test_probe, primary_nodes,
                                  [bucket("tc"), Key]),
                  [?assertEqual(Node =:= Primary,
                                served(put(C, Node, "tc", Key, "?route=local", <<"v">>)))
                                    || Node <- nodes(C)],
                  Primary
              end || Key <- [<<"x1">>, <<"x2">>, <<"xyz">>]],
    ?assertMatch([_], lists:usort(Places)).

a_missing_bucket_type_is_told_as_json(Config) ->
    C = c(Config),
    [begin
         {404, _, _} = Answer = ringtail_test_http:request(Method, route(C, Node, "none", <<"k">>)),
         ?assertMatch(#{<<"error">> := <<"no_type">>}, ringtail_test_http:json(Answer)),
         headers_are_there(Answer)
     end || Node <- nodes(C), Method <- [get, delete]].

%% Riak's link walker takes whatever follows a key.
a_path_of_another_shape_walks_no_links(Config) ->
    C = c(Config),
    Types = "/riak/primary/clusters/default/types/",
    Explore = "/explore/clusters/default/bucket_types/t1/buckets/b/primary",
    [begin
         Answer = ringtail_test_http:request(Method, standin:url(C, Node) ++ Path, [], Body),
         ?assertEqual({Path, 404}, {Path, element(1, Answer)}),
         ?assertMatch(#{<<"error">> := <<"bad_path">>}, ringtail_test_http:json(Answer)),
         headers_are_there(Answer)
     end || Path <- [Types, Types ++ "t1", Types ++ "t1/buckets/b/keys",
                     Types ++ "t1/buckets/b/keys/",
                     Types ++ "t1/buckets/b/keys/a/b", Types ++ "t1/b/keys/k",
                     Explore, Explore ++ "/", Explore ++ "/a/b"],
            Node <- take(2, nodes(C)), {Method, Body} <- [{get, none},
                                                          {put, {"text/plain", <<"v">>}}]],
    %% Riak's own routes for a bucket of that name stay Riak's.
    Own = standin:url(C, one(C)) ++ "/riak/primary/clusters",
    {204, _, _} = ringtail_test_http:request(put, Own, [], {"text/plain", <<"v">>}),
    ?assertMatch({200, _, <<"v">>}, ringtail_test_http:request(get, Own)).

%% Riak cannot show them under /types.
links_of_the_type_default_are_shown(Config) ->
    C = c(Config),
    Key = <<"linked">>,
    {Primary, Other} = places(C, "default", Key),
    Link = "</buckets/b/keys/other>; riaktag=\"friend\"",
    {204, _, _} = ringtail_test_http:request(put, route(C, Other, "default", Key), [{"Link", Link}],
                                             {"text/plain", <<"v">>}),
    Native = get(C, Primary, "/buckets/b/keys/linked"),
    [begin
         {200, _, <<"v">>} = Answer = fetch(C, Node, "default", Key, ""),
         ?assertEqual(ringtail_test_http:header("link", Native),
                      ringtail_test_http:header("link", Answer))
     end || Node <- [Primary, Other]],
    ?assertNotEqual(0, string:str(ringtail_test_http:header("link", Native), "friend")).

%% mochiweb takes it for no length, and Riak would store an object without a byte.
a_length_that_is_none_stores_nothing(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"length">>),
    {204, _, _} = put(C, Primary, "t1", <<"length">>, "", <<"whole">>),
    Path = "/riak/primary/clusters/default/types/t1/buckets/b/keys/length",
    [begin
         Head = ["PUT ", Path, " HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n",
                 Framing, "\r\n\r\n"],
         Answer = ringtail_test_http:raw(standin:url(C, Node), [Head, "short"]),
         ?assertEqual({Framing, 400}, {Framing, element(1, Answer)}),
         ?assertMatch(#{<<"error">> := <<"bad_framing">>}, ringtail_test_http:json(Answer)),
         ?assertMatch({200, _, <<"whole">>}, fetch(C, Node, "t1", <<"length">>, ""))
     end || Node <- [Primary, Other],
            Framing <- ["Content-Length: 5, 5", "Content-Length: abc", "Content-Length: 0x5",
                        "Content-Length: -1", "Content-Length: 5 5", "Content-Length: +5",
                        "Content-Length: 5\r\nContent-Length: 5",
                        "Content-Length: 5\r\nContent-Length: 6",
                        "Content-Length: 5\r\n 5", "Content-Length: 99999999999999999999",
                        "Content-Length: ", "Content-Length: 5\r\nTransfer-Encoding: chunked",
                        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: xchunked",
                        "Transfer-Encoding: Chunked",
                        "X-Riak-Meta-A: b\r\n c\r\nContent-Length: 5"]].

%% Riak answers 500 and stores the object all the same.
a_timeout_beyond_timers_stores_nothing(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"patient">>),
    [begin
         Query = "?timeout=" ++ Timeout,
         {400, _, _} = Answer = put(C, Node, "t1", <<"patient">>, Query, <<"v">>),
         ?assertMatch(#{<<"error">> := <<"bad_timeout">>}, ringtail_test_http:json(Answer)),
         ?assertMatch({404, _, _}, fetch(C, Node, "t1", <<"patient">>, "?timeout=4000000000"))
     end || Node <- [Primary, Other],
            Timeout <- ["4000000001", "4294967296", "99999999999999999999"]].

what_webmachine_refuses_is_json(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"refused">>),
    {204, _, _} = put(C, Other, "t1", <<"refused">>, "", <<"v">>),
    [begin
         Answer = ringtail_test_http:request(Method, route(C, Node, "t1", <<"refused">>), Headers),
         ?assertEqual({Headers, Status}, {Headers, element(1, Answer)}),
         #{<<"error">> := Told, <<"message">> := _} = ringtail_test_http:json(Answer),
         ?assertEqual(atom_to_binary(Code, utf8), Told),
         ?assertEqual("application/json", ringtail_test_http:header("content-type", Answer)),
         headers_are_there(Answer)
     end || Node <- [Primary, Other],
            {Method, Headers, Status, Code} <-
                [{get, [{"If-Match", "\"other\""}], 412, precondition_failed},
                 {delete, [{"If-Match", "\"other\""}], 412, precondition_failed},
                 {get, [{"Accept", "image/png"}], 406, not_acceptable},
                 {get, [{"Accept-Encoding", "identity;q=0"}], 406, not_acceptable},
                 {trace, [], 405, method_not_allowed}]],
    %% Riak's own words stay Riak's.
    ?assertMatch({404, _, <<"not found\n">>}, fetch(C, Other, "t1", <<"absent">>, "")).

types_are_remembered_only_once_they_exist(Config) ->
    C = c(Config),
    Node = one(C),
    Remembered =
        fun() -> lists:sort([Type
                             || {Type} <- rpc(C, Node, ets, tab2list,
                                              [ringtail_bucket_types])]) end,
    Before = Remembered(),
    Absent = ["absent" ++ integer_to_list(N) || N <- lists:seq(1, 50)],
    [{404, _, _} = fetch(C, Node, Type, <<"k">>, "?route=local") || Type <- Absent],
    ?assertEqual(Before, Remembered()),
    ok = standin:create_type(C, <<"absent7">>, [{n_val, 1}]),
    {204, _, _} = ringtail_test_http:request(put, route(C, Node, "absent7", <<"k">>), [],
                                             {"text/plain", <<"now">>}),
    ?assertMatch({200, _, <<"now">>}, fetch(C, Node, "absent7", <<"k">>, "")),
    ?assertEqual(lists:sort([<<"absent7">> | Before]), Remembered()),
    %% One that is remembered is placed by the properties it has now.
    ok = rpc(C, Node, riak_core_bucket_type, update, [<<"absent7">>, [{n_val, 3}]]),
    ?assertEqual(3, length(rpc(C, Node, ringtail, primaries, [{<<"absent7">>, <<"b">>}, <<"k">>]))).

odd_keys(Config) ->
    C = c(Config),
    [begin
         Url = fun(Node) ->
                       ringtail_test_cluster:url(standin:url(C, Node), "t1", {"b%2Fc", Encoded})
               end,
         {204, _, _} = ringtail_test_http:request(put, Url(To), [],
                                                  {"application/octet-stream", Value}),
         [?assertMatch({200, _, Value}, ringtail_test_http:request(get, Url(Node)))
          || Node <- nodes(C)],
         ?assertMatch({200, _, Value}, get(C, To, "/types/t1/buckets/b%2Fc/keys/" ++ Encoded)),
         [Primary] = rpc(C, To, ringtail_test_probe, primary_nodes, [{<<"t1">>, <<"b/c">>}, Key]),
         ?assertMatch({200, _, _},
                      ringtail_test_http:request(get, Url(Primary) ++ "?route=local"))
     end || {To, {Encoded, Key}} <- lists:zip(take(8, nodes(C)),
                                              [{"a%2Fb", <<"a/b">>}, {"c+d%2Be", <<"c d+e">>},
                                               {"s%20p", <<"s p">>},
                                               {"%C3%A9%E2%82%AC", <<195, 169, 226, 130, 172>>},
                                               {"n%00l", <<"n", 0, "l">>},
                                               {"%FF%FE", <<255, 254>>}, {lists:duplicate(1000, $k),
                                                                          binary:copy(<<"k">>,
                                                                                      1000)},
                                               {"%3Fq%23h", <<"?q#h">>}]),
            Value <- [crypto:hash(sha, Encoded)]].
