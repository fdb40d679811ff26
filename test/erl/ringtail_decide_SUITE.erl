%% Who serves a request: the decision alone, against what the rules of the object route say.
-module(ringtail_decide_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("proper/include/proper.hrl").
-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

-define(A, 'riak@a').
-define(B, 'riak@b').
-define(C, 'riak@c').
-define(D, 'riak@d').
-define(ABC, [{0, ?A}, {1, ?B}, {2, ?C}]).

all() ->
    [served_here_whatever_the_route, never_served_where_this_node_is_down,
     sent_to_up_primaries_only,
     a_node_named_twice_is_tried_once, no_primary_up_is_refused_even_when_others_are_up,
     local_refuses, spread_over_all_up_primaries, any_case_keeps_the_rules].

served_here_whatever_the_route(_) ->
    [?assertEqual(serve, ringtail_decide:decide(?ABC, ?B, [?A, ?B], Route, Turn))
     || Route <- [proxy, redirect, local], Turn <- [0, 1, 7]].

never_served_where_this_node_is_down(_) ->
    ?assertEqual({proxy, [?B]}, ringtail_decide:decide(?ABC, ?A, [?B], proxy, 0)),
    ?assertEqual({refuse, no_primary}, ringtail_decide:decide([{0, ?A}], ?A, [?B], proxy, 0)).

sent_to_up_primaries_only(_) ->
    ?assertEqual({proxy, [?A, ?C]}, ringtail_decide:decide(?ABC, ?D, [?A, ?C, ?D], proxy, 0)),
    ?assertEqual({redirect, [?A, ?C]}, ringtail_decide:decide(?ABC, ?D, [?A, ?C, ?D], redirect, 0)).

a_node_named_twice_is_tried_once(_) ->
    Twice = [{0, ?A}, {1, ?B}, {2, ?A}],
    ?assertEqual({proxy, [?A, ?B]}, ringtail_decide:decide(Twice, ?D, [?A, ?B, ?D], proxy, 0)).

no_primary_up_is_refused_even_when_others_are_up(_) ->
    [?assertEqual({refuse, no_primary}, ringtail_decide:decide(?ABC, ?D, [?D], Route, 3))
     || Route <- [proxy, redirect, local]].

local_refuses(_) ->
    ?assertEqual({refuse, not_primary}, ringtail_decide:decide(?ABC, ?D, [?A, ?D], local, 0)).

spread_over_all_up_primaries(_) ->
    Firsts = [begin
                  {proxy, [First | _] = Nodes} =
                      ringtail_decide:decide(?ABC, ?D, [?A, ?B, ?C], proxy, Turn),
                  ?assertEqual([?A, ?B, ?C], lists:sort(Nodes)),
                  First
              end || Turn <- lists:seq(0, 2)],
    ?assertEqual([?A, ?B, ?C], lists:sort(Firsts)).

any_case_keeps_the_rules(_) ->
    ?assertEqual(true, proper:quickcheck(keeps_the_rules(),
                                         [{numtests, 5000}, {to_file, user}, quiet]) =:= true
                 orelse proper:counterexample()).

keeps_the_rules() ->
    Nodes = [?A, ?B, ?C, ?D],
    ?FORALL({Owners, Up, Self, Route, Turn},
            {non_empty(list(oneof(Nodes))), list(oneof(Nodes)), oneof(Nodes),
             oneof([proxy, redirect, local]), non_neg_integer()},
            begin
                Primaries = lists:zip(lists:seq(1, length(Owners)), Owners),
                Good = lists:usort([Node || Node <- Owners, lists:member(Node, Up)]),
                case ringtail_decide:decide(Primaries, Self, Up, Route, Turn) of
                    serve -> lists:member(Self, Good);
                    {Sent, Targets} when Sent =:= proxy; Sent =:= redirect ->
                        Sent =:= Route andalso not lists:member(Self, Good)
                            andalso lists:sort(Targets) =:= Good andalso Good =/= [];
                    {refuse, no_primary} -> Good =:= [];
                    {refuse, not_primary} -> not lists:member(Self, Good) andalso Route =:= local
                end
            end).
