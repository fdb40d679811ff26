%% @doc What the routes cost in a node, beside what Riak's own cost on the same node in the same run. `make bench` runs it:
%% `escript bench/node_bench.erl EBIN_DIR`, after test/standin/build. Prints `ratio NAME: measured X, target >= Y'.
%%
%% Several kept connections ask for one kind of thing, then for the other, turn about, many short turns; the median of the pairs'
%% ratios counts, so that what else the machine does weighs on neither alone.
-module(node_bench).
-mode(compile).

-export([main/1]).

-define(TURNS, 101).
-define(CONNECTIONS, 8).
-define(REQUESTS, 100).          % of each connection in a turn
%% Of lengths from one up: how often a process collects its garbage in a request depends on every length, and was seen to be 8
%% times or 12 times for one and the same route.
-define(KEYS, 20).

main([Ebin]) ->
    true = code:add_patha(Ebin),
    true = code:add_pathz("_build/standin/ebin"),
    cluster(Ebin, 64, fun object_routes/1),
    cluster(Ebin, 1024, fun documents/1);
main(_) ->
    io:format(standard_error, "usage: escript bench/node_bench.erl EBIN_DIR (made by rebar3 compile)~n", []),
    halt(2).

cluster(Ebin, RingSize, Measure) ->
    {ok, C} = standin:start_cluster(#{nodes => 3, ring_size => RingSize, patches => [filename:absname(Ebin)],
                                      types => [{<<"t1">>, [{n_val, 1}]}]}),
    try
        [ok = standin:rpc(C, Node, ringtail, start, []) || Node <- standin:up_nodes(C)],
        ok = serving(C, 100),
        Measure(C)
    after
        standin:stop_cluster(C)
    end.

serving(_, 0) ->
    {error, not_serving};
serving(C, Tries) ->
    Nodes = standin:up_nodes(C),
    Ready = [Node || Node <- Nodes, standin:rpc(C, Node, ringtail_routes, state, []) =:= serving,
                     lists:all(fun(Other) -> standin:rpc(C, Node, ringtail_ring, endpoints, [Other]) =/= [] end, Nodes)],
    case length(Ready) =:= length(Nodes) of
        true -> ok;
        false -> timer:sleep(200), serving(C, Tries - 1)
    end.

%% ---- The object route ----

object_routes(C) ->
    [Node | _] = standin:up_nodes(C),
    Keys = [key_of(C, Node, Length) || Length <- lists:seq(1, ?KEYS)],
    Url = standin:url(C, Node),
    Native = ["/types/t1/buckets/b/keys/" ++ Key || Key <- Keys],
    Ours = ["/riak/primary/clusters/default/types/t1/buckets/b/keys/" ++ Key || Key <- Keys],
    S = connect(Url),
    [204 = request(S, "PUT", Path, crypto:strong_rand_bytes(1024)) || Path <- Native],
    print("object route served here / native route, throughput", turns(Url, Ours, Native), ">= 0.95"),
    {module, node_probe} = load(C, Node),
    {Bare, Whole} = standin:rpc(C, Node, node_probe, decision, [100]),
    print("decision / bare primaries, time", Whole / Bare, "<= 3"),
    storm(C, Node, Url, [{"object route", hd(Ours), "<= 2"}, {"native route", hd(Native), "for comparison"}]),
    crossing(C).

%% What 1,000 ring changes in each second do to the latency of a request.
storm(C, Node, Url, Routes) ->
    S = connect(Url),
    Quiet = [latency(S, Path) || {_, Path, _} <- Routes],
    ok = standin:ring_storm(C, Node, #{kind => meta, rate => 1000}),
    Stormy = [latency(S, Path) || {_, Path, _} <- Routes],
    Changes = standin:stop_storm(C, Node),
    [print("median latency while the ring changes (~b times) / quiet, " ++ Name, [Changes], During / Before, Target)
     || {{Name, _, Target}, Before, During} <- lists:zip3(Routes, Quiet, Stormy)].

latency(S, Path) ->
    Times = lists:sort([element(1, timer:tc(fun() -> ask(S, Path) end)) || _ <- lists:seq(1, 2000)]),
    lists:nth(1000, Times).

%% A key of this length with its only primary on this node.
key_of(C, Node, Length) ->
    Key = [$a + rand:uniform(26) - 1 || _ <- lists:seq(1, Length)],
    case standin:rpc(C, Node, ringtail, primaries, [{<<"t1">>, <<"b">>}, list_to_binary(Key)]) of
        [{_, Node}] -> Key;
        [_] -> key_of(C, Node, Length)
    end.

load(C, Node) ->
    Source = filename:join(filename:dirname(escript:script_name()), "node_probe.erl"),
    {ok, node_probe, Beam} = compile:file(Source, [binary]),
    standin:rpc(C, Node, code, load_binary, [node_probe, Source, Beam]).

%% Objects of 1 MiB by a client that asks a primary, and by one that asks the nodes in turn.
crossing(C) ->
    Nodes = standin:up_nodes(C),
    Sockets = [{Node, connect(standin:url(C, Node))} || Node <- Nodes],
    Object = crypto:strong_rand_bytes(1048576),
    Keys = fun(Prefix) -> [Prefix ++ integer_to_list(K) || K <- lists:seq(1, 48)] end,
    Ours = fun(Key) -> "/riak/primary/clusters/default/types/t1/buckets/b/keys/" ++ Key ++ "?route=local" end,
    Native = fun(Key) -> "/types/t1/buckets/b/keys/" ++ Key end,
    [One | _] = Nodes,
    Choose = fun(Key) ->
                     [{_, Owner}] = standin:rpc(C, One, ringtail, primaries, [{<<"t1">>, <<"b">>}, list_to_binary(Key)]),
                     proplists:get_value(Owner, Sockets)
             end,
    Turn = fun(Key) -> element(2, lists:nth(1 + erlang:phash2(Key, length(Sockets)), Sockets)) end,
    print("object bytes crossing between nodes, primaries chosen", share(C, Keys("chosen"), Object, Choose, Ours), "<= 0.001"),
    print("object bytes crossing between nodes, nodes in turn, native route", share(C, Keys("turn"), Object, Turn, Native), "for comparison").

share(C, Keys, Object, Choose, Path) ->
    Chosen = [{Choose(Key), Path(Key)} || Key <- Keys],
    %% Let what the choice itself sent between nodes pass.
    timer:sleep(500),
    ok = standin:reset_traffic(C),
    [204 = request(S, "PUT", Where, Object) || {S, Where} <- Chosen],
    [200 = request(S, "GET", Where, none) || {S, Where} <- Chosen],
    timer:sleep(500),
    maps:get(total, standin:traffic(C)) / (2 * length(Keys) * byte_size(Object)).

%% ---- Documents ----

documents(C) ->
    [Node | _] = standin:up_nodes(C),
    Url = standin:url(C, Node),
    Path = "/explore/clusters/default/preflist",
    print("cluster preflist of 1024 / ping, throughput", turns(Url, [Path], ["/ping"]), ">= 0.4"),
    Token = binary_to_list(element(2, standin:rpc(C, Node, ringtail_ring, identity, []))),
    print("unchanged cluster preflist (304) / ping, throughput",
          turns(Url, [{Path, ["If-None-Match: \"", Token, "\"\r\n"]}], ["/ping"]), ">= 0.8").

%% ---- Measuring ----

%% Requests per second for the first ones over those for the second ones.
turns(Url, First, Second) ->
    Clients = [client(Url) || _ <- lists:seq(1, ?CONNECTIONS)],
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

client(Url) ->
    spawn_link(fun() -> client_loop(connect(Url)) end).

client_loop(S) ->
    receive
        {ask, From, All} ->
            _ = [ask(S, What) || _ <- lists:seq(1, ?REQUESTS div length(All)), What <- All],
            From ! {self(), done},
            client_loop(S);
        stop ->
            ok
    end.

ask(S, {Path, Header}) -> 304 = request(S, "GET", Path, none, Header);
ask(S, Path) -> 200 = request(S, "GET", Path, none).

print(Format, Args, Measured, Target) ->
    print(lists:flatten(io_lib:format(Format, Args)), Measured, Target).

print(Name, Measured, Target) ->
    io:format("ratio ~s: measured ~.4f, target ~s~n", [Name, float(Measured), Target]).

%% ---- HTTP on one kept connection ----

connect("http://" ++ Address) ->
    [Host, Port] = string:tokens(Address, ":"),
    {ok, S} = gen_tcp:connect(Host, list_to_integer(Port), [binary, {active, false}, {nodelay, true}]),
    S.

request(S, Method, Path, Body) -> request(S, Method, Path, Body, "").

request(S, Method, Path, Body, Headers) ->
    ok = gen_tcp:send(S, [Method, " ", Path, " HTTP/1.1\r\nHost: bench\r\n", Headers, content(Body)]),
    {Head, Rest} = head(S, <<>>),
    <<"HTTP/1.1 ", Status:3/binary, _/binary>> = Head,
    case length_of(Head) - byte_size(Rest) of
        0 -> ok;
        Missing -> {ok, _} = gen_tcp:recv(S, Missing, 10000)
    end,
    binary_to_integer(Status).

content(none) -> "\r\n";
content(Body) ->
    ["Content-Type: application/octet-stream\r\nContent-Length: ", integer_to_list(byte_size(Body)), "\r\n\r\n", Body].

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
