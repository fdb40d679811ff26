%% @doc The language of the companion, as plain calls: requests to frames, frames to answers.
%%
%% native/ringtail-port-codec says how it goes. Node names and error codes come as binaries, for an
%% atom must never be made from what another program says: names the VM does not know are told as
%% the NIF tells them, unknown codes are passed on in words.
-module(ringtail_companion_codec).

-export([request/3, opened/1, cancel/1, ack/2, data/2, eof/1, addressee/1, answer/1, value/2]).
-export([vocabulary/0]).
-export_type([id/0, frame/0, answer/0]).

%% `{Id, progress, {data, Binary}}' up to the length of the binary.
-define(PIECE_OF_DATA, 131, 104, 3, 110, 8, 0, _:64, 100, 8:16, "progress",
                       104, 2, 100, 4:16, "data", 109).

-type id() :: pos_integer().
-type frame() :: iodata() | fun(() -> iodata()).
-type answer() :: {ok, term()} | {error, {atom(), binary()}} | {progress, term()}.

%% @doc A request's frame. One with a password in it is sealed: a process that crashes has its last
%% message and its mailbox written to the log.
-spec request(id(), atom(), tuple()) -> frame().
request(Id, cluster_open, Arguments) ->
    Frame = encoded(Id, cluster_open, Arguments),
    fun() -> Frame end;
request(Id, Operation, Arguments) ->
    encoded(Id, Operation, Arguments).

encoded(Id, Operation, Arguments) ->
    term_to_binary({Id, Operation, Arguments}).

%% @doc A frame as it is written.
-spec opened(frame()) -> iodata().
opened(Sealed) when is_function(Sealed) -> Sealed();
opened(Frame) -> Frame.

%% @doc The answer is not wanted any more.
-spec cancel(id()) -> binary().
cancel(Id) ->
    term_to_binary({cancel, Id}).

%% @doc So many pieces of a streamed answer were taken.
-spec ack(id(), pos_integer()) -> binary().
ack(Id, Count) ->
    term_to_binary({ack, Id, Count}).

%% @doc The next piece of a streamed request: `{data, Id, Bytes}', written out so that the bytes are
%% not copied.
-spec data(id(), iodata()) -> iodata().
data(Id, Bytes) ->
    [<<131, 104, 3, 100, 4:16, "data", 110, 8, 0, Id:64/little, 109, (iolist_size(Bytes)):32>>
     | Bytes].

%% @doc The end of a streamed request.
-spec eof(id()) -> binary().
eof(Id) ->
    term_to_binary({eof, Id}).

%% @doc Who a frame is for, and whether it is the last one for it. The id's place and form in a
%% frame are fixed, so that the process through which all answers pass decodes none of them.
-spec addressee(ringtail_companion_frames:frame()) -> {id(), last | progress} | error.
addressee([First | _]) -> addressee(First);
addressee(<<131, 104, 3, 110, 8, 0, Id:64/little, 100, 2:16, "ok", _/binary>>) ->
    {Id, last};
addressee(<<131, 104, 3, 110, 8, 0, Id:64/little, 100, 5:16, "error", _/binary>>) ->
    {Id, last};
addressee(<<131, 104, 3, 110, 8, 0, Id:64/little, 100, 8:16, "progress", _/binary>>) ->
    {Id, progress};
addressee(_) ->
    error.

%% @doc What a frame says. A piece of an object, known by its form, stays where it lies: decoding
%% would copy it.
-spec answer(ringtail_companion_frames:frame()) -> answer().
answer([First | Others] = Frame) ->
    case First of
        <<?PIECE_OF_DATA, _:32, Part/binary>> -> {progress, {data, [Part | Others]}};
        _ -> decoded(ringtail_companion_frames:whole(Frame))
    end;
answer(<<?PIECE_OF_DATA, Size:32, Piece:Size/binary>>) ->
    {progress, {data, Piece}};
answer(Frame) ->
    decoded(Frame).

decoded(Frame) ->
    try binary_to_term(Frame, [safe]) of
        {_, ok, Value} ->
            {ok, Value};
        {_, progress, Value} ->
            {progress, Value};
        {_, error, {Code, Detail}} when is_binary(Code), is_binary(Detail) ->
            {error, known(Code, Detail)};
        _ ->
            bad_answer()
    catch
        error:badarg -> bad_answer()
    end.

bad_answer() ->
    {error, {bad_answer, <<"the companion's answer cannot be understood: install companion and "
                           "beams of the same version">>}}.

known(Code, Detail) ->
    try binary_to_existing_atom(Code, latin1) of
        Atom -> {Atom, Detail}
    catch
        error:badarg -> {companion_error, <<Code/binary, ": ", Detail/binary>>}
    end.

%% @doc The words that the companion says as atoms, and its codes of errors. Being named here makes
%% them atoms of the VM as soon as this module is loaded.
-spec vocabulary() -> [atom()].
vocabulary() ->
    [primary, fallback, undefined, joining, valid, leaving, exiting, down, invalid, dropped, opened,
     closed, same, primaries, any, more, head, data, whole, chunked, done, http, https, pb,
     bad_argument, bad_arity, unknown_operation, no_such_ring, document, frame_too_large,
     answer_too_large, busy, cancelled, id_in_use, internal,
     %% ringtail-core
     bad_atom, bad_compression, bad_percent, custom_keyfun, empty_ring, field_count,
     index_too_large, inflated_size, inflates_too_large, member_doubled, n_val_too_large,
     n_val_zero, not_a_ring, not_decimal, not_hex, odd_hex, off_grid, out_of_range, owner_doubled,
     owners_missing, owners_out_of_order, ring_too_large, too_deep, too_large, too_many_nodes,
     trailing_bytes, truncated, unexpected_term, unknown_status, unsupported_tag, bad_token,
     bad_canonical, bad_members, bad_owners, misfit, other_content, other_end, other_start,
     %% ringtail-client
     bad_answer, bad_seed, bad_tls, bad_request, not_ringtail, identity_mismatch, unreachable,
     unavailable, timeout, unknown_outcome, refused, no_bucket_type, local_io, not_primary,
     no_primary, no_such_cluster, broken_off, insecure_credentials].

%% @doc The value of an operation in the form the NIF gives it.
-spec value(atom(), term()) -> {ok, term()} | {error, {atom(), binary()}}.
value(Operation, Value) ->
    try
        {ok, converted(Operation, Value)}
    catch
        throw:{unknown_node, Name} -> {error, {unknown_node, Name}}
    end.

converted(Pairs, Value) when Pairs =:= owners; Pairs =:= primaries; Pairs =:= primaries_of_hash ->
    pairs(Value);
converted(Preflist, Value) when Preflist =:= preflist; Preflist =:= preflist_of_hash ->
    annotated(Value);
converted(primaries_many, Values) ->
    [pairs(Value) || Value <- Values];
converted(preflist_many, Values) ->
    [annotated(Value) || Value <- Values];
converted(ring_info, {Size, Cluster, Nodename, Claimant, Members, Pending, Rvsn, Vclock,
                      Resizing}) ->
    [{ring_size, Size}, {cluster_name, Cluster}, {nodename, Nodename}, {claimant, Claimant},
     {members, [{existing_node(Name), Status} || {Name, Status} <- Members]},
     {pending, Pending}, {rvsn_sum, Rvsn}, {vclock_sum, Vclock}, {resizing, Resizing}];
converted(_, Value) ->
    Value.

pairs(Pairs) ->
    [{Index, existing_node(Name)} || {Index, Name} <- Pairs].

annotated(Entries) ->
    [{{Index, existing_node(Name)}, Kind} || {{Index, Name}, Kind} <- Entries].

existing_node(Name) ->
    try
        binary_to_existing_atom(Name, utf8)
    catch
        error:_ -> throw({unknown_node, Name})
    end.
