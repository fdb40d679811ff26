%% @doc The application in a VM without Riak: two stand-in clusters, one that is not there and one
%% that never answers, asked through one VM by name. The companion is the real one.
-module(ringtail_standalone_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).
-import(ringtail_test_clusters, [reached/2, get/2, get/3, object/5, requests/1]).
-import(ringtail_test_standalone, [vm/1, rpc/4, path/1, connect/2]).

-define(HTTP, ringtail_test_http).
-define(MIB, 1048576).

all() ->
    [routes_come_and_go, a_listener_without_routes_loses_no_router,
     clusters_by_name, full_preflist, not_modified,
     unknown_cluster_names_the_known, unreachable_cluster_says_why, topology_and_what_changed,
     key_preflist, console, status_and_page, objects_with_all_they_bear, names_of_any_bytes,
     siblings_and_conditions, redirect_and_local, bad_requests, large_objects,
     large_objects_take_no_memory, chunked_upload, many_callers_at_once, no_atoms_from_outside].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) -> ringtail_test_clusters:start(Config).

end_per_suite(Config) -> ringtail_test_clusters:stop(Config).

%% ---- Routes ----

routes_come_and_go(Config) ->
    Vm = vm(Config),
    Installed = rpc(Vm, webmachine_router, get_routes, []),
    ?assertMatch([_ | _], [ours || {["explore" | _], _, _} <- Installed]),
    ?assertMatch([_ | _], [ours || {["riak", "primary" | _], _, _} <- Installed]),
    ok = rpc(Vm, ringtail, start, []),
    ?assertEqual(Installed, rpc(Vm, webmachine_router, get_routes, []),
                 "starting twice is harmless"),
    {os_pid, Companion} = lists:keyfind(os_pid, 1, rpc(Vm, ringtail_companion, status, [])),
    ok = rpc(Vm, ringtail, stop, []),
    ?assertEqual([], rpc(Vm, webmachine_router, get_routes, [])),
    ?assertEqual([], [T || T <- rpc(Vm, ets, all, []), is_atom(T),
                      lists:prefix("ringtail", atom_to_list(T))]),
    ?assertEqual([], [P || P <- rpc(Vm, erlang, registered, []),
                      lists:prefix("ringtail", atom_to_list(P))]),
    ok = ringtail_test_cluster:wait(fun() -> not alive(Companion) end),
    ok = rpc(Vm, ringtail, start, []),
    ok = ringtail_test_cluster:wait(fun() -> rpc(Vm, ringtail_routes, state, []) =:= serving
                                        andalso reached(Vm, "prod")
                                                 andalso reached(Vm, "lab") end),
    ?assertEqual(lists:sort(Installed), lists:sort(rpc(Vm, webmachine_router, get_routes, []))).

%% webmachine's list is `undefined' where a listener was started without any, and its router dies of
%% a route added to that.
a_listener_without_routes_loses_no_router(Config) ->
    Vm = vm(Config),
    Installed = rpc(Vm, webmachine_router, get_routes, []),
    Router = rpc(Vm, erlang, whereis, [webmachine_router]),
    State = fun(Wanted) ->
                    fun() -> rpc(Vm, ringtail_routes, state, []) =:= Wanted end
            end,
    true = rpc(Vm, ets, insert, [webmachine_router, {default, undefined}]),
    ok = ringtail_test_cluster:wait(State(waiting_for_dispatch_list)),
    ?assertEqual(Router, rpc(Vm, erlang, whereis, [webmachine_router])),
    true = rpc(Vm, ets, insert, [webmachine_router, {default, []}]),
    ok = ringtail_test_cluster:wait(State(serving)),
    ?assertEqual(Router, rpc(Vm, erlang, whereis, [webmachine_router])),
    ?assertEqual(lists:sort(Installed), lists:sort(rpc(Vm, webmachine_router, get_routes, []))).

alive(OsPid) -> filelib:is_dir("/proc/" ++ integer_to_list(OsPid)).

clusters_by_name(Config) ->
    [{_, ProdUrl} | _] = standin:urls(proplists:get_value(prod, Config)),
    [{_, LabUrl}] = standin:urls(proplists:get_value(lab, Config)),
    [begin
         {200, Expected, Map} = ?HTTP:request(get, Url ++ "/explore/clusters/default/preflist"),
         Uuid = ?HTTP:header("X-Ringtail-Cluster", {200, Expected, Map}),
         [begin
              Answer = {200, _, Same} = get(Config, Prefix ++ "/clusters/" ++ Cluster
                                            ++ "/preflist"),
              ?assertEqual({Cluster, Map}, {Cluster, Same}),
              [?assertEqual(?HTTP:header(Header, {200, Expected, Map}),
                            ?HTTP:header(Header, Answer))
               || Header <- ["X-Ringtail-Topology", "X-Ringtail-Cluster", "ETag", "Content-Type"]],
              ?assert(is_list(?HTTP:header("X-Ringtail-Node", Answer))),
              ?assert(list_to_integer(?HTTP:header("Age", Answer)) =< 15),
              ?assertEqual(undefined, ?HTTP:header("Warning", Answer))
          end || Prefix <- ["/explore", "/admin/explore"],
          Cluster <- [Uuid, string:uppercase(Uuid) | Names]]
     end || {Url, Names} <- [{ProdUrl, ["prod", "default", "%70rod"]}, {LabUrl, ["lab"]}]].

full_preflist(Config) ->
    {200, _, _} = Answer = get(Config, "/explore/clusters/prod/preflist?format=full"),
    #{<<"ring_size">> := 8, <<"nodes">> := Nodes, <<"preflist">> := Map} = ?HTTP:json(Answer),
    ?assertEqual(8, maps:size(Map)),
    ?assertEqual(lists:sort([atom_to_binary(N)
                             || N <- standin:nodes(proplists:get_value(prod, Config))]),
                 lists:sort([Name || #{<<"node">> := Name} <- Nodes])),
    [?assertMatch(#{<<"up">> := true, <<"status">> := <<"valid">>,
                    <<"endpoints">> := [#{<<"host">> := <<"127.0.0.1">>} | _]}, Node)
     || Node <- Nodes].

not_modified(Config) ->
    {200, _, _} = Answer = get(Config, "/explore/clusters/prod/preflist"),
    Etag = ?HTTP:header("ETag", Answer),
    {304, _, <<>>} = NotModified =
        get(Config, "/explore/clusters/prod/preflist", [{"If-None-Match", Etag}]),
    ?assertEqual(?HTTP:header("X-Ringtail-Topology", Answer),
                 ?HTTP:header("X-Ringtail-Topology", NotModified)),
    {200, Headers, Gzipped} = get(Config, "/explore/clusters/prod/preflist",
                                  [{"Accept-Encoding", "gzip"}]),
    ?assertEqual("gzip", proplists:get_value("content-encoding", Headers)),
    ?assertEqual(element(3, Answer), zlib:gunzip(Gzipped)).

unknown_cluster_names_the_known(Config) ->
    [begin
         {404, _, _} = Answer = get(Config, Path),
         ?assertMatch(#{<<"error">> := <<"unknown_cluster">>,
                        <<"clusters">> := [<<"default">>, <<"prod">>, <<"lab">>, <<"gone">>,
                                           <<"tarpit">>]}, ?HTTP:json(Answer))
     end || Path <- ["/explore/clusters/nope/preflist", "/explore/clusters/nope/topology",
                     "/explore/clusters/%2F/preflist",
                     "/riak/primary/clusters/nope/types/default/buckets/b/keys/k",
                     "/explore/clusters/nope/bucket_types/default/buckets/b/keys/k/preflist"]].

unreachable_cluster_says_why(Config) ->
    ok = ringtail_test_cluster:wait(fun() -> rpc(vm(Config), ringtail_remote_clusters, failure,
                                                 ["gone"]) =/= none end),
    [begin
         {503, _, _} = Answer = get(Config, Path),
         #{<<"error">> := <<"unreachable">>, <<"message">> := Message} = ?HTTP:json(Answer),
         ?assertNotEqual(nomatch, re:run(Message, "connect")),
         ?assert(is_list(?HTTP:header("Retry-After", Answer)))
     end || Path <- ["/explore/clusters/gone/preflist", "/explore/clusters/gone/topology",
                     "/riak/primary/clusters/gone/types/default/buckets/b/keys/k",
                     "/riak/primary/clusters/gone/types/default/buckets/b/keys/k?route=redirect",
                     "/explore/clusters/gone/bucket_types/default/buckets/b/keys/k/preflist"]].

topology_and_what_changed(Config) ->
    Path = "/explore/clusters/prod/topology",
    {200, _, _} = Answer = get(Config, Path),
    [{_, Url} | _] = standin:urls(proplists:get_value(prod, Config)),
    ?assertEqual(?HTTP:json(?HTTP:request(get, Url ++ "/explore/clusters/default/topology")),
                 ?HTTP:json(Answer)),
    Token = ?HTTP:header("X-Ringtail-Topology", Answer),
    ?assertMatch(#{<<"joined">> := [], <<"left">> := [], <<"changed">> := []},
                 ?HTTP:json(get(Config, Path ++ "?from=" ++ Token))),
    ?assertMatch(#{<<"full">> := true},
                 ?HTTP:json(get(Config, Path ++ "?from=1-0123456789abcdef"))),
    ?assertMatch({400, _, _}, get(Config, Path ++ "?from=x")).

key_preflist(Config) ->
    [{_, Url} | _] = standin:urls(proplists:get_value(prod, Config)),
    [begin
         Tail = "/bucket_types/" ++ Type ++ "/buckets/b/keys/" ++ Key ++ "/preflist",
         Expected = ?HTTP:request(get, Url ++ "/explore/clusters/default" ++ Tail),
         Answer = get(Config, "/explore/clusters/prod" ++ Tail),
         ?assertEqual({Tail, element(1, Expected), element(3, Expected)},
                      {Tail, element(1, Answer), element(3, Answer)})
     end || Type <- ["default", "one", "missing"], Key <- ["k", "a%2Fb", "a+b%20c"]].

console(Config) ->
    Vm = vm(Config),
    Prod = proplists:get_value(prod, Config),
    [Node | _] = standin:nodes(Prod),
    Named = fun(Entries) -> [{Index, atom_to_binary(Owner)} || {Index, Owner} <- Entries] end,
    ?assertEqual(Named(standin:rpc(Prod, Node, ringtail, owners, [])),
                 rpc(Vm, ringtail, owners, [])),
    [begin
         ?assertEqual(Named(standin:rpc(Prod, Node, ringtail, primaries, [Bucket, Key])),
                      rpc(Vm, ringtail, primaries, [Bucket, Key])),
         ?assertEqual([{hd(Named([Entry])), Kind}
                       || {Entry, Kind} <- standin:rpc(Prod, Node, ringtail, preflist,
                                                       [Bucket, Key])],
                      rpc(Vm, ringtail, preflist, [Bucket, Key])),
         ?assertEqual(standin:rpc(Prod, Node, ringtail, where, [Bucket, Key]),
                      rpc(Vm, ringtail, where, [Bucket, Key]))
     end || Bucket <- [<<"b">>, {<<"default">>, <<"b">>}, {<<"one">>, <<"c">>}],
     Key <- [<<"k">>, <<0, 255, "/ +">>]],
    {token, Token} = lists:keyfind(token, 1, rpc(Vm, ringtail, topology, [])),
    ?assertEqual({token, Token}, lists:keyfind(token, 1,
                                               standin:rpc(Prod, Node, ringtail, topology, []))),
    ?assertMatch({error, {no_bucket_type, _}},
                 rpc(Vm, ringtail, primaries, [{<<"missing">>, <<"b">>}, <<"k">>])),
    [ok = rpc(Vm, ringtail, print, [What]) || What <- [status, owners, topology]].

status_and_page(Config) ->
    Status = ?HTTP:json(get(Config, "/ringtail/status")),
    ?assertMatch(#{<<"mode">> := <<"standalone">>, <<"state">> := <<"serving">>,
                   <<"problems">> := [],
                   <<"clusters">> := #{<<"prod">> := #{<<"condition">> := <<"current">>,
                                                       <<"ring_size">> := 8},
                                       <<"gone">> := #{<<"condition">> := <<"unreachable">>,
                                                       <<"error">> := _}},
                   <<"companion">> := #{<<"state">> := <<"up">>}}, Status),
    {200, _, Metrics} = get(Config, "/ringtail/metrics"),
    [?assertNotEqual({Line, nomatch}, {Line, binary:match(Metrics, Line)})
     || Line <- [<<"ringtail_cluster_current{cluster=\"prod\"} 1\n">>,
                 <<"ringtail_cluster_current{cluster=\"gone\"} 0\n">>,
                 <<"ringtail_ring_partitions{cluster=\"lab\"} 8\n">>]],
    [LabNode] = standin:nodes(proplists:get_value(lab, Config)),
    {200, _, Page} = get(Config, "/ringtail?cluster=lab"),
    ?assertNotEqual(nomatch, binary:match(Page, atom_to_binary(LabNode))),
    ?assertMatch({200, _, _}, get(Config, "/ringtail")),
    ?assertMatch({404, _, _}, get(Config, "/ringtail?cluster=nope")),
    ?assertMatch({503, _, _}, get(Config, "/ringtail?cluster=gone")).

%% ---- Objects ----

objects_with_all_they_bear(Config) ->
    Url = object(Config, "prod", "one", "b", "bearing"),
    Body = crypto:strong_rand_bytes(5000),
    {204, _, <<>>} = Put = ?HTTP:request(put, Url, [{"X-Riak-Meta-Colour", "blue"}],
                                         {"image/x-thing", Body}),
    ?assert(is_list(?HTTP:header("X-Ringtail-Node", Put))),
    {200, _, Body} = Got = ?HTTP:request(get, Url),
    ?assertEqual({"image/x-thing", "blue", "5000"},
                 {?HTTP:header("Content-Type", Got), ?HTTP:header("X-Riak-Meta-Colour", Got),
                  ?HTTP:header("Content-Length", Got)}),
    %% The answer speaks of the node that gave it, which owns the key.
    ?assertEqual(owner_uuid(Config, <<"bearing">>), ?HTTP:header("X-Ringtail-Node", Got)),
    ?assertEqual(undefined, ?HTTP:header("Age", Got)),
    {200, _, <<>>} = Head = ?HTTP:request(head, Url),
    ?assertEqual({"5000", ?HTTP:header("ETag", Got)},
                 {?HTTP:header("Content-Length", Head), ?HTTP:header("ETag", Head)}),
    {304, _, <<>>} = ?HTTP:request(get, Url, [{"If-None-Match", ?HTTP:header("ETag", Got)}]),
    {200, _, <<"posted">>} = ?HTTP:request(post, Url ++ "?returnbody=true",
                                           [{"X-Riak-Vclock", ?HTTP:header("X-Riak-Vclock", Got)}],
                                           {"text/plain", <<"posted">>}),
    {204, _, _} = ?HTTP:request(put, Url ++ "?timeout=5000&w=1", [], {"text/plain", <<>>}),
    {204, _, _} = ?HTTP:request(delete, Url),
    {404, _, _} = ?HTTP:request(get, Url),
    {404, _, _} = ?HTTP:request(head, Url),
    Explore = standin_bare:url(vm(Config))
        ++ "/explore/clusters/prod/bucket_types/one/buckets/b/primary/other",
    {204, _, _} = ?HTTP:request(put, Explore, [], {"text/plain", <<"x">>}),
    ?assertMatch({200, _, <<"x">>},
                 ?HTTP:request(get, object(Config, "prod", "one", "b", "other"))).

owner_uuid(Config, Key) ->
    Prod = proplists:get_value(prod, Config),
    [Node | _] = standin:nodes(Prod),
    [{_, Owner}] = standin:rpc(Prod, Node, ringtail, primaries, [{<<"one">>, <<"b">>}, Key]),
    {Owner, Uuid, _, _} = lists:keyfind(Owner, 1,
                                        standin:rpc(Prod, Node, ringtail_ring, members, [])),
    binary_to_list(Uuid).

names_of_any_bytes(Config) ->
    [{_, Native} | _] = standin:urls(proplists:get_value(prod, Config)),
    [begin
         {204, _, _} = ?HTTP:request(put, object(Config, "prod", "one", "b%2F%20c", Key), [],
                                     {"text/plain", list_to_binary(Key)}),
         ?assertEqual({Key, list_to_binary(Key)},
                      {Key, element(3,
                                    ?HTTP:request(get,
                                                  Native ++ "/types/one/buckets/b%2F%20c/keys/"
                                                      ++ Key))})
     end || Key <- ["a%2Fb", "a+b", "a%2Bb", "%C3%A9", "%00", "%25", lists:duplicate(1000, $k)]].

siblings_and_conditions(Config) ->
    Url = object(Config, "prod", "sib", "b", "s"),
    [{204, _, _} = ?HTTP:request(put, Url, [], {"text/plain", Value})
     || Value <- [<<"one">>, <<"two">>]],
    {300, _, _} = ?HTTP:request(get, Url),
    {300, _, Multipart} = Got = ?HTTP:request(get, Url, [{"Accept", "multipart/mixed"}]),
    ?assertNotEqual(nomatch, re:run(?HTTP:header("Content-Type", Got), "^multipart/mixed")),
    [?assertNotEqual(nomatch, binary:match(Multipart, Value)) || Value <- [<<"one">>, <<"two">>]],
    {412, _, _} = ?HTTP:request(put, Url, [{"If-None-Match", "*"}], {"text/plain", <<"no">>}).

redirect_and_local(Config) ->
    Url = object(Config, "prod", "one", "b", "elsewhere"),
    {204, _, _} = ?HTTP:request(put, Url, [], {"text/plain", <<"here">>}),
    {307, _, _} = Redirect = ?HTTP:request(get, Url ++ "?route=redirect&r=1"),
    Location = ?HTTP:header("Location", Redirect),
    {200, _, <<"here">>} = Got = ?HTTP:request(get, Location),
    ?assertEqual(owner_uuid(Config, <<"elsewhere">>), ?HTTP:header("X-Ringtail-Node", Got)),
    {307, _, _} = Written = ?HTTP:request(put, Url, [{"X-Ringtail-Route", "redirect"}],
                                          {"text/plain", binary:copy(<<"x">>, 300000)}),
    ?assert(is_list(?HTTP:header("Location", Written))),
    {421, _, _} = Local = ?HTTP:request(get, Url ++ "?route=local"),
    #{<<"error">> := <<"not_primary">>, <<"primaries">> := [Primary]} = ?HTTP:json(Local),
    ?assertMatch(#{<<"up">> := true, <<"index">> := <<_/binary>>, <<"endpoints">> := [_ | _]},
                 Primary),
    %% The cluster's own default.
    {307, _, _} = ?HTTP:request(get, object(Config, "lab", "default", "b", "k")),
    {404, _, _} = ?HTTP:request(get, object(Config, "lab", "default", "b", "k") ++ "?route=proxy"),
    {404, _, _} = NoType = ?HTTP:request(get, object(Config, "prod", "missing", "b", "k")
                                         ++ "?route=redirect"),
    ?assertMatch(#{<<"error">> := <<"no_type">>}, ?HTTP:json(NoType)).

bad_requests(Config) ->
    Url = object(Config, "prod", "one", "b", "k"),
    ?assertMatch({400, _, _}, ?HTTP:request(get, Url ++ "?route=there")),
    ?assertMatch({404, _, _}, ?HTTP:request(get, object(Config, "prod", "missing", "b", "k"))),
    {405, _, _} = Method = ?HTTP:request(patch, Url),
    ?assertMatch(#{<<"error">> := <<"method_not_allowed">>}, ?HTTP:json(Method)),
    TooLarge = ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                "Content-Type: a/b\r\n"
                "Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n"],
    {413, _, _} = Large = ?HTTP:raw(Url, TooLarge),
    ?assertMatch(#{<<"error">> := <<"body_too_large">>}, ?HTTP:json(Large)),
    %% Riak's own refusals come through as they are.
    ?assertMatch({400, _, _}, ?HTTP:request(get, Url ++ "?r=nonsense")),
    ?assertMatch({200, _, _}, get(Config, "/explore/clusters/prod/preflist")).

large_objects(Config) ->
    [begin
         Url = object(Config, Cluster, Type, "b", "large"),
         Body = crypto:strong_rand_bytes(Size),
         {204, _, _} = ?HTTP:request(put, Url ++ "?route=proxy", [],
                                     {"application/octet-stream", Body}),
         {200, _, Same} = Got = ?HTTP:request(get, Url ++ "?route=proxy"),
         ?assertEqual({Size, true}, {Size, Same =:= Body}),
         ?assertEqual(integer_to_list(Size), ?HTTP:header("Content-Length", Got)),
         {204, _, _} = ?HTTP:request(delete, Url ++ "?route=proxy")
     end || {Cluster, Type, Size} <- [{"prod", "one", 50 * ?MIB}, {"prod", "one", 65536},
                                      {"prod", "one", 65537},
                                      {"prod", "one", 262144}, {"prod", "one", ?MIB},
                                      {"lab", "default", 3 * ?MIB + 1}]].

%% A client that does not read, and one that does not write on, hold a few pieces in the VM and in
%% the companion.
large_objects_take_no_memory(Config) ->
    Vm = vm(Config),
    Url = object(Config, "prod", "one", "b", "unread"),
    {204, _, _} = ?HTTP:request(put, Url, [],
                                {"application/octet-stream", crypto:strong_rand_bytes(50 * ?MIB)}),
    Before = {binaries(Vm), companion_memory(Vm)},
    Sockets = [begin
                   Socket = connect(Url, [{recbuf, 65536}]),
                   ok = gen_tcp:send(Socket, ["GET ", path(Url), " HTTP/1.1\r\nHost: x\r\n\r\n"]),
                   Socket
               end || _ <- [1, 2, 3]],
    Writer = connect(Url, [{recbuf, 65536}]),
    ok = gen_tcp:send(Writer, ["PUT ", path(Url),
                               " HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: ",
                               integer_to_list(50 * ?MIB), "\r\n\r\n",
                               crypto:strong_rand_bytes(10 * ?MIB)]),
    [{ok, _} = gen_tcp:recv(Socket, 1) || Socket <- Sockets],
    timer:sleep(1000),
    {Binaries, Companion} = {binaries(Vm) - element(1, Before),
                             companion_memory(Vm) - element(2, Before)},
    ct:pal("three readers and a writer that wait: VM ~w KiB, companion ~w KiB",
           [Binaries div 1024, Companion div 1024]),
    ?assert(Binaries < 16 * ?MIB),
    ?assert(Companion < 24 * ?MIB),
    [gen_tcp:close(Socket) || Socket <- [Writer | Sockets]],
    ok = ringtail_test_cluster:wait(fun() -> requests(Vm) =:= 0 end).

binaries(Vm) ->
    [rpc(Vm, erlang, garbage_collect, [P]) || P <- rpc(Vm, erlang, processes, [])],
    rpc(Vm, erlang, memory, [binary]).

companion_memory(Vm) ->
    {os_pid, Pid} = lists:keyfind(os_pid, 1, rpc(Vm, ringtail_companion, status, [])),
    {ok, Text} = file:read_file("/proc/" ++ integer_to_list(Pid) ++ "/status"),
    {match, [Kilobytes]} = re:run(Text, "VmRSS:\\s+(\\d+)", [{capture, all_but_first, list}]),
    list_to_integer(Kilobytes) * 1024.

chunked_upload(Config) ->
    Url = object(Config, "prod", "one", "b", "chunked"),
    Pieces = [crypto:strong_rand_bytes(Size) || Size <- [1, 1000, 100000, 300000, 1]],
    Chunks = [[integer_to_list(byte_size(Piece), 16), "\r\n", Piece, "\r\n"] || Piece <- Pieces],
    {204, _, _} = ?HTTP:raw(Url,
                            ["PUT ", path(Url),
                             " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: a/b\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n", Chunks, "0\r\n\r\n"]),
    ?assertEqual(iolist_to_binary(Pieces), element(3, ?HTTP:request(get, Url))).

many_callers_at_once(Config) ->
    Work = fun(N) ->
                   Url = object(Config, "prod", "one", "b", "many" ++ integer_to_list(N)),
                   Body = crypto:strong_rand_bytes(1000 * N),
                   {204, _, _} = ?HTTP:request(put, Url, [], {"a/b", Body}),
                   [{200, _, Body} = ?HTTP:request(get, Url) || _ <- lists:seq(1, 5)],
                   ok
           end,
    ?assertEqual(lists:duplicate(64, ok), parallel(Work, lists:seq(1, 64))).

parallel(Fun, List) ->
    Monitors = [spawn_monitor(fun() -> exit({done, Fun(Item)}) end) || Item <- List],
    [receive {'DOWN', Monitor, _, _, {done, Answer}} -> Answer;
             {'DOWN', Monitor, _, _, Other} -> Other
     end || {_, Monitor} <- Monitors].

no_atoms_from_outside(Config) ->
    Vm = vm(Config),
    Ask = fun(N) ->
                  Name = "never" ++ integer_to_list(N)
                      ++ integer_to_list(erlang:unique_integer([positive])),
                  get(Config, "/explore/clusters/" ++ Name ++ "/preflist"),
                  ?HTTP:request(put, object(Config, "prod", "one", Name, Name),
                                [{"X-Riak-Meta-" ++ Name, Name}], {"a/b", <<"x">>}),
                  ?HTTP:request(get, object(Config, "prod", Name, Name, Name)),
                  ?HTTP:request(get, object(Config, "prod", "one", Name,
                                            Name) ++ "?" ++ Name ++ "=1", [{"X-" ++ Name, Name}])
          end,
    [Ask(N) || N <- lists:seq(1, 5)],
    Before = rpc(Vm, erlang, system_info, [atom_count]),
    [Ask(N) || N <- lists:seq(1, 40)],
    ?assert(rpc(Vm, erlang, system_info, [atom_count]) - Before < 20).
