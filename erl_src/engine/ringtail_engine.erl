%% @doc One interface over what computes hashes and preflists, so that callers do not know which it
%% is: the NIF in this VM, or the companion at the end of a port. `{ringtail, engine, nif | port |
%% auto}' says which; auto, the default, takes the NIF where its library loads. A ring stays with
%% the engine that loaded it.
%%
%% It also keeps every call short. A NIF call blocks its scheduler, so this module looks at sizes,
%% which cost nothing to read, and sends to a dirty scheduler what could take long: large keys,
%% large n, long lists of up nodes, rings of unusual size. Batches are cut into slices, so that a
%% large one never keeps a dirty scheduler for long and a process that is killed in the middle is
%% gone soon.
%%
%% Answers are `{ok, Value}' or `{error, {Code, Detail}}', Code an atom, Detail a sentence (for
%% unknown_node: the node's name).
-module(ringtail_engine).

-export([load_ring/1, is_ring/1, ring_size/1, ring_info/1, owners/1, document/2, key_document/8]).
-export([chash/4, primaries/6, preflist/7, primaries_many/4, preflist_many/5]).
-export([primaries_of_hash/3, preflist_of_hash/4]).
-export([topology/1, topology_document/3, topology_difference/5, node_uuid/2]).
-export([keyfun/1, name/0, is_there/0, is_there/1, condition/0, nif_problem/0]).
-export_type([ring/0, answer/1, key/0, keyfun_name/0]).

%% Above these a call goes to a dirty scheduler. SHA-1 without help from the processor reads some
%% 300 bytes in a microsecond: 32 KiB are a tenth of a millisecond. A preflist entry costs well
%% under a microsecond. An unfortunate preflist reads every partition once.
-define(NORMAL_BYTES, 32768).
-define(NORMAL_N, 256).
-define(NORMAL_UP, 256).
-define(NORMAL_PARTITIONS, 16384).

%% A slice of a batch ends at whichever comes first.
-define(SLICE_KEYS, 1000).
-define(SLICE_BYTES, 1048576).

-record(ringtail_ring, {engine :: nif | port, handle :: term(), size :: pos_integer()}).

-opaque ring() :: #ringtail_ring{}.
-type answer(Value) :: {ok, Value} | ringtail_nif:failure().
-type key() :: {Type :: binary(), Bucket :: binary(), Key :: binary()}.
-type keyfun_name() :: ringtail_nif:keyfun() | {module(), atom()}.
-type document() :: cluster_preflist | ring_summary | ring_summary_owners.

%% @doc Loads a ring from its external term format, or from the term itself.
-spec load_ring(binary() | tuple()) -> answer(ring()).
load_ring(Ring) when is_tuple(Ring) ->
    load_ring(term_to_binary(Ring));
load_ring(Bytes) ->
    Engine = name(),
    case ask(Engine, ring_load, [Bytes]) of
        {ok, Handle} ->
            case ask(Engine, ring_size, [Handle]) of
                {ok, Size} -> {ok, #ringtail_ring{engine = Engine, handle = Handle, size = Size}};
                {error, _} = Error -> Error
            end;
        {error, _} = Error ->
            Error
    end.

%% @doc Whether this is what load_ring/1 returned.
-spec is_ring(term()) -> boolean().
is_ring(#ringtail_ring{}) -> true;
is_ring(_) -> false.

%% @doc The number of partitions.
-spec ring_size(ring()) -> answer(pos_integer()).
ring_size(#ringtail_ring{size = Size}) ->
    {ok, Size};
ring_size(_) ->
    not_a_ring().

%% @doc What the ring says of itself: ring_size, cluster_name, nodename, claimant, members with
%% their status, the number of pending changes, rvsn_sum, vclock_sum, resizing.
-spec ring_info(ring()) -> answer([{atom(), term()}]).
ring_info(Ring) ->
    with_ring(Ring, ring_info, []).

%% @doc Every partition in ring order with its owner.
-spec owners(ring()) -> answer([ringtail_nif:entry()]).
owners(Ring) ->
    with_ring(Ring, owners, []).

%% @doc A JSON document about the ring.
-spec document(ring(), document()) -> answer(binary()).
document(Ring, Kind) ->
    with_ring(Ring, document, [Kind]).

%% @doc The JSON document of one key: its preflist with fallbacks, or its primaries, up or not.
-spec key_document(ring(), preflist | primaries, binary(), binary(), binary(), keyfun_name(),
                   pos_integer(), ringtail_nif:up()) -> answer(binary()).
key_document(Ring, Kind, Type, Bucket, Key, Keyfun, N, Up) ->
    with_keyfun(Keyfun, fun(Name) ->
        with_ring(Ring, key_document, [Kind, Type, Bucket, Key, Name, N, Up])
    end).

%% @doc The place of a key: twenty bytes, as riak_core_util:chash_key/1 gives it.
-spec chash(binary(), binary(), binary(), keyfun_name()) -> answer(ringtail_nif:hash()).
chash(Type, Bucket, Key, Keyfun) when Keyfun =:= std; Keyfun =:= bucketonly ->
    case long_key(Type, Bucket, Key) of
        false -> ask(name(), chash, [Type, Bucket, Key, Keyfun]);
        true -> ask(name(), chash_dirty, [Type, Bucket, Key, Keyfun])
    end;
chash(Type, Bucket, Key, Keyfun) ->
    with_keyfun(Keyfun, fun(Name) -> chash(Type, Bucket, Key, Name) end).

%% @doc The key's N owners, up or not, in preflist order.
-spec primaries(ring(), binary(), binary(), binary(), keyfun_name(), pos_integer()) ->
          answer([ringtail_nif:entry()]).
primaries(#ringtail_ring{engine = Engine, handle = Handle, size = Size}, Type, Bucket, Key, Keyfun,
          N)
  when Keyfun =:= std; Keyfun =:= bucketonly ->
    case long_key(Type, Bucket, Key) orelse N > ?NORMAL_N orelse Size > ?NORMAL_PARTITIONS of
        %% What most requests ask for; by ask/3 it would take a third longer.
        false when Engine =:= nif ->
            try
                ringtail_nif:primaries(Handle, Type, Bucket, Key, Keyfun, N)
            catch
                error:{nif_not_loaded, Why} -> no_library(Why)
            end;
        false -> ask(Engine, primaries, [Handle, Type, Bucket, Key, Keyfun, N]);
        true -> ask(Engine, primaries_dirty, [Handle, Type, Bucket, Key, Keyfun, N])
    end;
primaries(#ringtail_ring{} = Ring, Type, Bucket, Key, Keyfun, N) ->
    with_keyfun(Keyfun, fun(Name) -> primaries(Ring, Type, Bucket, Key, Name, N) end);
primaries(_, _, _, _, _, _) ->
    not_a_ring().

%% @doc The key's preflist for these up nodes, as riak_core_apl:get_apl_ann/4 gives it: primaries
%% that are up, then fallbacks for those that are not.
-spec preflist(ring(), binary(), binary(), binary(), keyfun_name(), pos_integer(),
               ringtail_nif:up()) -> answer([ringtail_nif:annotated()]).
preflist(#ringtail_ring{engine = Engine, handle = Handle, size = Size}, Type, Bucket, Key, Keyfun,
         N, Up)
  when Keyfun =:= std; Keyfun =:= bucketonly ->
    Long = long_key(Type, Bucket, Key) orelse N > ?NORMAL_N orelse Size > ?NORMAL_PARTITIONS
        orelse longer_than(Up, ?NORMAL_UP),
    case Long of
        false -> ask(Engine, preflist, [Handle, Type, Bucket, Key, Keyfun, N, Up]);
        true -> ask(Engine, preflist_dirty, [Handle, Type, Bucket, Key, Keyfun, N, Up])
    end;
preflist(#ringtail_ring{} = Ring, Type, Bucket, Key, Keyfun, N, Up) ->
    with_keyfun(Keyfun, fun(Name) -> preflist(Ring, Type, Bucket, Key, Name, N, Up) end);
preflist(_, _, _, _, _, _, _) ->
    not_a_ring().

%% @doc primaries/6 for many keys of one keyfun and n: a list of answers in the order of the keys.
-spec primaries_many(ring(), [key()], keyfun_name(), pos_integer()) ->
          answer([[ringtail_nif:entry()]]).
primaries_many(Ring, Keys, Keyfun, N) ->
    many(Keys, Keyfun, fun(Slice, Name) -> with_ring(Ring, primaries_many, [Slice, Name, N]) end).

%% @doc preflist/7 for many keys.
-spec preflist_many(ring(), [key()], keyfun_name(), pos_integer(), ringtail_nif:up()) ->
          answer([[ringtail_nif:annotated()]]).
preflist_many(Ring, Keys, Keyfun, N, Up) ->
    many(Keys, Keyfun, fun(Slice, Name) ->
        with_ring(Ring, preflist_many, [Slice, Name, N, Up])
    end).

%% @doc The N owners of a hash, for a keyfun that only riak_core can compute.
-spec primaries_of_hash(ring(), ringtail_nif:hash(), pos_integer()) ->
          answer([ringtail_nif:entry()]).
primaries_of_hash(#ringtail_ring{engine = Engine, handle = Handle, size = Size}, Hash, N) ->
    case N > ?NORMAL_N orelse Size > ?NORMAL_PARTITIONS of
        false -> ask(Engine, primaries_of_hash, [Handle, Hash, N]);
        true -> ask(Engine, primaries_of_hash_dirty, [Handle, Hash, N])
    end;
primaries_of_hash(_, _, _) ->
    not_a_ring().

%% @doc The preflist of a hash, as preflist/7.
-spec preflist_of_hash(ring(), ringtail_nif:hash(), pos_integer(), ringtail_nif:up()) ->
          answer([ringtail_nif:annotated()]).
preflist_of_hash(#ringtail_ring{engine = Engine, handle = Handle, size = Size}, Hash, N, Up) ->
    case N > ?NORMAL_N orelse Size > ?NORMAL_PARTITIONS orelse longer_than(Up, ?NORMAL_UP) of
        false -> ask(Engine, preflist_of_hash, [Handle, Hash, N, Up]);
        true -> ask(Engine, preflist_of_hash_dirty, [Handle, Hash, N, Up])
    end;
preflist_of_hash(_, _, _, _) ->
    not_a_ring().

%% @doc What a ring's topology is called and what it says: token, cluster UUID and canonical form,
%% all binaries. The canonical form is all that needs to be kept of a ring to tell later what has
%% changed since.
-spec topology(ring()) ->
          {ok, Token :: binary(), ClusterUuid :: binary(), Canonical :: binary()}
        | ringtail_nif:failure().
topology(Ring) ->
    case with_ring(Ring, topology, []) of
        {ok, {Token, ClusterUuid, Canonical}} -> {ok, Token, ClusterUuid, Canonical};
        {error, _} = Error -> Error
    end.

%% @doc The JSON document of a topology. Up: the names of the nodes that are up.
-spec topology_document(Token :: binary(), Canonical :: binary(), Up :: [binary()]) ->
          answer(binary()).
topology_document(Token, Canonical, Up) ->
    ask(name(), topology_document, [Token, Canonical, Up]).

%% @doc The JSON document of what changed between two topologies; all of the later where that cannot
%% be told.
-spec topology_difference(binary(), binary(), binary(), binary(), [binary()]) -> answer(binary()).
topology_difference(FromToken, FromCanonical, ToToken, ToCanonical, Up) ->
    ask(name(), topology_difference, [FromToken, FromCanonical, ToToken, ToCanonical, Up]).

%% @doc The UUID of a node in a cluster.
-spec node_uuid(ClusterUuid :: binary(), NodeName :: binary()) -> answer(binary()).
node_uuid(ClusterUuid, Node) ->
    ask(name(), node_uuid, [ClusterUuid, Node]).

%% @doc The engine that answers from now on.
-spec name() -> nif | port.
name() ->
    case ringtail_config:engine() of
        auto -> automatic();
        Engine -> Engine
    end.

%% @doc Whether the engine can be asked now, for those who would rather do without than wait.
-spec is_there() -> boolean().
is_there() ->
    is_there(name()).

%% @doc The same of the engine that holds this ring.
-spec is_there(ring() | nif | port | term()) -> boolean().
is_there(#ringtail_ring{engine = nif}) -> true;
is_there(#ringtail_ring{engine = Engine}) -> is_there(Engine);
is_there(port) -> lost(ringtail_companion:condition()) =:= false;
is_there(_) -> true.

lost({lost, _}) -> true;
lost(_) -> false.

%% @doc Whether the engine works and, if not, why.
-spec condition() -> ok | {lost, Why :: binary()}.
condition() ->
    condition(name()).

condition(port) ->
    case ringtail_companion:condition() of
        {lost, Why} -> {lost, <<"the companion is not there: ", Why/binary>>};
        _ -> ok
    end;
condition(Engine) ->
    case ask(Engine, version, []) of
        {error, {_, Why}} -> {lost, Why};
        _ -> ok
    end.

%% @doc Why the companion is used in place of the NIF, where it was not configured so.
-spec nif_problem() -> none | binary().
nif_problem() ->
    case {name(), application:get_env(ringtail, automatic_engine)} of
        {port, {ok, {port, Why}}} -> Why;
        _ -> none
    end.

%% @doc The engine's name for a bucket's `chash_keyfun' property. Only Riak's own two can be
%% computed here.
-spec keyfun(keyfun_name()) -> answer(ringtail_nif:keyfun()).
keyfun(std) -> {ok, std};
keyfun(bucketonly) -> {ok, bucketonly};
keyfun({riak_core_util, chash_std_keyfun}) -> {ok, std};
keyfun({riak_core_util, chash_bucketonly_keyfun}) -> {ok, bucketonly};
keyfun({Module, Function}) when is_atom(Module), is_atom(Function) ->
    {error, {custom_keyfun, text("~p:~p is not one of Riak's own keyfuns: only riak_core on a node "
                                 "of the cluster can compute it", [Module, Function])}};
keyfun(_) ->
    {error, {bad_argument, <<"keyfun must be std, bucketonly or {Module, Function}">>}}.

%% ---- Inside ----

with_ring(#ringtail_ring{engine = Engine, handle = Handle}, Function, Args) ->
    ask(Engine, Function, [Handle | Args]);
with_ring(_, _, _) ->
    not_a_ring().

not_a_ring() ->
    {error, {foreign_ring, <<"the ring must be what ringtail_engine:load_ring/1 returned">>}}.

with_keyfun(Keyfun, Fun) ->
    case keyfun(Keyfun) of
        {ok, Name} -> Fun(Name);
        {error, _} = Error -> Error
    end.

many(Keys, Keyfun, Fun) when is_list(Keys) ->
    with_keyfun(Keyfun, fun(Name) -> slices(Keys, fun(Slice) -> Fun(Slice, Name) end, []) end);
many(_, _, _) ->
    {error, {bad_argument, <<"keys must be a list of {Type, Bucket, Key}">>}}.

%% An empty batch is asked too, so that its other arguments are checked as ever.
slices(Keys, Fun, Done) ->
    {Slice, Rest} = slice(Keys, ?SLICE_KEYS, ?SLICE_BYTES, []),
    case Fun(Slice) of
        {ok, Answers} when Rest =:= [] -> {ok, lists:append(lists:reverse([Answers | Done]))};
        {ok, Answers} -> slices(Rest, Fun, [Answers | Done]);
        {error, _} = Error -> Error
    end.

slice([{Type, Bucket, Key} = First | Rest], Count, Bytes, Taken) when Count > 0, Bytes > 0 ->
    slice(Rest, Count - 1, Bytes - key_bytes(Type, Bucket, Key), [First | Taken]);
slice([Malformed | _], Count, Bytes, Taken) when Count > 0, Bytes > 0 ->
    %% The engine says what is wrong with it.
    {lists:reverse(Taken, [Malformed]), []};
slice(Rest, _, _, Taken) when is_list(Rest) ->
    {lists:reverse(Taken), Rest};
slice(ImproperTail, _, _, Taken) ->
    {lists:reverse(Taken, ImproperTail), []}.

long_key(Type, Bucket, Key) ->
    key_bytes(Type, Bucket, Key) > ?NORMAL_BYTES.

%% What is no binary has no length to speak of; the engine names it.
key_bytes(Type, Bucket, Key) when is_binary(Type), is_binary(Bucket), is_binary(Key) ->
    byte_size(Type) + byte_size(Bucket) + byte_size(Key);
key_bytes(_, _, _) ->
    0.

longer_than([_ | Rest], Limit) ->
    Limit =:= 0 orelse longer_than(Rest, Limit - 1);
longer_than(_, _) ->
    false.

ask(nif, Function, Args) ->
    try
        apply(ringtail_nif, Function, Args)
    catch
        error:{nif_not_loaded, Why} -> no_library(Why)
    end;
ask(port, Function, Args) ->
    ringtail_companion_engine:call(Function, Args).

no_library({Reason, Text}) ->
    {error, {no_engine, text("the NIF library does not load (~p): ~ts", [Reason, Text])}}.

%% What was found is kept, for looking is a search on disk.
automatic() ->
    case application:get_env(ringtail, automatic_engine) of
        {ok, {port, _}} -> port;
        {ok, nif} -> nif;
        undefined -> found(ringtail_nif:load())
    end.

found(ok) ->
    ok = application:set_env(ringtail, automatic_engine, nif),
    nif;
found({error, Reason}) ->
    {error, {_, Why}} = no_library(Reason),
    case ringtail_companion:executable() of
        {ok, Path} ->
            error_logger:info_msg("ringtail: the companion ~s computes, since ~ts~n", [Path, Why]),
            ok = application:set_env(ringtail, automatic_engine, {port, Why}),
            port;
        %% The NIF's reason is the one to tell, and the next call looks again.
        {error, _} ->
            nif
    end.

text(Format, Args) ->
    unicode:characters_to_binary(io_lib:format(Format, Args)).
