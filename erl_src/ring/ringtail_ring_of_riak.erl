%% @doc What riak_core itself says of its ring: for a node whose engine is lost. Slower than the NIF
%% is, and right: every request of Riak's own goes by it.
-module(ringtail_ring_of_riak).

-export([mine/0, primaries/4, preflist/5, owners/0]).

-type bucket() :: binary() | {Type :: binary(), Name :: binary()}.
-type keyfun() :: std | bucketonly | {custom, module(), atom()}.
-type answer(Value) :: {ok, Value} | {error, {no_ring, binary()}}.

%% @doc The ring as it is now.
-spec mine() -> {ok, tuple()} | {error, no_ring}.
mine() ->
    try
        riak_core_ring_manager:get_my_ring()
    catch
        error:_ -> {error, no_ring}     % Riak is starting, or is not there at all
    end.

%% @doc The N owners of a key, up or not, in preflist order; all there are where N is larger.
-spec primaries(bucket(), Key :: binary(), keyfun(), N :: non_neg_integer()) ->
          answer([{non_neg_integer(), node()}]).
primaries(Bucket, Key, Keyfun, N) ->
    with(fun riak_core_ring_manager:get_chash_bin/0, fun(Ring) ->
        Count = min(N, chashbin:num_partitions(Ring)),
        {Owners, _} = chashbin:itr_pop(Count, chashbin:iterator(hash(Bucket, Key, Keyfun), Ring)),
        Owners
    end).

%% @doc The preflist for these up nodes, which are sorted.
-spec preflist(bucket(), binary(), keyfun(), N :: non_neg_integer(), [node()]) ->
          answer([{{non_neg_integer(), node()}, primary | fallback}]).
preflist(Bucket, Key, Keyfun, N, Up) ->
    with(fun riak_core_ring_manager:get_my_ring/0, fun(Ring) ->
        Count = min(N, riak_core_ring:num_partitions(Ring)),
        riak_core_apl:get_apl_ann(hash(Bucket, Key, Keyfun), Count, Ring, Up)
    end).

%% @doc Every partition in ring order with its owner.
-spec owners() -> answer([{non_neg_integer(), node()}]).
owners() ->
    with(fun riak_core_ring_manager:get_chash_bin/0, fun chashbin:to_list/1).

hash({<<"default">>, Bucket}, Key, Keyfun) -> hash(Bucket, Key, Keyfun);
hash(Bucket, Key, std) -> riak_core_util:chash_std_keyfun({Bucket, Key});
hash(Bucket, Key, bucketonly) -> riak_core_util:chash_bucketonly_keyfun({Bucket, Key});
hash(Bucket, Key, {custom, Module, Function}) -> Module:Function({Bucket, Key}).

with(Read, Answer) ->
    case read(Read) of
        {ok, Ring} -> {ok, Answer(Ring)};
        {error, _} -> {error, {no_ring, <<"riak_core has no ring at the moment; try again">>}}
    end.

read(Read) ->
    try
        Read()
    catch
        error:badarg -> {error, no_ring}    % the ring manager is being restarted, its table gone
    end.
