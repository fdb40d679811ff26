%% Bodies in every form, both ways, and what they leave on the connection.
-module(standin_wm_body_tests).

-include_lib("eunit/include/eunit.hrl").

-import(standin_wm_client, [connect/1, close/1, send/2, request/5, recv/2, recv_head/1,
                            closed/1, get/2, get/3, once/5, header/2]).

body_test_() ->
    {setup, fun start/0, fun stop/1,
     {with, [fun whole/1, fun chunked_request/1, fun whole_twice/1,
             fun streamed_request/1, fun stream_and_whole_conflict/1,
             fun a_resource_finds_webmachines_words/1,
             fun finish_request_has_the_last_word/1, fun body_over_the_limit/1,
             fun body_of_50_mib_both_ways/1,
             fun unread_body_leaves_keep_alive_whole/1,
             fun half_read_body_leaves_keep_alive_whole/1,
             fun unread_chunked_body_leaves_keep_alive_whole/1,
             fun too_much_unread_closes_and_answer_arrives/1,
             fun continue_when_read/1, fun no_continue_when_refused/1,
             fun broken_chunk_is_no_next_request/1, fun bad_length/1,
             fun stream_response/1, fun known_length_response/1,
             fun sized_stream_response/1, fun writer_response/1,
             fun gzip_stream/1, fun head_sends_no_body/1,
             fun response_that_breaks_off/1, fun client_that_leaves/1,
             fun ranges/1, fun connection_close/1, fun http_1_0/1,
             fun pipelined/1]}}.

start() ->
    {ok, Apps} = application:ensure_all_started(webmachine),
    {ok, Listener} = webmachine_mochiweb:start([{name, body}, {ip, "127.0.0.1"}, {port, 0},
                                                    {dispatch, []}]),
    Echo = fun(RD, S) -> {true, wrq:set_resp_body(wrq:req_body(RD), RD), S} end,
    put_route("echo", Echo),
    put_route("twice", fun(RD, S) ->
                               B = wrq:req_body(RD),
                               {true, wrq:set_resp_body([B, wrq:req_body(RD)], RD), S}
                       end),
    put_route("hunks", fun(RD, S) ->
                               Sizes = sizes(wrq:stream_req_body(RD, 1000)),
                               {true, wrq:set_resp_body(io_lib:format("~w", [Sizes]), RD), S}
                       end),
    put_route("half", fun(RD, S) ->
                              {_, Next} = wrq:stream_req_body(RD, 10),
                              true = is_function(Next, 0),
                              {true, RD, S}
                      end),
    Accepted = [{allowed_methods, ['PUT']}, {accept, Echo},
                {content_types_accepted, [{"application/octet-stream", accept}]}],
    %% Within one callback nothing tells that the body was streamed already.
    Stream = fun(RD, S) -> _ = wrq:stream_req_body(RD, 10), {false, RD, S} end,
    standin_wm_resource:route(["conflict"], [{malformed_request, Stream} | Accepted]),
    standin_wm_resource:route(["put_there"], [{malformed_request, fun put_there/2} | Accepted]),
    standin_wm_resource:route(["elsewhere"], [{malformed_request, fun elsewhere/2} | Accepted]),
    put_route("limit", fun(RD, S) ->
                               {true,
                                wrq:set_resp_body(wrq:req_body(wrq:set_max_recv_body(100, RD)), RD),
                                S}
                       end),
    standin_wm_resource:route(["refuse"], [{allowed_methods, ['GET', 'PUT']}, {forbidden, true}]),
    get_route("hello", "hello"),
    {Listener, mochiweb_socket_server:get(Listener, port), Apps}.

%% Webmachine's name for a body that was read is all that it looks at.
put_there(RD, S) ->
    {Hunk, done} = wrq:stream_req_body(RD, 1000),
    put(req_body, <<"not ", Hunk/binary>>),
    put(tmp_reqstate, empty),
    {false, RD, S}.

%% In another process: by the dictionary in this callback, by the request later.
elsewhere(RD, S) ->
    Body = wrq:req_body(RD),
    Here = get(),
    Read = fun(Dictionary) ->
        {_, Ref} = spawn_monitor(fun() ->
            [put(K, V) || {K, V} <- Dictionary],
            exit({read, wrq:req_body(RD)})
        end),
        receive {'DOWN', Ref, process, _, Reason} -> Reason end
    end,
    {read, Body} = Read(Here),
    {read, Body} = Read([{req_body, Body}]),
    {false, RD, S}.

stop({Listener, _Port, Apps}) ->
    webmachine_mochiweb:stop(Listener),
    [application:stop(App) || App <- lists:reverse(Apps)].

put_route(Name, Accept) ->
    standin_wm_resource:route([Name], [{allowed_methods, ['PUT']}, {accept, Accept},
                                       {content_types_accepted,
                                        [{"application/octet-stream", accept}]}]).

get_route(Name, Body) -> get_route(Name, Body, []).

get_route(Name, Body, More) -> standin_wm_resource:route([Name], [{to_html, Body} | More]).

sizes({Hunk, done}) -> [byte_size(Hunk)];
sizes({Hunk, Next}) -> [byte_size(Hunk) | sizes(Next())].

put(Port, Path, Body) -> once(Port, "PUT", Path, [], Body).

still_works(Socket) ->
    ?assertMatch({200, _, _, <<"hello">>}, request(Socket, "GET", "/hello", [], none)).

whole({_, Port, _}) ->
    ?assertMatch({200, _, _, <<"body", 0, 255>>}, put(Port, "/echo", <<"body", 0, 255>>)),
    ?assertMatch({204, _, _, _}, put(Port, "/echo", "")),
    ?assertMatch({204, _, _, _}, put(Port, "/echo", none)).

chunked_request({_, Port, _}) ->
    ?assertMatch({200, _, _, <<"abcdef">>}, put(Port, "/echo", {chunked, ["abc", "d", "ef"]})),
    ?assertMatch({204, _, _, _}, put(Port, "/echo", {chunked, []})),
    S = connect(Port),
    send(S, ["PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
             "3;ext=\"1\"\r\nabc\r\n00\r\nTrailer: x\r\nOther: y\r\n\r\n"]),
    ?assertMatch({200, _, _, <<"abc">>}, recv(S, "PUT")),
    still_works(S),
    close(S).

whole_twice({_, Port, _}) ->
    ?assertMatch({200, _, _, <<"abab">>}, put(Port, "/twice", "ab")).

streamed_request({_, Port, _}) ->
    Body = binary:copy(<<"x">>, 2500),
    ?assertMatch({200, _, _, <<"[1000,1000,500]">>}, put(Port, "/hunks", Body)),
    ?assertMatch({200, _, _, <<"[1000,500,7,0]">>},
                 put(Port, "/hunks", {chunked, [binary:part(Body, 0, 1500), <<"1234567">>]})),
    ?assertMatch({200, _, _, <<"[0]">>}, put(Port, "/hunks", "")).

stream_and_whole_conflict({_, Port, _}) ->
    {500, _, _, Page} = put(Port, "/conflict", "0123456789abcdef"),
    ?assertMatch({match, _}, re:run(Page, "conflict")).

a_resource_finds_webmachines_words({_, Port, _}) ->
    ?assertMatch({200, _, _, <<"not this">>}, put(Port, "/put_there", "this")),
    ?assertMatch({200, _, _, <<"body">>}, put(Port, "/elsewhere", "body")).

finish_request_has_the_last_word({_, Port, _}) ->
    Last = fun(RD, S) ->
        Said = integer_to_list(wrq:response_code(RD)),
        RD1 = wrq:set_resp_header("X-Said", Said, wrq:set_response_code(299, RD)),
        Hunks = {<<"la">>, fun() -> {<<"st">>, done} end},
        {true, wrq:set_resp_body({known_length_stream, 4, Hunks}, RD1), S}
    end,
    Route = fun(Name, More) ->
        standin_wm_resource:route([Name], [{finish_request, Last} | More])
    end,
    Route("last", [{to_html, "first"}]),
    Route("last_refused", [{forbidden, true}]),
    Route("last_failed", [{service_available, fun(_, _) -> error(crash) end}]),
    [begin
         {Code, _, H, <<"last">>} = get(Port, Path),
         ?assertEqual({<<"4">>, integer_to_binary(Code)},
                      {header("content-length", H), header("x-said", H)})
     end || {Path, Code} <- [{"/last", 200}, {"/last_refused", 403}, {"/last_failed", 500}]],
    %% The stream is sent whole and from its start, whatever range was asked for.
    S = connect(Port),
    send(S, "GET /last HTTP/1.1\r\nHost: a\r\nRange: bytes=2-3\r\n\r\n"),
    {206, _, H} = recv_head(S),
    ?assertEqual(<<"2">>, header("content-length", H)),
    ?assertEqual({ok, <<"last">>}, gen_tcp:recv(S, 4, 5000)),
    close(S).

body_over_the_limit({_, Port, _}) ->
    ?assertMatch({200, _, _, _}, put(Port, "/limit", binary:copy(<<"x">>, 100))),
    S = connect(Port),
    {500, _, _, Page} = request(S, "PUT", "/limit", [], binary:copy(<<"x">>, 101)),
    ?assertMatch({match, _}, re:run(Page, "too large")),
    {500, _, _, _} = request(S, "PUT", "/limit", [],
                             {chunked, [binary:copy(<<"x">>, 60) || _ <- [1, 2, 3]]}),
    still_works(S),
    close(S).

body_of_50_mib_both_ways({_, Port, _}) ->
    Body = binary:copy(<<"0123456789abcdef">>, 50 * 65536),
    {200, _, _, Echoed} = put(Port, "/echo", Body),
    ?assert(Echoed =:= Body),
    {200, _, _, Chunked} = put(Port, "/echo", {chunked, [Body]}),
    ?assert(Chunked =:= Body).

unread_body_leaves_keep_alive_whole({_, Port, _}) ->
    S = connect(Port),
    {403, _, H, _} = request(S, "PUT", "/refuse", [],
                             binary:copy(<<"GET /x HTTP/1.1\r\n\r\n">>, 50000)),
    ?assertEqual(undefined, header("connection", H)),
    still_works(S),
    %% Nobody reads it off where there is no resource.
    {404, _, H404, _} = request(S, "PUT", "/nowhere", [], "unread"),
    ?assertEqual(undefined, header("connection", H404)),
    ?assert(closed(S)).

half_read_body_leaves_keep_alive_whole({_, Port, _}) ->
    S = connect(Port),
    {204, _, _, _} = request(S, "PUT", "/half", [], binary:copy(<<"x">>, 100000)),
    still_works(S),
    {204, _, _, _} = request(S, "PUT", "/half", [], {chunked, [binary:copy(<<"x">>, 100), "tail"]}),
    still_works(S),
    close(S).

unread_chunked_body_leaves_keep_alive_whole({_, Port, _}) ->
    S = connect(Port),
    {403, _, _, _} = request(S, "PUT", "/refuse", [], {chunked, ["one", "two"]}),
    still_works(S),
    close(S).

too_much_unread_closes_and_answer_arrives({_, Port, _}) ->
    application:set_env(webmachine, max_flush_bytes, 1000),
    try
        S = connect(Port),
        {403, _, H, _} = request(S, "PUT", "/refuse", [], binary:copy(<<"x">>, 500000)),
        ?assertEqual(<<"close">>, header("connection", H)),
        ?assert(closed(S)),
        T = connect(Port),
        {403, _, _, _} = request(T, "PUT", "/refuse", [],
                                 {chunked, [binary:copy(<<"x">>, 2000), "y"]}),
        ?assert(closed(T)),
        %% A client that reads only when it has sent everything.
        U = connect(Port),
        send(U, "PUT /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"),
        [begin timer:sleep(50), send(U, binary:copy(<<"x">>, 20000)) end || _ <- lists:seq(1, 10)],
        ?assertMatch({403, _, _, _}, recv(U, "PUT"))
    after
        application:set_env(webmachine, max_flush_bytes, 67108864)
    end.

continue_when_read({_, Port, _}) ->
    S = connect(Port),
    send(S, "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"),
    ?assertMatch({100, _, []}, recv_head(S)),
    send(S, "body"),
    ?assertMatch({200, _, _, <<"body">>}, recv(S, "PUT")),
    still_works(S),
    close(S).

no_continue_when_refused({_, Port, _}) ->
    S = connect(Port),
    send(S, "PUT /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"),
    ?assertMatch({403, _, _}, recv_head(S)),
    close(S).

broken_chunk_is_no_next_request({_, Port, _}) ->
    [begin
         S = connect(Port),
         send(S, ["PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", Broken]),
         {500, _, H, _} = recv(S, "PUT"),
         ?assertEqual(<<"close">>, header("connection", H)),
         ?assert(closed(S))
     end || Broken <- ["zz\r\n", "-1\r\n", "3\r\nabcdGET /hello HTTP/1.1\r\n\r\n"]].

%% As seen on the webmachine of Riak 3.2: a length that cannot be read is a 500
%% whatever the resource answers. Where mochiweb takes it for none at all, the
%% connection stays and the body is the next request.
bad_length({_, Port, _}) ->
    Ask = fun(Path, Fields) ->
        S = connect(Port),
        send(S, ["PUT ", Path, " HTTP/1.1\r\nHost: a\r\n", Fields, "\r\nbody"]),
        {Code, _, H, _} = recv(S, "PUT"),
        Read = get_is_next(S),
        close(S),
        {Code, header("connection", H), Read}
    end,
    Length = fun(Text) -> ["Content-Length: ", Text, "\r\n"] end,
    [?assertEqual({{500, undefined, closed}, L}, {Ask(Path, Length(L)), L})
     || L <- ["four", "4, 4", "0x4", "4 4", "4;"], Path <- ["/echo", "/refuse"]],
    ?assertEqual({500, undefined, closed}, Ask("/echo", [Length("4"), Length("4")])),
    [?assertEqual({{500, undefined, {501, "bodyGET"}}, Fields}, {Ask("/echo", Fields), Fields})
     || Fields <- [Length(""), Length(" "), [Length("4"), Length("5")],
                   Length("-4"), "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: Chunked\r\n"]],
    ?assertEqual({200, undefined, 200}, Ask("/echo", Length("+4"))).

%% What becomes of a request that is sent behind.
get_is_next(Socket) ->
    _ = gen_tcp:send(Socket, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
    try recv(Socket, "GET") of
        {501, _, _, Page} ->
            {match, [Method]} = re:run(Page, "support the \"(\\w+)\" method",
                                       [{capture, all_but_first, list}]),
            {501, Method};
        {Code, _, _, _} -> Code
    catch
        error:{badmatch, {error, _}} -> closed
    end.

stream_response({_, Port, _}) ->
    get_route("stream", {stream,
                         {<<"one ">>, fun() -> {[], fun() -> {["t", <<"wo">>], done} end} end}}),
    S = connect(Port),
    {200, _, H, Body} = request(S, "GET", "/stream", [], none),
    ?assertEqual({<<"chunked">>, undefined, <<"one two">>},
                 {header("transfer-encoding", H), header("content-length", H), Body}),
    still_works(S),
    close(S),
    get_route("empty", {stream, {<<>>, done}}),
    ?assertMatch({200, _, _, <<>>}, get(Port, "/empty")).

known_length_response({_, Port, _}) ->
    get_route("known", {known_length_stream, 6, {<<"abc">>, fun() -> {<<"def">>, done} end}}),
    {200, _, H, Body} = get(Port, "/known"),
    ?assertEqual({<<"6">>, undefined, <<"abcdef">>},
                 {header("content-length", H), header("transfer-encoding", H), Body}).

sized_stream_response({_, Port, _}) ->
    Bytes = <<"0123456789">>,
    Part = fun(Start, End) -> {binary:part(Bytes, Start, End - Start + 1), done} end,
    get_route("sized", {stream, 10, Part}),
    ?assertMatch({200, _, _, Bytes}, get(Port, "/sized")),
    ?assertMatch({206, _, _, <<"234">>}, get(Port, "/sized", [{"Range", "bytes=2-4"}])).

writer_response({_, Port, _}) ->
    get_route("writer", {writer, fun(Write) -> Write("a"), Write(<<>>), Write(["b", <<"c">>]) end}),
    ?assertMatch({200, _, _, <<"abc">>}, get(Port, "/writer")).

gzip_stream({_, Port, _}) ->
    %% Each hunk is encoded for itself, as on a real node.
    get_route("gzips", {stream, {<<"one">>, fun() -> {<<"two">>, done} end}},
              [{encodings_provided, [{"identity", fun(X) -> X end}, {"gzip", fun zlib:gzip/1}]}]),
    {200, _, H, Body} = get(Port, "/gzips", [{"Accept-Encoding", "gzip"}]),
    ?assertEqual({<<"gzip">>, iolist_to_binary([zlib:gzip("one"), zlib:gzip("two")])},
                 {header("content-encoding", H), Body}).

head_sends_no_body({_, Port, _}) ->
    S = connect(Port),
    {200, _, H, _} = request(S, "HEAD", "/hello", [], none),
    ?assertEqual(<<"5">>, header("content-length", H)),
    {404, _, _, _} = request(S, "HEAD", "/nowhere", [], none),
    get_route("head_stream", {stream, {<<"never">>, fun() -> exit(not_asked_for) end}}),
    {200, _, H2, _} = request(S, "HEAD", "/head_stream", [], none),
    ?assertEqual(<<"chunked">>, header("transfer-encoding", H2)),
    still_works(S),
    close(S).

response_that_breaks_off({_, Port, _}) ->
    get_route("breaks", {known_length_stream, 10, {<<"half">>, fun() -> exit(broken) end}}),
    S = connect(Port),
    send(S, "GET /breaks HTTP/1.1\r\nHost: a\r\n\r\n"),
    {200, _, _} = recv_head(S),
    ?assertEqual({ok, <<"half">>}, gen_tcp:recv(S, 4, 5000)),
    ?assert(closed(S)).

client_that_leaves({Listener, Port, _}) ->
    Big = binary:copy(<<"x">>, 5000000),
    get_route("big", Big),
    [begin
         S = connect(Port),
         send(S, Request),
         close(S)
     end || Request <- ["GET /big HTTP/1.1\r\nHost: a\r\n\r\n",
                        "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf",
                        "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "5\r\nab"]],
    ?assert(wait_until(fun() -> mochiweb_socket_server:get(Listener, active_sockets) =:= 0 end,
                       50)),
    ?assertMatch({200, _, _, <<"hello">>}, get(Port, "/hello")).

wait_until(_Fun, 0) -> false;
wait_until(Fun, N) ->
    Fun() orelse begin timer:sleep(100), wait_until(Fun, N - 1) end.

ranges({_, Port, _}) ->
    get_route("range", "0123456789"),
    Range = fun(R) -> get(Port, "/range", [{"Range", R}]) end,
    {206, <<"OK">>, H, <<"789">>} = Range("bytes=-3"),
    ?assertEqual(<<"bytes 7-9/10">>, header("content-range", H)),
    {206, _, M, Parts} = Range("bytes=0-1,8-"),
    ?assertMatch(<<"multipart/byteranges; boundary=", _/binary>>, header("content-type", M)),
    ?assertMatch({match, _}, re:run(Parts,
                                    "bytes 0-1/10\r\n\r\n01\r\n--.*bytes 8-9/10\r\n\r\n89\r\n--",
                                    [dotall])),
    [?assertMatch({200, _, _, <<"0123456789">>}, Range(R))
     || R <- ["bytes=20-30", "lines=1-2", "bytes=x"]],
    get_route("norange", fun(RD, S) ->
                                 {"0123456789", wrq:set_resp_range(ignore_request, RD), S} end),
    ?assertMatch({200, _, _, _}, get(Port, "/norange", [{"Range", "bytes=0-1"}])).

connection_close({_, Port, _}) ->
    S = connect(Port),
    {200, _, _, _} = request(S, "GET", "/hello", [{"Connection", "close"}], none),
    ?assert(closed(S)).

http_1_0({_, Port, _}) ->
    S = connect(Port),
    send(S, "GET /hello HTTP/1.0\r\n\r\n"),
    ?assertMatch({200, _, _, <<"hello">>}, recv(S, "GET")),
    ?assert(closed(S)).

pipelined({_, Port, _}) ->
    S = connect(Port),
    Get = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
    send(S, [Get, "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab", Get]),
    [?assertMatch({200, _, _, Body}, recv(S, "GET"))
     || Body <- [<<"hello">>, <<"ab">>, <<"hello">>]],
    close(S).
