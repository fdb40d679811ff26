%% @doc The throughput of one kind of request beside another's. Several kept connections ask for
%% one, then for the other, turn about, many short turns; the median of the pairs' ratios counts, so
%% that what else the machine does weighs on neither alone.
-module(http_turns).

-export([ratio/3, ratio/4, connect/1, request/4, request/5, ask/2]).

-define(TURNS, 101).
-define(CONNECTIONS, 8).
-define(REQUESTS, 100).          % of each connection in a turn

%% @doc Requests per second for the first ones over those for the second ones: paths, `{Path,
%% Header}' whose answer is a 304, or `{put, Path, Body}'.
ratio(Url, First, Second) ->
    ratio(Url, First, Second, ?REQUESTS).

ratio(Url, First, Second, Requests) ->
    Clients = [client(Url, Requests) || _ <- lists:seq(1, ?CONNECTIONS)],
    _ = {turn(Clients, First), turn(Clients, Second)},
    Ratios = [pair(Clients, First, Second, N rem 2) || N <- lists:seq(1, ?TURNS)],
    _ = [Client ! stop || Client <- Clients],
    lists:nth((?TURNS + 1) div 2, lists:sort(Ratios)).

%% Each of the two comes first in every other pair.
pair(Clients, First, Second, 0) ->
    Time = turn(Clients, First),
    turn(Clients, Second) / Time;
pair(Clients, First, Second, 1) ->
    Time = turn(Clients, Second),
    Time / turn(Clients, First).

turn(Clients, What) ->
    element(1, timer:tc(fun() ->
                                _ = [Client ! {ask, self(), What} || Client <- Clients],
                                [receive {Client, done} -> ok end || Client <- Clients]
                        end)).

client(Url, Requests) ->
    spawn_link(fun() -> client_loop(connect(Url), Requests) end).

client_loop(S, Requests) ->
    receive
        {ask, From, All} ->
            _ = [ask(S, What) || _ <- lists:seq(1, Requests div length(All)), What <- All],
            From ! {self(), done},
            client_loop(S, Requests);
        stop ->
            ok
    end.

ask(S, {put, Path, Body}) -> 204 = request(S, "PUT", Path, Body);
ask(S, {Path, Header}) -> 304 = request(S, "GET", Path, none, Header);
ask(S, Path) -> 200 = request(S, "GET", Path, none).

%% ---- HTTP on one kept connection ----

connect("http://" ++ Address) ->
    [Host, Port] = string:tokens(Address, ":"),
    {ok, S} = gen_tcp:connect(Host, list_to_integer(Port),
                              [binary, {active, false}, {nodelay, true}]),
    S.

request(S, Method, Path, Body) -> request(S, Method, Path, Body, "").

request(S, Method, Path, Body, Headers) ->
    ok = gen_tcp:send(S, [Method, " ", Path, " HTTP/1.1\r\nHost: bench\r\n", Headers,
                          content(Body)]),
    {Head, Rest} = head(S, <<>>),
    <<"HTTP/1.1 ", Status:3/binary, _/binary>> = Head,
    case length_of(Head) - byte_size(Rest) of
        0 -> ok;
        Missing -> {ok, _} = gen_tcp:recv(S, Missing, 10000)
    end,
    binary_to_integer(Status).

content(none) -> "\r\n";
content(Body) ->
    ["Content-Type: application/octet-stream\r\n",
     "Content-Length: ", integer_to_list(byte_size(Body)), "\r\n\r\n", Body].

%% Read as it comes: an answer with more headers must not cost this side more system calls.
head(S, Before) ->
    {ok, Data} = gen_tcp:recv(S, 0, 10000),
    Read = <<Before/binary, Data/binary>>,
    case binary:split(Read, <<"\r\n\r\n">>) of
        [Head, Rest] -> {Head, Rest};
        [_] -> head(S, Read)
    end.

length_of(Head) ->
    case binary:split(Head, <<"Content-Length: ">>) of
        [_, After] -> binary_to_integer(hd(binary:split(After, <<"\r\n">>)));
        [_] -> 0
    end.
