%% Routes, how requests find them, and what wrq says of a request.
-module(standin_wm_router_tests).

-include_lib("eunit/include/eunit.hrl").
-include("webmachine/include/wm_reqdata.hrl").

-export([yes/1]).

%% Router

router_test_() ->
    {foreach,
     fun() -> {ok, Apps} = application:ensure_all_started(webmachine), Apps end,
     fun(Apps) -> [application:stop(App) || App <- lists:reverse(Apps)] end,
     [fun newest_first/0, fun equal_routes_once/0, fun remove/0, fun remove_resource/0,
      fun groups/0, fun init_routes/0, fun no_list_at_all/0, fun failing_guard/0,
      fun routes_survive_the_router/0, fun routes_end_with_the_application/0]}.

newest_first() ->
    A = {["a"], a, []}, B = {["b"], b, []},
    ok = webmachine_router:add_route(A),
    ok = webmachine_router:add_route(B),
    ?assertEqual([B, A], webmachine_router:get_routes()).

equal_routes_once() ->
    A = {["a"], a, []}, B = {["b"], b, []},
    [webmachine_router:add_route(R) || R <- [A, B, A, A]],
    ?assertEqual([A, B], webmachine_router:get_routes()),
    webmachine_router:add_route({["a"], a, [other]}),
    ?assertEqual(3, length(webmachine_router:get_routes())).

remove() ->
    A = {["a"], a, []}, B = {["b"], fun erlang:is_tuple/1, b, []},
    [webmachine_router:add_route(R) || R <- [A, B]],
    ok = webmachine_router:remove_route({["never"], x, []}),
    ok = webmachine_router:remove_route(A),
    ?assertEqual([B], webmachine_router:get_routes()),
    ok = webmachine_router:remove_route(B),
    ?assertEqual([], webmachine_router:get_routes()).

remove_resource() ->
    Kept = {["k"], kept, []},
    [webmachine_router:add_route(R)
     || R <- [{["a"], gone, []}, Kept, {["b"], fun erlang:is_tuple/1, gone, [x]},
              {["host"], [{["c"], gone, []}, Kept]}]],
    ok = webmachine_router:remove_resource(gone),
    ?assertEqual([{["host"], [Kept]}, Kept], webmachine_router:get_routes()).

groups() ->
    webmachine_router:add_route(other, {["a"], a, []}),
    ?assertEqual([], webmachine_router:get_routes()),
    ?assertEqual([{["a"], a, []}], webmachine_router:get_routes(other)),
    webmachine_router:remove_route(other, {["a"], a, []}),
    ?assertEqual([], webmachine_router:get_routes(other)).

init_routes() ->
    webmachine_router:init_routes([{["a"], a, []}]),
    webmachine_router:init_routes([{["b"], b, []}]),
    ?assertEqual([{["a"], a, []}], webmachine_router:get_routes()),
    webmachine_router:init_routes(other, []),
    webmachine_router:init_routes(other, [{["b"], b, []}]),
    ?assertEqual([], webmachine_router:get_routes(other)).

%% What a listener without a list of routes leaves behind.
no_list_at_all() ->
    webmachine_router:init_routes(undefined),
    ?assertEqual(undefined, webmachine_router:get_routes()),
    ?assertExit(_, webmachine_router:add_route({["a"], a, []})).

%% It is logged, so webmachine must run.
failing_guard() ->
    ?assertThrow({error_running_guard, _, boom},
                 dispatch("/v", [{['*'], fun(_) -> error(boom) end, guarded, []}])).

routes_survive_the_router() ->
    webmachine_router:add_route({["a"], a, []}),
    Pid = whereis(webmachine_router),
    Ref = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Ref, process, Pid, killed} -> ok end,
    New = restarted(Pid, 100),
    ?assertNotEqual(Pid, New),
    ?assertEqual([{["a"], a, []}], webmachine_router:get_routes()),
    ok = webmachine_router:add_route({["b"], b, []}).

restarted(Old, N) when N > 0 ->
    case whereis(webmachine_router) of
        Pid when is_pid(Pid), Pid =/= Old -> Pid;
        _ -> timer:sleep(10), restarted(Old, N - 1)
    end.

routes_end_with_the_application() ->
    webmachine_router:add_route({["a"], a, []}),
    ok = application:stop(webmachine),
    ok = application:start(webmachine),
    ?assertEqual([], webmachine_router:get_routes()).

%% Dispatch

dispatch(Path, Routes) -> dispatch("", Path, Routes).

dispatch(Host, Path, Routes) ->
    webmachine_dispatcher:dispatch(Host, Path, Routes, request(Path)).

request(Path) -> wrq:create('GET', {1, 1}, Path, mochiweb_headers:empty()).

bindings_test() ->
    Routes = [{["types", type, "buckets", bucket, "keys", key], object, [native]}],
    ?assertEqual({object, [native], [], 80, [], [{key, "k%2F+x"}, {bucket, "b"}, {type, "t"}], 
                  "../../../../../..", ""},
                 dispatch("/types/t/buckets/b/keys/k%2F+x", Routes)),
    ?assertMatch({object, _, _, _, _, _, _, _}, dispatch("/types/t//buckets/b/keys/k/", Routes)),
    [?assertMatch({no_dispatch_match, {[], 80}, _}, dispatch(Path, Routes))
     || Path <- ["/", "/types/t/buckets/b/keys", "/types/t/buckets/b/keys/k/more",
                 "/Types/t/buckets/b/keys/k"]].

rest_of_the_path_test() ->
    Routes = [{["a", '*'], m, []}],
    ?assertMatch({m, [], [], 80, ["b", "c"], [], "../../..", "b/c"}, dispatch("/a/b/c", Routes)),
    ?assertMatch({m, [], [], 80, ["b", "c"], [], "../../../..", "b/c"},
                 dispatch("/a/b/c/", Routes)),
    ?assertMatch({m, [], [], 80, [], [], ".", ""}, dispatch("/a", Routes)),
    ?assertMatch({no_dispatch_match, _, ["b"]}, dispatch("/b", Routes)).

root_test() ->
    ?assertMatch({m, [], [], 80, [], [], ".", ""}, dispatch("/", [{[], m, []}])),
    ?assertMatch({no_dispatch_match, _, ["a"]}, dispatch("/a", [{[], m, []}])).

first_route_wins_test() ->
    ?assertMatch({one, _, _, _, _, _, _, _}, dispatch("/a", [{["a"], one, []}, {['*'], two, []}])),
    ?assertMatch({two, _, _, _, _, _, _, _}, dispatch("/a", [{['*'], two, []}, {["a"], one, []}])).

guard_test() ->
    Sees = fun(RD) ->
                   {"v", ["rest"], "rest"} =:=
                       {wrq:path_info(key, RD), wrq:path_tokens(RD), wrq:disp_path(RD)}
           end,
    Routes = [{[key, '*'], Sees, guarded, []}, {['*'], open, []}],
    ?assertMatch({guarded, _, _, _, _, _, _, _}, dispatch("/v/rest", Routes)),
    ?assertMatch({open, _, _, _, _, _, _, _}, dispatch("/v/other", Routes)),
    ?assertMatch({open, _, _, _, _, _, _, _},
                 dispatch("/v", [{['*'], fun(_) -> not_true end, guarded, []}, {['*'], open, []}])),
    ?assertMatch({by_name, _, _, _, _, _, _, _},
                 dispatch("/v", [{['*'], {?MODULE, yes}, by_name, []}])).

yes(#wm_reqdata{}) -> true.

hosts_test() ->
    Routes = [{["riak", "example", "org"], [{["a"], exact, []}]},
              {{['*', "example", "org"], 8098}, [{["a"], suffix, []}]},
              {{[name, "net"], port}, [{["a"], bound, []}]},
              {["a"], anywhere, []}],
    ?assertMatch({exact, [], [], 80, [], [], ".", ""}, dispatch("riak.example.org", "/a", Routes)),
    ?assertMatch({suffix, [], ["x", "y"], 8098, _, _, _, _},
                 dispatch("x.y.example.org:8098", "/a", Routes)),
    {bound, [], [], 99, [], Bindings, _, _} = dispatch("host.net:99", "/a", Routes),
    ?assertEqual([{name, "host"}, {port, 99}], lists:sort(Bindings)),
    ?assertMatch({anywhere, _, _, _, _, _, _, _}, dispatch("x.example.org:1", "/a", Routes)),
    ?assertMatch({no_dispatch_match, {["host", "net"], 99}, ["b"]},
                 dispatch("host.net:99", "/b", Routes)).

ipv6_hosts_test() ->
    At = fun(Host) -> {no_dispatch_match, Found, _} = dispatch(Host, "/", []), Found end,
    ?assertEqual({["[::1]"], 80}, At("[::1]")),
    ?assertEqual({["[::1]"], 8098}, At("[::1]:8098")),
    ?assertEqual({["[fd83::106]"], 80}, At("fd83::106")).

%% wrq

wrq_request_test() ->
    RD = wrq:create('PUT', https, {1, 1}, "/a%2Fb/c+d?x=1+2%263&empty=&x=9",
                    mochiweb_headers:make([{"Cookie", "k=v; l=w"}, {"X-One", "1"}])),
    ?assertEqual({'PUT', https, {1, 1}, "/a%2Fb/c+d", "/a%2Fb/c+d?x=1+2%263&empty=&x=9"},
                 {wrq:method(RD), wrq:scheme(RD), wrq:version(RD), wrq:path(RD), wrq:raw_path(RD)}),
    ?assertEqual([{"x", "1 2&3"}, {"empty", ""}, {"x", "9"}], wrq:req_qs(RD)),
    ?assertEqual({"1 2&3", "", undefined, "d"},
                 {wrq:get_qs_value("x", RD), wrq:get_qs_value("empty", RD),
                  wrq:get_qs_value("no", RD), wrq:get_qs_value("no", "d", RD)}),
    ?assertEqual({"v", "w", undefined},
                 {wrq:get_cookie_value("k", RD), wrq:get_cookie_value("l", RD),
                  wrq:get_cookie_value("m", RD)}),
    ?assertEqual({"1", undefined},
                 {wrq:get_req_header("x-one", RD), wrq:get_req_header("x-two", RD)}).

%% Programs find the raw path's place in the tuple by looking for it.
raw_path_is_an_element_test() ->
    RD = wrq:create('GET', {1, 1}, "/find/me?q", mochiweb_headers:empty()),
    ?assert(is_tuple(RD)),
    ?assertEqual([10], [N || N <- lists:seq(1, tuple_size(RD)), element(N, RD) =:= "/find/me?q"]).

%% A body can be read only in a callback: no guard, no made-up request.
body_needs_a_connection_test() ->
    ?assertError(_, wrq:req_body(request("/"))).

wrq_response_test() ->
    RD0 = request("/"),
    RD1 = wrq:set_resp_header("X-A", "1", wrq:set_resp_headers([{"X-B", "2"}, {"X-C", "3"}], RD0)),
    RD2 = wrq:merge_resp_headers([{"x-b", "4"}], wrq:set_resp_header("x-a", "5", RD1)),
    ?assertEqual(["5", "2, 4", "3"], [wrq:get_resp_header(K, RD2) || K <- ["X-A", "X-B", "X-C"]]),
    ?assertEqual("5", wrq:get_resp_header("X-A", wrq:remove_resp_header("X-A", RD2))),
    ?assertEqual(undefined, wrq:get_resp_header("X-A", wrq:remove_resp_header("x-a", RD2))),
    Fresh = wrq:fresh_resp_headers([{"Only", "1"}], RD2),
    ?assertEqual({undefined, "1"},
                 {wrq:get_resp_header("X-C", Fresh), wrq:get_resp_header("only", Fresh)}),
    ?assertError(function_clause, wrq:set_resp_header("X", <<"binary">>, RD0)),
    ?assertEqual({418, 204}, {wrq:response_code(wrq:set_response_code({418, "T"}, RD0)),
                              wrq:response_code(wrq:set_response_code(204, RD0))}),
    ?assertEqual(<<"abc">>,
                 wrq:resp_body(wrq:append_to_response_body(["b", $c],
                                                           wrq:append_to_resp_body(<<"a">>, RD0)))),
    ?assertEqual(<<"ab">>, wrq:resp_body(wrq:set_resp_body(["a", "b"], RD0))),
    ?assertEqual({stream, x}, wrq:resp_body(wrq:set_resp_body({stream, x}, RD0))),
    ?assert(wrq:resp_redirect(wrq:do_redirect(true, RD0))),
    ?assertEqual([{a, 1}], wrq:get_notes(wrq:add_note(a, 1, RD0))).

base_uri_test() ->
    Uri = fun(Scheme, Port) ->
                  wrq:base_uri((request("/"))#wm_reqdata{scheme = Scheme,
                                                         host_tokens = ["a", "org"], port = Port})
          end,
    ?assertEqual(["http://a.org", "http://a.org:8098", "https://a.org", "https://a.org:80"],
                 [Uri(http, 80), Uri(http, 8098), Uri(https, 443), Uri(https, 80)]).

%% webmachine_util

quoting_test() ->
    ?assertEqual("\"a\\\"b\"", webmachine_util:quoted_string("a\"b")),
    ?assertEqual("\"a\"", webmachine_util:quoted_string("\"a\"")),
    ?assertEqual(["a", "b\"c", ""],
                 webmachine_util:split_quoted_strings("\"a\", W/\"b\\\"c\" , \"\"")).

dates_test() ->
    Date = {{2026, 11, 29}, {18, 12, 36}},
    ?assertEqual("Sun, 29 Nov 2026 18:12:36 GMT", webmachine_util:rfc1123_date(Date)),
    ?assertEqual(Date, webmachine_util:convert_request_date("Sun, 29 Nov 2026 18:12:36 GMT")),
    ?assertEqual(bad_date, webmachine_util:convert_request_date("soon")).

media_type_params_test() ->
    Provided = ["text/plain", {"multipart/mixed", []}, {"text/html", [{level, "1"}]}],
    ?assertEqual("text/html; level=1",
                 webmachine_util:choose_media_type(Provided, "text/html;level=1")),
    ?assertEqual(none, webmachine_util:choose_media_type(Provided, "text/html")),
    ?assertEqual("multipart/mixed", webmachine_util:choose_media_type(Provided, "multipart/mixed")),
    ?assertError({badmatch, []}, webmachine_util:choose_media_type(Provided, "/")),
    ?assertEqual(none, webmachine_util:choose_media_type([], "/")).
