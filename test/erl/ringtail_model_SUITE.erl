%% @doc Properties: the NIF says what the plain Erlang model of the rules says, for rings of any
%% size.
-module(ringtail_model_SUITE).

-include_lib("proper/include/proper.hrl").
-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0]).
-export([hashes/1, owners/1, preflists/1, documents/1, key_documents/1, damaged_rings/1]).

suite() ->
    [{timetrap, {minutes, 10}}].

all() ->
    [hashes, owners, preflists, documents, key_documents, damaged_rings].

hashes(_) -> holds(prop_hashes(), 2000).
owners(_) -> holds(prop_owners(), 100).
preflists(_) -> holds(prop_preflists(), 300).
documents(_) -> holds(prop_documents(), 60).
key_documents(_) -> holds(prop_key_documents(), 200).
damaged_rings(_) -> holds(prop_damaged_rings(), 2000).

holds(Property, Count) ->
    ?assertEqual(true, proper:quickcheck(Property, [{numtests, Count}, quiet])
                 =:= true orelse proper:counterexample()).

%% ---- Generators ----

%% Powers of two as Riak has them, odd sizes as its arithmetic allows them, small ones above all.
size() ->
    oneof([range(1, 20), range(1, 300), range(1, 8192), ?LET(Power, range(0, 13), 1 bsl Power)]).

node_names() ->
    ?LET(Count, range(1, 12), names(Count)).

names(Count) ->
    [list_to_atom("node" ++ integer_to_list(I) ++ "@10.1.0." ++ integer_to_list(I))
     || I <- lists:seq(1, Count)].

ring() ->
    ?LET({Size, Nodes}, {size(), node_names()},
         ?LET(Owners, vector(Size, elements(Nodes)), ringtail_model:ring(Size, Owners))).

form() -> elements([current, legacy, compressed]).
type() -> oneof([<<"default">>, <<"t">>, binary()]).
keyfun() -> elements([std, bucketonly]).
key() -> {type(), binary(), binary()}.

up({_, Owners}) ->
    Known = lists:usort(Owners),
    oneof([Known, [], ?LET(Flags, vector(length(Known), boolean()),
                           [N || {N, true} <- lists:zip(Known, Flags)]),
           ['stranger@10.1.1.1' | Known]]).

n({Size, _}) ->
    ?LET(N, oneof([range(1, 5), range(1, Size), Size]), min(N, Size)).

bytes(Ring, current) -> term_to_binary(ringtail_model:term(Ring));
bytes(Ring, legacy) -> term_to_binary(ringtail_model:legacy_term(Ring));
bytes(Ring, compressed) -> term_to_binary(ringtail_model:term(Ring), [compressed]).

loaded(Ring, Form) ->
    {ok, Loaded} = ringtail_engine:load_ring(bytes(Ring, Form)),
    Loaded.

%% ---- Properties ----

prop_hashes() ->
    ?FORALL({{Type, Bucket, Key}, Keyfun}, {key(), keyfun()},
            begin
                Hash = ringtail_model:hash(Type, Bucket, Key, Keyfun),
                ringtail_engine:chash(Type, Bucket, Key, Keyfun) =:= {ok, <<Hash:160>>}
            end).

prop_owners() ->
    ?FORALL({{Size, _} = Ring, Form}, {ring(), form()},
            begin
                Loaded = loaded(Ring, Form),
                ringtail_engine:owners(Loaded) =:= {ok, ringtail_model:owners(Ring)}
                    andalso ringtail_engine:ring_size(Loaded) =:= {ok, Size}
            end).

prop_preflists() ->
    ?FORALL({Ring, Form, Keys}, {ring(), form(), non_empty(list(key()))},
            ?FORALL({N, Up, Keyfun}, {n(Ring), up(Ring), keyfun()},
                    begin
                        Loaded = loaded(Ring, Form),
                        Hashes = [ringtail_model:hash(T, B, K, Keyfun) || {T, B, K} <- Keys],
                        Primaries = [ringtail_model:primaries(Ring, Hash, N) || Hash <- Hashes],
                        Preflists = [ringtail_model:preflist(Ring, Hash, N, Up) || Hash <- Hashes],
                        Primaries =:= [ok(ringtail_engine:primaries(Loaded, T, B, K, Keyfun, N))
                                       || {T, B, K} <- Keys]
                            andalso Preflists =:= [ok(ringtail_engine:preflist(Loaded, T, B, K,
                                                                               Keyfun, N, Up))
                                                   || {T, B, K} <- Keys]
                            andalso Primaries =:= ok(ringtail_engine:primaries_many(Loaded, Keys,
                                                                                    Keyfun, N))
                            andalso Preflists =:= ok(ringtail_engine:preflist_many(Loaded, Keys,
                                                                                   Keyfun, N, Up))
                    end)).

prop_documents() ->
    ?FORALL({{Size, Nodes} = Ring, Form}, {ring(), form()},
            begin
                Loaded = loaded(Ring, Form),
                Owners = [{integer_to_binary(Index), atom_to_binary(Node, utf8)}
                          || {Index, Node} <- ringtail_model:owners(Ring)],
                Summary = decoded(ringtail_engine:document(Loaded, ring_summary_owners)),
                Shares =
                    [{binary_to_existing_atom(ringtail_test_util:get(node, M), utf8),
                      ringtail_test_util:get(partitions, M)}
                     || M <- ringtail_test_util:get(members, Summary)],
                decoded(ringtail_engine:document(Loaded, cluster_preflist)) =:= {struct, Owners}
                    andalso ringtail_test_util:get(ring_size, Summary) =:= Size
                    andalso ringtail_test_util:get(owners, Summary)
                    =:= [{struct, [{<<"index">>, Index}, {<<"node">>, Node}]}
                         || {Index, Node} <- Owners]
                    andalso (Form =:= legacy orelse
                             lists:sort(Shares) =:= [{Node,
                                                      length([x || Owner <- Nodes, Owner =:= Node])}
                                                     || Node <- lists:usort(Nodes)])
            end).

prop_key_documents() ->
    ?FORALL({Ring, {Type, Bucket, Key}}, {ring(), key()},
            ?FORALL({N, Up, Keyfun}, {n(Ring), up(Ring), keyfun()},
                    begin
                        Loaded = loaded(Ring, current),
                        Hash = ringtail_model:hash(Type, Bucket, Key, Keyfun),
                        Position = fun(Index) -> Index div ((1 bsl 160) div element(1, Ring)) end,
                        Entry = fun({Index, Node}, Primary) ->
                                        {struct, [{<<"node">>, atom_to_binary(Node, utf8)},
                                                  {<<"partition">>, Position(Index)},
                                                  {<<"index">>, integer_to_binary(Index)},
                                                  {<<"primary">>, Primary},
                                                  {<<"up">>, lists:member(Node, Up)}]}
                                end,
                        Document = fun(Kind) ->
                                           decoded(ringtail_engine:key_document(Loaded, Kind, Type,
                                                                                Bucket, Key, Keyfun,
                                                                                N, Up))
                                   end,
                        Primaries = [Entry(E, true)
                                     || E <- ringtail_model:primaries(Ring, Hash, N)],
                        Preflist = [Entry(E, Kind =:= primary)
                                    || {E, Kind} <- ringtail_model:preflist(Ring, Hash, N, Up)],
                        Document(primaries) =:= {struct, [{<<"preflist">>, Primaries}]}
                            andalso Document(preflist) =:= {struct, [{<<"preflist">>, Preflist}]}
                    end)).

%% Whatever is done to its bytes, a ring loads or is refused with a code and a sentence.
prop_damaged_rings() ->
    ?FORALL({Size, Form, Damage}, {range(1, 16), form(), damage()},
            begin
                Bytes = bytes(ringtail_model:ring(Size, lists:duplicate(Size, 'node1@10.1.0.1')),
                              Form),
                case ringtail_engine:load_ring(damaged(Bytes, Damage)) of
                    {ok, Loaded} -> is_integer(ok(ringtail_engine:ring_size(Loaded)));
                    {error, {Code, Detail}} ->
                        is_atom(Code) andalso is_binary(Detail) andalso Detail =/= <<>>
                end
            end).

damage() ->
    oneof([{cut, float(0.0, 1.0)}, {flip, float(0.0, 1.0), range(1, 255)},
           {insert, float(0.0, 1.0), binary()}, {append, binary()}]).

damaged(Bytes, {cut, At}) ->
    binary:part(Bytes, 0, place(Bytes, At));
damaged(Bytes, {flip, At, Bits}) ->
    {Before, <<Byte, After/binary>>} = split_binary(Bytes, place(Bytes, At)),
    <<Before/binary, (Byte bxor Bits), After/binary>>;
damaged(Bytes, {insert, At, More}) ->
    {Before, After} = split_binary(Bytes, place(Bytes, At)),
    <<Before/binary, More/binary, After/binary>>;
damaged(Bytes, {append, More}) ->
    <<Bytes/binary, More/binary>>.

place(Bytes, At) ->
    min(trunc(At * byte_size(Bytes)), byte_size(Bytes) - 1).

ok({ok, Value}) -> Value.

decoded({ok, Json}) -> mochijson2:decode(Json).
