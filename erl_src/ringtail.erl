%% @doc What people call from a console. Everything returns data: the answer itself, or `{error,
%% {Code, Detail}}'; only print/1 and help/0 write. Two kinds of calls: about the node this console
%% is on, and about any ring at hand.
%%
%% A ring is given as whatever is at hand: the term that riak_core_ring_manager:get_my_ring/0
%% returns inside `{ok, _}', its external term format, the name of a ring file, or a ring that was
%% loaded before (for many calls, much quicker). A bucket is Riak's: a binary, or `{Type, Bucket}'.
-module(ringtail).

%% This node
-export([start/0, stop/0, status/0, preflist/2, primaries/2, owners/0, where/2, topology/0, print/1,
         help/0, compile/0, compile/1]).
%% Any ring
-export([ring/1, info/1, owners/1, hash/2, hash/3]).
-export([primaries/4, primaries/5, preflist/4, preflist/5, preflist/6]).
-export_type([ring/0, bucket/0]).

-type ring() :: tuple() | binary() | file:name() | ringtail_engine:ring().
-type bucket() :: binary() | {Type :: binary(), Bucket :: binary()}.

%% ---- This node ----

%% @doc Starts the application; harmless when it runs, and in a node that is still booting.
start() -> ringtail_console:start().

%% @doc Stops it and leaves the node as it was.
stop() -> ringtail_console:stop().

%% @doc What it does at present.
status() -> ringtail_console:status().

%% @doc The key's preflist from the nodes that are up, with fallbacks for the others.
preflist(Bucket, Key) -> ringtail_console:preflist(Bucket, Key).

%% @doc The key's owners, up or not, by its bucket's n_val and keyfun.
primaries(Bucket, Key) -> ringtail_console:primaries(Bucket, Key).

%% @doc Every partition with its owner.
owners() -> ringtail_console:owners().

%% @doc Where a key lives, as a line to read.
where(Bucket, Key) -> ringtail_console:where(Bucket, Key).

%% @doc The token, the uuids, the members with their endpoints, who is up.
topology() -> ringtail_console:topology().

%% @doc Writes to the console what the call of this name returns, to read.
-spec print(status | owners | topology) -> ok.
print(What) -> io:put_chars(ringtail_console:text(What)).

%% @doc Writes what there is to call.
-spec help() -> ok.
help() -> io:put_chars(ringtail_render:help()).

%% @doc Compiles the sources beside our beams for this node's OTP release, and loads them.
compile() -> ringtail_console:compile(filename:dirname(filename:absname(code:which(?MODULE)))).

%% @doc The same for the sources in a directory.
compile(Directory) -> ringtail_console:compile(Directory).

%% ---- Any ring ----

%% @doc Loads a ring once for many calls.
-spec ring(ring()) -> ringtail_engine:ring() | ringtail_nif:failure().
ring(Ring) ->
    value(load(Ring)).

%% @doc What the ring says of itself.
-spec info(ring()) -> [{atom(), term()}] | ringtail_nif:failure().
info(Ring) ->
    with(Ring, fun ringtail_engine:ring_info/1).

%% @doc Every partition with its owner, in ring order.
-spec owners(ring()) -> [ringtail_nif:entry()] | ringtail_nif:failure().
owners(Ring) ->
    with(Ring, fun ringtail_engine:owners/1).

%% @doc The place of a key as the integer indices are compared with.
-spec hash(bucket(), binary()) -> non_neg_integer() | ringtail_nif:failure().
hash(Bucket, Key) ->
    hash(Bucket, Key, std).

-spec hash(bucket(), binary(), ringtail_engine:keyfun_name()) ->
          non_neg_integer() | ringtail_nif:failure().
hash(Bucket, Key, Keyfun) ->
    {Type, Name} = type_and_name(Bucket),
    case ringtail_engine:chash(Type, Name, Key, Keyfun) of
        {ok, <<Hash:160/integer>>} -> Hash;
        {error, _} = Error -> Error
    end.

%% @doc The owners of a key, up or not: `[{Index, Node}]'.
-spec primaries(ring(), bucket(), binary(), pos_integer()) ->
          [ringtail_nif:entry()] | ringtail_nif:failure().
primaries(Ring, Bucket, Key, N) ->
    primaries(Ring, Bucket, Key, N, std).

-spec primaries(ring(), bucket(), binary(), pos_integer(), ringtail_engine:keyfun_name()) ->
          [ringtail_nif:entry()] | ringtail_nif:failure().
primaries(Ring, Bucket, Key, N, Keyfun) ->
    {Type, Name} = type_and_name(Bucket),
    with(Ring, fun(Loaded) -> ringtail_engine:primaries(Loaded, Type, Name, Key, Keyfun, N) end).

%% @doc The preflist of a key with every node up: `[{{Index, Node}, primary}]'.
-spec preflist(ring(), bucket(), binary(), pos_integer()) ->
          [ringtail_nif:annotated()] | ringtail_nif:failure().
preflist(Ring, Bucket, Key, N) ->
    preflist(Ring, Bucket, Key, N, all).

%% @doc The preflist of a key for these up nodes, with fallbacks for the others.
-spec preflist(ring(), bucket(), binary(), pos_integer(), ringtail_nif:up()) ->
          [ringtail_nif:annotated()] | ringtail_nif:failure().
preflist(Ring, Bucket, Key, N, Up) ->
    preflist(Ring, Bucket, Key, N, Up, std).

-spec preflist(ring(), bucket(), binary(), pos_integer(), ringtail_nif:up(),
               ringtail_engine:keyfun_name()) ->
          [ringtail_nif:annotated()] | ringtail_nif:failure().
preflist(Ring, Bucket, Key, N, Up, Keyfun) ->
    {Type, Name} = type_and_name(Bucket),
    with(Ring, fun(Loaded) -> ringtail_engine:preflist(Loaded, Type, Name, Key, Keyfun, N, Up) end).

%% ---- Inside ----

type_and_name({Type, Name}) -> {Type, Name};
type_and_name(Name) -> {<<"default">>, Name}.

with(Ring, Fun) ->
    case load(Ring) of
        {ok, Loaded} -> value(Fun(Loaded));
        {error, _} = Error -> Error
    end.

load(Ring) when is_binary(Ring) ->
    ringtail_engine:load_ring(Ring);
load(Ring) when is_list(Ring) ->
    case file:read_file(Ring) of
        {ok, Bytes} ->
            ringtail_engine:load_ring(Bytes);
        {error, Reason} ->
            {error, {no_ring_file,
                     unicode:characters_to_binary([Ring, ": ", file:format_error(Reason)])}}
    end;
load(Ring) when is_tuple(Ring) ->
    case ringtail_engine:is_ring(Ring) of
        true -> {ok, Ring};
        false -> ringtail_engine:load_ring(Ring)
    end;
load(_) ->
    {error, {bad_argument,
             <<"the ring must be a ring term, its external term format, a file name or a "
               "loaded ring">>}}.

value({ok, Value}) -> Value;
value({error, _} = Error) -> Error.
