%% The stand-in's ring, hash and preference lists against what riak_core itself
%% said of the same rings and keys.
-module(standin_ring_tests).

-include_lib("eunit/include/eunit.hrl").
-include("riak/src/standin_ring.hrl").

vectors(Name) -> filename:join(os:getenv("STANDIN_VECTORS"), Name).

lines(Name) ->
    {ok, Bin} = file:read_file(vectors(Name)),
    [Props || Line <- binary:split(Bin, <<"\n">>, [global, trim_all]),
              {struct, Props} <- [mochijson2:decode(Line)]].

get(Key, Props) -> proplists:get_value(Key, Props).

hex(Text) -> binary:decode_hex(Text).

ring(Name) ->
    {ok, Bin} = file:read_file(vectors(filename:join("rings", Name ++ ".etf"))),
    binary_to_term(Bin).

node_name(Bin) -> binary_to_atom(Bin, utf8).

rings_test_() ->
    Names = [filename:basename(F, ".json") || F <- filelib:wildcard(vectors("rings/*.json"))],
    ?assert(length(Names) >= 15),
    [{Name, fun() -> says(Name) end} || Name <- Names].

says(Name) ->
    {ok, Bin} = file:read_file(vectors(filename:join("rings", Name ++ ".json"))),
    {struct, Want} = mochijson2:decode(Bin),
    Ring = ring(Name),
    Owners = [{binary_to_integer(I), node_name(N)} || [I, N] <- get(<<"owners">>, Want)],
    ?assertEqual(Owners, riak_core_ring:all_owners(Ring)),
    ?assertEqual(get(<<"ring_size">>, Want), riak_core_ring:num_partitions(Ring)),
    ?assertEqual(node_name(get(<<"claimant">>, Want)), riak_core_ring:claimant(Ring)),
    ?assertEqual(node_name(get(<<"nodename">>, Want)), riak_core_ring:owner_node(Ring)),
    ?assertEqual(get(<<"resizing">>, Want), riak_core_ring:is_resizing(Ring)),
    ?assertEqual([{node_name(get(<<"node">>, M)), node_name(get(<<"status">>, M))}
                  || {struct, M} <- get(<<"members">>, Want)],
                     riak_core_ring:all_member_status(Ring)),
    ?assertEqual([list_to_tuple([binary_to_integer(I) | [node_name(N) || N <- Rest]])
                  || [I | Rest] <- get(<<"pending">>, Want)],
                 [{I, Owner, Next, Status}
                  || {I, Owner, Next, _, Status} <- riak_core_ring:pending_changes(Ring)]),
    Sum = fun(Clock) -> lists:sum([Count || {_, {Count, _}} <- Clock]) end,
    ?assertEqual(get(<<"rvsn_sum">>, Want), Sum(riak_core_ring:ring_version(Ring))),
    ?assertEqual(get(<<"vclock_sum">>, Want), Sum(Ring#chstate_v2.vclock)),
    ?assertEqual(riak_core_ring:chash(Ring),
                 chashbin:to_chash(chashbin:create(riak_core_ring:chash(Ring)))).

chash_test() ->
    Lines = lines("chash.jsonl"),
    ?assert(length(Lines) >= 500),
    lists:foreach(fun(Line) ->
        [Type, Name, Key] = [hex(get(K, Line)) || K <- [<<"type">>, <<"bucket">>, <<"key">>]],
        Bucket = riak_kv_wm_utils:maybe_bucket_type(Type, Name),
        <<Std:160>> = riak_core_util:chash_std_keyfun({Bucket, Key}),
        <<Only:160>> = riak_core_util:chash_bucketonly_keyfun({Bucket, Key}),
        ?assertEqual({get(<<"std">>, Line), get(<<"bucketonly">>, Line)},
                     {integer_to_binary(Std), integer_to_binary(Only)})
    end, Lines).

preflists_test_() -> {timeout, 120, fun preflists/0}.

preflists() ->
    Lines = lines("preflists.jsonl"),
    ?assert(length(Lines) >= 500),
    Rings =
        maps:from_list([{R, ring(binary_to_list(R))}
                        || R <- lists:usort([get(<<"ring">>, L) || L <- Lines])]),
    lists:foreach(fun(Line) ->
        Ring = maps:get(get(<<"ring">>, Line), Rings),
        Hash =
            riak_core_util:chash_std_keyfun({hex(get(<<"bucket">>, Line)),
                                             hex(get(<<"key">>, Line))}),
        N = get(<<"n">>, Line),
        Up = [node_name(U) || U <- get(<<"up">>, Line)],
        Want = [{{binary_to_integer(I), node_name(Node)}, node_name(Kind)}
                || [I, Node, Kind] <- get(<<"apl">>, Line)],
        ?assertEqual(Want, riak_core_apl:get_apl_ann(Hash, N, Ring, Up)),
        Owners = [{binary_to_integer(I), node_name(Node)}
                  || [I, Node] <- get(<<"primaries">>, Line)],
        Bin = chashbin:create(riak_core_ring:chash(Ring)),
        ?assertEqual(Owners, element(1, chashbin:itr_pop(N, chashbin:iterator(Hash, Bin)))),
        ?assertEqual([P || {_, primary} = P <- Want],
                     riak_core_apl:get_primary_apl_chbin(Hash, N, Bin, Up)),
        <<Int:160>> = Hash,
        ?assertEqual(riak_core_ring:responsible_index(Hash, Ring),
                     chashbin:responsible_index(Int, Bin))
    end, Lines).

%% --- merging ---

base() ->
    R0 = riak_core_ring:fresh(8, a),
    R1 = lists:foldl(fun(N, R) -> riak_core_ring:set_member(a, R, N, valid) end, R0, [b, c]),
    riak_core_ring:change_owners(R1, [{I, lists:nth(P rem 3 + 1, [a, b, c])}
                                      || {P, {I, _}} <- lists:zip(lists:seq(0, 7),
                                                                  riak_core_ring:all_owners(R1))]).

descendant_wins_test() ->
    Mine = riak_core_ring:set_owner(base(), b),
    Theirs = riak_core_ring:update_meta(k, v, base()),
    {new_ring, Merged} = riak_core_ring:reconcile(Theirs, Mine),
    ?assertEqual({ok, v}, riak_core_ring:get_meta(k, Merged)),
    ?assertEqual(b, riak_core_ring:owner_node(Merged)),
    ?assertMatch({no_change, _}, riak_core_ring:reconcile(Mine, Merged)).

%% Two nodes writing at once, each its own member metadata: neither is lost.
members_merge_by_their_own_clocks_test() ->
    A = riak_core_ring:update_member_meta(a, base(), a, port, 1),
    B = riak_core_ring:update_member_meta(b, riak_core_ring:set_owner(base(), b), b, port, 2),
    {new_ring, M1} = riak_core_ring:reconcile(A, B),
    {new_ring, M2} = riak_core_ring:reconcile(B, A),
    [?assertEqual({1, 2}, {riak_core_ring:get_member_meta(M, a, port),
                           riak_core_ring:get_member_meta(M, b, port)})
     || M <- [M1, M2]],
    %% Same content under clocks that differ settles, and does not go round for ever.
    {new_ring, M3} = riak_core_ring:reconcile(M2, M1),
    ?assertMatch({new_ring, _}, riak_core_ring:reconcile(M3, M2)),
    {_, M4} = riak_core_ring:reconcile(M3, M2),
    {_, M5} = riak_core_ring:reconcile(M4, M3),
    ?assertMatch({no_change, _}, riak_core_ring:reconcile(M5, M5)).

ownership_goes_by_ring_version_test() ->
    [{Index, _} | _] = riak_core_ring:all_owners(base()),
    A = riak_core_ring:increment_ring_version(a,
                                              riak_core_ring:change_owners(base(), [{Index, c}])),
    B = riak_core_ring:update_meta(k, v, riak_core_ring:set_owner(base(), b)),
    {new_ring, M} = riak_core_ring:reconcile(A, B),
    ?assertEqual({c, {ok, v}}, {riak_core_ring:index_owner(M, Index),
                                riak_core_ring:get_meta(k, M)}).

%% Riak's property, not a nicety: of two writers within a second one is lost.
metadata_goes_by_the_second_test() ->
    Later = riak_core_ring:update_meta(k, old, base()),
    Entry = #meta_entry{value = new, lastmod = vclock:timestamp() + 5},
    Newer0 = riak_core_ring:update_meta(k, new, riak_core_ring:set_owner(base(), b)),
    Newer = Newer0#chstate_v2{meta = dict:store(k, Entry, Newer0#chstate_v2.meta)},
    {new_ring, M} = riak_core_ring:reconcile(Later, Newer),
    ?assertEqual({ok, new}, riak_core_ring:get_meta(k, M)).
