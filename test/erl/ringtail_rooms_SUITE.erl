%% @doc The rooms of the Erlang sources: calls go downwards only, and no modules call each other in
%% a circle. A module's room is the folder of its source.
-module(ringtail_rooms_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, every_module_has_a_room/1, calls_go_downwards/1, no_circle_of_modules/1,
         a_call_upwards_is_seen/1, a_circle_is_seen/1, lines_are_narrow_and_files_short/1]).

%% From the ground up. The last are the application itself, in no folder.
-define(ROOMS, ["base", "engine", "ring", "route", "remote", "web", "console", "erl_src"]).

all() ->
    [every_module_has_a_room, calls_go_downwards, no_circle_of_modules, a_call_upwards_is_seen,
     a_circle_is_seen, lines_are_narrow_and_files_short].

every_module_has_a_room(_) ->
    Rooms = rooms(),
    ?assert(length(Rooms) > 50),
    ?assertEqual([], [Module || {Module, Room} <- Rooms, not lists:member(Room, ?ROOMS)]),
    Outside = [Module || {Module, "erl_src"} <- Rooms],
    ?assertEqual([ringtail, ringtail_app, ringtail_sup], lists:sort(Outside)).

calls_go_downwards(_) ->
    ?assertEqual([], upwards(calls(), rooms())).

no_circle_of_modules(_) ->
    ?assertEqual([], circles(calls())).

a_call_upwards_is_seen(_) ->
    Calls = [{ringtail_clock, ringtail_routes} | calls()],
    ?assertEqual([{ringtail_clock, ringtail_routes}], upwards(Calls, rooms())).

a_circle_is_seen(_) ->
    [{From, To} | _] = Calls = calls(),
    [Circle] = circles([{To, From} | Calls]),
    ?assertEqual([], [From, To] -- Circle).

lines_are_narrow_and_files_short(_) ->
    ?assertEqual("", os:cmd(filename:join([ringtail_test_util:root(), "scripts", "lines"]))).

%% ---- Inside ----

%% Calls between our modules, as the beams have them: `{From, To}'.
calls() ->
    {ok, Xref} = xref:start([{xref_mode, modules}]),
    try
        {ok, _} = xref:add_directory(Xref, ebin()),
        {ok, Calls} = xref:q(Xref, "ME || AM"),
        [Call || {From, To} = Call <- Calls, From =/= To]
    after
        xref:stop(Xref)
    end.

upwards(Calls, Rooms) ->
    [Call || {From, To} = Call <- Calls, height(From, Rooms) < height(To, Rooms)].

height(Module, Rooms) ->
    {Module, Room} = lists:keyfind(Module, 1, Rooms),
    length(lists:takewhile(fun(Other) -> Other =/= Room end, ?ROOMS)).

circles(Calls) ->
    Graph = digraph:new(),
    try
        [digraph:add_vertex(Graph, Module) || {From, To} <- Calls, Module <- [From, To]],
        [digraph:add_edge(Graph, From, To) || {From, To} <- Calls],
        [Circle || [_, _ | _] = Circle <- digraph_utils:strong_components(Graph)]
    after
        digraph:delete(Graph)
    end.

rooms() ->
    [{list_to_atom(filename:basename(File, ".erl")), filename:basename(filename:dirname(File))}
     || File <- ringtail_test_util:sources()].

ebin() -> filename:dirname(code:which(ringtail)).
