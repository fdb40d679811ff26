%% @doc The NIF against bad input: rings, arguments, names that the VM does not know, handles
%% that are none.
-module(ringtail_nif_input_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0]).
-export([bad_rings/1, bad_n/1, bad_arguments/1, empty_and_huge_keys/1, custom_keyfun/1,
         unknown_nodes_make_no_atoms/1, node_met_after_its_ring/1, foreign_handles/1]).

suite() ->
    [{timetrap, {minutes, 5}}].

all() ->
    [bad_rings, bad_n, bad_arguments, empty_and_huge_keys, custom_keyfun,
     unknown_nodes_make_no_atoms, node_met_after_its_ring, foreign_handles].

%% ---- Bad input ----

bad_rings(_) ->
    Good = ringtail_test_util:ring_bytes("spread8x3"),
    Term = binary_to_term(Good),
    {Size, Owners} = element(4, Term),
    [{FirstIndex, FirstNode} | RestOwners] = Owners,
    WithOwners = fun(NewSize, New) -> term_to_binary(setelement(4, Term, {NewSize, New})) end,
    Cases =
        [{truncated, binary:part(Good, 0, byte_size(Good) - 1)},
         {truncated, <<131>>},
         {trailing_bytes, <<Good/binary, 0>>},
         {not_a_ring, <<"no external term format at all">>},
         {not_a_ring, term_to_binary({some, other, term})},
         {not_a_ring, term_to_binary(42)},
         {truncated, <<>>},
         %% A list that claims four thousand million members.
         {truncated, <<131, 104, 11, 100, 10:16, "chstate_v2", 100, 1:16, "n", 108,
                       16#ffffffff:32>>},
         {empty_ring, WithOwners(0, [])},
         {owners_missing, WithOwners(Size, RestOwners)},
         {owner_doubled, WithOwners(Size, [{FirstIndex, FirstNode} | Owners])},
         {off_grid, WithOwners(Size, [{FirstIndex + 1, FirstNode} | RestOwners])},
         %% As zip bombs do, much larger than it looks.
         {inflates_too_large, term_to_binary({chstate, n, [], binary:copy(<<0>>, 80 bsl 20)},
                                             [compressed])}],
    lists:foreach(
      fun({Code, Bytes}) ->
              ct:log("~p", [Code]),
              ?assertMatch({{error, {Code, _}}, Code}, {ringtail_engine:load_ring(Bytes), Code}),
              {error, {_, Detail}} = ringtail_engine:load_ring(Bytes),
              ?assert(is_binary(Detail) andalso byte_size(Detail) > 10)
      end, Cases),
    deeply_nested(Good).

%% A million lists in each other where the metadata is: skipped without a deep stack, or refused;
%% never a crash.
deeply_nested(Good) ->
    Term = binary_to_term(Good),
    Marked = term_to_binary(setelement(5, Term, 'here goes the metadata')),
    [Before, After] = binary:split(Marked, term_without_version('here goes the metadata')),
    Depth = 1000000,
    Nested = [binary:copy(<<108, 1:32>>, Depth), 106, binary:copy(<<106>>, Depth)],
    case ringtail_engine:load_ring(iolist_to_binary([Before, Nested, After])) of
        {ok, Ring} -> ?assertEqual({ok, 8}, ringtail_engine:ring_size(Ring));
        {error, {Code, _}} -> ?assertEqual(too_deep, Code)
    end.

term_without_version(Term) ->
    <<131, Rest/binary>> = term_to_binary(Term),
    Rest.

bad_n(_) ->
    Ring = load("single8"),
    Primaries = fun(N) ->
                        ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std,
                                                  N) end,
    ?assertMatch({error, {n_val_zero, _}}, Primaries(0)),
    ?assertMatch({error, {n_val_too_large, _}}, Primaries(9)),
    ?assertMatch({error, {n_val_too_large, _}}, Primaries(1000)),
    ?assertMatch({ok, [_, _, _, _, _, _, _, _]}, Primaries(8)),
    [?assertMatch({error, {bad_argument, _}}, Primaries(N)) || N <- [-1, 1.5, three, 1 bsl 200]],
    Preflist = fun(N) ->
                       ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, N,
                                                all) end,
    ?assertMatch({error, {n_val_zero, _}}, Preflist(0)),
    ?assertMatch({error, {n_val_too_large, _}}, Preflist(9)).

bad_arguments(_) ->
    Ring = load("single8"),
    Bad = fun(Result) -> ?assertMatch({error, {bad_argument, <<_:8, _/binary>>}}, Result) end,
    Bad(ringtail_engine:load_ring(not_a_binary)),
    Bad(ringtail_engine:chash("list", <<"b">>, <<"k">>, std)),
    Bad(ringtail_engine:chash(<<"default">>, atom, <<"k">>, std)),
    Bad(ringtail_engine:chash(<<"default">>, <<"b">>, 1, std)),
    Bad(ringtail_engine:chash(<<"default">>, <<"b">>, <<1:1>>, std)),
    Bad(ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, "std")),
    Bad(ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3, none)),
    Bad(ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3,
                                 ["riak1@10.0.0.1"])),
    Bad(ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3,
                                 ['riak1@10.0.0.1' | improper])),
    Bad(ringtail_engine:primaries_many(Ring, no_list, std, 3)),
    Bad(ringtail_engine:primaries_many(Ring, [{<<"b">>, <<"k">>}], std, 3)),
    Bad(ringtail_engine:primaries_many(Ring, [{<<"default">>, <<"b">>, <<"k">>} | improper], std,
                                       3)),
    Bad(ringtail_engine:primaries_many(Ring, [{<<"default">>, <<"b">>, k}], std, 3)).

empty_and_huge_keys(_) ->
    Huge = binary:copy(<<"0123456789abcdef">>, 65536),
    ?assertEqual(1 bsl 20, byte_size(Huge)),
    Ring = load("spread64x5"),
    lists:foreach(
      fun({Type, Bucket, Key, Keyfun}) ->
              Hash = ringtail_model:hash(Type, Bucket, Key, Keyfun),
              ?assertEqual({ok, <<Hash:160>>}, ringtail_engine:chash(Type, Bucket, Key, Keyfun)),
              ?assertMatch({ok, [_, _, _]}, ringtail_engine:primaries(Ring, Type, Bucket, Key,
                                                                      Keyfun, 3)),
              ?assertMatch({ok, [_, _, _]}, ringtail_engine:preflist(Ring, Type, Bucket, Key,
                                                                     Keyfun, 3, all))
      end, [{Type, Bucket, Key, Keyfun} || Type <- [<<"default">>, <<"t">>, <<>>],
            Bucket <- [<<>>, <<"b">>, Huge],
                                           Key <- [<<>>, <<0>>, Huge], Keyfun <- [std,
                                                                                  bucketonly]]).

custom_keyfun(_) ->
    Hash = ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, std),
    ?assertEqual(Hash, ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>,
                                             {riak_core_util, chash_std_keyfun})),
    ?assertEqual(ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, bucketonly),
                 ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>,
                                       {riak_core_util, chash_bucketonly_keyfun})),
    ?assertMatch({error, {custom_keyfun, _}},
                 ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, {my, keyfun})),
    ?assertMatch({error, {custom_keyfun, _}},
                 ringtail_engine:primaries(load("single8"), <<"default">>, <<"b">>, <<"k">>,
                                           {my, keyfun}, 3)).

%% ---- Atoms ----

%% The names are made as binaries only, so that the VM does not know them before the ring comes.
unknown_nodes_make_no_atoms(_) ->
    Names = [iolist_to_binary(io_lib:format("never~w@met.example", [I])) || I <- lists:seq(1, 8)],
    Bytes = ring_of_unknown(Names),
    %% All of it once before: code that is loaded brings atoms.
    {ok, Warm} = ringtail_engine:load_ring(Bytes),
    _ = ringtail_engine:primaries(Warm, <<"default">>, <<"b">>, <<"k">>, std, 3),
    _ = ringtail_engine:preflist(Warm, <<"default">>, <<"b">>, <<"k">>, std, 3, all),
    _ = ringtail_engine:owners(Warm),
    {ok, WarmMap} = ringtail_engine:document(Warm, cluster_preflist),
    _ = mochijson2:decode(WarmMap),
    Before = erlang:system_info(atom_count),
    {ok, Ring} = ringtail_engine:load_ring(Bytes),
    {error, {unknown_node, Name}} =
        ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3),
    ?assert(lists:member(Name, Names)),
    ?assertMatch({error, {unknown_node, _}},
                 ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3, all)),
    ?assertMatch({error, {unknown_node, _}}, ringtail_engine:owners(Ring)),
    ?assertEqual({ok, []}, ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3,
                                                    [])),
    {ok, Map} = ringtail_engine:document(Ring, cluster_preflist),
    {struct, Members} = mochijson2:decode(Map),
    ?assertEqual(Names, [Node || {_, Node} <- Members]),
    ?assertEqual(Before, erlang:system_info(atom_count)),
    [?assertError(badarg, binary_to_existing_atom(N, utf8)) || N <- Names],
    ok.

node_met_after_its_ring(_) ->
    %% The second name has a letter that Latin-1 lacks. Names are new ones at every run: an atom is
    %% for ever.
    Run = integer_to_binary(erlang:unique_integer([positive])),
    lists:foreach(
      fun(Name) ->
              {ok, Ring} = ringtail_engine:load_ring(ring_of_unknown([Name])),
              Primaries =
                  fun() -> ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std,
                                                     1) end,
              ?assertEqual({error, {unknown_node, Name}}, Primaries()),
              Node = ringtail_test_util:atom(Name),
              ?assertEqual({ok, [{{0, Node}, primary}]},
                           ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, 1,
                                                    [Node])),
              ?assertEqual({ok, [{0, Node}]}, Primaries())
      end, [<<"latecomer", Run/binary, Letter/binary, "@10.9.9.9">>
            || Letter <- [<<>>, <<197, 130>>, <<195, 169>>]]).

%% A legacy ring in external term format, written without its atoms.
ring_of_unknown(Names) ->
    Size = length(Names),
    Atom = fun(Name) -> [119, byte_size(Name), Name] end,
    Index = fun(0) -> [97, 0];
               (I) -> term_without_version(I * ((1 bsl 160) div Size))
            end,
    Owners = [[104, 2, Index(I), Atom(Name)]
              || {I, Name} <- lists:zip(lists:seq(0, Size - 1), Names)],
    iolist_to_binary([131, 104, 5, Atom(<<"chstate">>), Atom(hd(Names)), 106,
                      104, 2, term_without_version(Size), 108, <<Size:32>>, Owners, 106,
                      term_without_version(dict:new())]).

%% ---- Handles, console ----

foreign_handles(_) ->
    Bad = [make_ref(), self(), undefined, <<"ring">>, {ringtail_ring, make_ref(), 8}],
    [begin
         ?assertMatch({error, {foreign_ring, _}},
                      ringtail_engine:primaries(R, <<"default">>, <<"b">>, <<"k">>, std, 3)),
         ?assertMatch({error, {foreign_ring, _}},
                      ringtail_engine:preflist(R, <<"default">>, <<"b">>, <<"k">>, std, 3, all)),
         ?assertMatch({error, {foreign_ring, _}}, ringtail_engine:owners(R)),
         ?assertMatch({error, {foreign_ring, _}}, ringtail_engine:document(R, cluster_preflist))
     end || R <- Bad],
    ok.

%% ---- Shared ----

load(Name) ->
    ringtail_test_util:load(Name).
