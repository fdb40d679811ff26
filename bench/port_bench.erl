%% @doc What a call through the companion costs, against a port that only sends back what it gets,
%% in one run:
%% `escript bench/port_bench.erl EBIN_DIR`, after `cargo build --release -p ringtail --example
%% echo_port`. Prints
%% `ratio NAME: measured X, target ...` lines.
%%
%% Turn about, and the median of the pairs' ratios counts, so that what else the machine does weighs
%% on neither alone.
-module(port_bench).
-mode(compile).

-export([main/1]).

-define(TURNS, 25).
-define(CALLS, 2000).
-define(PARALLEL, 8).

main([Ebin]) ->
    true = code:add_patha(Ebin),
    ok = application:set_env(ringtail, engine, port),
    Target = case os:getenv("CARGO_TARGET_DIR") of
                 false -> filename:join([filename:dirname(escript:script_name()), "..", "target"]);
                 Dir -> Dir
             end,
    Echo = filename:join([Target, "release", "examples", "echo_port"]),
    {ok, Ring} = ringtail_engine:load_ring(ring(64)),
    Primaries =
        fun() -> {ok, [_, _, _]} = ringtail_engine:primaries(Ring, <<"default">>, <<"users">>,
                                                             <<"user123">>, std, 3) end,
    Call = echo(Echo),
    {Slower, Echoed, Asked} = pairs(fun() -> {turn(Call), turn(Primaries)} end),
    io:format("ratio port primaries to echo, median round trip: measured ~.2f, target <= 2.00~n",
              [Slower]),
    io:format("  echo ~.1f us, primaries ~.1f us~n", [Echoed, Asked]),
    {More, One,
     Many} = pairs(fun() -> {throughput(1, Primaries), throughput(?PARALLEL, Primaries)} end),
    io:format("ratio port throughput, ~w processes to one: measured ~.2f, target >= 3.00~n",
              [?PARALLEL, More]),
    io:format("  one ~w, ~w processes ~w calls a second~n", [round(One), ?PARALLEL, round(Many)]),
    ringtail_companion:stop();
main(_) ->
    io:format(standard_error,
              "usage: escript bench/port_bench.erl EBIN_DIR (made by rebar3 compile)~n", []),
    halt(2).

ring(Size) ->
    Owners =
        [{I * ((1 bsl 160) div Size), list_to_atom("riak" ++ integer_to_list(I rem 5)
                                                   ++ "@10.0.0.1")} || I <- lists:seq(0, Size - 1)],
    {chstate, 'riak0@10.0.0.1', [], {Size, Owners}, dict:new()}.

%% The same bytes as a request of primaries has, from the process that owns the port.
echo(Program) ->
    Frame =
        term_to_binary({1, primaries, {crypto:hash(sha, <<>>), <<"default">>, <<"users">>,
                                       <<"user123">>, std, 3}}),
    Open = fun() -> open_port({spawn_executable, Program}, [{packet, 4}, binary, use_stdio]) end,
    fun() ->
            Port = case get(echo_port) of
                       undefined -> P = Open(), put(echo_port, P), P;
                       P -> P
                   end,
            true = port_command(Port, Frame),
            receive {Port, {data, Frame}} -> ok end
    end.

%% Of many turns: the median ratio of the second to the first, the median first, the median second.
pairs(Turn) ->
    Turns = [Turn() || _ <- lists:seq(1, ?TURNS)],
    {Firsts, Seconds} = lists:unzip(Turns),
    {median([Second / First || {First, Second} <- Turns]), median(Firsts), median(Seconds)}.

turn(Fun) ->
    median([time(Fun) || _ <- lists:seq(1, ?CALLS)]).

%% Microseconds.
time(Fun) ->
    Start = erlang:monotonic_time(),
    Fun(),
    erlang:convert_time_unit(erlang:monotonic_time() - Start, native, nanosecond) / 1000.

median(List) ->
    lists:nth((length(List) + 1) div 2, lists:sort(List)).

throughput(Processes, Fun) ->
    Each = ?CALLS * 8 div Processes,
    {Time, _} = timer:tc(fun() ->
                                 Callers =
                                     [spawn_monitor(fun() -> [Fun() || _ <- lists:seq(1, Each)] end)
                                      || _ <- lists:seq(1, Processes)],
                                 [receive {'DOWN', Monitor, process, Pid, normal} -> ok end
                                  || {Pid, Monitor} <- Callers]
                         end),
    Processes * Each * 1000000 / Time.
