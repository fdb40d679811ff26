%% The decision diagram, met over HTTP.
-module(standin_wm_flow_tests).

-include_lib("eunit/include/eunit.hrl").

-import(standin_wm_client, [get/2, get/3, once/5, header/2]).

-define(OLD, {{2020, 1, 1}, {0, 0, 0}}).
-define(NEW, {{2021, 1, 1}, {0, 0, 0}}).
-define(OLD_TEXT, "Wed, 01 Jan 2020 00:00:00 GMT").
-define(BETWEEN, "Wed, 01 Jul 2020 00:00:00 GMT").

flow_test_() ->
    {setup, fun start/0, fun stop/1,
     {with, [fun ping/1, fun statuses/1, fun errors/1, fun crashes/1,
             fun crash_leaves_the_rest/1, fun negotiation/1, fun encodings/1,
             fun charsets/1, fun authorization/1, fun options/1,
             fun etag_conditions/1, fun date_conditions/1, fun put/1,
             fun unsupported_type/1, fun post/1, fun post_create/1,
             fun delete/1, fun moved/1, fun multiple_choices/1,
             fun content_md5/1, fun finish_request/1, fun halt_keeps_body/1,
             fun callback_order/1, fun answers_as_recorded/1]}}.

start() ->
    {ok, Apps} = application:ensure_all_started(webmachine),
    {ok, Listener} = webmachine_mochiweb:start([{name, flow}, {ip, "127.0.0.1"}, {port, 0},
                                                    {dispatch, []}]),
    {Listener, mochiweb_socket_server:get(Listener, port), Apps}.

stop({Listener, _Port, Apps}) ->
    webmachine_mochiweb:stop(Listener),
    [application:stop(App) || App <- lists:reverse(Apps)].

%% Answer of a resource with these callbacks.
ask({_, Port, _}, Callbacks) -> ask({x, Port, x}, "GET", [], none, Callbacks).

ask({_, Port, _}, Method, Headers, Body, Callbacks) ->
    Path = integer_to_list(erlang:unique_integer([positive])),
    standin_wm_resource:route([Path], Callbacks),
    once(Port, Method, "/" ++ Path, Headers, Body).

code({Code, _, _, _}) -> Code.
body({_, _, _, Body}) -> Body.
value(Name, {_, _, Headers, _}) -> header(Name, Headers).

text(Text) -> [{to_html, Text}].

ping(C) ->
    ?assertMatch({200, <<"OK">>, _, <<"hi">>}, ask(C, text("hi"))),
    ?assertEqual(503, code(ask(C, [{ping, pang} | text("hi")]))),
    %% A resource without ping/2 does not run on webmachine 1.10.
    ?assertEqual(500, code(ask(C, [{ping, none} | text("hi")]))),
    application:set_env(webmachine, ask_ping, false),
    try
        ?assertEqual(200, code(ask(C, [{ping, none} | text("hi")])))
    after
        application:set_env(webmachine, ask_ping, true)
    end.

statuses(C) ->
    [?assertEqual({Callback, Code}, {Callback, code(ask(C, [{Callback, Reply} | text("x")]))})
     || {Callback, Reply, Code} <-
            [{service_available, false, 503}, {known_methods, [], 501},
             {uri_too_long, true, 414}, {allowed_methods, ['PUT'], 405},
             {malformed_request, true, 400}, {is_authorized, "Basic", 401},
             {forbidden, true, 403}, {valid_content_headers, false, 501},
             {known_content_type, false, 415}, {valid_entity_length, false, 413},
             {resource_exists, false, 404}, {multiple_choices, true, 300}]],
    ?assertEqual(<<"PUT, DELETE">>, value("allow", ask(C, [{allowed_methods, ['PUT', 'DELETE']}]))),
    ?assertEqual(501, code(ask(C, "PATCH", [], "x", text("x")))),
    ?assertEqual(405, code(ask(C, "TRACE", [], none, text("x")))).

errors(C) ->
    Failing = fun(Reply) -> ask(C, [{malformed_request, Reply}]) end,
    ?assertMatch({410, <<"Gone">>, _, _}, Failing({halt, 410})),
    ?assertMatch({418, <<"Short and stout">>, _, _}, Failing({halt, {418, "Short and stout"}})),
    ?assertMatch({204, _, _, <<>>}, Failing({halt, 204})),
    E = Failing({error, "reason shown"}),
    ?assertMatch({500, _, _, _}, E),
    ?assertMatch({match, _}, re:run(body(E), "reason shown")),
    ?assertEqual(<<"text/html">>, value("content-type", E)),
    ?assertMatch({match, _}, re:run(body(ask(C, [{to_html, {error, odd}}])), "{error,odd}")),
    ?assertEqual(507, code(ask(C, [{to_html, {halt, 507}}]))).

crashes(C) ->
    Crashes = [fun(_, _) -> error(boom) end, fun(_, _) -> exit(boom) end,
               fun(_, _) -> throw(boom) end, fun(_, _) -> not_a_triple end],
    [?assertEqual({Callback, 500}, {Callback, code(ask(C, [{Callback, Crash} | text("x")]))})
     || Callback <- [service_available, malformed_request, content_types_provided,
                     resource_exists, generate_etag, last_modified, to_html],
        Crash <- Crashes],
    ?assertMatch({match, _}, re:run(body(ask(C, [{to_html, hd(Crashes)}])), "boom")).

crash_leaves_the_rest({_, Port, _} = C) ->
    standin_wm_resource:route(["crash"], [{to_html, fun(_, _) -> exit(kill) end}]),
    Socket = standin_wm_client:connect(Port),
    {500, _, _, _} = standin_wm_client:request(Socket, "GET", "/crash", [], none),
    {500, _, _, _} = standin_wm_client:request(Socket, "GET", "/crash", [], none),
    standin_wm_client:close(Socket),
    ?assertEqual(200, code(ask(C, text("x")))).

negotiation(C) ->
    Types = [{content_types_provided, [{"text/plain", to_text}, {"application/json", to_json}]},
             {to_text, "text"}, {to_json, "json"}],
    Accept = fun(A) -> ask(C, "GET", [{"Accept", A}], none, Types) end,
    ?assertEqual(<<"text">>, body(ask(C, Types))),
    ?assertEqual(<<"Accept">>, value("vary", ask(C, Types))),
    [?assertEqual({A, B}, {A, body(Accept(A))})
     || {A, B} <- [{"application/json", <<"json">>}, {"*/*", <<"text">>},
                   {"application/*", <<"json">>}, {"text/html, */*;q=0.1", <<"text">>},
                   {"text/plain;q=0.5, application/json;q=.7", <<"json">>}]],
    ?assertEqual(<<"application/json">>, value("content-type", Accept("application/json"))),
    ?assertEqual(406, code(Accept("image/png"))),
    ?assertEqual(406, code(Accept("not a type at all;q=x"))).

encodings(C) ->
    Gzip = [{encodings_provided, [{"identity", fun(X) -> X end}, {"gzip", fun zlib:gzip/1}]}
           | text("squeezed")],
    Accept = fun(A) -> ask(C, "GET", [{"Accept-Encoding", A}], none, Gzip) end,
    ?assertEqual(<<"squeezed">>, zlib:gunzip(body(Accept("gzip")))),
    ?assertEqual(<<"gzip">>, value("content-encoding", Accept("gzip, deflate"))),
    ?assertEqual(<<"Accept-Encoding">>, value("vary", Accept("gzip"))),
    ?assertEqual(<<"squeezed">>, body(Accept("br"))),
    ?assertEqual(undefined, value("content-encoding", Accept("gzip;q=0, identity"))),
    ?assertEqual(<<"squeezed">>, body(ask(C, Gzip))),
    ?assertEqual(406, code(ask(C, "GET", [{"Accept-Encoding", "identity;q=0"}], none, text("x")))).

charsets(C) ->
    Up = [{charsets_provided, [{"utf-8", fun(X) -> X end}, {"shout", fun string:uppercase/1}]}
         | text("word")],
    ?assertEqual(<<"text/html; charset=utf-8">>, value("content-type", ask(C, Up))),
    ?assertEqual(<<"WORD">>, body(ask(C, "GET", [{"Accept-Charset", "shout"}], none, Up))),
    ?assertEqual(406, code(ask(C, "GET", [{"Accept-Charset", "utf-16;q=1, *;q=0"}], none, Up))).

authorization(C) ->
    R = ask(C, [{is_authorized, "Basic realm=\"Riak\""}]),
    ?assertEqual({401, <<"Basic realm=\"Riak\"">>}, {code(R), value("www-authenticate", R)}),
    ?assertEqual(426, code(ask(C, [{is_authorized, {halt, 426}}]))).

options(C) ->
    R = ask(C, "OPTIONS", [], none,
            [{allowed_methods, ['OPTIONS']}, {options, [{"X-Can", "dance"}]}]),
    ?assertEqual({200, <<"dance">>}, {code(R), value("x-can", R)}).

etag_conditions(C) ->
    Res = [{generate_etag, "abc"}, {allowed_methods, ['GET', 'HEAD', 'PUT']} | text("x")],
    With = fun(M, H, V) -> ask(C, M, [{H, V}], none, Res) end,
    ?assertEqual(<<"\"abc\"">>, value("etag", ask(C, Res))),
    NotModified = With("GET", "If-None-Match", "\"no\", \"abc\""),
    ?assertEqual({304, <<"\"abc\"">>, undefined, undefined},
                 {code(NotModified), value("etag", NotModified),
                  value("content-type", NotModified), value("content-length", NotModified)}),
    ?assertEqual(304, code(With("HEAD", "If-None-Match", "*"))),
    ?assertEqual(412, code(With("PUT", "If-None-Match", "*"))),
    ?assertEqual(200, code(With("GET", "If-None-Match", "\"no\""))),
    ?assertEqual(200, code(With("GET", "If-Match", "\"abc\""))),
    ?assertEqual(200, code(With("GET", "If-Match", "*"))),
    ?assertEqual(412, code(With("GET", "If-Match", "\"no\""))),
    Missing = [{resource_exists, false} | text("x")],
    ?assertEqual(412, code(ask(C, "GET", [{"If-Match", "*"}], none, Missing))),
    ?assertEqual(404, code(ask(C, "GET", [{"If-None-Match", "*"}], none, Missing))).

date_conditions(C) ->
    At = fun(Modified, Header, Value) ->
                 code(ask(C, "GET", [{Header, Value}], none,
                          [{last_modified, Modified} | text("x")]))
         end,
    ?assertEqual(<<?OLD_TEXT>>, value("last-modified",
                                      ask(C, [{last_modified, ?OLD} | text("x")]))),
    ?assertEqual(304, At(?OLD, "If-Modified-Since", ?BETWEEN)),
    ?assertEqual(304, At(?OLD, "If-Modified-Since", ?OLD_TEXT)),
    ?assertEqual(200, At(?NEW, "If-Modified-Since", ?BETWEEN)),
    ?assertEqual(200, At(undefined, "If-Modified-Since", ?BETWEEN)),
    ?assertEqual(200, At(?OLD, "If-Modified-Since", "yesterday")),
    ?assertEqual(200, At(?OLD, "If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT")),
    ?assertEqual(412, At(?NEW, "If-Unmodified-Since", ?BETWEEN)),
    ?assertEqual(200, At(?OLD, "If-Unmodified-Since", ?BETWEEN)),
    Expiring = [{generate_etag, "e"}, {expires, ?OLD} | text("x")],
    ?assertEqual(<<?OLD_TEXT>>, value("expires", ask(C, Expiring))),
    ?assertEqual(<<?OLD_TEXT>>,
                 value("expires", ask(C, "GET", [{"If-None-Match", "\"e\""}], none, Expiring))).

put(C) ->
    Res = fun(Accept, More) ->
                  [{allowed_methods, ['PUT']}, {content_types_accepted, [{"text/plain", accept}]},
                   {accept, Accept} | More]
          end,
    Put = fun(R) -> ask(C, "PUT", [{"Content-Type", "text/plain; charset=utf-8"}], "body", R) end,
    Stored = Put(Res(true, [])),
    ?assertEqual({204, undefined}, {code(Stored), value("content-length", Stored)}),
    ?assertEqual(204, code(Put(Res(true, [{resource_exists, false}])))),
    Created = fun(RD, S) -> {true, wrq:set_resp_header("Location", "/new", RD), S} end,
    R = Put(Res(Created, [])),
    ?assertEqual({201, <<"/new">>, <<"0">>},
                 {code(R), value("location", R), value("content-length", R)}),
    Echo = fun(RD, S) -> {true, wrq:set_resp_body(wrq:req_body(RD), RD), S} end,
    ?assertMatch({200, _, _, <<"body">>}, Put(Res(Echo, []))),
    ?assertEqual(300, code(Put(Res(Echo, [{multiple_choices, true}])))),
    ?assertEqual(409, code(Put(Res(true, [{is_conflict, true}])))),
    ?assertEqual(409, code(Put(Res(true, [{is_conflict, true}, {resource_exists, false}])))),
    ?assertEqual(503, code(Put(Res({halt, 503}, [])))),
    ?assertMatch({match, _}, re:run(body(Put(Res({error, full}, []))), "{error,full}")).

unsupported_type(C) ->
    Res = [{allowed_methods, ['PUT']},
           {content_types_accepted, [{"application/octet-stream", accept}]}, {accept, true}],
    ?assertEqual(415, code(ask(C, "PUT", [{"Content-Type", "text/plain"}], "x", Res))),
    ?assertEqual(204, code(ask(C, "PUT", [], "x", Res))).

post(C) ->
    Post = fun(R) -> ask(C, "POST", [], "x", [{allowed_methods, ['POST']} | R]) end,
    ?assertEqual(204, code(Post([{process_post, true}]))),
    ?assertEqual(500, code(Post([{process_post, false}]))),
    ?assertEqual(202, code(Post([{process_post, {halt, 202}}]))),
    ?assertEqual(404, code(Post([{process_post, true}, {resource_exists, false}]))),
    ?assertEqual(204, code(Post([{process_post, true}, {resource_exists, false},
                                 {allow_missing_post, true}]))),
    ?assertEqual(410, code(Post([{resource_exists, false}, {previously_existed, true}]))),
    See = fun(RD, S) ->
                  {true, wrq:do_redirect(true, wrq:set_resp_header("Location", "/o", RD)), S} end,
    ?assertEqual({303, <<"/o">>}, begin R = Post([{process_post, See}]),
                                        {code(R), value("location", R)} end),
    Lost = fun(RD, S) -> {true, wrq:do_redirect(true, RD), S} end,
    ?assertEqual(500, code(Post([{process_post, Lost}]))).

post_create(C) ->
    Res = [{allowed_methods, ['POST']}, {post_is_create, true}, {create_path, "made"},
           {content_types_accepted, [{"text/plain", accept}]},
           {accept, fun(RD, S) -> {true, wrq:set_resp_body(wrq:disp_path(RD), RD), S} end}],
    R = ask(C, "POST", [{"Content-Type", "text/plain"}, {"Host", "example.org:8098"}], "x", Res),
    ?assertMatch({201, _, _, <<"made">>}, R),
    ?assertMatch({match, _}, re:run(value("location", R),
                                    "^http://example\\.org:8098/[0-9]+/made$")),
    Placed = ask(C, "POST", [{"Content-Type", "text/plain"}], "x", [{base_uri, "http://b/"} | Res]),
    ?assertMatch(<<"http://b/", _/binary>>, value("location", Placed)),
    [?assertEqual(500, code(ask(C, "POST", [{"Content-Type", "text/plain"}], "x",
                                lists:keyreplace(create_path, 1, Res, {create_path, Bad}))))
     || Bad <- [undefined, <<"binary">>]].

delete(C) ->
    Delete = fun(R) -> ask(C, "DELETE", [], none, [{allowed_methods, ['DELETE']} | R]) end,
    ?assertEqual(204, code(Delete([{delete_resource, true}]))),
    ?assertEqual(202, code(Delete([{delete_resource, true}, {delete_completed, false}]))),
    ?assertEqual(500, code(Delete([{delete_resource, false}]))),
    ?assertEqual(404, code(Delete([{resource_exists, false}]))),
    Saying = fun(RD, S) -> {true, wrq:set_resp_body("gone", RD), S} end,
    ?assertMatch({200, _, _, <<"gone">>}, Delete([{delete_resource, Saying}])).

moved(C) ->
    Gone = [{resource_exists, false}, {previously_existed, true}],
    ?assertEqual(410, code(ask(C, Gone))),
    Away = ask(C, [{moved_permanently, {true, "/p"}} | Gone]),
    ?assertEqual({301, <<"/p">>}, {code(Away), value("location", Away)}),
    For = ask(C, [{moved_temporarily, {true, "/t"}} | Gone]),
    ?assertEqual({307, <<"/t">>}, {code(For), value("location", For)}),
    ?assertEqual(301,
                 code(ask(C, "PUT", [], "x", [{allowed_methods, ['PUT']}, {resource_exists, false},
                                              {moved_permanently, {true, "/p"}}]))).

multiple_choices(C) ->
    ?assertMatch({300, <<"Multiple Choices">>, _, <<"siblings">>},
                 ask(C, [{multiple_choices, true} | text("siblings")])).

content_md5(C) ->
    Res = [{allowed_methods, ['PUT']}, {content_types_accepted, [{"text/plain", accept}]},
           {accept, fun(RD, S) -> {true, wrq:set_resp_body(wrq:req_body(RD), RD), S} end}],
    Put = fun(Sum, More) ->
                  ask(C, "PUT", [{"Content-Type", "text/plain"}, {"Content-MD5", Sum}], "body",
                      More ++ Res)
          end,
    Good = base64:encode(crypto:hash(md5, "body")),
    ?assertMatch({200, _, _, <<"body">>}, Put(Good, [])),
    ?assertEqual(400, code(Put(base64:encode(<<0:128>>), []))),
    ?assertEqual(500, code(Put("%%%", []))),        % webmachine decodes it unasked
    ?assertEqual(400, code(Put(Good, [{validate_content_checksum, false}]))),
    ?assertEqual(200, code(Put("whatever", [{validate_content_checksum, true}]))).

finish_request(C) ->
    Mark = fun(RD, S) ->
                   {true, wrq:set_resp_header("X-End", integer_to_list(wrq:response_code(RD)), RD),
                    S} end,
    [?assertEqual({Code, integer_to_binary(Code)}, begin R = ask(C, [{finish_request, Mark} | Res]),
                                                         {code(R), value("x-end", R)} end)
     || {Code, Res} <- [{200, text("x")}, {404, [{resource_exists, false}]},
                        {500, [{to_html, {error, x}}]}, {410, [{to_html, {halt, 410}}]}]].

halt_keeps_body(C) ->
    Halt = fun(RD, S) -> {{halt, 400}, wrq:set_resp_body("mine", RD), S} end,
    R = ask(C, [{malformed_request, Halt}]),
    ?assertMatch({400, _, _, <<"mine">>}, R),
    ?assertEqual(undefined, value("content-type", R)).

%% What runs before what: state goes from callback to callback.
callback_order(C) ->
    Order = [ping, service_available, known_methods, uri_too_long, allowed_methods,
             malformed_request, is_authorized, forbidden, valid_content_headers,
             known_content_type, valid_entity_length],
    Replies = #{ping => pong, service_available => true, known_methods => ['GET'],
                uri_too_long => false, allowed_methods => ['GET'], malformed_request => false,
                is_authorized => true, forbidden => false, valid_content_headers => true,
                known_content_type => true, valid_entity_length => true},
    Seen = [{Name, fun(RD, S) -> {maps:get(Name, Replies), RD, [Name | S]} end} || Name <- Order],
    Show = {to_html, fun(RD, S) -> {io_lib:format("~w", [lists:reverse(S)]), RD, S} end},
    ?assertEqual(iolist_to_binary(io_lib:format("~w", [Order])), body(ask(C, [Show | Seen]))).

%% What a real node said where webmachine alone decides on page and headers.
answers_as_recorded(C) ->
    Gzip = {encodings_provided, [{"identity", fun(X) -> X end}, {"gzip", fun zlib:gzip/1}]},
    Methods = {allowed_methods, ['HEAD', 'GET', 'POST', 'PUT', 'DELETE']},
    Backend = {error, {indexes_not_supported, riak_kv_bitcask_backend}},
    [as_recorded(C, Name, Resource)
     || {Name, Resource} <-
            [{"get_accept_unacceptable", text("x")}, {"options", [Methods]},
             {"trace_method", [Methods]},
             {"put_if_match_stale", [Methods, Gzip, {generate_etag, "current"}]},
             {"put_if_none_match_star", [Methods, Gzip]},
             {"index_key_range", [Gzip, {to_html, Backend}]},
             {"ping", text("OK")},
             {"get_if_none_match", [Gzip, {generate_etag, "2vv7UiqgxwFKjzoSF7G3wA"} | text("x")]},
             {"delete", [Methods, Gzip, {delete_resource, true}]},
             {"get_missing", [{malformed_request, not_found()}]}]].

not_found() ->
    fun(RD, S) ->
            {{halt, 404}, wrq:set_resp_header("Content-Type", "text/plain",
                                              wrq:set_resp_body("not found\n", RD)), S}
    end.

as_recorded(C, Name, Resource) ->
    {ok,
     Json} = file:read_file(filename:join([os:getenv("STANDIN_VECTORS"), "http", Name ++ ".json"])),
    {struct, Fields} = mochijson2:decode(Json),
    {struct, Request} = proplists:get_value(<<"request">>, Fields),
    {struct, Response} = proplists:get_value(<<"response">>, Fields),
    Sent = case proplists:get_value(<<"headers">>, Request) of
               {struct, List} -> [{binary_to_list(K), binary_to_list(V)} || {K, V} <- List];
               [] -> []
           end,
    Body = case proplists:get_value(<<"body">>, Request) of
               <<>> -> none;
               Given -> Given
           end,
    {Code, Phrase, Headers, Page} =
        ask(C, binary_to_list(proplists:get_value(<<"method">>, Request)), Sent, Body, Resource),
    Recorded = [{string:lowercase(K), V} || [K, V] <- proplists:get_value(<<"headers">>, Response),
                                            K =/= <<"Date">>, K =/= <<"Server">>],
    ?assertEqual({Name, proplists:get_value(<<"status">>, Response),
                  proplists:get_value(<<"reason">>, Response),
                  Recorded, proplists:get_value(<<"body">>, Response)},
                 {Name, Code, Phrase, [H || {K, _} = H <- Headers, K =/= <<"date">>,
                                       K =/= <<"server">>], Page}).
