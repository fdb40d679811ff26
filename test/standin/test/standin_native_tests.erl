%% What Riak's own object resource makes of odd input, as asked of Riak 3.2.3.
-module(standin_native_tests).

-include_lib("eunit/include/eunit.hrl").

-import(standin_kv_client, [put/4, get/3, request/6]).

all_test_() ->
    Tests = [fun links_under_types/1, fun junk_links/1, fun not_modified/1, fun timeouts/1,
             fun referers/1, fun origins/1, fun lengths/1],
    Types = [{<<"n1">>, [{n_val, 1}]}],
    {setup, fun() -> {ok, C} = standin:start_cluster(#{nodes => 2, types => Types}), C end,
     fun standin:stop_cluster/1,
     fun(C) -> [{timeout, 60, {name(T), fun() -> T(C) end}} || T <- Tests] end}.

name(T) -> atom_to_list(element(2, erlang:fun_info(T, name))).

node_of(C) -> hd(standin:nodes(C)).

status(C, Method, Path, Headers) ->
    {Code, _, _, _} = answer(C, Method, Path, Headers),
    Code.

answer(C, Method, Path, Headers) ->
    Body = case lists:member(Method, ["PUT", "POST"]) of true -> <<"v">>; false -> none end,
    Type = [{"Content-Type", "text/plain"} || Body =/= none],
    request(C, node_of(C), Method, Path, Type ++ Headers, Body).

link() -> {"Link", "</buckets/b/keys/other>; riaktag=\"next\""}.

%% Stored either way; shown only where the version has a form for it.
links_under_types(C) ->
    Old = "/buckets/b/keys/linked", New = "/types/default" ++ Old,
    ?assertEqual(204, status(C, "PUT", Old, [link()])),
    {200, _, Headers, _} = answer(C, "GET", Old, []),
    ?assertMatch({match, _}, re:run(standin_wm_client:header("link", Headers), "keys/other")),
    ?assertEqual(500, status(C, "GET", New, [])),
    ?assertEqual(204, status(C, "PUT", New ++ "2", [link()])),
    ?assertEqual(200, status(C, "GET", Old ++ "2", [])),
    ?assertEqual(500, status(C, "GET", New ++ "2", [])),
    ?assertEqual(500, status(C, "PUT", New ++ "3?returnbody=true", [link()])),
    ?assertEqual(200, status(C, "GET", Old ++ "3", [])).

junk_links(C) ->
    Junk = [{"Link", "junk"}],
    [?assertEqual({Code, Path}, {status(C, "PUT", Path, Junk), Path})
     || {Code, Path} <- [{400, "/riak/b/junk"}, {400, "/buckets/b/keys/junk"},
                         {500, "/types/default/buckets/b/keys/junk"},
                         {500, "/types/n1/buckets/b/keys/junk"}]],
    ?assertEqual(404, status(C, "GET", "/buckets/b/keys/junk", [])).

%% With nothing there a PUT conflicts whatever is given; junk is otherwise no
%% conflict, since webmachine takes the failure for a no, and a POST is not asked.
not_modified(C) ->
    Path = {"n1", "b", "clock"},
    Given = fun(Clock) -> [{"X-Riak-If-Not-Modified", Clock}] end,
    ?assertEqual(409, status(C, "PUT", Path, Given("junk"))),
    ?assertEqual(204, status(C, "PUT", Path, [])),
    {200, _, Headers, _} = answer(C, "GET", Path, []),
    Clock = binary_to_list(standin_wm_client:header("x-riak-vclock", Headers)),
    Seen = [{"X-Riak-Vclock", Clock} | Given(Clock)],
    ?assertEqual(204, status(C, "PUT", Path, Seen)),
    ?assertEqual(409, status(C, "PUT", Path, Seen)),
    ?assertEqual(204, status(C, "PUT", Path, Given("junk"))),
    ?assertEqual(204, status(C, "POST", Path, Seen)),
    ?assertEqual(204, status(C, "DELETE", Path, Given("junk"))).

%% 100 ms are added before the waiting; what cannot be waited for is a 500, and
%% a write of that kind is done nevertheless.
timeouts(C) ->
    Path = fun(Key, T) -> lists:concat(["/types/n1/buckets/b/keys/", Key, "?timeout=", T]) end,
    ?assertEqual(204, status(C, "PUT", Path(timed, 5000), [])),
    [?assertEqual({Code, Method, T}, {status(C, Method, Path(timed, T), []), Method, T})
     || Method <- ["GET", "PUT"],
        {Code, T} <- [{503, -1}, {503, -100}, {500, -101}, {500, 1 bsl 32 - 2}, {500, 1 bsl 32},
                      {500, 99999999999999999999}, {400, "1.5"}, {400, "1e3"}]],
    ?assertEqual(204, status(C, "PUT", Path(waited, 1 bsl 32 - 101), [])),
    ?assertEqual(200, status(C, "GET", Path(waited, 1 bsl 32 - 101), [])),
    ?assertEqual(503, status(C, "PUT", Path(below, -1), [])),
    ?assertEqual(404, status(C, "GET", Path(below, 5000), [])),
    ?assertEqual(500, status(C, "PUT", Path(above, 1 bsl 32 - 2), [])),
    ok = standin_kv_client:eventually(fun() -> status(C, "GET", Path(above, 5000), []) =:= 200 end),
    %% A delete adds its 100 ms before it begins, and its own get the next.
    Delete = fun(Key, T) ->
        204 = status(C, "PUT", Path(Key, 5000), []),
        {status(C, "DELETE", Path(Key, T), []), status(C, "GET", Path(Key, 5000), [])}
    end,
    ?assertEqual({204, 404}, Delete(d1, -1)),
    ?assertEqual({500, 200}, Delete(d2, -101)),
    ?assertEqual({500, 200}, Delete(d3, 1 bsl 32 - 2)).

referers(C) ->
    Port = standin_kv_client:port(C, node_of(C)),
    Here = "localhost:" ++ integer_to_list(Port),
    ?assertEqual(204, put(C, node_of(C), {"n1", "b", "referred"}, <<"v">>)),
    Ask = fun(Referer) ->
        status(C, "GET", {"n1", "b", "referred"}, [{"Host", Here}, {"Referer", Referer}])
    end,
    [?assertEqual({Code, Referer}, {Ask(Referer), Referer})
     || {Code, Referer} <- [{200, "http://" ++ Here ++ "/page"}, {200, "HTTP://" ++ Here},
                            {403, "https://" ++ Here}, {403, "http://elsewhere:8098/"},
                            {403, "http://[::1/"},
                            {500, "http://localhost/"}, {500, "http://elsewhere/"},
                            {500, "page"}, {500, ""}]].

%% No more than a browser's word that it will not say where a page comes from.
origins(C) ->
    [?assertEqual({Code, Origin},
                  {status(C, "PUT", {"n1", "b", "origin"}, [{"Origin", Origin}]), Origin})
     || {Code, Origin} <- [{403, "null"}, {204, "http://elsewhere"}]].

%% Nothing stored; but what needs no body is carried out, whatever it answers.
lengths(C) ->
    Put = fun(Length) -> status(C, "PUT", {"n1", "b", "odd"}, [{"Content-Length", Length}]) end,
    [begin
         ?assertEqual({500, Length}, {Put(Length), Length}),
         ?assertEqual(404, status(C, "GET", {"n1", "b", "odd"}, []))
     end || Length <- ["1, 1", "abc", "0x1", "-1", "1 1", "1;"]],
    ?assertEqual(204, put(C, node_of(C), {"n1", "b", "odd"}, <<"v">>)),
    ?assertEqual(500, status(C, "DELETE", {"n1", "b", "odd"}, [{"Content-Length", "abc"}])),
    ?assertMatch({404, _}, get(C, node_of(C), {"n1", "b", "odd"})).
