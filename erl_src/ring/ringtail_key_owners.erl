%% @doc Where a key lives according to the present snapshot: its bucket's n_val and keyfun from
%% riak_core, its primaries from the engine. Used by the resources and by the console alike.
%%
%% Where the engine is lost, riak_core is asked instead: its ring may be a later one than the
%% snapshot's, and what it says of it is what its own requests go by.
-module(ringtail_key_owners).

-export([primaries/2, primaries/3, primaries/5, preflist/2, owners/0, placement/1, typed/1]).
-export_type([bucket/0, failure/0]).

%% How long a request waits for the ring to be loaded anew. In ms.
-define(RELOAD_MS, 2000).

-type bucket() :: binary() | {Type :: binary(), Name :: binary()}.
-type keyfun() :: std | bucketonly | {custom, module(), atom()}.
-type ring() :: {ok, ringtail_engine:ring(), Size :: pos_integer(), IsUp :: boolean()}
              | ringtail_ring:missing().
-type owners() :: [{non_neg_integer(), node()}].
-type failure() :: {error, {Code :: atom(), Detail :: binary()}}.

%% @doc The owners of a key, up or not, in preflist order. `{error, {no_type, _}}' where the bucket
%% type does not exist.
-spec primaries(bucket(), Key :: binary()) -> {ok, owners()} | failure().
primaries(Bucket, Key) ->
    primaries(Bucket, Key, ringtail_ring:here()).

%% @doc The same in a ring that was read before.
-spec primaries(bucket(), Key :: binary(), ring()) -> {ok, owners()} | failure().
primaries(Bucket, Key, Ring) ->
    case placement(Bucket) of
        {ok, N, Keyfun} -> primaries(Bucket, Key, N, Keyfun, Ring);
        {error, _} = Error -> Error
    end.

-spec primaries(bucket(), Key :: binary(), N :: pos_integer(), keyfun(), ring()) ->
          {ok, owners()} | failure().
primaries(Bucket, Key, N, Keyfun, Ring) ->
    in_ring(Ring, {primaries, Bucket, Key, N, Keyfun}).

%% @doc The preflist with fallbacks for the nodes that are down, as riak_core_apl:get_apl_ann/4
%% gives it.
-spec preflist(bucket(), Key :: binary()) ->
          {ok, [{{non_neg_integer(), node()}, primary | fallback}]} | failure().
preflist(Bucket, Key) ->
    case placement(Bucket) of
        {ok, N, Keyfun} ->
            Question = {{preflist, ringtail_ring:up()}, Bucket, Key, N, Keyfun},
            in_ring(ringtail_ring:here(), Question);
        {error, _} = Error ->
            Error
    end.

%% @doc Every partition in ring order with its owner.
-spec owners() -> {ok, owners()} | failure().
owners() ->
    case ringtail_ring:ring() of
        {ok, Ring, _} ->
            owners(ringtail_engine:is_there(Ring) andalso ringtail_engine:owners(Ring));
        {error, _} = Error ->
            Error
    end.

owners({ok, _} = Owners) -> Owners;
owners(_) -> ringtail_ring_of_riak:owners().

%% Asks the engine about a ring. Where the NIF was replaced since that ring was loaded, it is loaded
%% anew.
in_ring({ok, Ring, Size, _}, Question) ->
    case ask_if_there(Question, Ring, Size) of
        {ok, _} = Answer ->
            Answer;
        {error, {foreign_ring, _}} ->
            _ = ringtail_ring_follower:reload(Ring, ?RELOAD_MS),
            in_new_ring(ringtail_ring:ring(), Question);
        {error, _} ->
            by_riak(Question)
    end;
in_ring({error, _} = Error, _) ->
    Error.

in_new_ring({ok, Ring, Size}, Question) ->
    case ask_if_there(Question, Ring, Size) of
        {ok, _} = Answer -> Answer;
        {error, _} -> by_riak(Question)
    end;
in_new_ring({error, _} = Error, _) ->
    Error.

ask_if_there(Question, Ring, Size) ->
    case ringtail_engine:is_there(Ring) of
        true -> ask(Question, Ring, Size);
        false -> {error, {no_engine, <<"the engine is not there">>}}
    end.

by_riak({primaries, Bucket, Key, N, Keyfun}) ->
    ringtail_ring_of_riak:primaries(Bucket, Key, Keyfun, N);
by_riak({{preflist, Up}, Bucket, Key, N, Keyfun}) ->
    ringtail_ring_of_riak:preflist(Bucket, Key, Keyfun, N, Up).

%% What is asked is data and not a fun: making one writes to a counter that all schedulers share.
ask({What, Bucket, Key, N, {custom, _, _}}, Ring, Size) ->
    Hash = riak_core_util:chash_key({Bucket, Key}),
    case What of
        primaries -> ringtail_engine:primaries_of_hash(Ring, Hash, min(N, Size));
        {preflist, Up} -> ringtail_engine:preflist_of_hash(Ring, Hash, min(N, Size), Up)
    end;
ask({What, Bucket, Key, N, Keyfun}, Ring, Size) ->
    {Type, Name} = typed(Bucket),
    case What of
        primaries -> ringtail_engine:primaries(Ring, Type, Name, Key, Keyfun, min(N, Size));
        {preflist, Up} -> ringtail_engine:preflist(Ring, Type, Name, Key, Keyfun, min(N, Size), Up)
    end.

%% @doc The bucket with its type's name, which that of `default' has too.
-spec typed(bucket()) -> {Type :: binary(), Name :: binary()}.
typed({_, _} = Bucket) -> Bucket;
typed(Name) -> {<<"default">>, Name}.

%% @doc How a bucket's keys are placed. A keyfun of the operator's own is called through riak_core,
%% never guessed.
-spec placement(bucket()) -> {ok, N :: pos_integer(), keyfun()} | failure().
placement(Bucket) ->
    case type_exists(Bucket) of
        true -> placed(riak_core_bucket:get_bucket(Bucket));
        false -> placed({error, no_type})
    end.

%% Asked first, because riak_core_bucket writes a line to the log for each bucket of a type that is
%% not there, and anybody may ask for one.
type_exists({Type, _}) -> ringtail_bucket_types:exists(Type);
type_exists(_) -> true.

placed({error, no_type}) ->
    {error, {no_type, <<"there is no such bucket type: create and activate it with "
                        "riak-admin bucket-type">>}};
placed(Properties) ->
    {n_val, N} = lists:keyfind(n_val, 1, Properties),
    {ok, N, keyfun(lists:keyfind(chash_keyfun, 1, Properties))}.

keyfun({chash_keyfun, {riak_core_util, chash_std_keyfun}}) -> std;
keyfun({chash_keyfun, {riak_core_util, chash_bucketonly_keyfun}}) -> bucketonly;
keyfun({chash_keyfun, {Module, Function}}) -> {custom, Module, Function}.
