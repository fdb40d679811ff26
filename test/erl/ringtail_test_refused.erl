%% Requests that are refused with their bodies, of which some are over a limit of 100,000 bytes: the
%% client reads its answer, and nothing of the body is taken for a request.
-module(ringtail_test_refused).

-include_lib("stdlib/include/assert.hrl").

-export([bodies/2]).

%% In whole pieces of 64 KiB, so that a reader may stop right behind it.
-define(OVER, 131072).

bodies(Url, Smuggled) ->
    Hidden = ["PUT ", path(Smuggled), " HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
              "Content-Length: 1\r\n\r\nx"],
    Body = iolist_to_binary([binary:copy(<<"x">>, ?OVER), Hidden, binary:copy(<<"x">>, 4194304)]),
    Size = byte_size(Body),
    [begin
         Statuses = [binary:part(Answer, 0, 3)
                     || Answer <- answers(Url, Query, [Framing, Line], Sent)],
         ?assertEqual({Framing, Query, Line, [Status, <<"404">>]},
                      {Framing, Query, Line, Statuses}),
         ?assertMatch({404, _, _}, ringtail_test_http:request(get, Smuggled))
     end || {Framing, Sent} <- [{["Content-Length: ", integer_to_list(Size)], Body},
                                {"Transfer-Encoding: chunked",
                                 [integer_to_list(Size, 16), "\r\n", Body, "\r\n0\r\n\r\n"]}],
            {Query, Line, Status} <- [{"", "", <<"413">>}, {"?route=none", "", <<"400">>},
                                      {"", "\r\nContent-MD5: \"none\"", <<"400">>}]],
    ok.

%% To this, and to a request behind it.
answers(Url, Query, Lines, Sent) ->
    Socket = ringtail_test_standalone:connect(Url, []),
    ok = gen_tcp:send(Socket, ["PUT ", path(Url), Query, " HTTP/1.1\r\nHost: x\r\n"
                               "Content-Type: text/plain\r\n", Lines, "\r\n\r\n", Sent,
                               "GET ", path(Url), " HTTP/1.1\r\nHost: x\r\n"
                               "Connection: close\r\n\r\n"]),
    Answers = ringtail_test_standalone:until_closed(Socket, <<>>),
    ?assert(is_binary(Answers), Answers),
    [<<>> | Each] = binary:split(Answers, <<"HTTP/1.1 ">>, [global]),
    Each.

path(Url) -> maps:get(path, uri_string:parse(Url)).
