%% @doc What the routes cost in a node, beside what Riak's own cost on the same node in the same
%% run. `make bench` runs it:
%% `escript bench/node_bench.erl EBIN_DIR`, after test/standin/build. Prints `ratio NAME: measured
%% X, target >= Y'.
-module(node_bench).
-mode(compile).

-export([main/1]).

%% Of lengths from one up: how often a process collects its garbage in a request depends on every
%% length, and was seen to be 8 times or 12 times for one and the same route.
-define(KEYS, 20).

main([Ebin]) ->
    true = code:add_patha(Ebin),
    true = code:add_pathz("_build/standin/ebin"),
    {module, _} = code:load_abs(turns()),
    cluster(Ebin, 64, fun object_routes/1),
    cluster(Ebin, 1024, fun documents/1);
main(_) ->
    io:format(standard_error,
              "usage: escript bench/node_bench.erl EBIN_DIR (made by rebar3 compile)~n", []),
    halt(2).

%% The measuring itself, compiled beside the benches' other output.
turns() ->
    Source = filename:join(filename:dirname(escript:script_name()), "http_turns.erl"),
    ok = filelib:ensure_dir("_build/bench/http_turns"),
    {ok, http_turns} = compile:file(Source, [{outdir, "_build/bench"}]),
    filename:absname("_build/bench/http_turns").

cluster(Ebin, RingSize, Measure) ->
    {ok,
     C} = standin:start_cluster(#{nodes => 3, ring_size => RingSize,
                                  patches => [filename:absname(Ebin)],
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
                     lists:all(fun(Other) ->
                                       standin:rpc(C, Node, ringtail_ring, endpoints,
                                                   [Other]) =/= [] end, Nodes)],
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
    S = http_turns:connect(Url),
    [204 = http_turns:request(S, "PUT", Path, crypto:strong_rand_bytes(1024)) || Path <- Native],
    print("object route served here / native route, throughput",
          http_turns:ratio(Url, Ours, Native), ">= 0.95"),
    {module, node_probe} = load(C, Node),
    {Bare, Whole} = standin:rpc(C, Node, node_probe, decision, [100]),
    print("decision / bare primaries, time", Whole / Bare, "<= 3"),
    storm(C, Node, Url, [{"object route", hd(Ours), "<= 2"},
                         {"native route", hd(Native), "for comparison"}]),
    crossing(C).

%% What 1,000 ring changes in each second do to the latency of a request.
storm(C, Node, Url, Routes) ->
    S = http_turns:connect(Url),
    Quiet = [latency(S, Path) || {_, Path, _} <- Routes],
    ok = standin:ring_storm(C, Node, #{kind => meta, rate => 1000}),
    Stormy = [latency(S, Path) || {_, Path, _} <- Routes],
    Changes = standin:stop_storm(C, Node),
    [print("median latency while the ring changes (~b times) / quiet, " ++ Name, [Changes],
           During / Before, Target)
     || {{Name, _, Target}, Before, During} <- lists:zip3(Routes, Quiet, Stormy)].

latency(S, Path) ->
    Times =
        lists:sort([element(1, timer:tc(fun() -> http_turns:ask(S, Path) end))
                    || _ <- lists:seq(1, 2000)]),
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
    Sockets = [{Node, http_turns:connect(standin:url(C, Node))} || Node <- Nodes],
    Object = crypto:strong_rand_bytes(1048576),
    Keys = fun(Prefix) -> [Prefix ++ integer_to_list(K) || K <- lists:seq(1, 48)] end,
    Ours = fun(Key) -> "/riak/primary/clusters/default/types/t1/buckets/b/keys/" ++ Key
               ++ "?route=local" end,
    Native = fun(Key) -> "/types/t1/buckets/b/keys/" ++ Key end,
    [One | _] = Nodes,
    Choose = fun(Key) ->
                     [{_, Owner}] = standin:rpc(C, One, ringtail, primaries,
                                                [{<<"t1">>, <<"b">>}, list_to_binary(Key)]),
                     proplists:get_value(Owner, Sockets)
             end,
    Turn = fun(Key) -> element(2, lists:nth(1 + erlang:phash2(Key, length(Sockets)), Sockets)) end,
    print("object bytes crossing between nodes, primaries chosen",
          share(C, Keys("chosen"), Object, Choose, Ours), "<= 0.001"),
    print("object bytes crossing between nodes, nodes in turn, native route",
          share(C, Keys("turn"), Object, Turn, Native), "for comparison").

share(C, Keys, Object, Choose, Path) ->
    Chosen = [{Choose(Key), Path(Key)} || Key <- Keys],
    %% Let what the choice itself sent between nodes pass.
    timer:sleep(500),
    ok = standin:reset_traffic(C),
    [204 = http_turns:request(S, "PUT", Where, Object) || {S, Where} <- Chosen],
    [200 = http_turns:request(S, "GET", Where, none) || {S, Where} <- Chosen],
    timer:sleep(500),
    maps:get(total, standin:traffic(C)) / (2 * length(Keys) * byte_size(Object)).

%% ---- Documents ----

documents(C) ->
    [Node | _] = standin:up_nodes(C),
    Url = standin:url(C, Node),
    Path = "/explore/clusters/default/preflist",
    print("cluster preflist of 1024 / ping, throughput", http_turns:ratio(Url, [Path], ["/ping"]),
          ">= 0.4"),
    Token = binary_to_list(element(2, standin:rpc(C, Node, ringtail_ring, identity, []))),
    print("unchanged cluster preflist (304) / ping, throughput",
          http_turns:ratio(Url, [{Path, ["If-None-Match: \"", Token, "\"\r\n"]}], ["/ping"]),
          ">= 0.8").

print(Format, Args, Measured, Target) ->
    print(lists:flatten(io_lib:format(Format, Args)), Measured, Target).

print(Name, Measured, Target) ->
    io:format("ratio ~s: measured ~.4f, target ~s~n", [Name, float(Measured), Target]).
