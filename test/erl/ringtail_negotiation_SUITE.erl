%% @doc What clients may ask of the routes that only read: media types with parameters, and errors,
%% each of which is JSON, whoever makes it.
-module(ringtail_negotiation_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [get/1]}]).

all() ->
    [a_media_type_with_parameters_was_not_acceptable, a_type_that_is_none_of_ours_is_refused,
     every_error_is_json, a_length_that_is_none_was_webmachines_page, a_body_nobody_wants_is_read,
     a_crash_is_json_and_tells_no_internals, the_topology_has_one_path_on_every_node].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) ->
    Types = [{<<"t1">>, [{n_val, 1}]}],
    C = ringtail_test_cluster:start(#{nodes => 1, ring_size => 8, types => Types}),
    [{cluster, C} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(proplists:get_value(cluster, Config)).

routes() ->
    Json = "application/json",
    [{"/ringtail/status", "status", Json},
     {"/ringtail/metrics", "metrics", "text/plain; version=0.0.4; charset=utf-8"},
     {"/ringtail", "page", "text/html; charset=utf-8"},
     {"/explore/clusters/default/preflist", "preflist", Json},
     {"/explore/clusters/default/preflist?format=full", "full preflist", Json},
     {"/explore/clusters/default/topology", "topology", Json},
     {"/ringtail/clusters/default/topology", "topology", Json},
     {"/explore/clusters/default/bucket_types/t1/buckets/b/keys/k/preflist", "key", Json}].

%% Telegraf asks for metrics by their version, others name the charset.
a_media_type_with_parameters_was_not_acceptable(Config) ->
    [?assertMatch({Path, Accept, 200, Type},
                  begin
                      {Status, Headers, _} = get(Config, Path, [{"Accept", Accept}]),
                      {Path, Accept, Status, proplists:get_value("content-type", Headers)}
                  end)
     || {Path, _, Type} <- routes(), Accept <- accepts(media(Type))].

media(Type) -> hd(string:tokens(Type, ";")).

accepts(Type) ->
    [Kind, _] = string:tokens(Type, "/"),
    [Type, "*/*", "*", Kind ++ "/*", Type ++ ";charset=utf-8", Type ++ "; charset=UTF-8",
     Type ++ ";version=0.0.4", Type ++ ";q=0.9", Type ++ ";version=0.0.4;q=0.5,*/*;q=0.1",
     "image/png, " ++ Type ++ ";a=b;c=\"d e\"", string:uppercase(Type),
     "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
     ++ Type ++ ";version=0.0.4;q=0.5,*/*;q=0.1",
     Kind ++ "/*;level=1", "*/*;q=0.8"].

a_type_that_is_none_of_ours_is_refused(Config) ->
    [begin
         Answer = get(Config, Path, [{"Accept", Accept}]),
         ?assertMatch({Path, Accept, {406, _, _}}, {Path, Accept, Answer}),
         ?assertMatch({Path, Accept, #{<<"error">> := <<"not_acceptable">>, <<"message">> := _}},
                      {Path, Accept, error_of(Answer)})
     end || {Path, _, _} <- routes(),
            Accept <- ["image/png", "application/octet-stream;q=1", "video/*", "nonsense", ";;;",
                       "/", "text/html, text/plain, application/json, /",
                       "image/png;version=\"", lists:duplicate(2000, $,) ++ "image/png"]].

every_error_is_json(Config) ->
    [begin
         Answer = request(Config, Method, Path, Headers),
         ?assertMatch({Path, Headers, {Status, _, _}}, {Path, Headers, Answer}),
         ?assertMatch({Path, Headers, #{<<"error">> := Code, <<"message">> := <<_, _/binary>>}},
                      {Path, Headers, error_of(Answer)}),
         ?assertEqual(undefined, ringtail_test_http:header("content-encoding", Answer))
     end || {Path, _, _} <- routes(),
            {Method, Headers, Status, Code} <-
                [{get, [{"Accept-Encoding", "identity;q=0"}], 406, <<"not_acceptable">>},
                 {get, [{"Accept-Encoding", "identity;q=0, br"}], 406, <<"not_acceptable">>},
                 {get, [{"If-Match", "\"other\""}], 412, <<"precondition_failed">>},
                 {get, [{"If-Match", "\"other\""}, {"Accept-Encoding", "gzip"}], 412,
                  <<"precondition_failed">>},
                 {post, [], 405, <<"method_not_allowed">>},
                 {delete, [], 405, <<"method_not_allowed">>},
                 {options, [], 405, <<"method_not_allowed">>},
                 {propfind, [], 405, <<"method_not_allowed">>}]].

a_length_that_is_none_was_webmachines_page(Config) ->
    [begin
         Answer = get(Config, Path, [{"Content-Length", Length}]),
         ?assertMatch({Path, Length, {400, _, _}}, {Path, Length, Answer}),
         ?assertMatch(#{<<"error">> := <<"bad_framing">>}, error_of(Answer))
     end || {Path, _, _} <- routes(), Length <- ["5, 5", "abc", "-1", "0x5", "+5"]].

%% The connection carries the next request.
a_body_nobody_wants_is_read(Config) ->
    Host = "Host: h\r\n",
    Body = binary:copy(<<"x">>, 100000),
    [begin
         Requests = ["GET ", Path, " HTTP/1.1\r\n", Host, "Content-Length: 100000\r\n\r\n", Body,
                     "PUT ", Path, " HTTP/1.1\r\n", Host, "Content-Length: 100000\r\n\r\n", Body,
                     "GET /ringtail/status HTTP/1.1\r\n", Host, "Connection: close\r\n\r\n"],
         Answers = answers(Config, Requests),
         ?assertEqual({Path, [<<"200">>, <<"405">>, <<"200">>]}, {Path, Answers})
     end || {Path, _, _} <- routes()].

answers(Config, Requests) ->
    #{host := Host, port := Port} = uri_string:parse(url(Config)),
    {ok, Socket} = gen_tcp:connect(Host, Port, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, Requests),
    All = all(Socket, <<>>),
    {match, Found} = re:run(All, "HTTP/1.1 ([0-9]{3})", [global, {capture, [1], binary}]),
    [Status || [Status] <- Found].

all(Socket, Got) ->
    case gen_tcp:recv(Socket, 0, 30000) of
        {ok, More} -> all(Socket, <<Got/binary, More/binary>>);
        {error, closed} -> Got
    end.

a_crash_is_json_and_tells_no_internals(Config) ->
    C = proplists:get_value(cluster, Config),
    [Node] = standin:nodes(C),
    %% A table that holds what it never holds makes the page fail.
    {ok, Members} = replaced(C, Node, members, nonsense),
    Answer = get(Config, "/ringtail", []),
    {ok, nonsense} = replaced(C, Node, members, Members),
    ?assertMatch({500, _, _}, Answer),
    ?assertMatch(#{<<"error">> := <<"internal_error">>}, error_of(Answer)),
    ?assertEqual(nomatch, binary:match(element(3, Answer), <<"ringtail_">>)).

replaced(C, Node, Key, Value) ->
    standin:rpc(C, Node, ringtail_test_probe, replaced, [Key, Value]).

%% Clients cannot know the prefixes of a node that they have not asked.
the_topology_has_one_path_on_every_node(Config) ->
    C = proplists:get_value(cluster, Config),
    [Node] = standin:nodes(C),
    Set = fun(Prefixes) ->
                  ok = standin:rpc(C, Node, ringtail, stop, []),
                  ok = standin:rpc(C, Node, application, set_env, [ringtail, prefixes, Prefixes]),
                  ok = standin:rpc(C, Node, ringtail, start, []),
                  ok = ringtail_test_cluster:all_serving(C)
          end,
    Path = "/ringtail/clusters/default/topology",
    {200, _, Before} = get(Config, Path, []),
    Set(["/elsewhere"]),
    ?assertMatch({404, _, _}, get(Config, "/explore/clusters/default/topology", [])),
    ?assertMatch({200, _, _}, get(Config, "/elsewhere/clusters/default/topology", [])),
    {200, _, After} = get(Config, Path, []),
    ?assertMatch({404, _, _}, get(Config, "/ringtail/clusters/another/topology", [])),
    Set(["/explore", "/admin/explore"]),
    ?assertEqual(maps:keys(ringtail_test_http:json({200, [], Before})),
                 maps:keys(ringtail_test_http:json({200, [], After}))).

%% ---- Helpers ----

url(Config) ->
    [{_, Url}] = standin:urls(proplists:get_value(cluster, Config)),
    Url.

get(Config, Path, Headers) -> request(Config, get, Path, Headers).

request(Config, Method, Path, Headers) ->
    ringtail_test_http:request(Method, url(Config) ++ Path, Headers).

error_of({_, Headers, _} = Answer) ->
    ?assertEqual("application/json", proplists:get_value("content-type", Headers)),
    ringtail_test_http:json(Answer).
