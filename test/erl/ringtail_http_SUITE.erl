%% @doc The pure half of the hop, by properties and by what went wrong elsewhere.
-module(ringtail_http_SUITE).

-include_lib("stdlib/include/assert.hrl").

%% Debian's package of PropEr has no proper.hrl; these are the few words of it that are used here.
-import(proper_types, [binary/0, integer/2, list/1, non_empty/1, non_neg_integer/0, oneof/1]).
-define(FORALL(X, Type, Property), proper:forall(Type, fun(X) -> Property end)).
-define(LET(X, Type, Generator), proper_types:bind(Type, fun(X) -> Generator end, false)).

-export([all/0]).
-export([any_split_of_an_answer/1, any_split_of_a_chunked_body/1, chunks_round_trip/1, junk_never_crashes/1,
         request_is_read_back_by_otp/1, hosts/1, forwarded_for/1, headers_that_end_at_the_hop/1,
         headers_that_cannot_be_named_away/1, injection_is_refused/1, heads_refused/1, heads_accepted/1,
         interim_answers/1, framing/1, connection_reuse/1, chunks_refused/1, repeated_headers_keep_order_and_case/1]).

all() ->
    [any_split_of_an_answer, any_split_of_a_chunked_body, chunks_round_trip, junk_never_crashes,
     request_is_read_back_by_otp, hosts, forwarded_for, headers_that_end_at_the_hop,
     headers_that_cannot_be_named_away, injection_is_refused, heads_refused, heads_accepted,
     interim_answers, framing, connection_reuse, chunks_refused, repeated_headers_keep_order_and_case].

%% ---- Properties ----

any_split_of_an_answer(_) ->
    check(?FORALL({Status, Headers, Body}, {status(), headers(), binary()},
                  begin
                      Bytes = iolist_to_binary(["HTTP/1.1 ", integer_to_list(Status), " Why not\r\n",
                                                [[N, ": ", V, "\r\n"] || {N, V} <- Headers], "\r\n", Body]),
                      ?FORALL(Pieces, split(Bytes),
                              {{1, 1}, Status, Headers, Body} =:= feed_head(Pieces, <<>>))
                  end)).

feed_head([Piece | Rest], Buf0) ->
    Buf = <<Buf0/binary, Piece/binary>>,
    case ringtail_http:parse_head(Buf) of
        more -> feed_head(Rest, Buf);
        {ok, {Version, Status, Headers}, After} -> {Version, Status, Headers, iolist_to_binary([After | Rest])};
        Error -> Error
    end;
feed_head([], _) ->
    nothing.

any_split_of_a_chunked_body(_) ->
    check(?FORALL({Data, Ext, Trailers, After}, {list(non_empty(binary())), extension(), headers(), binary()},
                  begin
                      Bytes = iolist_to_binary([[[integer_to_list(byte_size(D), 16), Ext, "\r\n", D, "\r\n"] || D <- Data],
                                                "000", Ext, "\r\n", [[N, ": ", V, "\r\n"] || {N, V} <- Trailers], "\r\n", After]),
                      ?FORALL(Pieces, split(Bytes),
                              {done, iolist_to_binary(Data), After} =:= feed_chunks(Pieces, ringtail_http:chunks(), []))
                  end)).

chunks_round_trip(_) ->
    check(?FORALL(Data, list(binary()),
                  {done, iolist_to_binary(Data), <<>>} =:=
                      feed_chunks([iolist_to_binary([[ringtail_http:chunk(D) || D <- Data], ringtail_http:last_chunk()])],
                                  ringtail_http:chunks(), []))).

feed_chunks([Piece | Rest], State, Acc) ->
    case ringtail_http:chunks(Piece, State) of
        {more, Data, State1} -> feed_chunks(Rest, State1, [Acc, Data]);
        {done, Data, After} -> {done, iolist_to_binary([Acc, Data]), iolist_to_binary([After | Rest])};
        Error -> Error
    end;
feed_chunks([], _, _) ->
    nothing.

junk_never_crashes(_) ->
    Junk = list(oneof([binary(), <<"HTTP/1.1 200 OK">>, <<"\r\n">>, <<"\r\n\r\n">>, <<":">>, <<"a: b">>, <<"5">>, <<" ">>, <<";">>])),
    check(?FORALL(Parts, Junk,
                  begin
                      Bytes = iolist_to_binary(Parts),
                      Head = case ringtail_http:final_head(Bytes) of
                                 {more, _} -> true;
                                 {ok, {_, S, Hs}, R} ->
                                     {A, _} = ringtail_http:framing("GET", S, {1, 1}, Hs),
                                     lists:member(A, [ok, error]) andalso is_binary(R);
                                 {error, E} -> lists:member(E, [bad_head, head_too_large])
                             end,
                      Chunks = case ringtail_http:chunks(Bytes, ringtail_http:chunks()) of
                                   {T, D, _} when T =:= more; T =:= done -> iolist_size(D) =< byte_size(Bytes);
                                   {error, bad_chunk} -> true
                               end,
                      Head andalso Chunks
                  end)).

%% OTP's own parser, as mochiweb on the other node uses it, reads what we meant.
request_is_read_back_by_otp(_) ->
    check(?FORALL({Method, Path, Headers, Framing},
                  {oneof(["GET", "PUT", "POST", "DELETE", "HEAD"]), path(), headers(),
                   oneof([none, chunked, {length, non_neg_integer()}])},
                  begin
                      {ok, Head} = ringtail_http:request_head(Method, Path, Headers, {http, "h", 8098, undefined}, Framing),
                      {ok, {http_request, M, {abs_path, P}, {1, 1}}, Rest} =
                          erlang:decode_packet(http_bin, iolist_to_binary(Head), []),
                      Read = otp_headers(Rest),
                      Length = proplists:get_value(<<"content-length">>, Read),
                      Coding = proplists:get_value(<<"transfer-encoding">>, Read),
                      to_list(M) =:= Method andalso binary_to_list(P) =:= Path
                          andalso proplists:get_value(<<"host">>, Read) =:= <<"h:8098">>
                          andalso [{string:lowercase(N), V} || {N, V} <- Headers]
                              =:= [H || {N, _} = H <- Read,
                                        not lists:member(N, [<<"host">>, <<"content-length">>, <<"transfer-encoding">>])]
                          andalso case Framing of
                                      {length, L} -> {integer_to_binary(L), undefined} =:= {Length, Coding};
                                      chunked -> {undefined, <<"chunked">>} =:= {Length, Coding};
                                      none -> Coding =:= undefined
                                  end
                  end)).

otp_headers(Bytes) ->
    case erlang:decode_packet(httph_bin, Bytes, []) of
        {ok, {http_header, _, Name, _, Value}, Rest} -> [{string:lowercase(to_binary(Name)), Value} | otp_headers(Rest)];
        {ok, http_eoh, <<>>} -> []
    end.

%% ---- Cases ----

hosts(_) ->
    ?assertEqual("a.example:8098", ringtail_http:host(http, "a.example", 8098)),
    ?assertEqual("a.example", ringtail_http:host(http, "a.example", 80)),
    ?assertEqual("a.example:80", ringtail_http:host(https, "a.example", 80)),
    ?assertEqual("a.example", ringtail_http:host(https, "a.example", 443)),
    ?assertEqual("[::1]:8098", ringtail_http:host(http, "::1", 8098)),
    ?assertEqual("[::1]:8098", ringtail_http:host(http, "[::1]", 8098)),
    ?assertEqual("[fe80::1]", ringtail_http:host(http, "fe80::1%eth0", 80)).

%% webmachine believes the last element.
forwarded_for(_) ->
    F = fun(Peer, Values) -> ringtail_http:forwarded_for(Peer, [{<<"x-forwarded-For">>, V} || V <- Values]) end,
    Name = <<"X-Forwarded-For">>,
    ?assertEqual([{Name, <<"192.0.2.1">>}], F("192.0.2.1", [])),
    ?assertEqual([{Name, <<"10.0.0.9, 192.0.2.1">>}], F("192.0.2.1", [<<"10.0.0.9">>])),
    ?assertEqual([{Name, <<"10.0.0.9, 192.0.2.1">>}], F("192.0.2.1", [<<"10.0.0.9,192.0.2.1 ">>])),
    ?assertEqual([{Name, <<"a, b, c">>}], F("c", [<<"a">>, <<"b">>])),
    ?assertEqual([{<<"x-forwarded-For">>, <<"a">>}], F(undefined, [<<"a">>])).

headers_that_end_at_the_hop(_) ->
    Sent = request([{"Connection", "close, X-Mine"}, {"Keep-Alive", "timeout=5"}, {"Proxy-Connection", "x"}, {"TE", "trailers"},
                    {"Trailer", "X"}, {'Transfer-Encoding', "chunked"}, {"Upgrade", "h2c"}, {"x-mine", "1"}, {'Host', "other:1"},
                    {'Content-Length', "99"}, {"Expect", "100-continue"}, {"X-Forwarded-Host", "bad::host"},
                    {"X-Forwarded-Server", "s"}, {"X-Forwarded-Proto", "https"}, {'Authorization', "Basic eDp5"},
                    {"Proxy-Authorization", "Basic"}, {"X-Riak-Vclock", "a85=="}]),
    ?assertEqual([<<"Host: h:8098">>, <<"X-Forwarded-Proto: https">>, <<"Authorization: Basic eDp5">>,
                  <<"X-Riak-Vclock: a85==">>, <<"Content-Length: 3">>], Sent),
    ?assertEqual([{<<"X-A">>, <<"1">>}, {<<"Vary">>, <<"Accept">>}],
                 ringtail_http:end_to_end([{<<"X-A">>, <<"1">>}, {<<"connection">>, <<"Keep-Alive, x-b">>}, {<<"X-B">>, <<"2">>},
                                           {<<"Transfer-encoding">>, <<"chunked">>}, {<<"Vary">>, <<"Accept">>},
                                           {<<"Content-length">>, <<"4">>}])).

%% "Connection: X-Ringtail-Forwarded" must not make the next node forward again,
%% nor "Connection: X-Forwarded-For" hide whose request it is.
headers_that_cannot_be_named_away(_) ->
    Sent = request([{"Connection", "x-ringtail-forwarded, x-forwarded-for"}, {"X-Ringtail-Forwarded", "uuid"},
                    {"X-Forwarded-For", "192.0.2.7"}]),
    ?assertEqual([<<"Host: h:8098">>, <<"X-Ringtail-Forwarded: uuid">>, <<"X-Forwarded-For: 192.0.2.7">>, <<"Content-Length: 3">>],
                 Sent).

injection_is_refused(_) ->
    Target = {http, "h", 1, undefined},
    Bad = fun(M, P, Hs, Why) ->
                  ?assertEqual({error, {bad_request, Why}}, ringtail_http:request_head(M, P, Hs, Target, none))
          end,
    Bad("GET /x HTTP/1.1\r\n", "/", [], method),
    Bad("GET", "/a b", [], path),
    Bad("GET", "/a\r\nX: y", [], path),
    Bad("GET", "", [], path),
    Bad("GET", "/", [{"X", "a\r\nY: b"}], {header, <<"X">>}),
    Bad("GET", "/", [{"X\r\nY", "a"}], {header, <<"X\r\nY">>}),
    Bad("GET", "/", [{"X", [0]}], {header, <<"X">>}),
    Bad("GET", "/", [{"X", [955]}], not_bytes).

heads_refused(_) ->
    Bad = fun(Head) -> ?assertEqual({Head, {error, bad_head}}, {Head, ringtail_http:parse_head(iolist_to_binary([Head, "\r\n\r\n"]))}) end,
    [Bad(H) || H <- ["", "HTTP/1.1", "HTTP/2.0 200 OK", "HTTP/1.1 99 x", "HTTP/1.1 20 x", "HTTP/1.1 2000 x", "HTTP/1.1 900 x",
                     "http/1.1 200 OK", "HTTP/1.1  200 OK", "SSH-2.0-x", "HTTP/1.1 200 OK\r\nno colon", "HTTP/1.1 200 OK\r\nA : b",
                     "HTTP/1.1 200 OK\r\n: b", "HTTP/1.1 200 OK\r\n folded first", "HTTP/1.1 200 OK\r\nA: b\nC: d",
                     "HTTP/1.1 200 OK\r\nA: b\rC: d", "HTTP/1.1 200 OK\r\nA: \0"]],
    ?assertEqual({error, head_too_large}, ringtail_http:parse_head(binary:copy(<<"x">>, 65537))),
    Large = iolist_to_binary(["HTTP/1.1 200 OK\r\nA: ", binary:copy(<<"x">>, 65537), "\r\n\r\n"]),
    ?assertEqual({error, head_too_large}, ringtail_http:parse_head(Large)).

heads_accepted(_) ->
    P = fun(Head) -> {ok, H, <<"rest">>} = ringtail_http:parse_head(iolist_to_binary([Head, "\r\n\r\nrest"])), H end,
    ?assertEqual({{1, 1}, 200, []}, P("HTTP/1.1 200 OK")),
    ?assertEqual({{1, 1}, 200, []}, P("HTTP/1.1 200")),
    ?assertEqual({{1, 1}, 200, []}, P("HTTP/1.1 200 ")),
    ?assertEqual({{1, 0}, 404, []}, P("HTTP/1.0 404 Object Not Found")),
    ?assertEqual({{1, 1}, 200, [{<<"A">>, <<"b c">>}, {<<"D">>, <<>>}]}, P("HTTP/1.1 200 OK\r\nA:\t b\r\n  c \r\nD:")).

interim_answers(_) ->
    Final = <<"HTTP/1.1 413 No\r\n\r\nx">>,
    ?assertMatch({ok, {_, 413, []}, <<"x">>}, ringtail_http:final_head(Final)),
    Interim = <<"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\n">>,
    ?assertMatch({ok, {_, 413, []}, <<"x">>}, ringtail_http:final_head(<<Interim/binary, Final/binary>>)),
    ?assertEqual({more, <<>>}, ringtail_http:final_head(Interim)),
    ?assertEqual({error, bad_head}, ringtail_http:final_head(<<"HTTP/1.1 101 Switching\r\n\r\n">>)).

framing(_) ->
    F = fun(Method, Status, Version, Headers) -> ringtail_http:framing(Method, Status, Version, Headers) end,
    Length = {<<"Content-Length">>, <<"5">>},
    Chunked = {<<"transfer-encoding">>, <<"Chunked">>},
    ?assertEqual({ok, none}, F("HEAD", 200, {1, 1}, [Length])),
    ?assertEqual({ok, none}, F("GET", 304, {1, 1}, [Length])),
    ?assertEqual({ok, none}, F("PUT", 204, {1, 1}, [])),
    ?assertEqual({ok, close}, F("GET", 200, {1, 1}, [])),
    ?assertEqual({ok, {length, 5}}, F("GET", 200, {1, 1}, [Length])),
    ?assertEqual({ok, {length, 5}}, F("GET", 200, {1, 1}, [{<<"content-length">>, <<"5, 5">>}, Length])),
    ?assertEqual({ok, {length, 0}}, F("GET", 200, {1, 1}, [{<<"content-length">>, <<"0">>}])),
    ?assertEqual({ok, chunked}, F("GET", 200, {1, 1}, [Chunked])),
    ?assertEqual({ok, chunked}, F("GET", 200, {1, 1}, [Length, Chunked])),
    [?assertEqual({Hs, {error, bad_framing}}, {Hs, F("GET", 200, V, Hs)})
     || {V, Hs} <- [{{1, 1}, [{<<"content-length">>, <<"5, 6">>}]}, {{1, 1}, [{<<"content-length">>, <<"-1">>}]},
                    {{1, 1}, [{<<"content-length">>, <<"5x">>}]}, {{1, 1}, [{<<"content-length">>, binary:copy(<<"9">>, 19)}]},
                    {{1, 1}, [{<<"transfer-encoding">>, <<"gzip, chunked">>}]}, {{1, 1}, [{<<"transfer-encoding">>, <<"gzip">>}]},
                    {{1, 1}, [Chunked, Chunked]}, {{1, 0}, [Chunked]}]].

connection_reuse(_) ->
    R = fun(V, Hs) -> ringtail_http:reusable(V, Hs) end,
    ?assert(R({1, 1}, [])),
    ?assert(R({1, 0}, [{<<"Connection">>, <<"Keep-Alive">>}])),
    ?assertNot(R({1, 0}, [])),
    ?assertNot(R({1, 1}, [{<<"connection">>, <<"x, Close">>}])),
    ?assertNot(R({1, 1}, [{<<"Transfer-Encoding">>, <<"chunked">>}, {<<"Content-Length">>, <<"1">>}])).

chunks_refused(_) ->
    Bad = fun(Bytes) -> ?assertEqual({Bytes, {error, bad_chunk}}, {Bytes, ringtail_http:chunks(Bytes, ringtail_http:chunks())}) end,
    [Bad(B) || B <- [<<"\r\n">>, <<"x\r\n">>, <<"-1\r\n">>, <<"1234567890abcdef\r\n">>, <<"1\r\nab\r\n">>, <<"1\r\na\n0\r\n">>,
                     binary:copy(<<"1">>, 5000), iolist_to_binary(["1;", binary:copy(<<"e">>, 5000), "\r\n"]),
                     iolist_to_binary(["0\r\n", lists:duplicate(9000, "A: bcde\r\n")])]],
    ?assertEqual([], ringtail_http:chunk(<<>>)).

%% OTP's header parser would have written "X-Riak-Meta-Foo" for both.
repeated_headers_keep_order_and_case(_) ->
    Bytes = <<"HTTP/1.1 300 Multiple\r\nLink: </b>; rel=\"up\"\r\nx-riak-META-fOO: 1\r\nX: y\r\nLink: </c>\r\nX-Riak-Meta-Foo: 2\r\n\r\n">>,
    {ok, {_, 300, Headers}, <<>>} = ringtail_http:parse_head(Bytes),
    ?assertEqual([{<<"Link">>, <<"</b>; rel=\"up\"">>}, {<<"x-riak-META-fOO">>, <<"1">>}, {<<"X">>, <<"y">>},
                  {<<"Link">>, <<"</c>">>}, {<<"X-Riak-Meta-Foo">>, <<"2">>}], ringtail_http:end_to_end(Headers)).

%% ---- Generators and helpers ----

check(Property) ->
    ?assert(proper:quickcheck(Property, [{numtests, 300}, quiet])).

status() -> integer(200, 599).

headers() -> list({name(), value()}).

%% Not a name that the hop drops: those have cases of their own.
name() -> ?LET(Chars, non_empty(list(oneof([integer($a, $z), integer($A, $Z), $-, $_, integer($0, $9)]))),
               list_to_binary("X-" ++ Chars)).

value() -> ?LET(Chars, list(oneof([integer(33, 126), integer(128, 255), $,, $;])), list_to_binary(Chars)).

extension() -> oneof(["", ";a=b", " ;q=\"x\""]).

path() -> ?LET(Chars, list(oneof([integer($a, $z), $/, $%, $?, $=, $&, $+])), "/" ++ Chars).

%% Cuts anywhere, also to empty pieces.
split(Bytes) ->
    ?LET(Cuts, list(integer(0, byte_size(Bytes))), cut(Bytes, 0, lists:sort(Cuts))).

cut(Bytes, From, []) -> [binary:part(Bytes, From, byte_size(Bytes) - From)];
cut(Bytes, From, [At | Cuts]) -> [binary:part(Bytes, From, At - From) | cut(Bytes, At, Cuts)].

request(Headers) ->
    {ok, Head} = ringtail_http:request_head("PUT", "/x?a=b", Headers, {http, "h", 8098, undefined}, {length, 3}),
    [<<"PUT /x?a=b HTTP/1.1">> | Lines] = binary:split(iolist_to_binary(Head), <<"\r\n">>, [global]),
    [L || L <- Lines, L =/= <<>>].

to_list(V) when is_atom(V) -> atom_to_list(V);
to_list(V) -> binary_to_list(V).

to_binary(V) when is_atom(V) -> atom_to_binary(V, latin1);
to_binary(V) -> V.
