%% Test support: merging two copies of the ring after gossip, by riak_core's
%% rules: the copy whose vclock descends the other's wins whole; two that
%% diverged are merged part by part: ownership by rvsn, each member by its own
%% vclock, cluster metadata by last-modified second.
-module(standin_ring_merge).

-include("standin_ring.hrl").

-export([reconcile/2, saw/1]).

-spec reconcile(tuple(), tuple()) -> {no_change | new_ring, tuple()}.
reconcile(Theirs, Mine) ->
    case riak_core_ring:check_lastgasp(Theirs) of
        true -> {no_change, Mine};
        false -> decide(saw(Mine), saw(Theirs, Mine#chstate_v2.nodename), Mine)
    end.

%% A node that holds a ring has seen it, and says so inside the ring.
saw(R) -> saw(R, R#chstate_v2.nodename).

saw(#chstate_v2{vclock = Clock, seen = Seen} = R, Node) ->
    Merge = fun(Old) -> vclock:merge([Old, Clock]) end,
    R#chstate_v2{seen = orddict:update(Node, Merge, Clock, Seen)}.

decide(Mine0, Theirs0, Original) ->
    Me = Mine0#chstate_v2.nodename,
    Seen = orddict:merge(fun(_, A, B) -> vclock:merge([A, B]) end,
                         Mine0#chstate_v2.seen, Theirs0#chstate_v2.seen),
    Mine = Mine0#chstate_v2{seen = Seen},
    Theirs = Theirs0#chstate_v2{seen = Seen, nodename = Me},
    VC = Mine#chstate_v2.vclock,
    Other = Theirs#chstate_v2.vclock,
    Clock = vclock:merge([VC, Other]),
    Same = content(Mine) =:= content(Theirs),
    case {vclock:descends(VC, Other), vclock:descends(Other, VC)} of
        {false, true} -> {new_ring, Theirs#chstate_v2{vclock = Clock}};
        {true, false} -> kept(Mine#chstate_v2{vclock = Clock}, Original);
        {true, true} when Same -> kept(Mine#chstate_v2{vclock = Clock}, Original);
        {false, false} when Same -> kept(Mine#chstate_v2{vclock = Clock}, Original);
        _ -> {new_ring, merge(Mine, Theirs, vclock:increment(Me, Clock))}
    end.

kept(Ring, Original) ->
    case {normal(Ring#chstate_v2.seen), lists:sort(Ring#chstate_v2.vclock)}
             =:= {normal(Original#chstate_v2.seen), lists:sort(Original#chstate_v2.vclock)} of
        true -> {no_change, Ring};
        false -> {new_ring, Ring}
    end.

normal(Seen) -> [{N, lists:sort(VC)} || {N, VC} <- lists:keysort(1, Seen)].

content(R) ->
    {R#chstate_v2.chring, lists:sort(dict:to_list(R#chstate_v2.meta)),
     R#chstate_v2.next, R#chstate_v2.claimant, lists:sort(R#chstate_v2.rvsn),
     [{N, S, M} || {N, {S, _, M}} <- R#chstate_v2.members]}.

merge(A, B, Clock) ->
    Members = orddict:merge(fun(_, X, Y) -> member(X, Y) end,
                            A#chstate_v2.members, B#chstate_v2.members),
    Meta = dict:merge(fun(_, X, Y) -> newest(X, Y) end,
                      A#chstate_v2.meta, B#chstate_v2.meta),
    Base = ownership(A, B, Members),
    Base#chstate_v2{vclock = Clock, members = Members, meta = Meta}.

%% The second decides; within one the greater value, so that all nodes agree.
newest(#meta_entry{lastmod = T1} = X, #meta_entry{lastmod = T2} = Y) ->
    case {T1, X} >= {T2, Y} of
        true -> X;
        false -> Y
    end.

member({S1, VC1, M1}, {S2, VC2, M2}) ->
    Clock = vclock:merge([VC1, VC2]),
    case {vclock:descends(VC1, VC2), vclock:descends(VC2, VC1)} of
        {true, false} -> {S1, Clock, lists:ukeysort(1, M1 ++ M2)};
        {false, true} -> {S2, Clock, lists:ukeysort(1, M2 ++ M1)};
        _ -> {status(S1, S2), Clock, lists:ukeysort(1, M1 ++ M2)}
    end.

%% Concurrent changes of one member: the step that is further on wins.
status(S1, S2) ->
    Order = [invalid, down, joining, valid, exiting, leaving],
    hd([S || S <- Order, S =:= S1 orelse S =:= S2]).

ownership(#chstate_v2{rvsn = V1} = A, #chstate_v2{rvsn = V2} = B, Members) ->
    case {vclock:descends(V1, V2), vclock:descends(V2, V1)} of
        {true, true} when A#chstate_v2.claimant =:= B#chstate_v2.claimant ->
            with_next(A, B);
        {true, false} -> with_next(A, B);
        {false, true} -> with_next(B, A);
        _ ->
            Rank = fun(#chstate_v2{claimant = C}) ->
                       {riak_core_ring:member_status(Members, C) =:= invalid, C}
                   end,
            case Rank(A) =< Rank(B) of
                true -> with_next(A, B);
                false -> with_next(B, A)
            end
    end.

%% A transfer that either copy knows to be complete is complete.
with_next(#chstate_v2{next = Next} = Winner, #chstate_v2{next = Other}) ->
    Winner#chstate_v2{next = [transfer(E, lists:keyfind(element(1, E), 1, Other)) || E <- Next]}.

transfer({I, From, To, Mods, S1}, {I, From, To, Other, S2}) ->
    Status = case complete =:= S1 orelse complete =:= S2 of
                 true -> complete;
                 false -> awaiting
             end,
    {I, From, To, ordsets:union(Mods, Other), Status};
transfer(Entry, _) -> Entry.
