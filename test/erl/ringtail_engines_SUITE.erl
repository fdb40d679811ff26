%% @doc The companion answers what the NIF answers: the same vectors, the same properties, and the
%% same words for what is wrong.
-module(ringtail_engines_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0, groups/0, init_per_suite/1, end_per_suite/1, init_per_group/2,
         end_per_group/2]).
-export([nif_suite/1, model_suite/1, topology_suite/1]).
-export([calls_with_good_and_bad_arguments/1, bad_rings_get_the_same_words/1,
         unknown_nodes_are_named_alike/1,
         a_ring_stays_with_its_engine/1, engines_are_chosen/1, every_nif_has_its_operation/1]).

suite() ->
    [{timetrap, {minutes, 10}}].

all() ->
    [{group, as_the_nif}, {group, both}].

groups() ->
    [{as_the_nif, [], [nif_suite, model_suite, topology_suite]},
     {both, [], [calls_with_good_and_bad_arguments, bad_rings_get_the_same_words,
                 unknown_nodes_are_named_alike,
                 a_ring_stays_with_its_engine, engines_are_chosen, every_nif_has_its_operation]}].

init_per_suite(Config) ->
    Config.

end_per_suite(_) ->
    ringtail_companion:stop(),
    application:unset_env(ringtail, engine).

init_per_group(as_the_nif, Config) ->
    use(port),
    Config;
init_per_group(both, Config) ->
    Config.

end_per_group(_, _) ->
    application:unset_env(ringtail, engine).

use(Engine) ->
    application:set_env(ringtail, engine, Engine).

%% ---- The NIF's own cases, with the companion as the engine ----

%% Not ringtail_nif_library_SUITE, which is about what the companion does not have.
nif_suite(_) ->
    [each(Suite, Suite:all()) || Suite <- [ringtail_nif_SUITE, ringtail_nif_input_SUITE]].

model_suite(_) ->
    each(ringtail_model_SUITE, ringtail_model_SUITE:all()).

topology_suite(_) ->
    each(ringtail_engine_topology_SUITE, ringtail_engine_topology_SUITE:all()).

each(Suite, Cases) ->
    Before = answers(),
    [begin ct:log("~w", [Case]), Suite:Case([]) end || Case <- Cases],
    %% It was the companion that answered.
    ?assert(answers() > Before).

answers() ->
    proplists:get_value(answers, ringtail_companion:status(), 0).

%% ---- Answers compared ----

calls_with_good_and_bad_arguments(_) ->
    Rings = [{ring(nif, Name), ring(port, Name)}
             || Name <- ["live4_my", "spread8x3", "spread64x5"]],
    %% The same every time.
    _ = rand:seed(exsplus, {4, 7, 1}),
    Outcomes = lists:usort(lists:append([one_call(one_of(Rings)) || _ <- lists:seq(1, 6000)])),
    ct:log("~p", [Outcomes]),
    %% The calls were good enough and bad enough to mean something.
    [?assert(lists:member({Function, ok}, Outcomes)) || {Function, _} <- calls()],
    Codes = [Code || {_, Code} <- Outcomes],
    [?assert(lists:member(Code, Codes))
     || Code <- [bad_argument, n_val_zero, n_val_too_large, bad_token, bad_canonical]].

one_call({OfNif, OfPort}) ->
    {Function, Kinds} = one_of(calls()),
    %% One argument in a few is not what it should be.
    Arguments = [case rand:uniform(8) of
                     1 when Kind =/= ring -> junk();
                     _ -> argument(Kind)
                 end || Kind <- Kinds],
    Nif = answer(nif, Function, OfNif, Arguments),
    Port = answer(port, Function, OfPort, Arguments),
    ?assertEqual({Function, Arguments, Nif}, {Function, Arguments, Port}),
    case Nif of
        {error, {Code, _}} -> [{Function, Code}];
        _ -> [{Function, ok}]
    end.

answer(Engine, Function, Ring, Arguments) ->
    use(Engine),
    apply(ringtail_engine, Function,
          [case Argument of ring -> Ring; _ -> Argument end || Argument <- Arguments]).

calls() ->
    [{ring_size, [ring]}, {ring_info, [ring]}, {owners, [ring]}, {document, [ring, document]},
     {key_document, [ring, kind, name, name, name, keyfun, n, up]},
     {chash, [name, name, name, keyfun]},
     {primaries, [ring, name, name, name, keyfun, n]},
     {preflist, [ring, name, name, name, keyfun, n, up]},
     {primaries_many, [ring, keys, keyfun, n]},
     {preflist_many, [ring, keys, keyfun, n, up]},
     {primaries_of_hash, [ring, hash, n]},
     {preflist_of_hash, [ring, hash, n, up]},
     {topology, [ring]},
     {topology_document, [token, canonical, names]},
     {topology_difference, [token, canonical, token, canonical, names]},
     {node_uuid, [uuid, name]}].

argument(ring) -> ring;
argument(document) -> one_of([cluster_preflist, ring_summary, ring_summary_owners]);
argument(kind) -> one_of([preflist, primaries]);
argument(name) ->
    one_of([<<>>, <<"default">>, <<"users">>, <<0, 1, 2>>, <<"a key">>, <<195, 169>>,
            binary:copy(<<"long">>, 10000)]);
argument(keyfun) -> one_of([std, bucketonly, {riak_core_util, chash_std_keyfun}, {my, keyfun}]);
argument(n) -> one_of([1, 2, 3, 5, 8, 0, 9, 300, 1000000]);
argument(up) ->
    one_of([all, [], ['dev1@127.0.0.1'], ['riak1@10.0.0.1', 'riak2@10.0.0.2'],
            [nobody@nowhere, 'dev3@127.0.0.1'],
            [list_to_atom("n" ++ integer_to_list(I)) || I <- lists:seq(1, 300)]]);
argument(keys) ->
    [{argument(name), argument(name), argument(name)} || _ <- lists:seq(1, rand:uniform(5) - 1)];
argument(hash) ->
    one_of([<<0:160>>, <<-1:160>>, crypto:hash(sha, term_to_binary(rand:uniform(1000)))]);
argument(token) -> one_of([<<"4-9f3ac21b77d0e1aa">>, <<"5-0123456789abcdef">>, <<"5-">>, <<>>]);
argument(canonical) ->
    use(nif),
    {ok, _, _,
     Canonical} =
         ringtail_engine:topology(ring(nif, one_of(["live4_my", "spread8x3", "spread64x5"]))),
    one_of([Canonical, Canonical, Canonical, binary:part(Canonical, 0, byte_size(Canonical) div 2),
            <<>>]);
argument(names) -> one_of([[], [<<"dev1@127.0.0.1">>], [<<"nobody">>, <<"dev2@127.0.0.1">>]]);
argument(uuid) -> one_of([<<"6ba7b810-9dad-11d1-80b4-00c04fd430c8">>, <<"no uuid">>]).

%% Every kind of term there is.
junk() ->
    one_of([0, -1, 1 bsl 70, -(1 bsl 200), 1.5, atom, [], [1, 2, 3], "string", [a | b],
            [<<"a">> | <<"b">>], {}, {1}, {a, b, c},
            [{<<"a">>, <<"b">>, <<"c">>}, {<<"a">>}], [{<<"a">>, <<"b">>, <<"c">>} | tail], <<>>,
            <<1:3>>, <<255, 254>>,
            <<"x">>, self(), make_ref(), fun() -> self() end, fun lists:map/2, #{a => 1},
            hd(erlang:ports()),
            lists:foldl(fun(_, Deep) -> [Deep] end, [], lists:seq(1, 10000)),
            list_to_tuple(lists:seq(1, 300)),
            ['dev1@127.0.0.1', "dev2@127.0.0.1"], [<<255>>]]).

one_of(List) ->
    lists:nth(rand:uniform(length(List)), List).

bad_rings_get_the_same_words(_) ->
    Good = ringtail_test_util:ring_bytes("spread8x3"),
    Cut = [binary:part(Good, 0, Length) || Length <- lists:seq(0, byte_size(Good) - 1, 7)],
    Flipped = [begin
                   <<Before:At/binary, Byte, After/binary>> = Good,
                   <<Before/binary, (Byte bxor 16#ff), After/binary>>
               end || At <- lists:seq(0, byte_size(Good) - 1, 5)],
    Loaded = fun(Engine, Bytes) ->
                     use(Engine),
                     case ringtail_engine:load_ring(Bytes) of
                         {ok, Ring} -> ringtail_engine:document(Ring, ring_summary_owners);
                         {error, _} = Error -> Error
                     end
             end,
    [?assertEqual(Loaded(nif, Bytes), Loaded(port, Bytes))
     || Bytes <- Cut ++ Flipped ++ [<<Good/binary, 0>>, <<"junk">>, term_to_binary(x), [], ring,
                                    self()]],
    ok.

unknown_nodes_are_named_alike(_) ->
    %% As bytes only: the VM is not to know them.
    Atom = fun(Name) -> [119, byte_size(Name), Name] end,
    Names = [iolist_to_binary(io_lib:format("stranger~w@far.example", [I])) || I <- [1, 2, 3, 4]],
    Owners = [[104, 2, tail(I * (1 bsl 158)), Atom(Name)]
              || {I, Name} <- lists:zip([0, 1, 2, 3], Names)],
    Bytes =
        iolist_to_binary([131, 104, 5, Atom(<<"chstate">>), Atom(hd(Names)), 106, 104, 2, tail(4),
                          108, <<4:32>>, Owners,
                          106, tail(dict:new())]),
    Answers = [begin
                   use(Engine),
                   {ok, Ring} = ringtail_engine:load_ring(Bytes),
                   [ringtail_engine:owners(Ring),
                    ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std, 2),
                    ringtail_engine:preflist(Ring, <<"t">>, <<"b">>, <<"k">>, std, 2, all),
                    ringtail_engine:preflist(Ring, <<"t">>, <<"b">>, <<"k">>, std, 2, []),
                    ringtail_engine:primaries_many(Ring, [{<<"t">>, <<"b">>, <<"k">>}], std, 4)]
               end || Engine <- [nif, port]],
    [Nif, Port] = Answers,
    ?assertEqual(Nif, Port),
    ?assertEqual({error, {unknown_node, hd(Names)}}, hd(Port)).

tail(Term) ->
    <<131, Rest/binary>> = term_to_binary(Term),
    Rest.

a_ring_stays_with_its_engine(_) ->
    {OfNif, OfPort} = {ring(nif, "live4_my"), ring(port, "live4_my")},
    Before = answers(),
    use(port),
    {ok, Primaries} = ringtail_engine:primaries(OfNif, <<"default">>, <<"b">>, <<"k">>, std, 3),
    ?assertEqual(Before, answers()),
    use(nif),
    ?assertEqual({ok, Primaries}, ringtail_engine:primaries(OfPort, <<"default">>, <<"b">>, <<"k">>,
                                                            std, 3)),
    ?assertEqual(Before + 1, answers()).

engines_are_chosen(_) ->
    Forget = fun() -> application:unset_env(ringtail, automatic_engine) end,
    use(auto),
    Forget(),
    ?assertEqual(nif, ringtail_engine:name()),
    application:unset_env(ringtail, engine),
    ?assertEqual(nif, ringtail_engine:name()),
    use(port),
    ?assertEqual(port, ringtail_engine:name()),
    use(neither),
    ?assertEqual(nif, ringtail_engine:name()),
    ?assertMatch([_], [Problem || "{ringtail, engine}"
                       ++ _ = Problem <- ringtail_config:problems()]),
    %% In a VM that never loaded the library, where it is not found.
    Paths = [Dir || Dir <- code:get_path(), string:find(Dir, "ringtail") =/= nomatch],
    Eval = "application:set_env(ringtail, nif_path, \"/nowhere\"), "
        "{ok, Hash} = ringtail_engine:chash(<<\"default\">>, <<\"b\">>, <<\"k\">>, std), "
        "io:format(\"~s~n~w ~w~n\", "
        "[ringtail_engine:nif_problem(), ringtail_engine:name(), Hash]), halt().",
    Said = os:cmd("erl -noshell " ++ lists:append(["-pa " ++ Dir ++ " " || Dir <- Paths])
                  ++ "-eval '" ++ Eval ++ "'"),
    use(nif),
    {ok, Hash} = ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, std),
    %% Why is logged, and remembered.
    Lines = string:tokens(Said, "\n"),
    ?assertEqual(lists:flatten(io_lib:format("port ~w", [Hash])), lists:last(Lines)),
    Why = lists:nth(length(Lines) - 1, Lines),
    ?assertMatch("the NIF library does not load (no_library)" ++ _, Why),
    ?assertEqual([match], [match || Line <- Lines, lists:prefix("ringtail: the companion ", Line),
                           lists:suffix(Why, Line)]),
    ?assertEqual(none, ringtail_engine:nif_problem()).

%% All of ringtail_nif but what is about the library itself, and what it makes of its answers for
%% itself.
every_nif_has_its_operation(_) ->
    NotHere = [load, library, module_info, version, provoke_panic, provoke_panic_dirty,
               primaries_places, preflist_places, primaries_of_hash_places,
               preflist_of_hash_places],
    Functions = [{Name, Arity} || {Name, Arity} <- ringtail_nif:module_info(exports),
                 not lists:member(Name, NotHere)],
    Ring = ringtail_companion_ring(),
    [begin
         {error, {Code, _}} = ringtail_companion_engine:call(Name,
                                                             [Ring | lists:duplicate(Arity - 1,
                                                                                     junk)]),
         ?assertEqual({Name, bad_argument}, {Name, Code})
     end || {Name, Arity} <- Functions, Arity > 1],
    ok.

ringtail_companion_ring() ->
    {ok, Ring} = ringtail_companion_engine:call(ring_load,
                                                [ringtail_test_util:ring_bytes("live4_my")]),
    Ring.

ring(Engine, Name) ->
    Bytes = ringtail_test_util:ring_bytes(Name),
    %% The names of a cluster's nodes are atoms on its nodes; here they must become so first.
    _ = binary_to_term(Bytes),
    use(Engine),
    {ok, Ring} = ringtail_engine:load_ring(Bytes),
    Ring.
