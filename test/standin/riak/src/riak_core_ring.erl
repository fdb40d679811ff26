%% Test support: the ring as a value. Names, arities and the shape of the
%% tuple are riak_core's; merging of two rings is in standin_ring_merge.
-module(riak_core_ring).

-include("standin_ring.hrl").

-export([fresh/0, fresh/1, fresh/2]).
-export([num_partitions/1, future_num_partitions/1, chash/1, set_chash/2,
         all_owners/1, owner_node/1, set_owner/2, index_owner/2, my_indices/1,
         indices/2, future_ring/1, future_indices/2, future_owner/2,
         preflist/2, all_preflists/2, responsible_index/2, transfer_node/3,
         change_owners/2, is_primary/2, random_node/1, random_other_node/1]).
-export([all_members/1, members/2, active_members/1, claiming_members/1,
         ready_members/1, down_members/1, member_status/2, all_member_status/1,
         add_member/3, remove_member/3, leave_member/3, exit_member/3,
         down_member/3, set_member/4, set_member/5, get_member_meta/3,
         update_member_meta/5, update_member_meta/6, clear_member_meta/3]).
-export([get_meta/2, get_meta/3, update_meta/3, remove_meta/2, get_buckets/1]).
-export([cluster_name/1, set_cluster_name/2, claimant/1, set_claimant/2,
         increment_vclock/2, ring_version/1, increment_ring_version/2,
         pending_changes/1, set_pending_changes/2, next_owner/1, next_owner/2,
         all_next_owners/1, disowning_indices/2]).
-export([set_tainted/1, check_tainted/2, unset_tainted/1, set_lastgasp/1,
         check_lastgasp/1, unset_lastgasp/1, nearly_equal/2, equal_rings/2,
         ring_ready/0, ring_ready/1, ring_ready_info/1, legacy_ring/1, upgrade/1,
         is_resizing/1, is_post_resize/1, resized_ring/1, reconcile/2]).

-define(REMOVED, '$removed').
-define(PRESENT, [joining, valid, leaving, exiting, down]).

%% --- making one ---

fresh() -> fresh(node()).

fresh(Node) -> fresh(app_helper:get_env(riak_core, ring_creation_size, 64), Node).

fresh(Size, Node) ->
    Clock = vclock:increment(Node, vclock:fresh()),
    #chstate_v2{nodename = Node, vclock = Clock, rvsn = Clock,
                chring = chash:fresh(Size, Node), meta = dict:new(),
                clustername = {Node, os:timestamp()}, claimant = Node,
                members = [{Node, {valid, Clock, [{gossip_vsn, 2}]}}],
                seen = [{Node, Clock}]}.

legacy_ring(Ring) -> element(1, Ring) =:= chstate.

upgrade(#chstate_v2{} = Ring) -> Ring.

%% --- partitions and owners ---

num_partitions(R) -> chash:size(R#chstate_v2.chring).

future_num_partitions(R) ->
    case resized_ring(R) of
        {ok, Ring} -> chash:size(Ring);
        undefined -> num_partitions(R)
    end.

chash(R) -> R#chstate_v2.chring.
set_chash(R, CHash) -> R#chstate_v2{chring = CHash}.

all_owners(R) -> chash:nodes(R#chstate_v2.chring).

owner_node(R) -> R#chstate_v2.nodename.
set_owner(R, Node) -> R#chstate_v2{nodename = Node}.

index_owner(R, Index) -> chash:lookup(Index, R#chstate_v2.chring).

my_indices(R) -> indices(R, node()).

indices(R, Node) -> [I || {I, N} <- all_owners(R), N =:= Node].

future_ring(R) ->
    Moved = change_owners(R, all_next_owners(R)),
    Moved#chstate_v2{next = []}.

future_indices(R, Node) -> indices(future_ring(R), Node).
future_owner(R, Index) -> index_owner(future_ring(R), Index).

preflist(Hash, R) -> chash:successors(Hash, R#chstate_v2.chring).

all_preflists(R, N) ->
    [lists:sublist(preflist(<<(I + 1):160>>, R), N) || {I, _} <- all_owners(R)].

responsible_index(<<Hash:160>>, R) -> chash:next_index(Hash, R#chstate_v2.chring).

transfer_node(Index, Node, R) ->
    case index_owner(R, Index) of
        Node -> R;
        _ ->
            Ring = chash:update(Index, Node, R#chstate_v2.chring),
            increment_vclock(R#chstate_v2.nodename, R#chstate_v2{chring = Ring})
    end.

change_owners(R, Moves) ->
    lists:foldl(fun({Index, Node}, Acc) -> transfer_node(Index, Node, Acc) end,
                R, Moves).

is_primary(R, IndexNode) -> lists:member(IndexNode, all_owners(R)).

random_node(R) -> pick(all_members(R), no_node).
random_other_node(R) -> pick(lists:delete(node(), all_members(R)), no_node).

pick([], Default) -> Default;
pick(List, _) -> lists:nth(rand:uniform(length(List)), List).

%% --- members ---

all_members(R) -> members(R, ?PRESENT).

members(R, Statuses) ->
    [N || {N, {S, _, _}} <- R#chstate_v2.members, lists:member(S, Statuses)].

active_members(R) -> members(R, [joining, valid, leaving, exiting]).
claiming_members(R) -> members(R, [joining, valid, down]).
ready_members(R) -> members(R, [valid, leaving]).
down_members(R) -> members(R, [down]).

member_status(#chstate_v2{members = Members}, Node) -> member_status(Members, Node);
member_status(Members, Node) ->
    case lists:keyfind(Node, 1, Members) of
        {_, {Status, _, _}} -> Status;
        false -> invalid
    end.

all_member_status(R) ->
    [{N, S} || {N, {S, _, _}} <- R#chstate_v2.members, S =/= invalid].

add_member(By, R, Node) -> set_member(By, R, Node, joining).
leave_member(By, R, Node) -> set_member(By, R, Node, leaving).
exit_member(By, R, Node) -> set_member(By, R, Node, exiting).
down_member(By, R, Node) -> set_member(By, R, Node, down).

remove_member(By, R, Node) ->
    set_member(By, clear_member_meta(By, R, Node), Node, invalid).

set_member(By, R, Node, Status) ->
    increment_vclock(By, set_member(By, R, Node, Status, same_vclock)).

set_member(By, R, Node, Status, same_vclock) ->
    First = {Status, vclock:increment(By, vclock:fresh()), []},
    Change = fun({_, Clock, Meta}) -> {Status, vclock:increment(By, Clock), Meta} end,
    R#chstate_v2{members = orddict:update(Node, Change, First, R#chstate_v2.members)}.

get_member_meta(R, Node, Key) ->
    case lists:keyfind(Node, 1, R#chstate_v2.members) of
        {_, {_, _, Meta}} -> proplists:get_value(Key, Meta);
        false -> undefined
    end.

update_member_meta(By, R, Node, Key, Value) ->
    increment_vclock(By, update_member_meta(By, R, Node, Key, Value, same_vclock)).

update_member_meta(By, R, Node, Key, Value, same_vclock) ->
    edit_meta(By, R, Node, fun(Meta) -> orddict:store(Key, Value, Meta) end).

clear_member_meta(By, R, Node) -> edit_meta(By, R, Node, fun(_) -> [] end).

edit_meta(By, R, Node, Edit) ->
    case lists:keyfind(Node, 1, R#chstate_v2.members) of
        {_, {Status, Clock, Meta}} ->
            New = {Node, {Status, vclock:increment(By, Clock), Edit(Meta)}},
            R#chstate_v2{members = lists:keyreplace(Node, 1, R#chstate_v2.members, New)};
        false -> R
    end.

%% --- cluster metadata ---

get_meta(Key, R) ->
    case dict:find(Key, R#chstate_v2.meta) of
        {ok, #meta_entry{value = ?REMOVED}} -> undefined;
        {ok, #meta_entry{value = Value}} -> {ok, Value};
        _ -> undefined
    end.

get_meta(Key, Default, R) ->
    case get_meta(Key, R) of
        undefined -> {ok, Default};
        Found -> Found
    end.

%% Stamped with the second, so of two writers within one second only one can
%% win a later merge: a property of Riak that callers have to live with.
update_meta(Key, Value, R) ->
    case dict:find(Key, R#chstate_v2.meta) of
        {ok, #meta_entry{value = Value}} -> R;
        _ ->
            Entry = #meta_entry{value = Value, lastmod = vclock:timestamp()},
            Meta = dict:store(Key, Entry, R#chstate_v2.meta),
            increment_vclock(R#chstate_v2.nodename, R#chstate_v2{meta = Meta})
    end.

remove_meta(Key, R) ->
    case dict:is_key(Key, R#chstate_v2.meta) of
        true -> update_meta(Key, ?REMOVED, R);
        false -> R
    end.

get_buckets(R) -> [B || {bucket, B} <- dict:fetch_keys(R#chstate_v2.meta)].

%% --- versions, claimant, transfers ---

cluster_name(R) -> R#chstate_v2.clustername.
set_cluster_name(R, Name) -> R#chstate_v2{clustername = Name}.
claimant(R) -> R#chstate_v2.claimant.
set_claimant(R, Node) -> R#chstate_v2{claimant = Node}.

increment_vclock(By, R) ->
    R#chstate_v2{vclock = vclock:increment(By, R#chstate_v2.vclock)}.

ring_version(R) -> R#chstate_v2.rvsn.

increment_ring_version(By, R) ->
    R#chstate_v2{rvsn = vclock:increment(By, R#chstate_v2.rvsn)}.

pending_changes(R) -> R#chstate_v2.next.
set_pending_changes(R, Next) -> R#chstate_v2{next = Next}.

%% As riak_core: the first entry still on its way, for any index or for one.
next_owner(R) ->
    Waiting = [E || {_, _, _, _, awaiting} = E <- R#chstate_v2.next],
    case Waiting of
        [] -> {undefined, undefined, undefined};
        [First | _] -> change_of(First)
    end.

next_owner(R, Index) ->
    case lists:keyfind(Index, 1, R#chstate_v2.next) of
        false -> {undefined, undefined, undefined};
        Entry -> change_of(Entry)
    end.

change_of({_, Owner, Next, _, Status}) -> {Owner, Next, Status}.

all_next_owners(R) -> [{I, Next} || {I, _, Next, _, _} <- R#chstate_v2.next].

disowning_indices(R, Node) -> [I || {I, Owner, _, _, _} <- R#chstate_v2.next, Owner =:= Node].

%% --- marks and comparisons ---

%% The ring handed to readers is marked, so that it is never gossiped.
set_tainted(R) -> update_meta(riak_core_ring_tainted, true, R).
unset_tainted(R) -> update_meta(riak_core_ring_tainted, false, R).

check_tainted(R, Message) ->
    case get_meta(riak_core_ring_tainted, R) of
        {ok, true} -> logger:error(Message), ok;
        _ -> ok
    end.

set_lastgasp(R) -> update_meta(riak_core_ring_lastgasp, true, R).
unset_lastgasp(R) -> update_meta(riak_core_ring_lastgasp, false, R).
check_lastgasp(R) -> get_meta(riak_core_ring_lastgasp, R) =:= {ok, true}.

nearly_equal(A, B) ->
    Strip = fun(R) -> R#chstate_v2{vclock = undefined, meta = undefined} end,
    vclock:descends(B#chstate_v2.vclock, A#chstate_v2.vclock)
        andalso Strip(A) =:= Strip(B).

equal_rings(A, B) ->
    Meta = fun(R) -> lists:sort(dict:to_list(R#chstate_v2.meta)) end,
    Meta(A) =:= Meta(B) andalso chash(A) =:= chash(B).

ring_ready() ->
    {ok, R} = riak_core_ring_manager:get_raw_ring(),
    ring_ready(R).

%% Ready: every active member has seen this very ring.
ring_ready(R) -> ring_ready_info(R) =:= [].

ring_ready_info(R0) ->
    #chstate_v2{vclock = Clock, seen = Seen} = R = standin_ring_merge:saw(R0),
    [{N, VC} || N <- active_members(R),
                VC <- [proplists:get_value(N, Seen, [])],
                not vclock:equal(VC, Clock)].

%% The stand-in does not resize; a ring made elsewhere may say that it does.
is_resizing(R) -> get_meta('$resized_ring', R) =/= undefined.
is_post_resize(R) -> get_meta('$resized_ring', R) =:= {ok, '$cleanup'}.

resized_ring(R) -> get_meta('$resized_ring', R).

reconcile(Theirs, Mine) -> standin_ring_merge:reconcile(Theirs, Mine).
