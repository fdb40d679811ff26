%% @doc The connections between nodes: how many there are, who waits for one, what becomes of them.
-module(ringtail_forward_pool_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, init_per_suite/1, end_per_suite/1, init_per_testcase/2, end_per_testcase/2]).
-compile([export_all, nowarn_export_all]).

-import(ringtail_test_server, [ok/1, ok/2, requests/1, accepted/1]).
-import(ringtail_forward_case, [refusal/0, stop_pool/1, server/1, forward/3, forward/4, get_/1, put_/2, hashed/2,
         pieces/1, endless/1, stats/1, limits/1, sockets_to/1, wait_until/1]).

-define(MIB, 1048576).

all() ->
    [parallel_forwards_are_bounded_and_leak_nothing, full_pool_is_busy_after_the_wait, waiting_is_bounded,
     killed_callers_free_their_slots, killed_waiters_leave_the_queue, idle_connections_expire,
     idle_connections_are_bounded, node_down_closes_its_connections, discarded_answer_frees_its_connection,
     stopping_closes_everything, without_a_pool, nothing_stays_in_the_mailbox].

init_per_suite(Config) -> ringtail_forward_case:init_per_suite(Config).
end_per_suite(Config) -> ringtail_forward_case:end_per_suite(Config).
init_per_testcase(Case, Config) -> ringtail_forward_case:init_per_testcase(Case, Config).
end_per_testcase(Case, Config) -> ringtail_forward_case:end_per_testcase(Case, Config).

%% ---- The pool ----

parallel_forwards_are_bounded_and_leak_nothing(Config) ->
    Body = crypto:strong_rand_bytes(?MIB),
    Most = ets:new(most, [public]),
    ets:insert(Most, {most, 0}),
    S = server(fun(_) -> [read_body, {send, ok(Body)}] end),
    Memory = erlang:memory(total),
    Callers = [spawn_monitor(fun() ->
                                     {ok, 200, [], {stream, _, Next}} = put_(S, {length, ?MIB, endless(?MIB)}),
                                     Got = hashed(Next, fun() -> sample_open(S, Most) end),
                                     exit({got, Got})
                             end) || _ <- lists:seq(1, 100)],
    Expected = {?MIB, crypto:hash(sha, Body)},
    [receive {'DOWN', Ref, process, Pid, Why} -> ?assertEqual({got, Expected}, Why) end || {Pid, Ref} <- Callers],
    ?assertEqual(100, requests(S)),
    [{most, Peak}] = ets:lookup(Most, most),
    ?assert(Peak =< 64),
    ?assertEqual([0, 0], stats([in_use, waiting])),
    wait_until(fun() -> hd(stats([idle])) =< 16 end),
    %% 64 connections at most with a few pieces each; holding the bodies would be 200 MiB.
    erlang:garbage_collect(),
    ct:comment("at most ~w connections, ~w KiB more than before", [Peak, (erlang:memory(total) - Memory) div 1024]),
    stop_pool(proplists:get_value(sup, Config)),
    wait_until(fun() -> sockets_to(S) =:= 0 end).

sample_open(S, Most) ->
    Open = ringtail_test_server:open(S),
    [{most, Seen}] = ets:lookup(Most, most),
    Open > Seen andalso ets:insert(Most, {most, Open}),
    ok.

full_pool_is_busy_after_the_wait(_) ->
    limits([{max_connections, 2}]),
    S = server(fun(_) -> [{sleep, 300}, {send, ok("x")}] end),
    Holders = [spawn_monitor(fun() -> {ok, 200, [], <<"x">>} = get_(S) end) || _ <- [1, 2]],
    wait_until(fun() -> stats([in_use]) =:= [2] end),
    Unread = fun() -> exit(body_was_read) end,
    ?assertEqual({error, {not_opened, busy}}, forward(S, {"PUT", "/", [], {length, 1, Unread}}, [{wait, 50}])),
    ?assertMatch({ok, 200, [], <<"x">>}, forward(S, {"GET", "/", [], none}, [{wait, 5000}])),
    [receive {'DOWN', Ref, _, _, Why} -> ?assertEqual(normal, Why) end || {_, Ref} <- Holders],
    ?assertEqual(2, accepted(S)),
    ?assertEqual([0, 0, 2], stats([in_use, waiting, idle])).

waiting_is_bounded(_) ->
    limits([{max_connections, 1}, {max_waiting, 1}]),
    S = server(fun(_) -> [hang] end),
    Holders = [spawn(fun() -> get_(S) end) || _ <- [1, 2]],
    wait_until(fun() -> stats([in_use, waiting]) =:= [1, 1] end),
    ?assertEqual({error, {not_opened, busy}}, get_(S)),
    [exit(H, kill) || H <- Holders],
    wait_until(fun() -> stats([in_use, waiting, idle]) =:= [0, 0, 0] end).

killed_callers_free_their_slots(_) ->
    limits([{max_connections, 1}]),
    S = server(fun(#{n := N}) when N rem 2 =:= 0 -> [{send, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc"}, hang];
                  (_) -> [{send, ok("x")}] end),
    [begin
         Self = self(),
         Pid = spawn(fun() -> {ok, 200, [], {stream, _, _}} = get_(S), Self ! holding, timer:sleep(infinity) end),
         receive holding -> ok end,
         exit(Pid, kill),
         ?assertMatch({ok, 200, [], <<"x">>}, get_(S)),
         ringtail_forward_pool:close_node(undefined),
         ?assertEqual([0, 0], stats([in_use, idle]))
     end || _ <- lists:seq(1, 20)],
    wait_until(fun() -> ringtail_test_server:open(S) =< 20 end).

killed_waiters_leave_the_queue(_) ->
    limits([{max_connections, 1}]),
    S = server(fun(#{n := 0}) -> [{sleep, 300}, {send, ok("0")}]; (_) -> [{send, ok("1")}] end),
    spawn(fun() -> get_(S) end),
    wait_until(fun() -> stats([in_use]) =:= [1] end),
    Waiters = [spawn(fun() -> get_(S) end) || _ <- lists:seq(1, 5)],
    wait_until(fun() -> stats([waiting]) =:= [5] end),
    [exit(W, kill) || W <- Waiters],
    ?assertMatch({ok, 200, [], <<"1">>}, get_(S)),
    ?assertEqual([0, 0, 1], stats([in_use, waiting, idle])),
    ?assertEqual(2, requests(S)).

idle_connections_expire(_) ->
    limits([{idle_timeout, 100}]),
    S = server(fun(_) -> [{send, ok("x")}] end),
    {ok, 200, [], _} = get_(S),
    ?assertEqual([1], stats([idle])),
    wait_until(fun() -> stats([idle]) =:= [0] end),
    wait_until(fun() -> ringtail_test_server:open(S) =:= 0 end),
    ?assertEqual([{targets, []}], [T || {targets, _} = T <- ringtail_forward_pool:stats()]).

idle_connections_are_bounded(_) ->
    limits([{max_idle, 2}]),
    S = server(fun(_) -> [{sleep, 100}, {send, ok("x")}] end),
    Refs = [element(2, spawn_monitor(fun() -> get_(S) end)) || _ <- lists:seq(1, 10)],
    [receive {'DOWN', Ref, _, _, _} -> ok end || Ref <- Refs],
    ?assertEqual([2, 0], stats([idle, in_use])),
    wait_until(fun() -> ringtail_test_server:open(S) =:= 2 end).

%% Idle ones at once; a request under way may end, and its connection with it.
node_down_closes_its_connections(_) ->
    limits([{max_connections, 2}]),
    S = server(fun(#{path := <<"/slow">>}) -> [{sleep, 300}, {send, ok("slow")}]; (_) -> [{send, ok("x")}] end),
    {ok, 200, [], _} = forward(S, {"GET", "/", [], none}, [{node, 'b@h'}]),
    {ok, 200, [], _} = forward(S, {"GET", "/", [], none}, [{node, 'c@h'}]),
    Self = self(),
    Slow = fun() -> Self ! {slow, forward(S, {"GET", "/slow", [], none}, [{node, 'b@h'}])} end,
    spawn(Slow), spawn(Slow),
    wait_until(fun() -> stats([in_use]) =:= [2] end),
    spawn(fun() -> Self ! {waited, forward(S, {"GET", "/", [], none}, [{node, 'b@h'}])} end),
    wait_until(fun() -> stats([waiting]) =:= [1] end),
    ringtail_forward_pool:close_node('b@h'),
    receive {waited, W} -> ?assertEqual({error, {not_opened, node_down}}, W) end,
    [receive {slow, R} -> ?assertMatch({ok, 200, [], <<"slow">>}, R) end || _ <- [1, 2]],
    %% What is left is the other node's.
    wait_until(fun() -> stats([idle, in_use]) =:= [1, 0] end),
    wait_until(fun() -> ringtail_test_server:open(S) =:= 1 end),
    {ok, 200, [], _} = forward(S, {"GET", "/", [], none}, [{node, 'b@h'}]).

discarded_answer_frees_its_connection(_) ->
    S = server(fun(_) -> [{send, ok(binary:copy(<<"x">>, 100000))}] end),
    {ok, 200, [], {stream, _, _}} = get_(S),
    ?assertEqual([1], stats([in_use])),
    ringtail_forward:discard(),
    ?assertEqual([0, 0], stats([in_use, idle])),
    wait_until(fun() -> ringtail_test_server:open(S) =:= 0 end).

stopping_closes_everything(Config) ->
    limits([{max_connections, 2}]),
    S = server(fun(#{n := 0}) -> [{send, ok("x")}]; (_) -> [hang] end),
    {ok, 200, [], _} = get_(S),
    Self = self(),
    [spawn(fun() -> Self ! {ended, get_(S)} end) || _ <- [1, 2]],
    wait_until(fun() -> stats([in_use]) =:= [2] end),
    wait_until(fun() -> requests(S) =:= 3 end),
    spawn(fun() -> Self ! {ended, get_(S)} end),
    wait_until(fun() -> stats([waiting]) =:= [1] end),
    stop_pool(proplists:get_value(sup, Config)),
    %% The waiting one, the one on a kept connection (which would have gone on with a new one), the one on its own.
    ?assertEqual([{error, {closed, sent}}, {error, {not_opened, stopping}}, {error, {not_opened, stopping}}],
                 lists:sort([receive {ended, R} -> R end || _ <- [1, 2, 3]])),
    wait_until(fun() -> sockets_to(S) =:= 0 end).

without_a_pool(Config) ->
    stop_pool(proplists:get_value(sup, Config)),
    S = server(fun(_) -> [{send, ok("x")}] end),
    ?assertEqual({error, {not_opened, not_running}}, get_(S)),
    ?assertEqual([], ringtail_forward_pool:stats()).

%% mochiweb answers 400 to the client's next request if it finds a message it does not know.
nothing_stays_in_the_mailbox(_) ->
    limits([{max_connections, 1}]),
    Scripts = [fun(_) -> [read_body, {send, ok("x")}, close] end,
               fun(_) -> [{read, 10}, {send, refusal()}, close] end,
               fun(_) -> [{read, 10}, {send, refusal()}, reset] end,
               fun(_) -> [{send, ["HTTP/1.1 100 Continue\r\n\r\n", ok("x"), "more"]}, hang] end,
               fun(_) -> [hang] end,
               fun(_) -> [reset] end],
    [begin
         S = server(Script),
         Request = {"PUT", "/", [], Body},
         _ = (catch forward(S, Request, [{timeout, 200}, {wait, 10}])),
         timer:sleep(20),
         ?assertEqual({messages, []}, process_info(self(), messages))
     end || Script <- Scripts,
            Body <- [{length, ?MIB, endless(?MIB)}, {chunked, endless(?MIB)}, {length, 20, pieces([<<"0123456789">>, <<"0123456789">>])},
                     {length, 20, fun() -> {<<"0123456789">>, fun() -> timer:sleep(20), exit(gone) end} end}]],
    ?assertEqual([0], stats([in_use])).
