%% @doc The hop against a scripted server. What is asserted of times are only bounds that a hang would break.
-module(ringtail_forward_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, init_per_suite/1, end_per_suite/1, init_per_testcase/2, end_per_testcase/2]).
-compile([export_all, nowarn_export_all]).

-import(ringtail_test_server, [ok/1, ok/2, requests/1, accepted/1, bodies/1]).
-import(ringtail_forward_case, [refusal/0, server/1, forward/3, forward/4, get_/1, put_/2, read/1, drain/1, hashed/2,
         body/1, repeated_hash/2, pieces/1, pieces/2, endless/1, piece/0, watched/2, measured/1, stats/1, wait_until/1]).

-define(MIB, 1048576).

all() ->
    [connections_are_kept_alive, request_and_answer_pass_unchanged, answers_without_a_body, multipart_answer,
     interim_answers_are_skipped, chunked_answer, answer_until_close, stale_connection_is_not_used_for_a_write,
     read_on_a_connection_lost_in_use_is_repeated_once, write_is_never_repeated, connection_refused,
     name_and_ipv6_targets, target_dies_before_the_answer, target_dies_in_a_small_answer,
     target_dies_in_a_long_answer, target_dies_in_a_chunked_answer, target_dies_in_the_upload, slow_target_times_out,
     target_that_drips_times_out, target_that_does_not_read_times_out, target_slow_in_the_answer,
     slow_client_is_not_charged_to_the_target, slow_client_loses_its_lease, bad_answers, bad_requests,
     large_answer_in_bounded_memory, large_request_in_bounded_memory, large_chunked_request_and_answer,
     early_answer_with_close, early_answer_without_close, early_answer_and_reset, body_shorter_or_longer_than_said,
     client_that_goes_away_in_its_body, answers_through_webmachine].

init_per_suite(Config) -> ringtail_forward_case:init_per_suite(Config).
end_per_suite(Config) -> ringtail_forward_case:end_per_suite(Config).
init_per_testcase(Case, Config) -> ringtail_forward_case:init_per_testcase(Case, Config).
end_per_testcase(Case, Config) -> ringtail_forward_case:end_per_testcase(Case, Config).

%% ---- Plain exchanges ----

connections_are_kept_alive(_) ->
    S = server(fun(#{n := N}) -> [{send, ok(integer_to_list(N))}] end),
    [?assertMatch({ok, 200, [], B}, get_(S)) || B <- [<<"0">>, <<"1">>, <<"2">>]],
    ?assertEqual(1, accepted(S)),
    ?assertEqual([1, 2, 1, 0], stats([opened, reused, idle, in_use])).

request_and_answer_pass_unchanged(_) ->
    Self = self(),
    Answer = ok("body", [{"X-Riak-Vclock", "a85hYGBg=="}, {"Link", "</a>; riaktag=\"t\""}, {"x-riak-META-Foo", "caf\351"}, {"Link", "</b>"},
                         {"Connection", "keep-alive, X-Hop"}, {"X-Hop", "1"}, {"Vary", "Accept-Encoding"}]),
    S = server(fun(R) -> [read_body, {tell, Self, R}, {send, Answer}] end),
    Headers = [{'Content-Type', "text/plain"}, {"X-Riak-Index-a_bin", "1, 2"}, {"Connection", "close"}, {'Host', "wrong"},
               {"Expect", "100-continue"}, {"X-Ringtail-Forwarded", "uuid"}],
    Path = "/types/t%2Fx/buckets/b/keys/a%2Fb+c%20d?pw=one&returnbody=true",
    ?assertEqual({ok, 200, [{"X-Riak-Vclock", "a85hYGBg=="}, {"Link", "</a>; riaktag=\"t\""}, {"x-riak-META-Foo", "caf\351"},
                            {"Link", "</b>"}, {"Vary", "Accept-Encoding"}], <<"body">>},
                 forward(S, {"PUT", Path, Headers, <<"hello">>}, [{peer, "192.0.2.1"}])),
    ?assertEqual([body(<<"hello">>)], bodies(S)),
    receive
        #{path := P, method := M, headers := Hs} ->
            ?assertEqual({<<"PUT">>, list_to_binary(Path)}, {M, P}),
            ?assertEqual([{<<"host">>, list_to_binary("127.0.0.1:" ++ integer_to_list(ringtail_test_server:port(S)))},
                          {<<"content-type">>, <<"text/plain">>}, {<<"x-riak-index-a_bin">>, <<"1, 2">>},
                          {<<"x-ringtail-forwarded">>, <<"uuid">>}, {<<"x-forwarded-for">>, <<"192.0.2.1">>},
                          {<<"content-length">>, <<"5">>}], Hs)
    end.

answers_without_a_body(_) ->
    Answers = [{"HEAD", "200 OK\r\nContent-Length: 70000", 200, {stream, 70000, <<>>}},
               {"HEAD", "404 No\r\nContent-Length: 0", 404, <<>>},
               {"HEAD", "200 OK\r\nTransfer-Encoding: chunked", 200, {stream, chunked, <<>>}},
               {"GET", "304 Not Modified\r\nContent-Length: 12", 304, <<>>},
               {"PUT", "204 No Content", 204, <<>>},
               {"DELETE", "204 No Content", 204, <<>>},
               {"HEAD", "300 Multiple\r\nContent-Length: 12", 300, {stream, 12, <<>>}}],
    S = server(fun(#{n := N}) -> {_, Head, _, _} = lists:nth(N + 1, Answers), [{send, ["HTTP/1.1 ", Head, "\r\n\r\n"]}] end),
    [begin
         {ok, Got, _, Body} = forward(S, {M, "/x", [], none}, []),
         ?assertEqual({Status, Expected}, {Got, read(Body)})
     end || {M, _, Status, Expected} <- Answers],
    %% None of them desynchronised the connection.
    ?assertEqual(1, accepted(S)).

multipart_answer(_) ->
    Type = "multipart/mixed; boundary=Xy",
    Body = "\r\n--Xy\r\nContent-Type: text/plain\r\n\r\na\r\n--Xy\r\n\r\n\0\377\r\n--Xy--\r\n",
    S = server(fun(_) -> [{send, ["HTTP/1.1 300 Multiple Choices\r\nContent-Type: ", Type, "\r\nContent-Length: ",
                                  integer_to_list(length(Body)), "\r\n\r\n", Body]}] end),
    ?assertEqual({ok, 300, [{"Content-Type", Type}], list_to_binary(Body)}, get_(S)).

interim_answers_are_skipped(_) ->
    Interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n",
    S = server(fun(_) -> [{send, Interim}, {sleep, 20}, read_body, {send, [Interim, ok("done")]}] end),
    Slow = pieces([<<"abc">>, <<"def">>], fun() -> timer:sleep(30) end),
    ?assertMatch({ok, 200, [], <<"done">>}, put_(S, {length, 6, Slow})),
    ?assertMatch({ok, 200, [], <<"done">>}, put_(S, <<"abcdef">>)),
    ?assertEqual([body(<<"abcdef">>), body(<<"abcdef">>)], bodies(S)),
    ?assertEqual(1, accepted(S)).

chunked_answer(_) ->
    S = server(fun(_) -> [{send, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3;e=1\r\nabc\r\n"}, {sleep, 20},
                          {send, "4\r\nde"}, {sleep, 20}, {send, "fg\r\n0\r\nX: y\r\n"}, {sleep, 20}, {send, "\r\n"}] end),
    [begin
         {ok, 200, [], Body} = get_(S),
         ?assertEqual({stream, chunked, <<"abcdefg">>}, read(Body))
     end || _ <- [1, 2]],
    ?assertEqual(1, accepted(S)).

answer_until_close(_) ->
    S = server(fun(_) -> [{send, "HTTP/1.0 200 OK\r\n\r\nabc"}, {sleep, 20}, {send, "def"}, close] end),
    {ok, 200, [], Body} = get_(S),
    ?assertEqual({stream, chunked, <<"abcdef">>}, read(Body)),
    ?assertEqual([0, 0], stats([idle, in_use])).

%% ---- Connections that end ----

%% The server closes after its answer, without a word: the next write would be lost in that connection.
stale_connection_is_not_used_for_a_write(_) ->
    S = server(fun(_) -> [read_body, {send, ok("x")}, close] end),
    [begin
         ?assertMatch({N, {ok, 200, [], <<"x">>}}, {N, put_(S, <<"v">>)}),
         %% From here on its close has arrived. (A write sent before it arrives fails, and is said to have failed.)
         wait_until(fun() -> ringtail_test_server:open(S) =:= 0 end)
     end || N <- lists:seq(1, 50)],
    ?assertEqual({50, 50}, {requests(S), accepted(S)}).

read_on_a_connection_lost_in_use_is_repeated_once(_) ->
    S = server(fun(#{n := 0}) -> [{send, ok("x")}];
                  (#{n := 1}) -> [close];
                  (#{n := 2}) -> [{send, ok("y")}];
                  (_) -> [close] end),
    ?assertMatch({ok, 200, [], <<"x">>}, get_(S)),
    ?assertMatch({ok, 200, [], <<"y">>}, get_(S)),
    ?assertEqual({3, 2}, {requests(S), accepted(S)}),
    ?assertEqual({error, {closed, sent}}, get_(S)),
    ?assertEqual(5, requests(S)).

write_is_never_repeated(_) ->
    S = server(fun(#{n := 0}) -> [read_body, {send, ok("x")}]; (_) -> [read_body, close] end),
    ?assertMatch({ok, 200, [], <<"x">>}, put_(S, <<"1">>)),
    ?assertEqual({error, {closed, sent}}, put_(S, <<"2">>)),
    ?assertEqual({error, {closed, sent}}, put_(S, {length, 1, pieces([<<"3">>])})),
    ?assertEqual({error, {closed, sent}}, forward(S, {"POST", "/x", [], <<"4">>}, [])),
    ?assertEqual(4, requests(S)),
    D = server(fun(#{n := 0}) -> [{send, ok("x")}]; (_) -> [close] end),
    ?assertMatch({ok, 200, [], <<"x">>}, get_(D)),
    ?assertEqual({error, {closed, sent}}, forward(D, {"DELETE", "/x", [], none}, [])),
    ?assertEqual(2, requests(D)).

%% Nothing sent and nothing read of the body: the caller may go elsewhere with it.
connection_refused(_) ->
    S = server(fun(_) -> [] end),
    ringtail_test_server:stop(S),
    Unread = fun() -> exit(body_was_read) end,
    ?assertEqual({error, {not_opened, econnrefused}}, put_(S, {length, 5, Unread})),
    ?assertEqual([0, 0], stats([idle, in_use])).

name_and_ipv6_targets(_) ->
    S = server(fun(_) -> [{send, ok("x")}] end),
    Port = ringtail_test_server:port(S),
    ?assertMatch({ok, 200, [], <<"x">>}, ringtail_forward:forward({http, "localhost", Port}, {'GET', "/", [], none}, [])),
    ?assertMatch({error, {not_opened, _}}, ringtail_forward:forward({http, "no-such-host.invalid", Port}, {"GET", "/", [], none}, [])),
    case gen_tcp:listen(0, [inet6, binary, {active, false}, {ip, {0, 0, 0, 0, 0, 0, 0, 1}}]) of
        {ok, Listen} ->
            {ok, {_, Port6}} = inet:sockname(Listen),
            Self = self(),
            spawn_link(fun() ->
                               {ok, Socket} = gen_tcp:accept(Listen),
                               {ok, Head} = gen_tcp:recv(Socket, 0),
                               Self ! {head, Head},
                               gen_tcp:send(Socket, ok("six")),
                               {error, closed} = gen_tcp:recv(Socket, 0)
                       end),
            ?assertMatch({ok, 200, [], <<"six">>}, ringtail_forward:forward({http, "::1", Port6}, {"GET", "/", [], none}, [])),
            receive {head, Head} -> ?assertMatch({_, _}, binary:match(Head, <<"Host: [::1]:">>)) end,
            gen_tcp:close(Listen);
        {error, _} ->
            {comment, "no IPv6 here"}
    end.

target_dies_before_the_answer(_) ->
    S = server(fun(_) -> [read_body, {sleep, 50}, reset] end),
    ?assertEqual({error, {closed, sent}}, put_(S, <<"v">>)),
    ?assertEqual({error, {closed, sent}}, put_(S, {chunked, pieces([<<"v">>])})),
    H = server(fun(_) -> [{send, "HTTP/1.1 200 OK\r\nConte"}, close] end),
    ?assertEqual({error, {closed, sent}}, get_(H)).

target_dies_in_a_small_answer(_) ->
    S = server(fun(_) -> [{send, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}, close] end),
    ?assertEqual({error, {closed, sent}}, get_(S)).

target_dies_in_a_long_answer(_) ->
    S = server(fun(_) -> [{send, ["HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", binary:copy(<<"a">>, 500000)]}, close] end),
    {ok, 200, [], Body} = get_(S),
    ?assertExit({shutdown, {truncated, closed}}, read(Body)),
    ?assertEqual([0, 0, 1], stats([idle, in_use, truncated])).

%% Were the fun to say `done', webmachine would end the chunks and nobody could tell.
target_dies_in_a_chunked_answer(_) ->
    Head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    [begin
         S = server(fun(_) -> [{send, [Head, Sent]}, close] end),
         {ok, 200, [], Body} = get_(S),
         ?assertExit({shutdown, {truncated, Why}}, read(Body))
     end || {Sent, Why} <- [{"3\r\nabc\r\n", closed}, {"3\r\nabc\r\n0\r\n", closed}, {"5\r\nabc", closed}, {"3\r\nabcd", bad_answer}]],
    ?assertEqual([0, 0, 4], stats([idle, in_use, truncated])).

target_dies_in_the_upload(_) ->
    S = server(fun(_) -> [{read, 100000}, reset] end),
    Unread = fun Read(N) -> fun() -> put(unread, N), {piece(), case N of 0 -> done; _ -> Read(N - 1) end} end end,
    {error, {closed, maybe_sent}} = put_(S, {length, 320 * 65536, Unread(319)}),
    ?assertEqual(1, requests(S)),
    %% Nothing of the client's body is left on its connection, which goes on.
    ?assertEqual({0, undefined}, {get(unread), get(mochiweb_request_force_close)}),
    ?assertEqual([0, 0], stats([idle, in_use])).

%% ---- Time ----

slow_target_times_out(_) ->
    S = server(fun(_) -> [hang] end),
    ?assertEqual({error, {timeout, sent}}, forward(S, {"GET", "/", [], none}, [{timeout, 200}])),
    ?assertEqual({error, {timeout, sent}}, forward(S, {"PUT", "/", [], {length, 3, pieces([<<"abc">>])}}, [{timeout, 200}])),
    ?assertEqual([0, 0], stats([idle, in_use])).

%% Each byte arrives in time, the whole does not.
target_that_drips_times_out(_) ->
    S = server(fun(_) -> [{send, "HTTP/1.1 200 OK\r\nX: "} | lists:append(lists:duplicate(100, [{send, "a"}, {sleep, 20}]))] end),
    ?assertEqual({error, {timeout, sent}}, forward(S, {"GET", "/", [], none}, [{timeout, 300}])).

target_that_does_not_read_times_out(_) ->
    S = server(fun(_) -> [hang] end),
    ?assertEqual({error, {timeout, maybe_sent}},
                 forward(S, {"PUT", "/", [], {length, 50 * ?MIB, endless(50 * ?MIB)}}, [{timeout, 400}])),
    ?assertEqual([0, 0], stats([idle, in_use])).

target_slow_in_the_answer(_) ->
    S = server(fun(_) -> [{send, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc"}, hang] end),
    {ok, 200, [], Body} = forward(S, {"GET", "/", [], none}, [{timeout, 200}]),
    ?assertExit({shutdown, {truncated, timeout}}, read(Body)),
    ?assertEqual([0, 0], stats([idle, in_use])).

slow_client_is_not_charged_to_the_target(_) ->
    S = server(fun(_) -> [read_body, {send, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"}, {send, binary:copy(<<"a">>, 100000)}] end),
    Slow = pieces([<<"a">>, <<"b">>, <<"c">>], fun() -> timer:sleep(200) end),
    {ok, 200, [], {stream, 100000, Next}} = forward(S, {"PUT", "/", [], {length, 3, Slow}}, [{timeout, 400}]),
    timer:sleep(500),
    ?assertEqual(100000, iolist_size(drain(Next))).

%% Nor may it hold a connection for ever.
slow_client_loses_its_lease(_) ->
    S = server(fun(_) -> [read_body, {send, ok("x")}] end),
    Slow = pieces([<<"a">>, <<"b">>], fun() -> timer:sleep(600) end),
    ?assertEqual({error, {closed, maybe_sent}},
                 forward(S, {"PUT", "/", [], {length, 2, Slow}}, [{timeout, 200}, {client_timeout, 200}])),
    ?assertEqual([0, 0, 1], stats([idle, in_use, expired])).

%% ---- What is not HTTP ----

bad_answers(_) ->
    Many = ["HTTP/1.1 200 OK\r\n", lists:duplicate(5000, "X-Header: 0123456789\r\n"), "\r\n"],
    [begin
         S = server(fun(_) -> [{send, Answer}] end),
         ?assertEqual({Answer, {error, {bad_answer, sent}}}, {Answer, get_(S)})
     end || Answer <- ["SSH-2.0-OpenSSH_9.2\r\n\r\n", Many, binary:copy(<<"x">>, 70000), "HTTP/1.1 101 Switching\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nab",
                       "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"]],
    ?assertEqual([0, 0], stats([idle, in_use])),
    %% More than it said: what follows would be taken for the next answer.
    S = server(fun(_) -> [{send, [ok("x"), "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"]}] end),
    [?assertMatch({ok, 200, [], <<"x">>}, get_(S)) || _ <- [1, 2]],
    ?assertEqual(2, accepted(S)).

bad_requests(_) ->
    S = server(fun(_) -> [{send, ok("x")}] end),
    ?assertEqual({error, {not_opened, {bad_request, path}}}, forward(S, {"GET", "/a b", [], none}, [])),
    ?assertEqual({error, {not_opened, {bad_request, {header, <<"A">>}}}}, forward(S, {"GET", "/", [{"A", "b\r\nC: d"}], none}, [])),
    ?assertEqual(0, accepted(S)).

%% ---- Size ----

large_answer_in_bounded_memory(_) ->
    Piece = crypto:strong_rand_bytes(?MIB),
    S = server(fun(_) -> [{send, ["HTTP/1.1 200 OK\r\nContent-Length: ", integer_to_list(50 * ?MIB), "\r\n\r\n"]}, {send_many, 50, Piece}] end),
    {Size, Hash, Peak} = measured(fun(Watch) ->
                                          {ok, 200, [], {stream, Length, Next}} = get_(S),
                                          ?assertEqual(50 * ?MIB, Length),
                                          hashed(Next, Watch)
                                  end),
    ?assertEqual({50 * ?MIB, repeated_hash(50, Piece)}, {Size, Hash}),
    ct:comment("peak ~w KiB", [Peak div 1024]),
    ?assert(Peak < 8 * ?MIB).

large_request_in_bounded_memory(_) ->
    S = server(fun(_) -> [read_body, {send, ok("x")}] end),
    {{ok, 200, [], <<"x">>}, Peak} =
        measured(fun(Watch) -> put_(S, {length, 50 * ?MIB, watched(endless(50 * ?MIB), Watch)}) end),
    ?assertEqual([{50 * ?MIB, repeated_hash(800, piece())}], bodies(S)),
    ct:comment("peak ~w KiB", [Peak div 1024]),
    ?assert(Peak < 8 * ?MIB).

large_chunked_request_and_answer(_) ->
    Piece = crypto:strong_rand_bytes(100000),
    Chunk = [integer_to_list(100000, 16), "\r\n", Piece, "\r\n"],
    S = server(fun(_) -> [read_body, {send, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}, {send_many, 200, Chunk}, {send, "0\r\n\r\n"}] end),
    {Size, Hash, Peak} = measured(fun(Watch) ->
                                          {ok, 200, [], {stream, chunked, Next}} = put_(S, {chunked, endless(20 * ?MIB)}),
                                          hashed(Next, Watch)
                                  end),
    ?assertEqual([{20 * ?MIB, repeated_hash(320, piece())}], bodies(S)),
    ?assertEqual({20000000, repeated_hash(200, Piece)}, {Size, Hash}),
    ?assert(Peak < 8 * ?MIB).

%% ---- Bodies that do not go as meant ----

early_answer_with_close(_) ->
    S = server(fun(_) -> [{read, 1000}, {send, refusal()}, {sleep, 300}, close] end),
    ?assertMatch({ok, 413, [], <<"big">>}, put_(S, {length, 50 * ?MIB, endless(50 * ?MIB)})),
    ?assertEqual(undefined, get(mochiweb_request_force_close)),
    %% A body without end in sight is not waited for, and its connection not used again.
    ?assertMatch({ok, 413, [], <<"big">>}, put_(S, {chunked, endless(1000 * ?MIB)})),
    ?assertEqual(true, get(mochiweb_request_force_close)),
    ?assertEqual([0, 0], stats([idle, in_use])).

%% The target answers and reads no more: we would wait in our send for ever.
early_answer_without_close(_) ->
    S = server(fun(_) -> [{read, 1000}, {send, refusal()}, hang] end),
    ?assertMatch({ok, 413, [], <<"big">>}, forward(S, {"PUT", "/", [], {length, 50 * ?MIB, endless(50 * ?MIB)}}, [{timeout, 1500}])),
    erase(mochiweb_request_force_close),
    %% A short rest is read, and the client's connection lives on.
    Slow = pieces([<<"a">>, <<"b">>, <<"c">>, <<"d">>], fun() -> timer:sleep(50) end),
    T = server(fun(_) -> [{read, 1}, {send, "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"}, hang] end),
    ?assertMatch({ok, 401, [], <<>>}, put_(T, {length, 4, Slow})),
    ?assertEqual(undefined, get(mochiweb_request_force_close)),
    ?assertEqual([0, 0], stats([idle, in_use])).

early_answer_and_reset(_) ->
    S = server(fun(_) -> [{read, 1000}, {send, refusal()}, {sleep, 20}, reset] end),
    Slow = watched(endless(10 * ?MIB), fun() -> timer:sleep(5) end),
    ?assertMatch({ok, 413, [], <<"big">>}, put_(S, {length, 10 * ?MIB, Slow})).

%% Said by the client's Content-Length; the server in front should see to it, and if not we do not desynchronise.
body_shorter_or_longer_than_said(_) ->
    S = server(fun(_) -> [read_body, {send, ok("x")}] end),
    [?assertEqual({error, {bad_body, maybe_sent}}, put_(S, {length, 5, pieces(P)}))
     || P <- [[<<"abc">>], [<<"abc">>, <<"def">>], [<<>>]]],
    wait_until(fun() -> ringtail_test_server:open(S) =:= 0 end),
    ?assertEqual([], bodies(S)),
    ?assertMatch({ok, 200, [], <<"x">>}, put_(S, {length, 5, pieces([<<"abcde">>, <<>>])})),
    %% What is beyond does not go out, and the connection is not used again.
    _ = put_(S, {length, 5, pieces([<<"abcde">>, <<"GET / HTTP/1.1\r\n\r\n">>])}),
    ?assertMatch({ok, 200, [], <<"x">>}, put_(S, <<"abc">>)),
    ?assertEqual({2, 5}, {length(lists:usort(bodies(S))), accepted(S)}).

client_that_goes_away_in_its_body(_) ->
    S = server(fun(_) -> [read_body, {send, ok("x")}] end),
    Gone = fun(Raise) -> fun() -> {<<"abc">>, Raise} end end,
    ?assertExit(normal, put_(S, {length, 10, Gone(fun() -> exit(normal) end)})),
    ?assertError({badmatch, {error, closed}}, put_(S, {chunked, Gone(fun() -> error({badmatch, {error, closed}}) end)})),
    wait_until(fun() -> ringtail_test_server:open(S) =:= 0 end),
    ?assertEqual([], bodies(S)),
    ?assertEqual([0, 0], stats([idle, in_use])).

%% ---- Through webmachine ----

%% By the functions of webmachine that the hop uses, with and without what came in 1.10.
answers_through_webmachine(_) ->
    Next = fun() -> {<<"abc">>, done} end,
    Present = [{"X-Ringtail-Node", "me"}, {"Content-Type", "text/html"}],
    Answer = [{"x-ringtail-node", "other"}, {"Content-Type", "text/plain"}, {"Link", "a"}, {"link", "b"}, {"X-Ringtail-New", "n"}],
    Expected = [{"X-Ringtail-Node", "me"}, {"Content-Type", "text/plain"}, {"Link", "a, b"}, {"X-Ringtail-New", "n"}],
    with_wrq(new, fun() ->
        ?assertEqual({lists:sort(Expected), {known_length_stream, 3, {<<>>, Next}}, ignore_request},
                     ringtail_forward_wm:response({Present, <<>>, follow_request}, Answer, {stream, 3, Next}, ours)),
        %% What speaks for itself goes as it is.
        Theirs = [{"x-ringtail-node", "other"}, {"Content-Type", "text/plain"}, {"Link", "a, b"}, {"X-Ringtail-New", "n"}],
        ?assertEqual({lists:sort(Theirs), {known_length_stream, 3, {<<>>, Next}}, ignore_request},
                     ringtail_forward_wm:response({[], <<>>, follow_request}, Answer, {stream, 3, Next}, theirs)),
        ?assertEqual({stream, {<<>>, Next}}, ringtail_forward_wm:body({stream, chunked, Next})),
        ?assertEqual(<<"abc">>, ringtail_forward_wm:body(<<"abc">>)),
        %% An empty body must count as one, or webmachine writes its own page.
        ?assertMatch({known_length_stream, 0, {<<>>, _}}, ringtail_forward_wm:body(<<>>))
    end),
    with_wrq(old, fun() ->
        ?assertEqual({lists:sort(Expected), {stream, {<<>>, Next}}, follow_request},
                     ringtail_forward_wm:response({Present, <<>>, follow_request}, Answer, {stream, 3, Next}, ours)),
        ?assertEqual(<<>>, ringtail_forward_wm:body(<<>>))
    end).

with_wrq(Age, Fun) ->
    Range = case Age of new -> "-export([set_resp_range/2]). set_resp_range(R, {H, B, _}) -> {H, B, R}. "; old -> "" end,
    Known = case Age of new -> "resp_body({_, {known_length_stream, _, _} = B, _}) -> B; "; old -> "" end,
    Source = "-module(wrq). -export([create/4, resp_body/1, set_resp_body/2, get_resp_header/2, set_resp_header/3, merge_resp_headers/2]). "
        ++ Range ++ "create(_, _, _, _) -> {[], <<>>, follow_request}. " ++ Known ++
        "resp_body({_, {stream, _} = B, _}) -> B; resp_body({_, B, _}) -> iolist_to_binary(B). "
        "set_resp_body(B, {H, _, R}) -> {H, B, R}. "
        "l(N) -> string:to_lower(N). "
        "get_resp_header(N, {H, _, _}) -> case [V || {K, V} <- H, l(K) =:= l(N)] of [] -> undefined; [V | _] -> V end. "
        "set_resp_header(N, V, {H, B, R}) -> {lists:sort([{N, V} | [X || {K, _} = X <- H, l(K) =/= l(N)]]), B, R}. "
        "merge_resp_headers(Hs, RD) -> lists:foldl(fun merge/2, RD, Hs). "
        "merge({N, V}, {H, B, R} = RD) -> case get_resp_header(N, RD) of undefined -> set_resp_header(N, V, RD); "
        "_ -> {[case l(K) =:= l(N) of true -> {K, O ++ \", \" ++ V}; false -> X end || {K, O} = X <- H], B, R} end. ",
    {ok, Tokens, _} = erl_scan:string(Source),
    {Forms, []} = lists:foldl(fun({dot, _} = T, {Fs, Ts}) -> {ok, F} = erl_parse:parse_form(lists:reverse([T | Ts])), {[F | Fs], []};
                                 (T, {Fs, Ts}) -> {Fs, [T | Ts]} end, {[], []}, Tokens),
    {ok, wrq, Beam} = compile:forms(lists:reverse(Forms)),
    {module, wrq} = code:load_binary(wrq, "wrq", Beam),
    try Fun() after code:purge(wrq), code:delete(wrq), code:purge(wrq) end.
