%% @doc How much faster the NIF finds primaries than plain Erlang does, in one run. `make bench`
%% runs it:
%% `escript bench/nif_bench.erl EBIN_DIR`. Prints `ratio NAME: measured X, target >= Y` for each
%% ring size.
%%
%% Plain Erlang is what riak_core does with a plain ring (chash:key_of/1, then chash:successors/3),
%% step by step: SHA-1 of the term as a binary, the increment from the top of the ring (which
%% riak_core works out at every call, as a power of floats), the list of `{Index, Node}' split where
%% the hash falls and put together again, its first n taken. Both run in processes of their own with
%% the same keys, turn about, and the best of many short turns counts, so that what else the machine
%% does weighs on neither alone.
-module(nif_bench).
-mode(compile).

-export([main/1]).

-define(TURNS, 100).
%% Of a turn over the keys: the caches are warm for either side, as they are where calls come one
%% after the other.
-define(ROUNDS, 4).
-define(N, 3).

main([Ebin]) ->
    true = code:add_patha(Ebin),
    [ratio(Size, Target, Kind)
     || Kind <- [uuid, short], {Size, Target} <- [{64, 4.0}, {4096, 60.0}]],
    neighbour(),
    details(64),
    details(4096);
main(_) ->
    io:format(standard_error,
              "usage: escript bench/nif_bench.erl EBIN_DIR (made by rebar3 compile)~n", []),
    halt(2).

%% Keys as applications have them, and short ones, which are the hardest to be much faster for: a
%% term of less than 64 bytes is one block of SHA-1 for both sides, and for plain Erlang a binary on
%% the heap.
ratio(Size, Target, Kind) ->
    {Owners, Ring} = ring(Size),
    Keys = keys(Kind),
    same(Owners, Ring, Size, Keys),
    {Slow, Fast} = race(fun() -> plain(Keys, {Size, Owners}) end, fun() -> nif(Keys, Ring) end,
                        ?ROUNDS * length(Keys)),
    io:format("ratio NIF primaries to plain Erlang, ring of ~w, ~s: "
              "measured ~.1f, target >= ~.1f~n",
              [Size, described(Kind), Slow / Fast, Target]),
    io:format("  plain Erlang ~.2f us, NIF ~.2f us a call~n", [Slow, Fast]).

described(uuid) -> "UUIDs in a typed bucket";
described(short) -> "short keys without a type".

%% How long one has to wait who shares a scheduler with a process that asks for keys of 32 KiB and
%% for nothing else. A millisecond is what a scheduler gives anybody. The median, for the machine
%% has others to serve too.
neighbour() ->
    {_, Ring} = ring(64),
    Key = binary:copy(<<"k">>, 32000),
    Schedulers = erlang:system_flag(schedulers_online, 1),
    Hog = spawn_link(fun() -> hog(Key, Ring) end),
    Waits = lists:sort([element(1, timer:tc(erlang, yield, [])) || _ <- lists:seq(1, 2000)]),
    unlink(Hog),
    exit(Hog, kill),
    _ = erlang:system_flag(schedulers_online, Schedulers),
    Median = max(1, lists:nth(1000, Waits)),
    io:format("ratio a millisecond to the wait beside a loop over keys of 32 KiB: "
              "measured ~.1f, target >= ~.1f~n",
              [1000 / Median, 1.0]),
    io:format("  median ~w us, 99 of 100 within ~w us~n", [Median, lists:nth(1980, Waits)]).

hog(Key, Ring) ->
    _ = ringtail_nif:primaries(Ring, <<"default">>, <<"bucket">>, Key, std, ?N),
    hog(Key, Ring).

%% Not targets: what the other calls cost on this machine.
details(Size) ->
    {Owners, Ring} = ring(Size),
    Bytes = term(Size, Owners),
    {ok, Loaded} = ringtail_engine:load_ring(Bytes),
    Up = lists:usort([Node || {_, Node} <- Owners]),
    Keys = keys(uuid),
    Each = [{"chash", fun({T, B, K}) -> ringtail_nif:chash(T, B, K, std) end},
            {"engine primaries", fun({T, B, K}) ->
                                         ringtail_engine:primaries(Loaded, T, B, K, std, ?N) end},
            {"preflist, all up", fun({T, B, K}) ->
                                         ringtail_nif:preflist(Ring, T, B, K, std, ?N, Up) end},
            {"preflist, one up", fun({T, B, K}) ->
                                         ringtail_nif:preflist(Ring, T, B, K, std, ?N,
                                                               [hd(Up)]) end}],
    Many = fun(Batch) -> {ok, _} = ringtail_engine:primaries_many(Loaded, Batch, std, ?N) end,
    Load = fun(B) -> {ok, _} = ringtail_nif:ring_load(B) end,
    Document = fun(R) -> {ok, _} = ringtail_nif:document(R, cluster_preflist) end,
    io:format("ring of ~w, us a call:~n", [Size]),
    [io:format("  ~-18s ~.2f~n", [Name, best(Fun, Keys)]) || {Name, Fun} <- Each],
    io:format("  ~-18s ~.2f~n", ["batch, a key", best(Many, [Keys]) / length(Keys)]),
    io:format("  ~-18s ~.1f~n", ["load the ring", best(Load, [Bytes])]),
    io:format("  ~-18s ~.1f~n", ["cluster preflist", best(Document, [Ring])]).

ring(Size) ->
    Increment = (1 bsl 160) div Size,
    Nodes =
        list_to_tuple([list_to_atom("riak@10.0.0." ++ integer_to_list(I))
                       || I <- lists:seq(1, 12)]),
    Owners = [{I * Increment, element(I rem 12 + 1, Nodes)} || I <- lists:seq(0, Size - 1)],
    {ok, Ring} = ringtail_nif:ring_load(term(Size, Owners)),
    {Owners, Ring}.

term(Size, Owners) ->
    {_, First} = hd(Owners),
    term_to_binary({chstate, First, [], {Size, Owners}, dict:new()}).

%% As many as a run must average over the places in the ring.
keys(uuid) ->
    [{<<"sessions">>, <<"eu-west-", ($0 + I rem 7)>>, list_to_binary(uuid(I))}
     || I <- lists:seq(1, 1000)];
keys(short) ->
    [{<<"default">>, <<"bucket", ($0 + I rem 7)>>,
      <<"user", (integer_to_binary(100000 + I))/binary>>} || I <- lists:seq(1, 1000)].

uuid(I) ->
    <<A:32, B:16, C:16, D:16, E:48, _/binary>> = crypto:hash(sha, <<I:32>>),
    io_lib:format("~8.16.0b-~4.16.0b-~4.16.0b-~4.16.0b-~12.16.0b", [A, B, C, D, E]).

%% Both loops are written out: a fun called for each key would be a tenth of what is measured.
plain([{Type, Bucket, Key} | Keys], Ring) ->
    _ = plain(Type, Bucket, Key, Ring),
    plain(Keys, Ring);
plain([], _) ->
    ok.

nif([{Type, Bucket, Key} | Keys], Ring) ->
    _ = ringtail_nif:primaries(Ring, Type, Bucket, Key, std, ?N),
    nif(Keys, Ring);
nif([], _) ->
    ok.

plain(<<"default">>, Bucket, Key, Ring) ->
    successors(crypto:hash(sha, term_to_binary({Bucket, Key})), Ring, ?N);
plain(Type, Bucket, Key, Ring) ->
    successors(crypto:hash(sha, term_to_binary({{Type, Bucket}, Key})), Ring, ?N).

successors(Hash, {Size, _} = Ring, N) ->
    Wanted = erlang:min(N, Size),
    Ordered = ordered_from(Hash, Ring),
    if
        Wanted =:= Size ->
            Ordered;
        true ->
            {Primaries, _} = lists:split(Wanted, Ordered),
            Primaries
    end.

%% Without the last step of the rule (rem Size), which only matters to hashes in the last partition:
%% there the whole list is before the split, and what follows is the list from its beginning, as it
%% should be.
ordered_from(<<Hash:160/integer>>, {Size, Owners}) ->
    Increment = trunc(math:pow(2, 160) - 1) div Size,
    {Before, From} = lists:split((Hash div Increment) + 1, Owners),
    From ++ Before.

%% A race between two that answer differently would mean nothing.
same(Owners, Ring, Size, Keys) ->
    [begin
         Expected = {ok, plain(Type, Bucket, Key, {Size, Owners})},
         Expected = ringtail_nif:primaries(Ring, Type, Bucket, Key, std, ?N)
     end || {Type, Bucket, Key} <- Keys].

%% Microseconds a call of the first and of the second.
race(A, B, Calls) ->
    Turns = [{turn(rounds(A)), turn(rounds(B))} || _ <- lists:seq(1, ?TURNS)],
    {As, Bs} = lists:unzip(Turns),
    {lists:min(As) / Calls, lists:min(Bs) / Calls}.

rounds(Round) ->
    fun() -> [Round() || _ <- lists:seq(1, ?ROUNDS)] end.

best(Fun, Inputs) ->
    lists:min([turn(fun() -> lists:foreach(Fun, Inputs) end)
               || _ <- lists:seq(1, ?TURNS)]) / length(Inputs).

%% Microseconds, in a process of its own.
turn(Fun) ->
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> Self ! {self(), element(1, timer:tc(Fun))} end),
    receive
        {Pid, Time} ->
            receive {'DOWN', Monitor, process, Pid, _} -> max(Time, 1) end
    end.
