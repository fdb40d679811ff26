%% When the snapshot is built: bursts, changes during a build, failures.
-module(ringtail_ring_schedule_SUITE).

-include_lib("proper/include/proper.hrl").
-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [a_burst_is_one_build, changes_during_a_build_are_one_more, a_change_while_resting_is_not_lost,
     a_build_rests_as_long_as_it_took, failures_wait_longer_each_time, a_stray_timer_is_harmless,
     never_two_builds_and_never_a_lost_change].

a_burst_is_one_build(_) ->
    {Settling, [{timer, _}]} = ringtail_ring_schedule:changed(ringtail_ring_schedule:new()),
    Burst =
        lists:foldl(fun(_, State) -> {Next, []} = ringtail_ring_schedule:changed(State), Next end,
                    Settling,
                    lists:seq(1, 1000)),
    {Building, [build]} = ringtail_ring_schedule:timer(Burst),
    {Resting, [{timer, _}]} = ringtail_ring_schedule:built(Building, 3),
    ?assertMatch({_, []}, ringtail_ring_schedule:timer(Resting)).

changes_during_a_build_are_one_more(_) ->
    Building = building(),
    {Dirty, []} = ringtail_ring_schedule:changed(Building),
    {Dirtier, []} = ringtail_ring_schedule:changed(Dirty),
    {Resting, [{timer, _}]} = ringtail_ring_schedule:built(Dirtier, 3),
    {Again, [build]} = ringtail_ring_schedule:timer(Resting),
    {Rested, [{timer, _}]} = ringtail_ring_schedule:built(Again, 3),
    {Idle, []} = ringtail_ring_schedule:timer(Rested),
    ?assertEqual(idle, ringtail_ring_schedule:phase(Idle)).

a_change_while_resting_is_not_lost(_) ->
    {Resting, _} = ringtail_ring_schedule:built(building(), 3),
    {Dirty, []} = ringtail_ring_schedule:changed(Resting),
    ?assertMatch({_, [build]}, ringtail_ring_schedule:timer(Dirty)).

a_build_rests_as_long_as_it_took(_) ->
    {_, [{timer, Quick}]} = ringtail_ring_schedule:built(building(), 0),
    {_, [{timer, 120}]} = ringtail_ring_schedule:built(building(), 120),
    {_, [{timer, Slow}]} = ringtail_ring_schedule:built(building(), 60000),
    ?assert(Quick > 0),
    ?assert(Slow < 1000).

failures_wait_longer_each_time(_) ->
    {_, Waits} = lists:foldl(fun(_, {State, Waits}) ->
                                     {Failed,
                                      [{timer, Wait}]} = ringtail_ring_schedule:failed(State),
                                     {Building, [build]} = ringtail_ring_schedule:timer(Failed),
                                     {Building, Waits ++ [Wait]}
                             end, {building(), []}, lists:seq(1, 40)),
    ?assertEqual(Waits, lists:sort(Waits)),
    ?assert(hd(Waits) < lists:last(Waits)),
    ?assertEqual(lists:last(Waits), lists:nth(39, Waits)).

a_stray_timer_is_harmless(_) ->
    ?assertMatch({_, []}, ringtail_ring_schedule:timer(ringtail_ring_schedule:new())),
    ?assertMatch({_, []}, ringtail_ring_schedule:timer(building())).

never_two_builds_and_never_a_lost_change(_) ->
    ?assertEqual(true, proper:quickcheck(sound(),
                                         [{numtests, 3000}, {to_file, user}, quiet]) =:= true
                 orelse proper:counterexample()).

%% Plays any order of changes, timers that were asked for, and ends of builds that were begun.
sound() ->
    ?FORALL(Steps, list(oneof([changed, timer, built, failed])),
            begin
                {State, Timers, Unseen} = play(Steps, ringtail_ring_schedule:new(), 0, 0),
                settle(State, Timers, Unseen)
            end).

%% Unseen: changes since the last build began.
play([Step | Steps], State, Timers, Unseen) ->
    Building = ringtail_ring_schedule:phase(State) =:= building,
    case Step of
        changed -> after_(Steps, ringtail_ring_schedule:changed(State), Timers, Unseen + 1);
        timer when Timers > 0 ->
            after_(Steps, ringtail_ring_schedule:timer(State), Timers - 1, Unseen);
        built when Building ->
            after_(Steps, ringtail_ring_schedule:built(State, 1), Timers, Unseen);
        failed when Building ->
            after_(Steps, ringtail_ring_schedule:failed(State), Timers, Unseen + 1);
        _ -> play(Steps, State, Timers, Unseen)
    end;
play([], State, Timers, Unseen) ->
    {State, Timers, Unseen}.

after_(Steps, {State, []}, Timers, Unseen) -> play(Steps, State, Timers, Unseen);
after_(Steps, {State, [{timer, _}]}, Timers, Unseen) -> play(Steps, State, Timers + 1, Unseen);
after_(Steps, {State, [build]}, Timers, _) -> play(Steps, State, Timers, 0).

%% Left alone it comes to rest, with every change seen.
settle(State, Timers, Unseen) ->
    case ringtail_ring_schedule:phase(State) of
        idle -> Timers =:= 0 andalso Unseen =:= 0;
        building -> next(ringtail_ring_schedule:built(State, 1), Timers, Unseen);
        _ -> Timers =:= 1 andalso next(ringtail_ring_schedule:timer(State), Timers - 1, Unseen)
    end.

next({State, []}, Timers, Unseen) -> settle(State, Timers, Unseen);
next({State, [{timer, _}]}, Timers, Unseen) -> settle(State, Timers + 1, Unseen);
next({State, [build]}, Timers, _) -> settle(State, Timers, 0).

building() ->
    {Settling, _} = ringtail_ring_schedule:changed(ringtail_ring_schedule:new()),
    {Building, [build]} = ringtail_ring_schedule:timer(Settling),
    Building.
