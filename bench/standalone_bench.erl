%% @doc How fast objects are fetched through a VM without Riak (proxy mode: webmachine, the
%% companion, a primary), against ringtail-client used directly, in one run on the stand-in. `make
%% bench` runs it:
%% `escript bench/standalone_bench.erl EBIN_DIR`, from the project's directory. Prints `ratio NAME:
%% measured X, target >= Y`.
%%
%% Both fetch the same objects with as many threads. They take turns, and the best turn of each
%% counts, so that what else the machine does weighs on neither alone. The nodes have one half of
%% the machine's processors and all that asks them the other (the measuring program; with it the VM
%% and its companion), because the VM is for a host that runs no node: where the nodes compete with
%% it for a processor, every step of it would count as if it were theirs.
-module(standalone_bench).
-mode(compile).

-export([main/1]).

-define(TURNS, 3).
-define(SECONDS, "2").
-define(THREADS, "8").
-define(KEYS, 32).
%% Riak's default, and the least that a node can do for a get.
-define(TYPES, [{"three", 3}, {"one", 1}]).
-define(SIZES, [{"4 KiB", 4096}, {"64 KiB", 65536}, {"1 MiB", 1048576}]).
-define(TARGET, 0.7).

main([Ebin]) ->
    [true = code:add_patha(filename:absname(Dir)) || Dir <- [Ebin, "_build/standin/ebin"]],
    Gets = gets(),
    {Nodes, Askers} = halves(),
    ok = on(Nodes),
    {ok, C} = standin:start_cluster(#{nodes => 3, ring_size => 16,
                                      types => [{list_to_binary(Type), [{n_val, N}]}
                                                || {Type, N} <- ?TYPES],
                                      patches => [filename:absname(Ebin)]}),
    ok = on(Askers),
    [ok = standin:rpc(C, Node, ringtail, start, []) || Node <- standin:nodes(C)],
    Seeds = [Url || {_, Url} <- standin:urls(C)],
    {ok,
     Vm} =
         standin_bare:start(#{patches => [filename:absname(Ebin)],
                              env => [{ringtail, [{clusters, [{bench, Seeds}]}]}]}),
    ok = standin_bare:rpc(Vm, ringtail, start, []),
    try
        ok = ready(C, Vm, 200),
        [ratio(Type, Name, Size, hd(Seeds), standin_bare:url(Vm), Gets)
         || Type <- ?TYPES, {Name, Size} <- ?SIZES]
    after
        standin_bare:stop(Vm),
        standin:stop_cluster(C)
    end;
main(_) ->
    io:format(standard_error,
              "usage: escript bench/standalone_bench.erl EBIN_DIR (made by rebar3 compile)~n", []),
    halt(2).

%% The processors this bench may use, in two halves; a single one is both.
halves() ->
    Allowed = lists:last(string:tokens(os:cmd("taskset -c -p $PPID"), " \n")),
    case lists:flatmap(fun range/1, string:tokens(Allowed, ",")) of
        [One] -> {[One], [One]};
        Processors -> lists:split(length(Processors) div 2, Processors)
    end.

range(Text) ->
    case [list_to_integer(Number) || Number <- string:tokens(Text, "-")] of
        [One] -> [One];
        [First, Last] -> lists:seq(First, Last)
    end.

%% Operating system processes are started by the emulator's child setup process and inherit its
%% processors.
on(Processors) ->
    Output = os:cmd("taskset -c -p " ++ string:join([integer_to_list(P) || P <- Processors], ",")
                    ++ " $PPID"),
    {_, true} = {Output, string:str(Output, "new affinity") > 0},
    ok.

%% The measuring program, an example of the client's.
gets() ->
    Target = os:getenv("CARGO_TARGET_DIR", "target"),
    "" = os:cmd("cargo build --quiet --locked --release -p ringtail-client --example gets"),
    filename:join([Target, "release", "examples", "gets"]).

ready(C, Vm, Left) when Left > 0 ->
    Serving = [standin:rpc(C, Node, ringtail_routes, state, []) || Node <- standin:nodes(C)]
        ++ [element(1, standin_bare:rpc(Vm, ringtail_remote_clusters, freshness, ["bench"]))],
    case lists:usort(Serving) of
        [current, serving] -> ok;
        _ -> timer:sleep(100), ready(C, Vm, Left - 1)
    end.

ratio({Type, N}, Name, Size, Seed, VmUrl, Gets) ->
    Bucket = "size" ++ integer_to_list(Size),
    Path = "/riak/primary/clusters/default/types/" ++ Type ++ "/buckets/" ++ Bucket ++ "/keys/",
    [put_object(VmUrl ++ Path ++ integer_to_list(Key), crypto:strong_rand_bytes(Size))
     || Key <- lists:seq(0, ?KEYS - 1)],
    Direct =
        fun() -> run([Gets, " client ", Seed, " ", ?SECONDS, " ", ?THREADS, " ", Type, " ", Bucket,
                      " ", integer_to_list(?KEYS)]) end,
    Proxy =
        fun() -> run([Gets, " http ", VmUrl, Path, " ", ?SECONDS, " ", ?THREADS, " ",
                      integer_to_list(?KEYS)]) end,
    Turns = [{Direct(), Proxy()} || _ <- lists:seq(1, ?TURNS)],
    Best = fun(Way) -> lists:max([element(Way, Turn) || Turn <- Turns]) end,
    io:format("ratio standalone proxy to ringtail-client, gets of ~s, n_val ~w: "
              "measured ~.2f, target >= ~.1f~n",
              [Name, N, Best(2) / Best(1), ?TARGET]),
    io:format("  directly ~.1f, through the VM ~.1f objects a second~n", [Best(1), Best(2)]).

run(Command) ->
    Output = os:cmd(lists:flatten(Command)),
    case string:tokens(Output, " \n") of
        [Objects, _] -> list_to_float(Objects);
        _ -> error({failed, Output})
    end.

put_object(Url, Body) ->
    {ok, _} = application:ensure_all_started(inets),
    {ok, {{_, 204, _}, _, _}} = httpc:request(put, {Url, [], "application/octet-stream", Body}, [],
                                              []).
