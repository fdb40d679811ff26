%% @doc NIF stubs and loading, nothing else. Call through `ringtail_engine', which keeps every call
%% short.
%%
%% The library is loaded at the first call of any function (or by load/0), not in an `on_load' hook,
%% for two reasons. A hook that fails leaves the module unloaded, and the VM would look for it on
%% disk again at every call; here the reason is returned and a VM without the library (R16B02,
%% foreign architecture) goes on. And the VM refuses to load a library without an upgrade callback
%% while the code it replaces still holds one. rustler offers no such callback, for good reason: two
%% builds need not agree on the layout of a resource. Only when the new module is current can the
%% old one be purged, and that is at the first call. So replacing the module in a running VM is: new
%% beam and new library beside the old ones, `code:load_file(ringtail_nif)', done. The old library
%% stays in memory until the last ring it loaded is gone; the new one refuses such rings with
%% `foreign_ring', and loading the ring again mends it.
%%
%% The version is in the library's file name, because a library must never be overwritten while a VM
%% has it open.
-module(ringtail_nif).

-export([load/0, library/0, version/0, provoke_panic/0, provoke_panic_dirty/0]).
-export([ring_load/1, ring_size/1, ring_info/1, owners/1, document/2, key_document/8]).
-export([chash/4, chash_dirty/4, primaries/6, primaries_dirty/6, preflist/7, preflist_dirty/7]).
-export([primaries_many/4, preflist_many/5]).
-export([primaries_of_hash/3, primaries_of_hash_dirty/3]).
-export([preflist_of_hash/4, preflist_of_hash_dirty/4]).
-export([primaries_places/6, preflist_places/7]).
-export([primaries_of_hash_places/3, preflist_of_hash_places/4]).
-export([topology/1, topology_document/3, topology_difference/5, node_uuid/2]).
-export_type([failure/0, keyfun/0, hash/0, entry/0, annotated/0, up/0]).

%% Defined here, not in the application file, so that the sources compile alone in a flat directory.
-ifndef(RINGTAIL_VERSION).
-define(RINGTAIL_VERSION, "0.1.0").
-endif.
-vsn(?RINGTAIL_VERSION).

%% How long to wait for processes that still run in the module's old code.
-define(PURGE_TRIES, 50).
-define(PURGE_PAUSE_MS, 20).

-type failure() :: {error, {atom(), binary()}}.
-type keyfun() :: std | bucketonly.
-type hash() :: <<_:160>>.
-type entry() :: {Index :: non_neg_integer(), node()}.
-type annotated() :: {entry(), primary | fallback}.
-type up() :: all | [node()].
-type key() :: {Type :: binary(), Bucket :: binary(), Key :: binary()}.

%% ---- Loading ----

%% @doc Loads the library if it is not loaded yet.
-spec load() -> ok | {error, {atom(), string()}}.
load() ->
    load(library(), ?PURGE_TRIES).

load({error, _} = Error, _) ->
    Error;
load({ok, Path}, Tries) ->
    case erlang:load_nif(Path, ?RINGTAIL_VERSION) of
        ok ->
            ok;
        {error, {reload, _}} ->
            ok;
        {error, {upgrade, Text}} ->
            case code:soft_purge(?MODULE) of
                true when Tries > 0 ->
                    load({ok, Path}, Tries - 1);
                false when Tries > 0 ->
                    timer:sleep(?PURGE_PAUSE_MS),
                    load({ok, Path}, Tries - 1);
                _ ->
                    {error, {old_code_running, Text}}
            end;
        {error, {Reason, Text}} ->
            {error, {Reason, lists:flatten(Text)}}
    end.

%% @doc The library's path without its extension, as load_nif wants it: where `{ringtail, nif_path}'
%% says (with or without `.so'), else beside this module, else in the application's priv directory.
-spec library() -> {ok, file:filename()} | {error, {no_library, string()}}.
library() ->
    Paths = case ringtail_config:nif_path() of
                undefined -> ringtail_files:places(?MODULE, file_name());
                Configured -> [without_extension(Configured)]
            end,
    case [Path || Path <- Paths, filelib:is_regular(Path ++ extension())] of
        [Path | _] ->
            {ok, Path};
        [] ->
            Tried = [[" ", Path, extension()] || Path <- Paths],
            {error, {no_library, lists:flatten(["put the library where one of these looks for it:",
                                                Tried, "; or set {ringtail, nif_path}"])}}
    end.

file_name() ->
    "ringtail_nif-" ++ ?RINGTAIL_VERSION.

extension() ->
    ".so".

without_extension(Path) ->
    case filename:extension(Path) of
        ".so" -> filename:rootname(Path);
        _ -> Path
    end.

%% Runs in place of a NIF until the library is there.
first(Function, Args) ->
    Marker = {?MODULE, Function},
    case load() of
        ok ->
            %% A library that lacks the function would lead back here for ever.
            case put(Marker, true) of
                undefined ->
                    try
                        apply(?MODULE, Function, Args)
                    after
                        erase(Marker)
                    end;
                true ->
                    erlang:error({nif_not_loaded, {missing_function, atom_to_list(Function)}})
            end;
        {error, Reason} ->
            erlang:error({nif_not_loaded, Reason})
    end.

%% ---- Answers for one key, which name places where they can ----

-spec primaries(term(), binary(), binary(), binary(), keyfun(), pos_integer()) ->
          {ok, [entry()]} | failure().
primaries(Ring, Type, Bucket, Key, Keyfun, N) ->
    ringtail_nif_indices:primaries(primaries_places(Ring, Type, Bucket, Key, Keyfun, N)).

-spec primaries_of_hash(term(), hash(), pos_integer()) -> {ok, [entry()]} | failure().
primaries_of_hash(Ring, Hash, N) ->
    ringtail_nif_indices:primaries(primaries_of_hash_places(Ring, Hash, N)).

-spec preflist(term(), binary(), binary(), binary(), keyfun(), pos_integer(), up()) ->
          {ok, [annotated()]} | failure().
preflist(Ring, Type, Bucket, Key, Keyfun, N, Up) ->
    ringtail_nif_indices:preflist(preflist_places(Ring, Type, Bucket, Key, Keyfun, N, Up)).

-spec preflist_of_hash(term(), hash(), pos_integer(), up()) -> {ok, [annotated()]} | failure().
preflist_of_hash(Ring, Hash, N, Up) ->
    ringtail_nif_indices:preflist(preflist_of_hash_places(Ring, Hash, N, Up)).

%% ---- Stubs: replaced by the library, documented in native/ringtail-nif/src ----

-spec version() -> binary().
version() ->
    first(version, []).

-spec provoke_panic() -> no_return().
provoke_panic() ->
    first(provoke_panic, []).

-spec provoke_panic_dirty() -> no_return().
provoke_panic_dirty() ->
    first(provoke_panic_dirty, []).

-spec ring_load(binary()) -> {ok, term()} | failure().
ring_load(Bytes) ->
    first(ring_load, [Bytes]).

-spec ring_size(term()) -> {ok, pos_integer()} | failure().
ring_size(Ring) ->
    first(ring_size, [Ring]).

-spec ring_info(term()) -> {ok, [{atom(), term()}]} | failure().
ring_info(Ring) ->
    first(ring_info, [Ring]).

-spec owners(term()) -> {ok, [entry()]} | failure().
owners(Ring) ->
    first(owners, [Ring]).

-spec document(term(), atom()) -> {ok, binary()} | failure().
document(Ring, Kind) ->
    first(document, [Ring, Kind]).

-spec key_document(term(), preflist | primaries, binary(), binary(), binary(), keyfun(),
                   pos_integer(), up()) ->
          {ok, binary()} | failure().
key_document(Ring, Kind, Type, Bucket, Key, Keyfun, N, Up) ->
    first(key_document, [Ring, Kind, Type, Bucket, Key, Keyfun, N, Up]).

-spec chash(binary(), binary(), binary(), keyfun()) -> {ok, hash()} | failure().
chash(Type, Bucket, Key, Keyfun) ->
    first(chash, [Type, Bucket, Key, Keyfun]).

-spec chash_dirty(binary(), binary(), binary(), keyfun()) -> {ok, hash()} | failure().
chash_dirty(Type, Bucket, Key, Keyfun) ->
    first(chash_dirty, [Type, Bucket, Key, Keyfun]).

-spec primaries_places(term(), binary(), binary(), binary(), keyfun(), pos_integer()) ->
          ringtail_nif_indices:primaries() | {ok, [entry()]} | failure().
primaries_places(Ring, Type, Bucket, Key, Keyfun, N) ->
    first(primaries_places, [Ring, Type, Bucket, Key, Keyfun, N]).

-spec primaries_dirty(term(), binary(), binary(), binary(), keyfun(), pos_integer()) ->
          {ok, [entry()]} | failure().
primaries_dirty(Ring, Type, Bucket, Key, Keyfun, N) ->
    first(primaries_dirty, [Ring, Type, Bucket, Key, Keyfun, N]).

-spec preflist_places(term(), binary(), binary(), binary(), keyfun(), pos_integer(), up()) ->
          ringtail_nif_indices:preflist() | {ok, [annotated()]} | failure().
preflist_places(Ring, Type, Bucket, Key, Keyfun, N, Up) ->
    first(preflist_places, [Ring, Type, Bucket, Key, Keyfun, N, Up]).

-spec preflist_dirty(term(), binary(), binary(), binary(), keyfun(), pos_integer(), up()) ->
          {ok, [annotated()]} | failure().
preflist_dirty(Ring, Type, Bucket, Key, Keyfun, N, Up) ->
    first(preflist_dirty, [Ring, Type, Bucket, Key, Keyfun, N, Up]).

-spec primaries_many(term(), [key()], keyfun(), pos_integer()) -> {ok, [[entry()]]} | failure().
primaries_many(Ring, Keys, Keyfun, N) ->
    first(primaries_many, [Ring, Keys, Keyfun, N]).

-spec preflist_many(term(), [key()], keyfun(), pos_integer(), up()) ->
          {ok, [[annotated()]]} | failure().
preflist_many(Ring, Keys, Keyfun, N, Up) ->
    first(preflist_many, [Ring, Keys, Keyfun, N, Up]).

-spec primaries_of_hash_places(term(), hash(), pos_integer()) ->
          ringtail_nif_indices:primaries() | {ok, [entry()]} | failure().
primaries_of_hash_places(Ring, Hash, N) ->
    first(primaries_of_hash_places, [Ring, Hash, N]).

-spec primaries_of_hash_dirty(term(), hash(), pos_integer()) -> {ok, [entry()]} | failure().
primaries_of_hash_dirty(Ring, Hash, N) ->
    first(primaries_of_hash_dirty, [Ring, Hash, N]).

-spec preflist_of_hash_places(term(), hash(), pos_integer(), up()) ->
          ringtail_nif_indices:preflist() | {ok, [annotated()]} | failure().
preflist_of_hash_places(Ring, Hash, N, Up) ->
    first(preflist_of_hash_places, [Ring, Hash, N, Up]).

-spec preflist_of_hash_dirty(term(), hash(), pos_integer(), up()) ->
          {ok, [annotated()]} | failure().
preflist_of_hash_dirty(Ring, Hash, N, Up) ->
    first(preflist_of_hash_dirty, [Ring, Hash, N, Up]).

-spec topology(term()) ->
          {ok, {Token :: binary(), ClusterUuid :: binary(), Canonical :: binary()}} | failure().
topology(Ring) ->
    first(topology, [Ring]).

-spec topology_document(binary(), binary(), [binary()]) -> {ok, binary()} | failure().
topology_document(Token, Canonical, Up) ->
    first(topology_document, [Token, Canonical, Up]).

-spec topology_difference(binary(), binary(), binary(), binary(), [binary()]) ->
          {ok, binary()} | failure().
topology_difference(FromToken, FromCanonical, ToToken, ToCanonical, Up) ->
    first(topology_difference, [FromToken, FromCanonical, ToToken, ToCanonical, Up]).

-spec node_uuid(binary(), binary()) -> {ok, binary()} | failure().
node_uuid(ClusterUuid, Node) ->
    first(node_uuid, [ClusterUuid, Node]).
