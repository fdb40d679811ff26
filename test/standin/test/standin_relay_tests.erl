%% A client of another node: its gets, puts and deletes run over there, as
%% Riak's do, and what that means when the other node is held, dies or is gone.
-module(standin_relay_tests).

-include_lib("eunit/include/eunit.hrl").

-import(standin_kv_client, [get/3, key_at/4]).

-define(TYPES, [{<<"n1">>, [{n_val, 1}]}]).

all_test_() ->
    Tests = [fun runs_there/1, fun not_watched/1, fun held_answer/1, fun not_in_time/1,
             fun no_such_timer/1, fun cut_off/1],
    {setup, fun() -> {ok, C} = standin:start_cluster(#{nodes => 3, types => ?TYPES}), C end,
     fun standin:stop_cluster/1,
     fun(C) -> [{timeout, 120, {name(T), fun() -> T(C) end}} || T <- Tests] end}.

name(T) -> atom_to_list(element(2, erlang:fun_info(T, name))).

%% Calls of riak_client on At, its client made for Node.
ask(C, At, Node, Function, Args) ->
    standin:rpc(C, At, riak_client, Function, Args ++ [{riak_client, [Node, undefined]}]).

%% The same while it goes on: {Pid, Ref}; the answer is the reason of its end.
asked(C, At, Node, Function, Args) ->
    spawn_monitor(fun() -> exit({answer, ask(C, At, Node, Function, Args)}) end).

answer({Pid, Ref}) -> receive {'DOWN', Ref, process, Pid, Reason} -> Reason after 90000 -> none end.

named({Type, Bucket, Key}) -> {{list_to_binary(Type), list_to_binary(Bucket)}, list_to_binary(Key)}.

runs_there(C) ->
    [N1, N2 | _] = standin:nodes(C),
    Path = key_at(C, N2, "n1", "there"),
    {Bucket, Key} = named(Path),
    Obj = riak_object:new(Bucket, Key, <<"v">>),
    ?assertEqual(ok, ask(C, N1, N2, put, [Obj, []])),
    {ok, Read} = ask(C, N1, N2, get, [Bucket, Key, []]),
    ?assertEqual(<<"v">>, riak_object:get_value(Read)),
    ?assertEqual({200, <<"v">>}, get(C, N2, Path)),
    %% Held there and nowhere else.
    ok = standin:slow_node(C, N2, #{get => infinity}),
    Asked = asked(C, N1, N2, get, [Bucket, Key, []]),
    ok = standin_kv_client:eventually(fun() -> standin:held(C, N2) =:= [get] end),
    ?assertEqual([], standin:held(C, N1)),
    ok = standin:slow_node(C, N2, #{get => 0}),
    ?assertMatch({answer, {ok, _}}, answer(Asked)),
    ?assertEqual(ok, ask(C, N1, N2, delete, [Bucket, Key, []])),
    ?assertMatch({404, _}, get(C, N2, Path)).

%% A node that dies with a request on it is not noticed: the caller waits on.
not_watched(C) ->
    [N1, N2 | _] = standin:nodes(C),
    {Bucket, Key} = named(key_at(C, N2, "n1", "unwatched")),
    ok = standin:slow_node(C, N2, #{all => infinity}),
    Get = asked(C, N1, N2, get, [Bucket, Key, [{timeout, 9000}]]),
    Put = asked(C, N1, N2, put, [riak_object:new(Bucket, Key, <<"v">>), [{timeout, 9000}]]),
    Delete = asked(C, N1, N2, delete, [Bucket, Key, [{timeout, 9000}]]),
    ok = standin_kv_client:eventually(fun() -> standin:held(C, N2) =:= [delete, get, put] end),
    ok = standin:kill(C, N2),
    ok = standin:settle(C),
    [?assertEqual({answer, {error, timeout}}, answer(Asked)) || Asked <- [Get, Put, Delete]],
    ok = standin:restart(C, N2),
    ok = standin:settle(C).

%% What was written before the answer was held is there.
held_answer(C) ->
    [N1, N2 | _] = standin:nodes(C),
    Path = key_at(C, N2, "n1", "answer"),
    {Bucket, Key} = named(Path),
    ok = standin:slow_node(C, N2, #{answer => infinity}),
    Put = asked(C, N1, N2, put, [riak_object:new(Bucket, Key, <<"v">>), []]),
    ok = standin_kv_client:eventually(fun() -> standin:held(C, N2) =:= [answer] end),
    ok = standin:slow_node(C, N2, #{answer => 0}),
    ?assertEqual({answer, ok}, answer(Put)),
    ?assertEqual({200, <<"v">>}, get(C, N2, Path)).

not_in_time(C) ->
    [N1, N2 | _] = standin:nodes(C),
    {Bucket, Key} = named(key_at(C, N2, "n1", "late")),
    ok = standin:slow_node(C, N2, #{get => infinity}),
    ?assertEqual({error, timeout}, ask(C, N1, N2, get, [Bucket, Key, [{timeout, 200}]])),
    ok = standin:slow_node(C, N2, #{get => 0}).

%% Below zero the request ends without an answer: a time-out, nothing done. What
%% the caller cannot wait for ends the caller; a put has begun by then.
no_such_timer(C) ->
    [N1, N2 | _] = standin:nodes(C),
    Path = key_at(C, N2, "n1", "timer"),
    {Bucket, Key} = named(Path),
    Obj = riak_object:new(Bucket, Key, <<"v">>),
    ?assertEqual({error, timeout}, ask(C, N1, N2, put, [Obj, [{timeout, -1}]])),
    ?assertMatch({404, _}, get(C, N2, Path)),
    Endless = [{timeout, (1 bsl 32) - 2}],
    ?assertError({exception, timeout_value, _}, ask(C, N1, N2, get, [Bucket, Key, Endless])),
    ?assertError({exception, timeout_value, _}, ask(C, N1, N2, put, [Obj, Endless])),
    ok = standin_kv_client:eventually(fun() -> get(C, N2, Path) =:= {200, <<"v">>} end).

cut_off(C) ->
    [N1, _, N3] = standin:nodes(C),
    ok = standin:kill(C, N3),
    ok = standin:settle(C),
    Down = {error, {badrpc, nodedown}},
    ?assertEqual(Down, ask(C, N1, N3, get, [<<"b">>, <<"k">>, []])),
    ?assertEqual(Down, ask(C, N1, N3, delete, [<<"b">>, <<"k">>, []])).
