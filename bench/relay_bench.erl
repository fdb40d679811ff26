%% @doc What it costs to ask a node that is no primary of the key: relayed by the primary object
%% route beside the native route on the same node. `escript bench/relay_bench.erl EBIN_DIR' measures
%% on a cluster of the stand-in, `escript bench/relay_bench.erl URL [TYPE...]' on whatever cluster
%% that node belongs to, whose types must exist (by default one and three, with n_val 1 and 3) and
%% have no siblings. Prints `ratio NAME: measured X, target >= Y'.
-module(relay_bench).
-mode(compile).

-export([main/1]).

-define(SIZES, [{"100 B", 100, 104}, {"4 KiB", 4096, 104}, {"64 KiB", 65536, 26},
                {"1 MiB", 1048576, 13}]).
-define(TYPES, [{"one", 1}, {"three", 3}]).
-define(KEYS, 13).

main([[$h, $t, $t, $p | _] = Url | Types]) ->
    ok = turns(),
    measure(Url, case Types of
                     [] -> [Type || {Type, _} <- ?TYPES];
                     _ -> Types
                 end);
main([Ebin]) ->
    ok = turns(),
    [true = code:add_pathz(filename:absname(Dir)) || Dir <- [Ebin, "_build/standin/ebin"]],
    Types = [{list_to_binary(Type), [{n_val, N}, {allow_mult, false}]} || {Type, N} <- ?TYPES],
    {ok, C} = standin:start_cluster(#{nodes => 4, ring_size => 64, types => Types,
                                      patches => [filename:absname(Ebin)]}),
    try
        [ok = standin:rpc(C, Node, ringtail, start, []) || Node <- standin:nodes(C)],
        ok = serving(C, 100),
        measure(standin:url(C, hd(standin:nodes(C))), [Type || {Type, _} <- ?TYPES])
    after
        standin:stop_cluster(C)
    end;
main(_) ->
    io:format(standard_error, "usage: escript bench/relay_bench.erl EBIN_DIR~n"
              "       escript bench/relay_bench.erl URL [TYPE...]~n", []),
    halt(2).

turns() ->
    Source = filename:join(filename:dirname(escript:script_name()), "http_turns.erl"),
    ok = filelib:ensure_dir("_build/bench/http_turns"),
    {ok, http_turns} = compile:file(Source, [{outdir, "_build/bench"}]),
    {module, _} = code:load_abs(filename:absname("_build/bench/http_turns")),
    {ok, _} = application:ensure_all_started(inets),
    ok.

serving(C, Tries) when Tries > 0 ->
    States = [standin:rpc(C, Node, ringtail_routes, state, []) || Node <- standin:nodes(C)],
    case lists:usort(States) of
        [serving] -> ok;
        _ -> timer:sleep(200), serving(C, Tries - 1)
    end.

measure(Url, Types) ->
    [size(Url, Type, Size) || Type <- Types, Size <- ?SIZES],
    ok.

size(Url, Type, {Name, Bytes, Requests}) ->
    Bucket = "relay" ++ integer_to_list(Bytes),
    Keys = keys(Url, Type, Bucket),
    Native = ["/types/" ++ Type ++ "/buckets/" ++ Bucket ++ "/keys/" ++ Key || Key <- Keys],
    Ours = [ours(Type, Bucket, Key) || Key <- Keys],
    Body = crypto:strong_rand_bytes(Bytes),
    Put = fun(Paths) -> [{put, Path, Body} || Path <- Paths] end,
    Puts = http_turns:ratio(Url, Put(Ours), Put(Native), Requests),
    print(["PUT of ", Name, ", type ", Type], Puts, 1.0),
    print(["GET of ", Name, ", type ", Type], http_turns:ratio(Url, Ours, Native, Requests), 0.8).

ours(Type, Bucket, Key) ->
    lists:append(["/riak/primary/clusters/default/types/", Type, "/buckets/", Bucket,
                  "/keys/", Key]).

print(Name, Measured, Target) ->
    io:format("ratio relayed / native route on the same node, ~s: measured ~.3f, target >= ~.1f~n",
              [Name, Measured, Target]).

%% Keys that the asked node is no primary of.
keys(Url, Type, Bucket) ->
    lists:sublist([Key || N <- lists:seq(1, 500), Key <- ["k" ++ integer_to_list(N)],
                          not here(Url, Type, Bucket, Key)], ?KEYS).

here(Url, Type, Bucket, Key) ->
    Asked = Url ++ ours(Type, Bucket, Key) ++ "?route=local",
    {ok, {{_, Status, _}, _, _}} = httpc:request(get, {Asked, []}, [], []),
    Status =/= 421.
