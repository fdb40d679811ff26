%% What nodes do for keys whose primary is another one, in a cluster of four stand-in nodes and
%% eight partitions: they send on, redirect or refuse, and primaries go and come back.
-module(ringtail_object_elsewhere_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1]}]).

-import(ringtail_test_object, [c/1, nodes/1, one/1, rpc/5, get/3, bucket/1, route/4, fetch/5,
                               put/6, places/3, headers_are_there/1]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [proxied_as_if_served_here, siblings_and_conditions_through_a_proxy,
     large_bodies_through_a_proxy, redirect_keeps_path_and_query, rings_that_disagree,
     pr_and_pw_default_to_one, body_over_the_limit, a_refused_body_is_no_request,
     a_connection_has_its_heap_back,
     topology_and_differences, killed_primary_n_val_1, n_val_3_with_primaries_down].

init_per_suite(Config) ->
    [{cluster, ringtail_test_object:cluster()} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

%% ---- Sending on ----

proxied_as_if_served_here(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"proxied">>),
    Headers = [{"X-Riak-Meta-One", "1"}, {"X-Riak-Meta-Two", "2, zwei"}],
    {200, _, <<"value">>} = ringtail_test_http:request(put, route(C, Other, "t1", <<"proxied">>)
                                                       ++ "?returnbody=true", Headers,
                                                       {"text/plain; charset=utf-8", <<"value">>}),
    Direct = fetch(C, Primary, "t1", <<"proxied">>, ""),
    Through = fetch(C, Other, "t1", <<"proxied">>, ""),
    ?assertEqual(content(Direct), content(Through)),
    ?assertMatch({200, _, <<"value">>}, Through),
    %% Each node says who it is: a client must know whom it is connected to.
    ?assertNotEqual(ringtail_test_http:header("x-ringtail-node", Direct),
                    ringtail_test_http:header("x-ringtail-node", Through)),
    {200, _, <<>>} = Head = ringtail_test_http:request(head, route(C, Other, "t1", <<"proxied">>)),
    ?assertEqual("5", ringtail_test_http:header("content-length", Head)),
    {400, _, _} = fetch(C, Other, "t1", <<"proxied">>, "?r=nonsense"),
    {204, _, _} = ringtail_test_http:request(delete, route(C, Other, "t1", <<"proxied">>)),
    ?assertMatch({404, _, <<"not found\n">>}, fetch(C, Other, "t1", <<"proxied">>, "")).

%% What both answers must have in common: not when they were given, and not by whom.
content({Status, Headers, Body}) ->
    {Status,
     lists:sort([Header
                 || {Name, _} = Header <- Headers,
                    not lists:member(Name, ["date", "x-ringtail-node"])]), Body}.

siblings_and_conditions_through_a_proxy(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t3", <<"siblings">>),
    [{204, _, _} = put(C, Node, "t3", <<"siblings">>, "", Value)
     || {Node, Value} <- [{Primary, <<"one">>}, {Other, <<"two">>}]],
    {300, _, _} = fetch(C, Other, "t3", <<"siblings">>, ""),
    Accept = [{"Accept", "multipart/mixed"}],
    {300, _, Parts} = Mixed = ringtail_test_http:request(get, route(C, Other, "t3", <<"siblings">>),
                                                         Accept),
    ?assertMatch("multipart/mixed; boundary=" ++ _,
                 ringtail_test_http:header("content-type", Mixed)),
    [?assertNotEqual(nomatch, binary:match(Parts, Value)) || Value <- [<<"one">>, <<"two">>]],
    Etag = ringtail_test_http:header("etag", Mixed),
    {304, _, <<>>} = Not = ringtail_test_http:request(get, route(C, Other, "t3", <<"siblings">>),
                                                      [{"If-None-Match", Etag}]),
    headers_are_there(Not),
    ?assertMatch({412, _, _}, ringtail_test_http:request(get, route(C, Other, "t3", <<"siblings">>),
                                                         [{"If-Match", "\"other\""}])).

large_bodies_through_a_proxy(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"large">>),
    [begin
         Value = binary:copy(<<"0123456789abcdef">>, Size div 16),
         {204, _, _} = put(C, Other, "t1", <<"large">>, "", Value),
         ?assertMatch({200, _, Value}, fetch(C, Primary, "t1", <<"large">>, "")),
         ?assertMatch({200, _, Value}, fetch(C, Other, "t1", <<"large">>, ""))
     end || Size <- [0, 65536, 1048576, 1048592, 8388608]].

redirect_keeps_path_and_query(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"red/irect">>),
    Path = "/explore/clusters/default/bucket_types/t1/buckets/b/primary/red%2Firect"
        "?route=redirect&r=1",
    Body = {"text/plain", <<"v">>},
    {307, _, _} = Answer = ringtail_test_http:request(put, standin:url(C, Other) ++ Path, [], Body),
    %% By the uuid, for a node of another cluster may have taken over the address and the alias.
    Location = standin:url(C, Primary) ++ "/riak/primary/clusters/"
        ++ ringtail_test_http:header("x-ringtail-cluster", Answer)
        ++ "/types/t1/buckets/b/keys/red%2Firect?route=redirect&r=1",
    ?assertEqual(Location, ringtail_test_http:header("location", Answer)),
    headers_are_there(Answer),
    ?assertMatch({204, _, _}, ringtail_test_http:request(put, Location, [], Body)),
    {307, _, _} = ringtail_test_http:request(get, route(C, Other, "t1", <<"red%2Firect">>),
                                             [{"X-Ringtail-Route", "redirect"}]).

%% This node's ring says that another one is the primary, whose ring says that it is not: that one's
%% own Riak decides.
rings_that_disagree(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"disagree">>),
    [Wrong | _] = nodes(C) -- [Primary, Other],
    Ring = standin:ring(C, Other),
    All = lists:foldl(fun({Index, _}, R) -> riak_core_ring:transfer_node(Index, Wrong, R) end, Ring,
                      riak_core_ring:all_owners(Ring)),
    ok = standin:set_ring(C, Other, All),
    ok = rpc(C, Other, ringtail_ring_follower, refresh, [5000]),
    ?assertMatch({204, _, _}, put(C, Other, "t1", <<"disagree">>, "", <<"v">>)),
    ?assertMatch({200, _, <<"v">>}, fetch(C, Other, "t1", <<"disagree">>, "")),
    ?assertMatch({200, _, <<"v">>}, fetch(C, Primary, "t1", <<"disagree">>, "?route=local")),
    ok = standin:set_ring(C, Other, Ring),
    standin:heal(C, Other),
    ok = standin:settle(C),
    Write = fun() -> element(1, put(C, Other, "t1", <<"disagree">>, "", <<"w">>)) end,
    ok = ringtail_test_cluster:wait(fun() -> Write() =:= 204 end).

pr_and_pw_default_to_one(Config) ->
    C = c(Config),
    {Primary, _} = places(C, "t1", <<"quorum">>),
    {204, _, _} = put(C, Primary, "t1", <<"quorum">>, "", <<"v">>),
    %% What the client gives wins, and is Riak's to judge.
    ?assertMatch({400, _, _}, fetch(C, Primary, "t1", <<"quorum">>, "?pr=2")),
    ?assertMatch({400, _, _}, put(C, Primary, "t1", <<"quorum">>, "?pw=2", <<"v">>)),
    ?assertMatch({200, _, _}, fetch(C, Primary, "t1", <<"quorum">>, "?pr=0")).

body_over_the_limit(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"limit">>),
    [ok = rpc(C, Node, application, set_env, [ringtail, max_body, 100000]) || Node <- nodes(C)],
    [begin
         ?assertMatch({Node, {204, _, _}},
                      {Node, put(C, Node, "t1", <<"limit">>, "", binary:copy(<<"v">>, 100000))}),
         {413, _, _} = Length = put(C, Node, "t1", <<"limit">>, "", binary:copy(<<"v">>, 100001)),
         ?assertMatch(#{<<"error">> := <<"body_too_large">>}, ringtail_test_http:json(Length)),
         {413, _, _} = Chunked = chunked(C, Node, <<"limit">>, 100001),
         ?assertMatch(#{<<"error">> := <<"body_too_large">>}, ringtail_test_http:json(Chunked)),
         headers_are_there(Chunked),
         ?assertMatch({204, _, _}, chunked(C, Node, <<"limit">>, 100000))
     end || Node <- [Primary, Other]],
    [ok = rpc(C, Node, application, unset_env, [ringtail, max_body]) || Node <- nodes(C)].

%% webmachine of Riak 2.x leaves what is left of it on the connection.
a_refused_body_is_no_request(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"refused">>),
    Set = fun(App, Key, Value) ->
                  [ok = rpc(C, Node, application, set_env, [App, Key, Value]) || Node <- nodes(C)]
          end,
    _ = Set(ringtail, max_body, 100000),
    [begin
         _ = Set(webmachine, flushes, Flushes),
         ok = ringtail_test_refused:bodies(route(C, Node, "t1", <<"refused">>),
                                           route(C, Node, "t1", <<"smuggled">>))
     end || Flushes <- [true, false], Node <- [Primary, Other]],
    [ok = rpc(C, Node, application, unset_env, [App, Key])
     || Node <- nodes(C), {App, Key} <- [{ringtail, max_body}, {webmachine, flushes}]].

chunked(C, Node, Key, Size) ->
    #{path := Path} = uri_string:parse(Url = route(C, Node, "t1", Key)),
    Pieces = [50000 || _ <- lists:seq(1, Size div 50000)] ++ [Size rem 50000 || Size rem 50000 > 0],
    ringtail_test_http:raw(Url, ["PUT ", Path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                 "Content-Type: text/plain\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\n",
                                 [[integer_to_list(N, 16), "\r\n", binary:copy(<<"v">>, N), "\r\n"]
                                  || N <- Pieces], "0\r\n\r\n"]).

topology_and_differences(Config) ->
    C = c(Config),
    {200, _, _} = Answer = get(C, one(C), "/explore/clusters/default/topology"),
    headers_are_there(Answer),
    Token = ringtail_test_http:header("x-ringtail-topology", Answer),
    ?assertMatch({200, _, _}, get(C, one(C), "/explore/clusters/default/topology?from=-1&to=-1")),
    ?assertMatch({200, _, _}, get(C, one(C), "/explore/clusters/default/topology?from=" ++ Token)),
    ?assertMatch({200, _, _}, get(C, one(C),
                                  "/explore/clusters/default/topology?from=1-0000000000000000")).

%% ---- Primaries that go and come back ----

killed_primary_n_val_1(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"killed">>),
    {204, _, _} = put(C, Other, "t1", <<"killed">>, "", <<"before">>),
    ok = standin:kill(C, Primary),
    Asked = nodes(C) -- [Primary],
    [begin
         ok = ringtail_test_cluster:wait(fun() -> element(1,
                                                          put(C, Node, "t1", <<"killed">>, Route,
                                                              <<"during">>)) =:= 503 end),
         {503, _, _} = Answer = fetch(C, Node, "t1", <<"killed">>, Route),
         ?assertMatch(#{<<"error">> := <<"no_primary">>, <<"primaries">> := [#{<<"up">> := false}]},
                      ringtail_test_http:json(Answer)),
         ?assertEqual("1", ringtail_test_http:header("retry-after", Answer)),
         headers_are_there(Answer)
     end || Node <- Asked, Route <- ["", "?route=local", "?route=redirect"]],
    ok = standin:restart(C, Primary),
    ok = rpc(C, Primary, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(C),
    %% Nothing of what was refused landed anywhere.
    [?assertMatch({200, _, <<"before">>}, fetch(C, Node, "t1", <<"killed">>, ""))
     || Node <- nodes(C)].

n_val_3_with_primaries_down(Config) ->
    C = c(Config),
    Key = <<"three">>,
    Primaries = rpc(C, one(C), ringtail_test_probe, primary_nodes, [bucket("t3"), Key]),
    [A, B | _] = Primaries,
    [Other] = nodes(C) -- Primaries,
    {204, _, _} = put(C, Other, "t3", Key, "?w=3", <<"v">>),
    [begin
         ok = standin:kill(C, Down),
         [begin
              ok = ringtail_test_cluster:wait(fun() -> element(1,
                                                               fetch(C, Node, "t3", Key,
                                                                     "?r=1")) =:= 200 end),
              ?assertMatch({204, _, _}, put(C, Node, "t3", <<"other">>, "?w=1", <<"v">>))
          end || Node <- standin:up_nodes(C)]
     end || Down <- [A, B]],
    Apl = rpc(C, Other, ringtail_test_probe, apl, [bucket("t3"), Key]),
    ?assertMatch([_ | _], [fallback || {_, fallback} <- Apl]),
    Path = "/explore/clusters/default/bucket_types/t3/buckets/b/keys/three/preflist",
    #{<<"preflist">> := Listed} = ringtail_test_http:json(get(C, Other, Path)),
    ?assertEqual([{integer_to_binary(Index), atom_to_binary(Node, utf8), Kind =:= primary}
                  || {{Index, Node}, Kind} <- Apl],
                 [{Index, Node, Primary}
                  || #{<<"index">> := Index, <<"node">> := Node,
                       <<"primary">> := Primary} <- Listed]),
    [begin ok = standin:restart(C, Node), ok = rpc(C, Node, ringtail, start, []) end
     || Node <- [A, B]],
    ok = ringtail_test_cluster:all_serving(C).

%% The process that serves a connection is Riak's.
a_connection_has_its_heap_back(Config) ->
    C = c(Config),
    {204, _, _} = put(C, one(C), "t1", <<"heap">>, "", <<"v">>),
    {Primary, Other} = places(C, "t1", <<"heap">>),
    {Before, [Room, Before], [Room, Room, Before], Before} =
        rpc(C, Primary, ringtail_test_probe, room_made, []),
    ?assert(Room > 10 * Before),
    Path = fun(Cluster, Type) ->
                   lists:append(["/riak/primary/clusters/", Cluster, "/types/", Type,
                                 "/buckets/b/keys/heap"])
           end,
    Served = Path("default", "t1"),
    AtPrimary = [{Served, 200}, {Path("nowhere", "t1"), 404}, {Path("default", "none"), 404}],
    AtOther = [{Served, 200}, {Served ++ "?route=redirect", 307}, {Served ++ "?route=x", 400},
               {Served ++ "?route=local", 421}],
    [begin
         #{host := Host, port := Port} = uri_string:parse(standin:url(C, Node)),
         {ok, Socket} = gen_tcp:connect(Host, Port, [binary, {active, false}]),
         {ok, Mine} = inet:port(Socket),
         Ask = fun(Asks) ->
                       ok = gen_tcp:send(Socket, ["GET ", Asks, " HTTP/1.1\r\nHost: h\r\n\r\n"]),
                       {Asks, status_of_whole(Socket),
                        rpc(C, Node, ringtail_test_probe, heap_of, [Mine])}
               end,
         {_, 200, Fresh} = Ask("/ping"),
         [?assertEqual({Asks, Status, Fresh}, Ask(Asks)) || {Asks, Status} <- Asked],
         gen_tcp:close(Socket)
     end || {Node, Asked} <- [{Primary, AtPrimary}, {Other, AtOther}]].

%% Head and body may come one after the other.
status_of_whole(Socket) ->
    ok = inet:setopts(Socket, [{packet, http_bin}]),
    {ok, {http_response, _, Status, _}} = gen_tcp:recv(Socket, 0, 60000),
    Length = length_told(Socket, 0),
    ok = inet:setopts(Socket, [{packet, raw}]),
    {ok, _} = case Length of
                  0 -> {ok, <<>>};
                  _ -> gen_tcp:recv(Socket, Length, 60000)
              end,
    Status.

length_told(Socket, Length) ->
    case gen_tcp:recv(Socket, 0, 60000) of
        {ok, {http_header, _, 'Content-Length', _, Told}} ->
            length_told(Socket, binary_to_integer(Told));
        {ok, {http_header, _, _, _, _}} ->
            length_told(Socket, Length);
        {ok, http_eoh} ->
            Length
    end.
