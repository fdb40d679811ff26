%% @doc The application in a VM without Riak: two stand-in clusters, one that is not there and one that never answers, asked
%% through one VM by name. The companion is the real one.
-module(ringtail_standalone_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

-define(HTTP, ringtail_test_http).
-define(MIB, 1048576).

all() ->
    [routes_come_and_go, clusters_by_name, full_preflist, not_modified, unknown_cluster_names_the_known,
     unreachable_cluster_says_why, topology_and_what_changed, key_preflist, console, status_and_page,
     objects_with_all_they_bear, names_of_any_bytes, siblings_and_conditions, redirect_and_local, bad_requests,
     large_objects, large_objects_take_no_memory, chunked_upload, many_callers_at_once, slow_cluster_delays_no_other,
     dead_callers_leave_nothing, no_atoms_from_outside, companion_killed, companion_killed_while_a_body_passes,
     primary_down, cluster_out_of_reach_and_back, clusters_change_in_a_console].

suite() -> [{timetrap, {seconds, 120}}].

init_per_suite(Config) ->
    Types = [{<<"one">>, [{n_val, 1}, {allow_mult, false}]}, {<<"sib">>, [{allow_mult, true}]}],
    Prod = ringtail_test_cluster:start(#{nodes => 2, ring_size => 8, types => Types}),
    Lab = ringtail_test_cluster:start(#{nodes => 1, ring_size => 8}),
    {Tarpit, TarpitPort} = tarpit(),
    Clusters = [{prod, seeds(Prod)}, {lab, [{seeds, seeds(Lab)}, {route, redirect}]}, {gone, ["http://127.0.0.1:1"]},
                {tarpit, ["http://127.0.0.1:" ++ integer_to_list(TarpitPort)]}],
    {ok, Vm} = standin_bare:start(#{patches => [ringtail_test_cluster:ours()], env => [{ringtail, [{clusters, Clusters}]}]}),
    ok = rpc(Vm, ringtail, start, []),
    ok = ringtail_test_cluster:wait(fun() -> lists:all(fun(Name) -> reached(Vm, Name) end, ["prod", "lab"]) end),
    [{vm, Vm}, {prod, Prod}, {lab, Lab}, {tarpit, Tarpit} | Config].

end_per_suite(Config) ->
    ok = standin_bare:stop(vm(Config)),
    exit(proplists:get_value(tarpit, Config), kill),
    [standin:stop_cluster(proplists:get_value(Name, Config)) || Name <- [prod, lab]].

seeds(Cluster) -> [Url || {_, Url} <- standin:urls(Cluster)].

reached(Vm, Name) -> element(1, rpc(Vm, ringtail_clusters, freshness, [Name])) =:= current.

%% Takes connections and says nothing.
tarpit() ->
    Suite = self(),
    Pid = spawn(fun() ->
                        {ok, Listener} = gen_tcp:listen(0, [{active, false}, {ip, {127, 0, 0, 1}}, {backlog, 1024}]),
                        {ok, Port} = inet:port(Listener),
                        Suite ! {self(), Port},
                        swallow(Listener, [])
                end),
    receive {Pid, Port} -> {Pid, Port} end.

swallow(Listener, Held) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} -> swallow(Listener, [Socket | Held]);
        {error, closed} -> ok
    end.

vm(Config) -> proplists:get_value(vm, Config).
rpc(Vm, Module, Function, Args) -> standin_bare:rpc(Vm, Module, Function, Args).
get(Config, Path) -> ?HTTP:request(get, standin_bare:url(vm(Config)) ++ Path).
get(Config, Path, Headers) -> ?HTTP:request(get, standin_bare:url(vm(Config)) ++ Path, Headers).

object(Config, Cluster, Type, Bucket, Key) ->
    lists:append([standin_bare:url(vm(Config)), "/riak/primary/clusters/", Cluster, "/types/", Type, "/buckets/", Bucket, "/keys/", Key]).

%% ---- Routes ----

routes_come_and_go(Config) ->
    Vm = vm(Config),
    Installed = rpc(Vm, webmachine_router, get_routes, []),
    ?assertMatch([_ | _], [ours || {["explore" | _], _, _} <- Installed]),
    ?assertMatch([_ | _], [ours || {["riak", "primary" | _], _, _} <- Installed]),
    ok = rpc(Vm, ringtail, start, []),
    ?assertEqual(Installed, rpc(Vm, webmachine_router, get_routes, []), "starting twice is harmless"),
    {os_pid, Companion} = lists:keyfind(os_pid, 1, rpc(Vm, ringtail_port, status, [])),
    ok = rpc(Vm, ringtail, stop, []),
    ?assertEqual([], rpc(Vm, webmachine_router, get_routes, [])),
    ?assertEqual([], [T || T <- rpc(Vm, ets, all, []), is_atom(T), lists:prefix("ringtail", atom_to_list(T))]),
    ?assertEqual([], [P || P <- rpc(Vm, erlang, registered, []), lists:prefix("ringtail", atom_to_list(P))]),
    ok = ringtail_test_cluster:wait(fun() -> not alive(Companion) end),
    ok = rpc(Vm, ringtail, start, []),
    ok = ringtail_test_cluster:wait(fun() -> rpc(Vm, ringtail_routes, state, []) =:= serving andalso reached(Vm, "prod")
                                                 andalso reached(Vm, "lab") end),
    ?assertEqual(lists:sort(Installed), lists:sort(rpc(Vm, webmachine_router, get_routes, []))).

alive(OsPid) -> filelib:is_dir("/proc/" ++ integer_to_list(OsPid)).

clusters_by_name(Config) ->
    [{_, ProdUrl} | _] = standin:urls(proplists:get_value(prod, Config)),
    [{_, LabUrl}] = standin:urls(proplists:get_value(lab, Config)),
    [begin
         {200, Expected, Map} = ?HTTP:request(get, Url ++ "/explore/clusters/default/preflist"),
         Uuid = ?HTTP:header("X-Ringtail-Cluster", {200, Expected, Map}),
         [begin
              Answer = {200, _, Same} = get(Config, Prefix ++ "/clusters/" ++ Cluster ++ "/preflist"),
              ?assertEqual({Cluster, Map}, {Cluster, Same}),
              [?assertEqual(?HTTP:header(Header, {200, Expected, Map}), ?HTTP:header(Header, Answer))
               || Header <- ["X-Ringtail-Topology", "X-Ringtail-Cluster", "ETag", "Content-Type"]],
              ?assert(is_list(?HTTP:header("X-Ringtail-Node", Answer))),
              ?assert(list_to_integer(?HTTP:header("Age", Answer)) =< 15),
              ?assertEqual(undefined, ?HTTP:header("Warning", Answer))
          end || Prefix <- ["/explore", "/admin/explore"], Cluster <- [Uuid, string:uppercase(Uuid) | Names]]
     end || {Url, Names} <- [{ProdUrl, ["prod", "default", "%70rod"]}, {LabUrl, ["lab"]}]].

full_preflist(Config) ->
    {200, _, _} = Answer = get(Config, "/explore/clusters/prod/preflist?format=full"),
    #{<<"ring_size">> := 8, <<"nodes">> := Nodes, <<"preflist">> := Map} = ?HTTP:json(Answer),
    ?assertEqual(8, maps:size(Map)),
    ?assertEqual(lists:sort([atom_to_binary(N) || N <- standin:nodes(proplists:get_value(prod, Config))]),
                 lists:sort([Name || #{<<"node">> := Name} <- Nodes])),
    [?assertMatch(#{<<"up">> := true, <<"status">> := <<"valid">>, <<"endpoints">> := [#{<<"host">> := <<"127.0.0.1">>} | _]}, Node)
     || Node <- Nodes].

not_modified(Config) ->
    {200, _, _} = Answer = get(Config, "/explore/clusters/prod/preflist"),
    Etag = ?HTTP:header("ETag", Answer),
    {304, _, <<>>} = NotModified = get(Config, "/explore/clusters/prod/preflist", [{"If-None-Match", Etag}]),
    ?assertEqual(?HTTP:header("X-Ringtail-Topology", Answer), ?HTTP:header("X-Ringtail-Topology", NotModified)),
    {200, Headers, Gzipped} = get(Config, "/explore/clusters/prod/preflist", [{"Accept-Encoding", "gzip"}]),
    ?assertEqual("gzip", proplists:get_value("content-encoding", Headers)),
    ?assertEqual(element(3, Answer), zlib:gunzip(Gzipped)).

unknown_cluster_names_the_known(Config) ->
    [begin
         {404, _, _} = Answer = get(Config, Path),
         ?assertMatch(#{<<"error">> := <<"unknown_cluster">>,
                        <<"clusters">> := [<<"default">>, <<"prod">>, <<"lab">>, <<"gone">>, <<"tarpit">>]}, ?HTTP:json(Answer))
     end || Path <- ["/explore/clusters/nope/preflist", "/explore/clusters/nope/topology", "/explore/clusters/%2F/preflist",
                     "/riak/primary/clusters/nope/types/default/buckets/b/keys/k",
                     "/explore/clusters/nope/bucket_types/default/buckets/b/keys/k/preflist"]].

unreachable_cluster_says_why(Config) ->
    ok = ringtail_test_cluster:wait(fun() -> rpc(vm(Config), ringtail_clusters, failure, ["gone"]) =/= none end),
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
    ?assertEqual(?HTTP:json(?HTTP:request(get, Url ++ "/explore/clusters/default/topology")), ?HTTP:json(Answer)),
    Token = ?HTTP:header("X-Ringtail-Topology", Answer),
    ?assertMatch(#{<<"joined">> := [], <<"left">> := [], <<"changed">> := []}, ?HTTP:json(get(Config, Path ++ "?from=" ++ Token))),
    ?assertMatch(#{<<"full">> := true}, ?HTTP:json(get(Config, Path ++ "?from=1-0123456789abcdef"))),
    ?assertMatch({400, _, _}, get(Config, Path ++ "?from=x")).

key_preflist(Config) ->
    [{_, Url} | _] = standin:urls(proplists:get_value(prod, Config)),
    [begin
         Tail = "/bucket_types/" ++ Type ++ "/buckets/b/keys/" ++ Key ++ "/preflist",
         Expected = ?HTTP:request(get, Url ++ "/explore/clusters/default" ++ Tail),
         Answer = get(Config, "/explore/clusters/prod" ++ Tail),
         ?assertEqual({Tail, element(1, Expected), element(3, Expected)}, {Tail, element(1, Answer), element(3, Answer)})
     end || Type <- ["default", "one", "missing"], Key <- ["k", "a%2Fb", "a+b%20c"]].

console(Config) ->
    Vm = vm(Config),
    Prod = proplists:get_value(prod, Config),
    [Node | _] = standin:nodes(Prod),
    Named = fun(Entries) -> [{Index, atom_to_binary(Owner)} || {Index, Owner} <- Entries] end,
    ?assertEqual(Named(standin:rpc(Prod, Node, ringtail, owners, [])), rpc(Vm, ringtail, owners, [])),
    [begin
         ?assertEqual(Named(standin:rpc(Prod, Node, ringtail, primaries, [Bucket, Key])), rpc(Vm, ringtail, primaries, [Bucket, Key])),
         ?assertEqual([{hd(Named([Entry])), Kind} || {Entry, Kind} <- standin:rpc(Prod, Node, ringtail, preflist, [Bucket, Key])],
                      rpc(Vm, ringtail, preflist, [Bucket, Key])),
         ?assertEqual(standin:rpc(Prod, Node, ringtail, where, [Bucket, Key]), rpc(Vm, ringtail, where, [Bucket, Key]))
     end || Bucket <- [<<"b">>, {<<"default">>, <<"b">>}, {<<"one">>, <<"c">>}], Key <- [<<"k">>, <<0, 255, "/ +">>]],
    {token, Token} = lists:keyfind(token, 1, rpc(Vm, ringtail, topology, [])),
    ?assertEqual({token, Token}, lists:keyfind(token, 1, standin:rpc(Prod, Node, ringtail, topology, []))),
    ?assertMatch({error, {no_bucket_type, _}}, rpc(Vm, ringtail, primaries, [{<<"missing">>, <<"b">>}, <<"k">>])),
    [ok = rpc(Vm, ringtail, print, [What]) || What <- [status, owners, topology]].

status_and_page(Config) ->
    Status = ?HTTP:json(get(Config, "/ringtail/status")),
    ?assertMatch(#{<<"mode">> := <<"standalone">>, <<"state">> := <<"serving">>, <<"problems">> := [],
                   <<"clusters">> := #{<<"prod">> := #{<<"condition">> := <<"current">>, <<"ring_size">> := 8},
                                       <<"gone">> := #{<<"condition">> := <<"unreachable">>, <<"error">> := _}},
                   <<"companion">> := #{<<"state">> := <<"up">>}}, Status),
    {200, _, Metrics} = get(Config, "/ringtail/metrics"),
    [?assertNotEqual({Line, nomatch}, {Line, binary:match(Metrics, Line)})
     || Line <- [<<"ringtail_cluster_current{cluster=\"prod\"} 1\n">>, <<"ringtail_cluster_current{cluster=\"gone\"} 0\n">>,
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
    {204, _, <<>>} = Put = ?HTTP:request(put, Url, [{"X-Riak-Meta-Colour", "blue"}], {"image/x-thing", Body}),
    ?assert(is_list(?HTTP:header("X-Ringtail-Node", Put))),
    {200, _, Body} = Got = ?HTTP:request(get, Url),
    ?assertEqual({"image/x-thing", "blue", "5000"},
                 {?HTTP:header("Content-Type", Got), ?HTTP:header("X-Riak-Meta-Colour", Got), ?HTTP:header("Content-Length", Got)}),
    %% The answer speaks of the node that gave it, which owns the key.
    ?assertEqual(owner_uuid(Config, <<"bearing">>), ?HTTP:header("X-Ringtail-Node", Got)),
    ?assertEqual(undefined, ?HTTP:header("Age", Got)),
    {200, _, <<>>} = Head = ?HTTP:request(head, Url),
    ?assertEqual({"5000", ?HTTP:header("ETag", Got)}, {?HTTP:header("Content-Length", Head), ?HTTP:header("ETag", Head)}),
    {304, _, <<>>} = ?HTTP:request(get, Url, [{"If-None-Match", ?HTTP:header("ETag", Got)}]),
    {200, _, <<"posted">>} = ?HTTP:request(post, Url ++ "?returnbody=true",
                                           [{"X-Riak-Vclock", ?HTTP:header("X-Riak-Vclock", Got)}], {"text/plain", <<"posted">>}),
    {204, _, _} = ?HTTP:request(put, Url ++ "?timeout=5000&w=1", [], {"text/plain", <<>>}),
    {204, _, _} = ?HTTP:request(delete, Url),
    {404, _, _} = ?HTTP:request(get, Url),
    {404, _, _} = ?HTTP:request(head, Url),
    Explore = standin_bare:url(vm(Config)) ++ "/explore/clusters/prod/bucket_types/one/buckets/b/primary/other",
    {204, _, _} = ?HTTP:request(put, Explore, [], {"text/plain", <<"x">>}),
    ?assertMatch({200, _, <<"x">>}, ?HTTP:request(get, object(Config, "prod", "one", "b", "other"))).

owner_uuid(Config, Key) ->
    Prod = proplists:get_value(prod, Config),
    [Node | _] = standin:nodes(Prod),
    [{_, Owner}] = standin:rpc(Prod, Node, ringtail, primaries, [{<<"one">>, <<"b">>}, Key]),
    {Owner, Uuid, _, _} = lists:keyfind(Owner, 1, standin:rpc(Prod, Node, ringtail_ring, members, [])),
    binary_to_list(Uuid).

names_of_any_bytes(Config) ->
    [{_, Native} | _] = standin:urls(proplists:get_value(prod, Config)),
    [begin
         {204, _, _} = ?HTTP:request(put, object(Config, "prod", "one", "b%2F%20c", Key), [], {"text/plain", list_to_binary(Key)}),
         ?assertEqual({Key, list_to_binary(Key)},
                      {Key, element(3, ?HTTP:request(get, Native ++ "/types/one/buckets/b%2F%20c/keys/" ++ Key))})
     end || Key <- ["a%2Fb", "a+b", "a%2Bb", "%C3%A9", "%00", "%25", lists:duplicate(1000, $k)]].

siblings_and_conditions(Config) ->
    Url = object(Config, "prod", "sib", "b", "s"),
    [{204, _, _} = ?HTTP:request(put, Url, [], {"text/plain", Value}) || Value <- [<<"one">>, <<"two">>]],
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
    {307, _, _} = Written = ?HTTP:request(put, Url, [{"X-Ringtail-Route", "redirect"}], {"text/plain", binary:copy(<<"x">>, 300000)}),
    ?assert(is_list(?HTTP:header("Location", Written))),
    {421, _, _} = Local = ?HTTP:request(get, Url ++ "?route=local"),
    #{<<"error">> := <<"not_primary">>, <<"primaries">> := [Primary]} = ?HTTP:json(Local),
    ?assertMatch(#{<<"up">> := true, <<"index">> := <<_/binary>>, <<"endpoints">> := [_ | _]}, Primary),
    %% The cluster's own default.
    {307, _, _} = ?HTTP:request(get, object(Config, "lab", "default", "b", "k")),
    {404, _, _} = ?HTTP:request(get, object(Config, "lab", "default", "b", "k") ++ "?route=proxy"),
    {404, _, _} = NoType = ?HTTP:request(get, object(Config, "prod", "missing", "b", "k") ++ "?route=redirect"),
    ?assertMatch(#{<<"error">> := <<"no_type">>}, ?HTTP:json(NoType)).

bad_requests(Config) ->
    Url = object(Config, "prod", "one", "b", "k"),
    ?assertMatch({400, _, _}, ?HTTP:request(get, Url ++ "?route=there")),
    ?assertMatch({404, _, _}, ?HTTP:request(get, object(Config, "prod", "missing", "b", "k"))),
    {405, _, _} = Method = ?HTTP:request(patch, Url),
    ?assertMatch(#{<<"error">> := <<"method_not_allowed">>}, ?HTTP:json(Method)),
    {413, _, _} = Large = ?HTTP:raw(Url, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: a/b\r\n"
                                          "Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n"]),
    ?assertMatch(#{<<"error">> := <<"body_too_large">>}, ?HTTP:json(Large)),
    %% Riak's own refusals come through as they are.
    ?assertMatch({400, _, _}, ?HTTP:request(get, Url ++ "?r=nonsense")),
    ?assertMatch({200, _, _}, get(Config, "/explore/clusters/prod/preflist")).

path(Url) -> maps:get(path, uri_string:parse(Url)).

large_objects(Config) ->
    [begin
         Url = object(Config, Cluster, Type, "b", "large"),
         Body = crypto:strong_rand_bytes(Size),
         {204, _, _} = ?HTTP:request(put, Url ++ "?route=proxy", [], {"application/octet-stream", Body}),
         {200, _, Same} = Got = ?HTTP:request(get, Url ++ "?route=proxy"),
         ?assertEqual({Size, true}, {Size, Same =:= Body}),
         ?assertEqual(integer_to_list(Size), ?HTTP:header("Content-Length", Got)),
         {204, _, _} = ?HTTP:request(delete, Url ++ "?route=proxy")
     end || {Cluster, Type, Size} <- [{"prod", "one", 50 * ?MIB}, {"prod", "one", 65536}, {"prod", "one", 65537},
                                      {"prod", "one", 262144}, {"prod", "one", ?MIB}, {"lab", "default", 3 * ?MIB + 1}]].

%% A client that does not read, and one that does not write on, hold a few pieces in the VM and in the companion.
large_objects_take_no_memory(Config) ->
    Vm = vm(Config),
    Url = object(Config, "prod", "one", "b", "unread"),
    {204, _, _} = ?HTTP:request(put, Url, [], {"application/octet-stream", crypto:strong_rand_bytes(50 * ?MIB)}),
    Before = {binaries(Vm), companion_memory(Vm)},
    Sockets = [begin
                   Socket = connect(Url),
                   ok = gen_tcp:send(Socket, ["GET ", path(Url), " HTTP/1.1\r\nHost: x\r\n\r\n"]),
                   Socket
               end || _ <- [1, 2, 3]],
    Writer = connect(Url),
    ok = gen_tcp:send(Writer, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: ",
                               integer_to_list(50 * ?MIB), "\r\n\r\n", crypto:strong_rand_bytes(10 * ?MIB)]),
    [{ok, _} = gen_tcp:recv(Socket, 1) || Socket <- Sockets],
    timer:sleep(1000),
    {Binaries, Companion} = {binaries(Vm) - element(1, Before), companion_memory(Vm) - element(2, Before)},
    ct:pal("three readers and a writer that wait: VM ~w KiB, companion ~w KiB", [Binaries div 1024, Companion div 1024]),
    ?assert(Binaries < 16 * ?MIB),
    ?assert(Companion < 24 * ?MIB),
    [gen_tcp:close(Socket) || Socket <- [Writer | Sockets]],
    ok = ringtail_test_cluster:wait(fun() -> requests(Vm) =:= 0 end).

connect(Url) ->
    #{port := Port} = uri_string:parse(Url),
    {ok, Socket} = gen_tcp:connect("127.0.0.1", Port, [binary, {active, false}, {recbuf, 65536}]),
    Socket.

binaries(Vm) ->
    [rpc(Vm, erlang, garbage_collect, [P]) || P <- rpc(Vm, erlang, processes, [])],
    rpc(Vm, erlang, memory, [binary]).

companion_memory(Vm) ->
    {os_pid, Pid} = lists:keyfind(os_pid, 1, rpc(Vm, ringtail_port, status, [])),
    {ok, Text} = file:read_file("/proc/" ++ integer_to_list(Pid) ++ "/status"),
    {match, [Kilobytes]} = re:run(Text, "VmRSS:\\s+(\\d+)", [{capture, all_but_first, list}]),
    list_to_integer(Kilobytes) * 1024.

requests(Vm) -> proplists:get_value(requests, rpc(Vm, ringtail_port, status, [])).

chunked_upload(Config) ->
    Url = object(Config, "prod", "one", "b", "chunked"),
    Pieces = [crypto:strong_rand_bytes(Size) || Size <- [1, 1000, 100000, 300000, 1]],
    Chunks = [[integer_to_list(byte_size(Piece), 16), "\r\n", Piece, "\r\n"] || Piece <- Pieces],
    {204, _, _} = ?HTTP:raw(Url, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: a/b\r\n"
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
                   Socket = connect(Slow),
                   ok = gen_tcp:send(Socket, ["GET ", path(Slow), "?timeout=3000 HTTP/1.1\r\nHost: x\r\n\r\n"]),
                   Socket
               end || _ <- lists:seq(1, 20)],
    ok = ringtail_test_cluster:wait(fun() -> requests(Vm) >= 20 end),
    [gen_tcp:close(Socket) || Socket <- Sockets],
    ok = ringtail_test_cluster:wait(fun() -> requests(Vm) =:= 0 end, 60000).

no_atoms_from_outside(Config) ->
    Vm = vm(Config),
    Ask = fun(N) ->
                  Name = "never" ++ integer_to_list(N) ++ integer_to_list(erlang:unique_integer([positive])),
                  get(Config, "/explore/clusters/" ++ Name ++ "/preflist"),
                  ?HTTP:request(put, object(Config, "prod", "one", Name, Name), [{"X-Riak-Meta-" ++ Name, Name}], {"a/b", <<"x">>}),
                  ?HTTP:request(get, object(Config, "prod", Name, Name, Name)),
                  ?HTTP:request(get, object(Config, "prod", "one", Name, Name) ++ "?" ++ Name ++ "=1", [{"X-" ++ Name, Name}])
          end,
    [Ask(N) || N <- lists:seq(1, 5)],
    Before = rpc(Vm, erlang, system_info, [atom_count]),
    [Ask(N) || N <- lists:seq(1, 40)],
    ?assert(rpc(Vm, erlang, system_info, [atom_count]) - Before < 20).

%% ---- What goes wrong ----

companion_killed(Config) ->
    Vm = vm(Config),
    Url = object(Config, "prod", "one", "b", "survivor"),
    {204, _, _} = ?HTTP:request(put, Url, [], {"a/b", <<"x">>}),
    [begin
         kill_companion(Vm),
         %% A read finds the next companion; a write that did not begin does, too.
         ?assertMatch({200, _, <<"x">>}, again(fun() -> ?HTTP:request(get, Url) end)),
         ?assertMatch({204, _, _}, again(fun() -> ?HTTP:request(put, Url, [], {"a/b", <<"x">>}) end))
     end || _ <- [1, 2, 3]],
    ?assertMatch({200, _, _}, get(Config, "/explore/clusters/prod/preflist")).

%% A clear error or success, and success before long.
again(Request) -> again(Request, 20).

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
    {os_pid, Pid} = lists:keyfind(os_pid, 1, rpc(Vm, ringtail_port, status, [])),
    [os:cmd("kill -9 " ++ integer_to_list(Pid)) || is_integer(Pid)].

companion_killed_while_a_body_passes(Config) ->
    Vm = vm(Config),
    Url = object(Config, "prod", "one", "b", "cut"),
    {204, _, _} = ?HTTP:request(put, Url, [], {"a/b", crypto:strong_rand_bytes(20 * ?MIB)}),
    Reader = connect(Url),
    ok = gen_tcp:send(Reader, ["GET ", path(Url), " HTTP/1.1\r\nHost: x\r\n\r\n"]),
    {ok, _} = gen_tcp:recv(Reader, 100000),
    Writer = connect(Url),
    ok = gen_tcp:send(Writer, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: a/b\r\nContent-Length: ",
                               integer_to_list(20 * ?MIB), "\r\n\r\n", crypto:strong_rand_bytes(10 * ?MIB)]),
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
                   [{_, Owner}] <- [standin:rpc(Prod, Node, ringtail, primaries, [{<<"one">>, <<"b">>}, list_to_binary(Key)])],
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
    ok = rpc(Vm, ringtail_clusters, refresh, ["lab", 20000]),
    timer:sleep(1100),
    {200, _, Map} = Stale = get(Config, Path),
    ?assertEqual("110 - \"Response is Stale\"", ?HTTP:header("Warning", Stale)),
    ?assert(list_to_integer(?HTTP:header("Age", Stale)) >= 1),
    {200, _, _} = Topology = get(Config, "/explore/clusters/lab/topology"),
    ?assert(is_list(?HTTP:header("Warning", Topology))),
    {503, _, _} = get(Config, "/riak/primary/clusters/lab/types/default/buckets/b/keys/k?route=proxy"),
    {503, _, _} = get(Config, "/explore/clusters/lab/bucket_types/default/buckets/b/keys/k/preflist"),
    ?assertMatch(#{<<"clusters">> := #{<<"lab">> := #{<<"condition">> := <<"stale">>, <<"error">> := _}}},
                 ?HTTP:json(get(Config, "/ringtail/status"))),
    ok = standin:restart(Lab, Node),
    ok = standin:rpc(Lab, Node, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(Lab),
    ok = ringtail_test_cluster:wait(fun() -> ?HTTP:header("Warning", get(Config, Path)) =:= undefined end),
    ?assertMatch({404, _, _}, get(Config, "/riak/primary/clusters/lab/types/default/buckets/b/keys/k?route=proxy")).

clusters_change_in_a_console(Config) ->
    Vm = vm(Config),
    {ok, Clusters} = rpc(Vm, application, get_env, [ringtail, clusters]),
    {prod, Seeds} = lists:keyfind(prod, 1, Clusters),
    ok = rpc(Vm, application, set_env, [ringtail, clusters, [{new, Seeds}, {bad, []} | lists:keydelete(prod, 1, Clusters)]]),
    ok = ringtail_test_cluster:wait(fun() -> element(1, get(Config, "/explore/clusters/new/preflist")) =:= 200 end),
    ok = ringtail_test_cluster:wait(fun() -> element(1, get(Config, "/explore/clusters/prod/preflist")) =:= 404 end),
    ?assertMatch(#{<<"problems">> := [_]}, ?HTTP:json(get(Config, "/ringtail/status"))),
    ok = rpc(Vm, application, set_env, [ringtail, clusters, Clusters]),
    ok = ringtail_test_cluster:wait(fun() -> element(1, get(Config, "/explore/clusters/prod/preflist")) =:= 200 end).
