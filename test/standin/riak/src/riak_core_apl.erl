%% Test support: active preference lists, by riak_core's rule: primaries that
%% are up, then for each that is down the next node that is up further along
%% the ring, standing in for that partition.
-module(riak_core_apl).

-export([get_apl/3, get_apl/4, get_apl_ann/2, get_apl_ann/3, get_apl_ann/4,
         get_apl_ann_with_pnum/1, get_primary_apl/3, get_primary_apl/4,
         get_primary_apl_chbin/4, active_owners/1, active_owners/2, first_up/2,
         offline_owners/1, offline_owners/2]).

get_apl(Hash, N, Service) ->
    plain(get_apl_ann(Hash, N, riak_core_node_watcher:nodes(Service))).

get_apl(Hash, N, Ring, Up) -> plain(get_apl_ann(Hash, N, Ring, Up)).

get_apl_ann({Bucket, Key}, Up) ->
    Props = riak_core_bucket:get_bucket(Bucket),
    Hash = riak_core_util:chash_key({Bucket, Key}, Props),
    get_apl_ann(Hash, proplists:get_value(n_val, Props), Up).

get_apl_ann(Hash, N, Up) ->
    {ok, Bin} = riak_core_ring_manager:get_chash_bin(),
    {Primaries, Rest} = chashbin:itr_pop(N, chashbin:iterator(Hash, Bin)),
    annotate(Primaries, fun next_of/1, Rest, Up).

get_apl_ann(Hash, N, Ring, Up) ->
    {Primaries, Rest} = lists:split(N, riak_core_ring:preflist(Hash, Ring)),
    annotate(Primaries, fun pop/1, Rest, Up).

%% Takes all members to be up, as riak_core does.
get_apl_ann_with_pnum(BKey) ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    Inc = chash:ring_increment(riak_core_ring:num_partitions(Ring)),
    [{{Index div Inc, Node}, Kind}
     || {{Index, Node}, Kind} <- get_apl_ann(BKey, riak_core_ring:all_members(Ring))].

get_primary_apl(Hash, N, Service) ->
    {ok, Bin} = riak_core_ring_manager:get_chash_bin(),
    get_primary_apl_chbin(Hash, N, Bin, riak_core_node_watcher:nodes(Service)).

get_primary_apl_chbin(Hash, N, Bin, Up) ->
    {Primaries, _} = chashbin:itr_pop(N, chashbin:iterator(Hash, Bin)),
    primaries(Primaries, Up).

get_primary_apl(Hash, N, Ring, Up) ->
    primaries(lists:sublist(riak_core_ring:preflist(Hash, Ring), N), Up).

active_owners(Service) ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    active_owners(Ring, riak_core_node_watcher:nodes(Service)).

active_owners(Ring, Up) ->
    annotate(riak_core_ring:all_owners(Ring), fun pop/1, riak_core_ring:all_owners(Ring), Up).

first_up(Hash, Service) ->
    {ok, Bin} = riak_core_ring_manager:get_chash_bin(),
    Up = riak_core_node_watcher:nodes(Service),
    Down = fun({_, Node}) -> not lists:member(Node, Up) end,
    chashbin:itr_value(chashbin:itr_next_while(Down, chashbin:iterator(Hash, Bin))).

offline_owners(Service) ->
    {ok, Bin} = riak_core_ring_manager:get_chash_bin(),
    offline_owners(Service, Bin).

offline_owners(Service, Bin) ->
    Up = riak_core_node_watcher:nodes(Service),
    chashbin:to_list_filter(fun({_, Node}) -> not lists:member(Node, Up) end, Bin).

plain(Annotated) -> [IndexNode || {IndexNode, _} <- Annotated].

primaries(List, Up) -> [{IN, primary} || {_, Node} = IN <- List, lists:member(Node, Up)].

annotate(Primaries, Next, Source, Up) ->
    Down = [Index || {Index, Node} <- Primaries, not lists:member(Node, Up)],
    primaries(Primaries, Up) ++ fallbacks(Down, Next, Source, Up).

fallbacks([], _Next, _Source, _Up) -> [];
fallbacks([Index | Rest] = Down, Next, Source, Up) ->
    case Next(Source) of
        none -> [];
        {{_, Node}, Source1} ->
            case lists:member(Node, Up) of
                true -> [{{Index, Node}, fallback} | fallbacks(Rest, Next, Source1, Up)];
                false -> fallbacks(Down, Next, Source1, Up)
            end
    end.

pop([]) -> none;
pop([Head | Tail]) -> {Head, Tail}.

next_of(done) -> none;
next_of(Itr) -> {chashbin:itr_value(Itr), chashbin:itr_next(Itr)}.
