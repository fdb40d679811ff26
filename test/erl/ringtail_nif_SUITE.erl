%% @doc The NIF against what real Riak said (test/vectors), against bad input, and as a guest in a
%% VM that must stay healthy.
-module(ringtail_nif_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0]).
-export([every_ring_of_the_vectors/1, every_hash_of_the_vectors/1, every_preflist_of_the_vectors/1,
         documents_of_every_ring/1, key_documents/1, batches_equal_single_calls/1,
         batch_longer_than_a_slice/1,
         bad_rings/1, bad_n/1, bad_arguments/1, empty_and_huge_keys/1, custom_keyfun/1,
         unknown_nodes_make_no_atoms/1, node_met_after_its_ring/1, foreign_handles/1,
         console_calls/1,
         panic_is_an_exception/1, indices_of_every_size/1, many_readers_of_one_ring/1,
         large_input_takes_the_dirty_way/1, a_long_key_left_its_caller_all_of_its_slice/1,
         rings_leave_no_memory_behind/1,
         every_stub_has_its_nif/1, versions_agree/1, check_without_riak_core/1,
         check_with_riak_core/1]).

suite() ->
    [{timetrap, {minutes, 5}}].

all() ->
    [every_ring_of_the_vectors, every_hash_of_the_vectors, every_preflist_of_the_vectors,
     documents_of_every_ring,
     key_documents, batches_equal_single_calls, batch_longer_than_a_slice, bad_rings, bad_n,
     bad_arguments,
     empty_and_huge_keys, custom_keyfun, unknown_nodes_make_no_atoms, node_met_after_its_ring,
     foreign_handles,
     console_calls, panic_is_an_exception, indices_of_every_size, many_readers_of_one_ring,
     large_input_takes_the_dirty_way, a_long_key_left_its_caller_all_of_its_slice,
     rings_leave_no_memory_behind,
     every_stub_has_its_nif, versions_agree, check_without_riak_core, check_with_riak_core].

%% ---- Vectors ----

every_ring_of_the_vectors(_) ->
    Names = ringtail_test_util:ring_names(),
    ?assert(length(Names) > 10),
    lists:foreach(fun ring_as_recorded/1, Names).

ring_as_recorded(Name) ->
    ct:log("~s", [Name]),
    Recorded = ringtail_test_util:json_file("rings/" ++ Name ++ ".json"),
    Get = fun(Key) -> ringtail_test_util:get(Key, Recorded) end,
    Owners = [{binary_to_integer(Index), node_atom(Node)} || [Index, Node] <- Get(owners)],
    Members = [{node_atom(ringtail_test_util:get(node, Member)),
                binary_to_existing_atom(ringtail_test_util:get(status, Member), utf8)}
                    || Member <- Get(members)],
    Ring = load(Name),
    ?assertEqual({ok, Get(ring_size)}, ringtail_engine:ring_size(Ring)),
    ?assertEqual({ok, Owners}, ringtail_engine:owners(Ring)),
    {ok, Info} = ringtail_engine:ring_info(Ring),
    Said = fun(Key) -> proplists:get_value(Key, Info) end,
    ?assertEqual(Get(ring_size), Said(ring_size)),
    ?assertEqual(Members, lists:sort(Said(members))),
    ?assertEqual(Get(claimant), Said(claimant)),
    ?assertEqual(Get(nodename), Said(nodename)),
    ?assertEqual(Get(cluster_name), Said(cluster_name)),
    ?assertEqual(length(Get(pending)), Said(pending)),
    ?assertEqual(Get(rvsn_sum), Said(rvsn_sum)),
    ?assertEqual(Get(vclock_sum), Said(vclock_sum)),
    ?assertEqual(Get(resizing), Said(resizing)).

every_hash_of_the_vectors(_) ->
    Lines = ringtail_test_util:lines("chash.jsonl"),
    ?assert(length(Lines) >= 500),
    lists:foreach(
      fun(Line) ->
              [Type, Bucket, Key] = [ringtail_test_util:hex(ringtail_test_util:get(K, Line))
                                     || K <- [type, bucket, key]],
              [Std, BucketOnly] = [binary_to_integer(ringtail_test_util:get(K, Line))
                                   || K <- [std, bucketonly]],
              ?assertEqual({ok, <<Std:160>>}, ringtail_engine:chash(Type, Bucket, Key, std)),
              ?assertEqual({ok, <<BucketOnly:160>>},
                           ringtail_engine:chash(Type, Bucket, Key, bucketonly))
      end, Lines).

every_preflist_of_the_vectors(_) ->
    Lines = ringtail_test_util:lines("preflists.jsonl"),
    ?assert(length(Lines) >= 500),
    lists:foldl(fun preflist_as_recorded/2, dict:new(), Lines),
    ok.

preflist_as_recorded(Line, Loaded0) ->
    Get = fun(Key) -> ringtail_test_util:get(Key, Line) end,
    {Ring, Loaded} = load_once(binary_to_list(Get(ring)), Loaded0),
    {Bucket, Key, N} = {ringtail_test_util:hex(Get(bucket)), ringtail_test_util:hex(Get(key)),
                        Get(n)},
    Up = [node_atom(Node) || Node <- Get(up)],
    Primaries = [{binary_to_integer(Index), node_atom(Node)} || [Index, Node] <- Get(primaries)],
    Annotated = [{{binary_to_integer(Index), node_atom(Node)}, binary_to_existing_atom(Kind, utf8)}
                 || [Index, Node, Kind] <- Get(apl)],
    ?assertEqual({ok, Primaries}, ringtail_engine:primaries(Ring, <<"default">>, Bucket, Key, std,
                                                            N)),
    ?assertEqual({ok, Annotated}, ringtail_engine:preflist(Ring, <<"default">>, Bucket, Key, std, N,
                                                           Up)),
    Loaded.

load_once(Name, Loaded) ->
    case dict:find(Name, Loaded) of
        {ok, Ring} ->
            {Ring, Loaded};
        error ->
            Ring = load(Name),
            {Ring, dict:store(Name, Ring, Loaded)}
    end.

%% ---- Documents ----

documents_of_every_ring(_) ->
    lists:foreach(
      fun(Name) ->
              Recorded = ringtail_test_util:json_file("rings/" ++ Name ++ ".json"),
              Ring = load(Name),
              {ok, Map} = ringtail_engine:document(Ring, cluster_preflist),
              Owners = ringtail_test_util:get(owners, Recorded),
              ?assertEqual({struct, [{Index, Node} || [Index, Node] <- Owners]},
                           mochijson2:decode(Map)),
              {ok, Short} = ringtail_engine:document(Ring, ring_summary),
              {ok, Long} = ringtail_engine:document(Ring, ring_summary_owners),
              Summary = mochijson2:decode(Short),
              lists:foreach(fun(Key) ->
                                    ?assertEqual(ringtail_test_util:get(Key, Recorded),
                                                 ringtail_test_util:get(Key, Summary))
                            end, [ring_size, cluster_name, claimant, nodename, rvsn_sum, vclock_sum,
                                  resizing]),
              ?assertEqual([{struct, [{<<"index">>, Index}, {<<"node">>, Node}]}
                            || [Index, Node] <- Owners],
                           ringtail_test_util:get(owners, mochijson2:decode(Long)))
      end, ringtail_test_util:ring_names()),
    ?assertMatch({error, {bad_argument, _}},
                 ringtail_engine:document(load("single8"), no_such_document)).

key_documents(_) ->
    Ring = load("spread64x5"),
    {ok, [{_, Down} | _] = Primaries} =
        ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3),
    {ok, Owners} = ringtail_engine:owners(Ring),
    Up = lists:usort([Node || {_, Node} <- Owners]) -- [Down],
    {ok, Preflist} = ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3, Up),
    Document = fun(Kind) ->
                       {ok, Json} = ringtail_engine:key_document(Ring, Kind, <<"default">>, <<"b">>,
                                                                 <<"k">>, std, 3, Up),
                       [{ringtail_test_util:get(index, Entry), ringtail_test_util:get(node, Entry),
                         ringtail_test_util:get(primary, Entry), ringtail_test_util:get(up, Entry)}
                        || Entry <- ringtail_test_util:get(preflist, mochijson2:decode(Json))]
               end,
    ?assertEqual([{integer_to_binary(I), atom_to_binary(N, utf8), K =:= primary, true}
                  || {{I, N}, K} <- Preflist],
                 Document(preflist)),
    ?assertEqual([{integer_to_binary(I), atom_to_binary(N, utf8), true, N =/= Down}
                  || {I, N} <- Primaries],
                 Document(primaries)).

%% ---- Batches ----

batches_equal_single_calls(_) ->
    Ring = load("spread256x7"),
    Keys = [{Type, <<B>>, <<K:32>>} || Type <- [<<"default">>, <<"t">>], B <- lists:seq(1, 5),
            K <- lists:seq(1, 50)],
    Up = ['riak1@10.0.0.1', 'riak3@10.0.0.3'],
    Each = fun(Fun) -> {ok, [Answer || {T, B, K} <- Keys, {ok, Answer} <- [Fun(T, B, K)]]} end,
    ?assertEqual(Each(fun(T, B, K) -> ringtail_engine:primaries(Ring, T, B, K, std, 3) end),
                 ringtail_engine:primaries_many(Ring, Keys, std, 3)),
    ?assertEqual(Each(fun(T, B, K) ->
                              ringtail_engine:preflist(Ring, T, B, K, bucketonly, 3, Up) end),
                 ringtail_engine:preflist_many(Ring, Keys, bucketonly, 3, Up)),
    ?assertEqual({ok, []}, ringtail_engine:primaries_many(Ring, [], std, 3)).

batch_longer_than_a_slice(_) ->
    Ring = load("spread64x5"),
    Keys = [{<<"default">>, <<"b">>, <<K:32>>} || K <- lists:seq(1, 3500)]
        ++ [{<<"default">>, <<"b">>, binary:copy(<<K>>, 700000)} || K <- lists:seq(1, 4)],
    {ok, Answers} = ringtail_engine:primaries_many(Ring, Keys, std, 3),
    ?assertEqual(length(Keys), length(Answers)),
    lists:foreach(fun({{T, B, K}, Answer}) ->
                          ?assertEqual({ok, Answer}, ringtail_engine:primaries(Ring, T, B, K, std,
                                                                               3))
                  end, lists:zip(Keys, Answers)).

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
    {ok, Warm} = ringtail_engine:load_ring(Bytes),
    _ = ringtail_engine:primaries(Warm, <<"default">>, <<"b">>, <<"k">>, std, 3),
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

console_calls(_) ->
    File = ringtail_test_util:vectors("rings/live4_my.etf"),
    {ok, Bytes} = file:read_file(File),
    Ring = ringtail:ring(Bytes),
    [_ | _] = Preflist = ringtail:preflist(File, {<<"maps">>, <<"users">>}, <<"user123">>, 3),
    ?assertEqual(Preflist, ringtail:preflist(Bytes, {<<"maps">>, <<"users">>}, <<"user123">>, 3)),
    ?assertEqual(Preflist, ringtail:preflist(binary_to_term(Bytes), {<<"maps">>, <<"users">>},
                                             <<"user123">>, 3)),
    ?assertEqual(Preflist, ringtail:preflist(Ring, {<<"maps">>, <<"users">>}, <<"user123">>, 3)),
    ?assertEqual([Entry || {Entry, primary} <- Preflist],
                 ringtail:primaries(Ring, {<<"maps">>, <<"users">>}, <<"user123">>, 3)),
    ?assertEqual(1054071012215827656055434182541603321753277352716,
                 ringtail:hash(<<"users">>, <<"user123">>)),
    ?assertEqual(proplists:get_value(ring_size, ringtail:info(Ring)),
                 length(ringtail:owners(Ring))),
    ?assertMatch({error, {no_ring_file, _}}, ringtail:ring("/no/such/file")),
    ?assertMatch({error, {bad_argument, _}}, ringtail:ring(17)).

%% ---- The VM stays healthy ----

panic_is_an_exception(_) ->
    ?assertError(nif_panicked, ringtail_nif:provoke_panic()),
    ?assertError(nif_panicked, ringtail_nif:provoke_panic_dirty()),
    ?assertMatch({ok, _}, ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, std)).

%% Sizes on the grid of literals, whose answers come by another way, and sizes that are not; three
%% entries, which come by yet another, and other numbers of them.
indices_of_every_size(_) ->
    Nodes = {'riak1@10.0.0.1', 'riak2@10.0.0.2', 'riak7@10.0.0.7'},
    Sizes = [1 bsl Power || Power <- lists:seq(0, 13)] ++ [3, 5, 12, 100, 1023, 4097],
    lists:foreach(
      fun(Size) ->
              Model = ringtail_model:ring(Size,
                                          [element(I rem 3 + 1, Nodes) || I <- lists:seq(1, Size)]),
              {ok, Ring} = ringtail_engine:load_ring(ringtail_model:term(Model)),
              [same_as_model(Ring, Model, <<Size:16, Key>>, N, Up)
               || Key <- lists:seq(1, 20), N <- [1, 2, 3, 4], N =< Size,
                  Up <- [all, tuple_to_list(Nodes), ['riak2@10.0.0.2'], []]]
      end, Sizes).

same_as_model(Ring, Model, Key, N, Up) ->
    Hash = ringtail_model:hash(<<"default">>, <<"b">>, Key, std),
    Primaries = ringtail_model:primaries(Model, Hash, N),
    Preflist = ringtail_model:preflist(Model, Hash, N,
                                       case Up of all ->
                                               lists:usort(element(2, Model)); _ -> Up end),
    ?assertEqual({ok, Primaries}, ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, Key, std,
                                                            N)),
    ?assertEqual({ok, Primaries}, ringtail_engine:primaries_of_hash(Ring, <<Hash:160>>, N)),
    ?assertEqual({ok, Preflist}, ringtail_engine:preflist(Ring, <<"default">>, <<"b">>, Key, std, N,
                                                          Up)),
    ?assertEqual({ok, Preflist}, ringtail_engine:preflist_of_hash(Ring, <<Hash:160>>, N, Up)).

many_readers_of_one_ring(_) ->
    Ring = load("spread1024x12"),
    {ok, Owners} = ringtail_engine:owners(Ring),
    Model = {1024, [Node || {_, Node} <- Owners]},
    Up = ['riak1@10.0.0.1', 'riak2@10.0.0.2', 'riak7@10.0.0.7'],
    Keys = [<<K:32>> || K <- lists:seq(1, 200)],
    Expected = [begin
                    Hash = ringtail_model:hash(<<"default">>, <<"b">>, Key, std),
                    {ringtail_model:primaries(Model, Hash, 3),
                     ringtail_model:preflist(Model, Hash, 3, Up)}
                end || Key <- Keys],
    Reader = fun() ->
                     [begin
                          {ok, Primaries} = ringtail_engine:primaries(Ring, <<"default">>, <<"b">>,
                                                                      Key, std, 3),
                          {ok, Preflist} = ringtail_engine:preflist(Ring, <<"default">>, <<"b">>,
                                                                    Key, std, 3, Up),
                          {ok, [Preflist]} =
                              ringtail_engine:preflist_many(Ring, [{<<"default">>, <<"b">>, Key}],
                                                            std, 3, Up),
                          {Primaries, Preflist}
                      end || Key <- Keys]
             end,
    Readers = [spawn_monitor(fun() -> exit({answers, Reader()}) end) || _ <- lists:seq(1, 50)],
    [receive {'DOWN', Monitor, process, Pid, Reason} ->
             ?assertEqual({answers, Expected}, Reason) end
     || {Pid, Monitor} <- Readers],
    ok.

%% No call may hold a normal scheduler for a millisecond: what could must run on a dirty one. The
%% sizes are the ones ringtail_engine promises; a ring of 20,000 partitions is larger than any.
large_input_takes_the_dirty_way(_) ->
    Ring = load("spread1024x12"),
    LargeModel = ringtail_model:ring(20000, lists:duplicate(20000, 'riak1@10.0.0.1')),
    {ok, Large} = ringtail_engine:load_ring(ringtail_model:legacy_term(LargeModel)),
    Long = binary:copy(<<"k">>, 32768),
    Short = <<"k">>,
    ManyUp = ['riak1@10.0.0.1' || _ <- lists:seq(1, 257)],
    Chash = fun(Key) -> fun() -> ringtail_engine:chash(<<"default">>, <<"b">>, Key, std) end end,
    Primaries = fun(R, Key, N) ->
                        fun() -> ringtail_engine:primaries(R, <<"default">>, <<"b">>, Key, std,
                                                           N) end end,
    Preflist = fun(R, Key, N, Up) ->
                       fun() -> ringtail_engine:preflist(R, <<"default">>, <<"b">>, Key, std, N,
                                                         Up) end
               end,
    lists:foreach(
      fun({Expected, Call}) -> ?assertEqual([Expected], called(Call)) end,
      [{chash, Chash(Short)}, {chash_dirty, Chash(Long)},
       {primaries, Primaries(Ring, Short, 3)}, {primaries_dirty, Primaries(Ring, Long, 3)},
       {primaries_dirty, Primaries(Ring, Short, 257)},
       {primaries_dirty, Primaries(Large, Short, 3)},
       {preflist, Preflist(Ring, Short, 3, all)}, {preflist_dirty, Preflist(Ring, Long, 3, all)},
       {preflist_dirty, Preflist(Ring, Short, 257, all)},
       {preflist_dirty, Preflist(Ring, Short, 3, ManyUp)},
       {preflist_dirty, Preflist(Large, Short, 3, all)}]).

%% The functions of ringtail_nif that a call calls.
called(Call) ->
    Traced = spawn_link(fun() -> receive go -> {ok, _} = Call() end end),
    1 = erlang:trace(Traced, true, [call]),
    _ = erlang:trace_pattern({ringtail_nif, '_', '_'}, true, [global]),
    Monitor = monitor(process, Traced),
    Traced ! go,
    receive {'DOWN', Monitor, process, Traced, Reason} -> ?assertEqual(normal, Reason) end,
    Delivered = erlang:trace_delivered(Traced),
    receive {trace_delivered, Traced, Delivered} -> ok end,
    _ = erlang:trace_pattern({ringtail_nif, '_', '_'}, false, [global]),
    traced(Traced).

traced(Pid) ->
    receive {trace, Pid, call, {ringtail_nif, Function, _}} -> [Function | traced(Pid)]
    after 0 -> []
    end.

%% What a call takes is counted in reductions, 40 for each hundredth of a slice; a short one is left
%% at what it costs anyway.
a_long_key_left_its_caller_all_of_its_slice(_) ->
    Ring = load("spread1024x12"),
    {ok, Uuid} = ringtail_engine:node_uuid(<<"6ba7b810-9dad-11d1-80b4-00c04fd430c8">>, <<"n@h">>),
    Up = ['riak1@10.0.0.1'],
    Calls = [{chash, fun(Key) -> ringtail_nif:chash(<<"t">>, <<"b">>, Key, std) end},
             {primaries, fun(Key) ->
                                 ringtail_engine:primaries(Ring, <<"t">>, <<"b">>, Key, std,
                                                           3) end},
             {preflist, fun(Key) ->
                                ringtail_engine:preflist(Ring, <<"t">>, <<"b">>, Key, std, 3,
                                                         all) end},
             {bucket, fun(Bucket) ->
                              ringtail_engine:primaries(Ring, <<"t">>, Bucket, <<"k">>, std,
                                                        3) end},
             {node_uuid, fun(Name) -> ringtail_nif:node_uuid(Uuid, Name) end}],
    [begin
         [None, Little, Much] = [reductions(Call, binary:copy(<<"k">>, Bytes))
                                 || Bytes <- [30, 3000, 30000]],
         ct:log("~w: ~w, ~w, ~w reductions", [Name, None, Little, Much]),
         ?assert(None < 40),
         ?assert(Little >= 40 andalso Little < 200),
         ?assert(Much >= 400)
     end || {Name, Call} <- Calls],
    %% Many entries, and a walk round the ring for those who stand in.
    Hash = <<0:160>>,
    Few = reductions(fun(N) -> ringtail_engine:primaries_of_hash(Ring, Hash, N) end, 3),
    Many = reductions(fun(N) -> ringtail_engine:primaries_of_hash(Ring, Hash, N) end, 256),
    AllUp = reductions(fun(Who) -> ringtail_engine:preflist_of_hash(Ring, Hash, 3, Who) end, all),
    OneUp = reductions(fun(Who) -> ringtail_engine:preflist_of_hash(Ring, Hash, 3, Who) end, Up),
    ct:log("~w and ~w entries: ~w, ~w reductions; all and one up: ~w, ~w",
           [3, 256, Few, Many, AllUp, OneUp]),
    ?assert(Few < 40 andalso Many >= Few + 80),
    ?assert(AllUp < 40 andalso OneUp >= AllUp + 40).

%% In a process of its own that is not swept meanwhile, which counts too. Of several the least, for
%% the first loads code.
reductions(Call, Argument) ->
    Self = self(),
    Count = fun() ->
                    {reductions, Before} = process_info(self(), reductions),
                    {ok, _} = Call(Argument),
                    {reductions, After} = process_info(self(), reductions),
                    After - Before
            end,
    Pid = spawn_opt(fun() -> Self ! {self(), [Count() || _ <- lists:seq(1, 5)]} end,
                    [link, {min_heap_size, 100000}]),
    receive {Pid, Counts} -> lists:min(Counts) end.

rings_leave_no_memory_behind(_) ->
    Bytes = ringtail_test_util:ring_bytes("spread8x3"),
    load_and_drop(Bytes, 20000),
    Before = resident(),
    load_and_drop(Bytes, 100000),
    After = resident(),
    ct:log("resident pages: ~w before, ~w after", [Before, After]),
    ?assert(After =< Before * 1.1).

%% In processes of their own, so that nothing but the rings themselves could hold memory.
load_and_drop(_, 0) ->
    ok;
load_and_drop(Bytes, Count) ->
    {Pid, Monitor} = spawn_monitor(fun() -> [load_and_use(Bytes) || _ <- lists:seq(1, 1000)] end),
    receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertMatch(normal, Reason) end,
    load_and_drop(Bytes, Count - 1000).

load_and_use(Bytes) ->
    {ok, Ring} = ringtail_engine:load_ring(Bytes),
    {ok, [_, _, _]} = ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3),
    ok.

resident() ->
    erlang:garbage_collect(),
    {ok, Statm} = file:read_file("/proc/self/statm"),
    [_, Resident | _] = binary:split(Statm, <<" ">>, [global]),
    binary_to_integer(Resident).

every_stub_has_its_nif(_) ->
    ok = ringtail_nif:load(),
    Plain = [{load, 0}, {library, 0}, {module_info, 0}, {module_info, 1},
             {primaries, 6}, {preflist, 7}, {primaries_of_hash, 3}, {preflist_of_hash, 4}],
    Stubs = ringtail_nif:module_info(exports) -- Plain,
    {ok, {_, [{abstract_code, {_, Forms}}]}} =
        beam_lib:chunks(code:which(ringtail_nif), [abstract_code]),
    ?assertEqual(lists:sort(Stubs),
                 lists:sort([{Name, Arity}
                             || {function, _, Name, Arity, [{clause, _, _, _, [Body]}]} <- Forms,
                                              is_stub(Name, Body)])),
    Nifs = ringtail_nif:module_info(nifs),
    ?assertEqual(lists:sort(Stubs), lists:sort(Nifs)).

is_stub(Name, {call, _, {atom, _, first}, [{atom, _, Name}, _]}) -> true;
is_stub(_, _) -> false.

%% Cargo.toml, the application file, the module and the library say the same.
versions_agree(_) ->
    {ok, Cargo} = file:read_file(filename:join(ringtail_test_util:root(), "Cargo.toml")),
    {match, [Version]} = re:run(Cargo, "^version = \"(.*)\"$", [multiline, {capture, [1], list}]),
    ok = case application:load(ringtail) of
             ok -> ok;
             {error, {already_loaded, ringtail}} -> ok
         end,
    ?assertEqual({ok, Version}, application:get_key(ringtail, vsn)),
    ?assertEqual(list_to_binary(Version), ringtail_nif:version()),
    {ok, Library} = ringtail_nif:library(),
    ?assertEqual("ringtail_nif-" ++ Version, filename:basename(Library)).

%% ---- The check against riak_core ----

%% Other suites of the same run put the stand-in's riak_core on the path, and load it.
check_without_riak_core(_) ->
    Term = binary_to_term(ringtail_test_util:ring_bytes("spread64x5")),
    {ok, Ring} = ringtail_engine:load_ring(Term),
    StandIn = [Dir || Dir <- code:get_path(), filelib:is_regular(filename:join(Dir, "chash.beam"))],
    [true = code:del_path(Dir) || Dir <- StandIn],
    [forget(Module) || Module <- [chash, riak_core_ring]],
    try
        ?assertMatch({error, {no_riak_core, _}}, ringtail_engine_check:check(Ring, Term))
    after
        [true = code:add_pathz(Dir) || Dir <- StandIn]
    end.

%% With a stand-in for the two modules, told to be right and then wrong.
check_with_riak_core(_) ->
    Term = binary_to_term(ringtail_test_util:ring_bytes("spread64x5")),
    {ok, Ring} = ringtail_engine:load_ring(Term),
    stand_in(riak_core_ring, ["chash(Ring) -> element(4, Ring)."], "[chash/1]"),
    KeyOf = "key_of(Name) -> crypto:hash(sha, term_to_binary(Name)).",
    Right = "successors(<<H:160>>, {S, Owners}, N) ->"
        " ringtail_model:primaries({S, [Node || {_, Node} <- Owners]}, H, N).",
    try
        stand_in(chash, [KeyOf, Right], "[key_of/1, successors/3]"),
        ?assertEqual(ok, ringtail_engine_check:check(Ring, Term)),
        stand_in(chash, [KeyOf, "successors(_, {_, Owners}, N) -> lists:sublist(Owners, N)."],
                 "[key_of/1, successors/3]"),
        ?assertMatch({error, {disagrees, _}}, ringtail_engine_check:check(Ring, Term))
    after
        [forget(Module) || Module <- [chash, riak_core_ring]]
    end.

%% Old code first: a module that still has some cannot be deleted.
forget(Module) ->
    code:purge(Module),
    code:delete(Module),
    code:purge(Module).

stand_in(Module, Functions, Exports) ->
    Source =
        lists:flatten(["-module(", atom_to_list(Module), "). -export(", Exports, "). ",
                       [[Function, " "] || Function <- Functions]]),
    {ok, Tokens, _} = erl_scan:string(Source),
    Forms = [begin {ok, Form} = erl_parse:parse_form(Ts), Form end || Ts <- sentences(Tokens, [])],
    {ok, Module, Beam} = compile:forms(Forms),
    code:purge(Module),
    {module, Module} = code:load_binary(Module, atom_to_list(Module), Beam),
    ok.

sentences([], []) -> [];
sentences([{dot, _} = Dot | Rest], Sentence) ->
    [lists:reverse(Sentence, [Dot]) | sentences(Rest, [])];
sentences([Token | Rest], Sentence) -> sentences(Rest, [Token | Sentence]).

%% ---- Shared ----

load(Name) ->
    {ok, Ring} = ringtail_engine:load_ring(ringtail_test_util:ring_bytes(Name)),
    known_nodes(Ring, Name).

%% Makes the VM know the recorded ring's nodes; the library never does.
known_nodes(Ring, Name) ->
    Recorded = ringtail_test_util:json_file("rings/" ++ Name ++ ".json"),
    [node_atom(Node) || [_, Node] <- ringtail_test_util:get(owners, Recorded)],
    [node_atom(ringtail_test_util:get(node, Member))
     || Member <- ringtail_test_util:get(members, Recorded)],
    Ring.

node_atom(Name) ->
    ringtail_test_util:atom(Name).
