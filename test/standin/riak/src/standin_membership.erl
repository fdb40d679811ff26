%% Test support: joins, leaves, replacements. Run on the claimant; the ring goes
%% through the states a real one was seen in: a member is `leaving' and
%% `next' lists the transfers (rvsn one higher), partitions move one by one,
%% ownership flips (rvsn again higher), the member disappears.
-module(standin_membership).

-export([form/1, join/1, commit/1, leave/2, replace/3, remove/1, down/1, set_claimant/1,
         transfer/3, await/2, owners/2]).

-define(SEEN_MS, 5000).
-define(WINDOW, 3).    % partitions in a row that should have different owners

%% A new cluster of nodes that have just started; this one is the claimant.
form(Nodes) ->
    {ok, {_, Ring}} = change(fun(Ring0) ->
        Joined = lists:foldl(fun(Node, R) ->
                                 R1 = riak_core_ring:set_member(node(), R, Node, valid),
                                 R2 = riak_core_ring:update_member_meta(node(), R1, Node,
                                                                        gossip_vsn, 2),
                                 riak_core_ring:increment_ring_version(node(), R2)
                             end, Ring0, lists:delete(node(), Nodes)),
        riak_core_ring:change_owners(Joined, even(riak_core_ring:all_owners(Joined), Nodes))
    end),
    [ok = rpc:call(N, riak_core_ring_manager, set_my_ring, [riak_core_ring:set_owner(Ring, N)])
     || N <- Nodes, N =/= node()],
    [rpc:call(N, standin_capabilities, publish, []) || N <- Nodes],
    ok.

%% On the node that joins: it takes the cluster's ring, itself in it.
join(Member) ->
    {ok, Theirs} = rpc:call(Member, riak_core_ring_manager, get_raw_ring, []),
    Ring0 = riak_core_ring:set_owner(Theirs, node()),
    Ring1 = riak_core_ring:add_member(node(), Ring0, node()),
    Ring = riak_core_ring:update_member_meta(node(), Ring1, node(), gossip_vsn, 2),
    ok = riak_core_ring_manager:set_my_ring(Ring),
    [net_kernel:connect_node(N) || N <- riak_core_ring:all_members(Ring), N =/= node()],
    riak_core_gossip:distribute_ring(Ring),
    standin_capabilities:publish(),
    await([Member], fun(R) -> riak_core_ring:member_status(R, node()) =:= joining end).

%% Everyone who is joining becomes valid and gets its share.
%% Options: pace => milliseconds a partition, flip => at_once | each
commit(Options) ->
    plan(fun(Ring) ->
             lists:foldl(fun(N, R) -> riak_core_ring:set_member(node(), R, N, valid) end,
                         Ring, riak_core_ring:members(Ring, [joining]))
         end, fun owners/2, [], Options).

leave(Node, Options) ->
    plan(fun(Ring) -> riak_core_ring:leave_member(node(), Ring, Node) end, fun owners/2, [Node],
         Options).

%% New (which has joined) takes all that Old has.
replace(Old, New, Options) ->
    Change = fun(Ring) ->
                 riak_core_ring:leave_member(node(),
                                             riak_core_ring:set_member(node(), Ring, New, valid),
                                             Old)
             end,
    Moves = fun(Ring, _) -> [{I, New} || I <- riak_core_ring:indices(Ring, Old)] end,
    plan(Change, Moves, [Old], Options).

%% A node that is gone for good: ownership changes at once, its data is lost.
remove(Node) ->
    {ok, _} = change(fun(Ring) ->
        Gone = riak_core_ring:remove_member(node(), Ring, Node),
        Moved = riak_core_ring:change_owners(Gone,
                                             owners(Gone, riak_core_ring:claiming_members(Gone))),
        riak_core_ring:increment_ring_version(node(), Moved)
    end),
    ok.

down(Node) ->
    {ok, _} = change(fun(Ring) -> riak_core_ring:down_member(node(), Ring, Node) end),
    ok.

set_claimant(Node) ->
    {ok, _} = change(fun(Ring) ->
        riak_core_ring:increment_ring_version(node(), riak_core_ring:set_claimant(Ring, Node))
    end),
    ok.

plan(Change, Claim, Leaving, Options) ->
    {ok, _} = change(Change),
    {ok, {_, Ring}} = change(fun(R) ->
        Owners = riak_core_ring:all_owners(R),
        Claiming = riak_core_ring:claiming_members(R),
        Next = [{I, proplists:get_value(I, Owners), New, [], awaiting}
                || {I, New} <- Claim(R, Claiming)],
        Pending = riak_core_ring:set_pending_changes(R, lists:keysort(1, Next)),
        riak_core_ring:increment_ring_version(node(), Pending)
    end),
    Next = riak_core_ring:pending_changes(Ring),
    Up = riak_core_node_watcher:nodes(riak_kv),
    true = await(Up, fun(R) -> riak_core_ring:pending_changes(R) =:= Next end),
    [begin
         timer:sleep(maps:get(pace, Options, 0)),
         move(Entry),
         {ok, _} = change(fun(R) -> moved(Entry, maps:get(flip, Options, at_once), R) end)
     end || Entry <- Next],
    {ok, _} = change(fun(R) -> flip(Leaving, R) end),
    timer:sleep(maps:get(exit_pace, Options, 0)),
    {ok, _} = change(fun(R) ->
        lists:foldl(fun(N, Acc) -> riak_core_ring:remove_member(node(), Acc, N) end, R, Leaving)
    end),
    ok.

%% A member that is down has nothing to give.
move({Index, Owner, New, _, _}) ->
    case lists:member(Owner, [node() | nodes()]) of
        true -> ok = rpc:call(Owner, riak_kv_vnode_master, move, [Index, New]);
        false -> ok
    end.

moved({Index, _, New, _, _}, each, R) ->
    Next = lists:keydelete(Index, 1, riak_core_ring:pending_changes(R)),
    Flipped = riak_core_ring:transfer_node(Index, New, riak_core_ring:set_pending_changes(R, Next)),
    riak_core_ring:increment_ring_version(node(), Flipped);
moved({Index, Owner, New, _, _}, at_once, R) ->
    Next = lists:keyreplace(Index, 1, riak_core_ring:pending_changes(R),
                            {Index, Owner, New, [riak_kv_vnode], complete}),
    riak_core_ring:set_pending_changes(R, Next).

flip(Leaving, R) ->
    Flipped = riak_core_ring:change_owners(R, riak_core_ring:all_next_owners(R)),
    Done = riak_core_ring:increment_ring_version(node(),
                                                 riak_core_ring:set_pending_changes(Flipped, [])),
    lists:foldl(fun(N, Acc) ->
                    riak_core_ring:increment_ring_version(node(),
                                                          riak_core_ring:exit_member(node(), Acc,
                                                                                     N))
                end, Done, Leaving).

%% One partition to another node, data first.
transfer(Index, New, Options) ->
    plan(fun(R) -> R end, fun(_, _) -> [{Index, New}] end, [], Options).

change(Fun) ->
    Self = fun(Old, _) ->
               New = Fun(Old),
               {new_ring, riak_core_ring:increment_vclock(node(), New)}
           end,
    case riak_core_ring_manager:ring_trans(Self, []) of
        {ok, Ring} -> {ok, {node(), Ring}};
        Other -> {error, Other}
    end.

%% Until the ring of each of these nodes is as Condition says.
await(Nodes, Condition) -> await(Nodes, Condition, erlang:monotonic_time(millisecond) + ?SEEN_MS).

await([], _Condition, _Until) -> true;
await([Node | Rest] = All, Condition, Until) ->
    Seen = case rpc:call(Node, riak_core_ring_manager, get_raw_ring, []) of
               {ok, Ring} -> Condition(Ring);
               _ -> false
           end,
    Late = erlang:monotonic_time(millisecond) > Until,
    if Seen -> await(Rest, Condition, Until);
       Late -> {not_seen_on, All};
       true -> timer:sleep(10), await(All, Condition, Until)
    end.

%% --- who owns what ---

%% [{Index, Node}] in turn; at the end of the ring such that the first
%% partitions, which follow, are not of the same nodes if that can be helped.
even(Owners, Nodes) ->
    Share = length(Owners) / length(Nodes),
    {Assigned, _} = lists:foldl(fun({Index, _}, {Done, Turn}) ->
        Left = length(Owners) - length(Done),
        First = lists:sublist(lists:reverse([N || {_, N} <- Done]), max(0, ?WINDOW - Left)),
        Near = First ++ [N || {_, N} <- lists:sublist(Done, ?WINDOW - 1)],
        Fits = [N || N <- Turn, not lists:member(N, Near), count(N, Done) < Share + 1],
        Node = hd(Fits ++ [N || N <- Turn, not lists:member(N, lists:sublist(Near, 1))] ++ Turn),
        {[{Index, Node} | Done], lists:delete(Node, Turn) ++ [Node]}
    end, {[], Nodes}, Owners),
    lists:reverse(Assigned).

count(Node, Assigned) -> length([x || {_, N} <- Assigned, N =:= Node]).

%% The moves that give each of Claiming its share and all others nothing; as few as will do.
owners(Ring, Claiming) ->
    Owners = riak_core_ring:all_owners(Ring),
    Size = length(Owners),
    Base = Size div length(Claiming),
    {Full, _} = lists:split(Size rem length(Claiming), most_first(Claiming, Owners)),
    Share =
        maps:from_list([{N, Base + case lists:member(N, Full) of true -> 1; false -> 0 end}
                        || N <- Claiming]),
    {_, Moves} = lists:foldl(fun({Index, Owner}, {Now, Moves}) ->
        Have = count(Owner, Now),
        case Have > maps:get(Owner, Share, 0) of
            false -> {Now, Moves};
            true ->
                Poor = [N || N <- Claiming, count(N, Now) < maps:get(N, Share)],
                New = best(Poor, Index, Now),
                {lists:keyreplace(Index, 1, Now, {Index, New}), [{Index, New} | Moves]}
        end
    end, {Owners, []}, Owners),
    lists:reverse(Moves).

most_first(Claiming, Owners) ->
    [N || {_, N} <- lists:sort([{-count(N, Owners), N} || N <- Claiming])].

%% Preferably one that is not next to it already.
best(Poor, Index, Owners) ->
    Nodes = [N || {_, N} <- Owners],
    Pos = length(lists:takewhile(fun({I, _}) -> I =/= Index end, Owners)),
    Size = length(Nodes),
    Near = [lists:nth(((Pos + D + Size) rem Size) + 1, Nodes) || D <- [-2, -1, 1, 2]],
    hd([N || N <- Poor, not lists:member(N, Near)] ++ Poor).
