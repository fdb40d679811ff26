%% @doc The NIF's answers against what real Riak said (test/vectors), and against the model.
-module(ringtail_nif_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0]).
-export([every_ring_of_the_vectors/1, every_hash_of_the_vectors/1,
         every_preflist_of_the_vectors/1, documents_of_every_ring/1, key_documents/1,
         batches_equal_single_calls/1, batch_longer_than_a_slice/1, console_calls/1,
         indices_of_every_size/1, many_readers_of_one_ring/1, check_without_riak_core/1,
         check_with_riak_core/1]).

suite() ->
    [{timetrap, {minutes, 5}}].

all() ->
    [every_ring_of_the_vectors, every_hash_of_the_vectors, every_preflist_of_the_vectors,
     documents_of_every_ring, key_documents, batches_equal_single_calls,
     batch_longer_than_a_slice, console_calls, indices_of_every_size, many_readers_of_one_ring,
     check_without_riak_core, check_with_riak_core].

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

%% ---- Handles, console ----

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
    ringtail_test_util:load(Name).

node_atom(Name) ->
    ringtail_test_util:atom(Name).
