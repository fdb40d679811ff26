%% @doc The engine's calls answered by the companion, as ringtail_nif answers them.
%%
%% A ring's handle holds the ring's bytes besides the digest it goes by there, so that a companion
%% which lost it (restarted, or had others to hold) is given it again by whoever needs it. The bytes
%% are a binary that processes share, not copy. No call changes anything, so one that was under way
%% when the companion died is asked once more.
-module(ringtail_companion_engine).

-export([call/2]).
-export_type([ring/0]).

-define(SHORT_MS, 1000).

-record(ringtail_companion_ring, {digest :: binary(), bytes :: binary()}).

-opaque ring() :: #ringtail_companion_ring{}.

%% @doc A function of ringtail_nif and its arguments.
-spec call(atom(), [term()]) -> {ok, term()} | ringtail_nif:failure().
call(ring_load, [Bytes]) when is_binary(Bytes) ->
    Ring = #ringtail_companion_ring{digest = crypto:hash(sha, Bytes), bytes = Bytes},
    case load(Ring) of
        {ok, _} -> {ok, Ring};
        {error, _} = Error -> Error
    end;
call(ring_load, [NoBinary]) ->
    %% The companion says what is wrong with it.
    ask(ring_load, {<<0:160>>, NoBinary});
call(Function, Arguments) ->
    Operation = operation(Function),
    case of_a_ring(Operation) of
        true -> ring_call(Operation, Arguments);
        false -> converted(Operation, ask(Operation, list_to_tuple(Arguments)))
    end.

ring_call(Operation, [#ringtail_companion_ring{digest = Digest} = Ring | Arguments]) ->
    Request = list_to_tuple([Digest | Arguments]),
    case ask(Operation, Request) of
        {error, {no_such_ring, _}} ->
            case load(Ring) of
                {ok, _} -> converted(Operation, ask(Operation, Request));
                {error, _} = Error -> Error
            end;
        Answer ->
            converted(Operation, Answer)
    end;
ring_call(_, _) ->
    {error, {foreign_ring, <<"the ring handle is not one of the companion's: "
                             "load the ring again">>}}.

load(#ringtail_companion_ring{digest = Digest, bytes = Bytes}) ->
    case ask(ring_load, {Digest, Bytes}) of
        {ok, Size} ->
            ok = ringtail_companion:remember_ring(Digest, Bytes),
            {ok, Size};
        {error, _} = Error ->
            Error
    end.

ask(Operation, Arguments) ->
    case asked(patience(Operation), Operation, Arguments) of
        {error, {companion_died, _}} -> asked(patience(Operation), Operation, Arguments);
        Answer -> Answer
    end.

asked(configured, Operation, Arguments) -> ringtail_companion:call(Operation, Arguments);
asked(Milliseconds, Operation, Arguments) ->
    ringtail_companion:call(Operation, Arguments, Milliseconds).

%% What a request to the node waits for is a matter of microseconds and can be had elsewhere.
patience(primaries) -> ?SHORT_MS;
patience(preflist) -> ?SHORT_MS;
patience(primaries_of_hash) -> ?SHORT_MS;
patience(preflist_of_hash) -> ?SHORT_MS;
patience(topology_document) -> ?SHORT_MS;
patience(topology_difference) -> ?SHORT_MS;
patience(_) -> configured.

converted(Operation, {ok, Value}) -> ringtail_companion_codec:value(Operation, Value);
converted(_, {error, _} = Error) -> Error.

%% Which scheduler a call would block does not matter here.
operation(chash_dirty) -> chash;
operation(primaries_dirty) -> primaries;
operation(preflist_dirty) -> preflist;
operation(primaries_of_hash_dirty) -> primaries_of_hash;
operation(preflist_of_hash_dirty) -> preflist_of_hash;
operation(Operation) -> Operation.

of_a_ring(chash) -> false;
of_a_ring(topology_document) -> false;
of_a_ring(topology_difference) -> false;
of_a_ring(node_uuid) -> false;
of_a_ring(version) -> false;
of_a_ring(_) -> true.
