%% @doc The companion as a process among others: it is killed, stopped, fed with nonsense, and its
%% VM is killed.
-module(ringtail_companion_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).
-export([requests_it_does_not_know/1, a_frame_too_large_is_refused_and_the_next_one_served/1,
         garbage_ends_it_and_it_is_started_again/1, killed_again_and_again_under_load/1,
         a_stopped_companion_keeps_nobody_waiting/1, a_companion_that_hangs_is_killed/1,
         a_full_pipe_is_busy/1, too_many_requests_are_busy/1, no_executable/1,
         an_executable_that_fails_is_tried_less_and_less/1, a_companion_that_talks_nonsense/1,
         a_killed_caller_leaves_nothing/1, no_answer_after_the_deadline/1,
         it_is_gone_when_its_vm_is_killed/1, it_is_gone_at_once_when_stopped_while_busy/1,
         cycles_leave_nothing/1, what_was_not_written_is_not_lost/1]).

-import(ringtail_test_companion, [hash/0, primaries/1, ring_bytes/0, status/1, kill/2, alive/1,
                                  script/2, wait/1, wait/2, within/2, memory/0, now_ms/0]).

suite() ->
    [{timetrap, {minutes, 5}}].

all() ->
    [requests_it_does_not_know, a_frame_too_large_is_refused_and_the_next_one_served,
     garbage_ends_it_and_it_is_started_again, killed_again_and_again_under_load,
     a_stopped_companion_keeps_nobody_waiting, a_companion_that_hangs_is_killed,
     a_full_pipe_is_busy, too_many_requests_are_busy, no_executable,
     an_executable_that_fails_is_tried_less_and_less, a_companion_that_talks_nonsense,
     a_killed_caller_leaves_nothing, no_answer_after_the_deadline,
     it_is_gone_when_its_vm_is_killed, it_is_gone_at_once_when_stopped_while_busy,
     cycles_leave_nothing, what_was_not_written_is_not_lost].

init_per_testcase(_, Config) ->
    ringtail_test_companion:use(),
    Config.

end_per_testcase(_, _) ->
    ringtail_test_companion:stop().

%% ---- Requests and frames ----

requests_it_does_not_know(_) ->
    ?assertMatch({error, {unknown_operation, _}},
                 ringtail_companion:call(no_such_operation, {1, 2})),
    ?assertMatch({error, {bad_arity, _}}, ringtail_companion:call(chash, {})),
    ?assertMatch({error, {bad_arity, _}}, ringtail_companion:call(primaries_many, {1})),
    ?assertMatch({ok, _}, hash()),
    ?assertEqual(1, status(starts)).

a_frame_too_large_is_refused_and_the_next_one_served(_) ->
    Huge = binary:copy(<<0>>, 65 bsl 20),
    Others = [spawn_monitor(fun() -> [{ok, _} = hash() || _ <- lists:seq(1, 200)] end)
              || _ <- lists:seq(1, 4)],
    ?assertMatch({error, {frame_too_large, _}},
                 ringtail_companion:call(chash, {<<"default">>, <<"b">>, Huge, std}, 60000)),
    [receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual(normal, Reason) end
     || {Pid, Monitor} <- Others],
    ?assertMatch({ok, _}, hash()),
    ?assertEqual(1, status(starts)).

garbage_ends_it_and_it_is_started_again(_) ->
    [begin
         {ok, _} = hash(),
         Starts = status(starts),
         whereis(ringtail_companion) ! {frame, 1, Garbage},
         wait(fun() -> status(starts) > Starts andalso status(state) =:= up end),
         ?assertEqual(<<"exit status 2">>, status(last_end)),
         ?assertMatch({ok, _}, hash())
     end || Garbage <- [<<>>, <<"no term">>, term_to_binary(hello),
                        term_to_binary({0, version, {}}),
                        term_to_binary({<<"id">>, version, {}}), <<131, 80, 0, 0, 0, 1, 120, 156>>,
                        binary_part(term_to_binary({1, version, {a, b}}), 0, 12)]],
    ok.

%% ---- Deaths ----

killed_again_and_again_under_load(_) ->
    {ok, Ring} = ringtail_engine:load_ring(ring_bytes()),
    {ok, Expected} = primaries(Ring),
    Run = fun(Time) ->
                  End = now_ms() + Time,
                  Callers =
                      [spawn_monitor(fun() -> exit(outcomes(Ring, {ok, Expected}, End,
                                                            {0, [], 0})) end)
                       || _ <- lists:seq(1, 16)],
                  Killer = spawn(fun Kill() -> timer:sleep(200), kill("KILL", status(os_pid)),
                                 Kill() end),
                  All = [receive {'DOWN', Monitor, process, Pid, Outcomes} -> Outcomes end
                         || {Pid, Monitor} <- Callers],
                  exit(Killer, kill),
                  All
          end,
    _ = Run(1000),
    Before = memory(),
    {Goods, Bads, Times} = lists:unzip3(Run(20000)),
    After = memory(),
    {Good, Bad} = {lists:sum(Goods), lists:append(Bads)},
    ct:log("~w answers, ~w failures ~p, longest ~w ms, memory ~w before, ~w after, ~w starts",
           [Good, length(Bad), lists:usort(Bad), lists:max(Times), Before, After, status(starts)]),
    %% Whoever could not be answered was told why, in time.
    [?assertMatch({error, {companion_died, _}}, Answer) || Answer <- Bad],
    ?assert(lists:max(Times) < ringtail_config:port_hang_timeout()),
    ?assert(Good > 10 * length(Bad)),
    ?assert(status(starts) > 10),
    ?assert(After < Before * 1.1 + 1000000),
    ?assertEqual({ok, Expected}, primaries(Ring)).

%% How many were good, which were not, and the longest time of a call, to see that none hangs.
outcomes(Ring, Expected, End, {Good, Bad, Longest}) ->
    Start = now_ms(),
    Answer = primaries(Ring),
    Now = now_ms(),
    Sum = case Answer of
              Expected -> {Good + 1, Bad, max(Longest, Now - Start)};
              _ -> {Good, [Answer | Bad], max(Longest, Now - Start)}
          end,
    case Now < End of
        true -> outcomes(Ring, Expected, End, Sum);
        false -> Sum
    end.

a_stopped_companion_keeps_nobody_waiting(_) ->
    {ok, _} = hash(),
    kill("STOP", status(os_pid)),
    {Time, Answer} = timer:tc(fun() -> ringtail_companion:call(version, {}, 300) end),
    ?assertMatch({error, {timeout, _}}, Answer),
    ?assert(Time < 2000000),
    kill("CONT", status(os_pid)),
    ?assertMatch({ok, _}, hash()),
    ?assertEqual(1, status(starts)).

a_companion_that_hangs_is_killed(_) ->
    application:set_env(ringtail, port_hang_timeout, 500),
    {ok, _} = hash(),
    OsPid = status(os_pid),
    kill("STOP", OsPid),
    wait(fun() -> status(starts) =:= 2 andalso status(state) =:= up end),
    ?assertEqual(<<"it did not answer any more">>, status(last_end)),
    ?assertMatch({ok, _}, hash()),
    wait(fun() -> not alive(OsPid) end).

a_full_pipe_is_busy(_) ->
    {ok, _} = hash(),
    kill("STOP", status(os_pid)),
    Large = binary:copy(<<1>>, 1 bsl 20),
    Answers = [begin
                   {Time,
                    Answer} =
                        timer:tc(fun() -> ringtail_companion:call(chash,
                                                                  {<<"t">>, <<"b">>, Large, std},
                                                                  200) end),
                   ?assert(Time < 2000000),
                   Answer
               end || _ <- lists:seq(1, 4)],
    ?assertMatch({error, {timeout, _}}, hd(Answers)),
    ?assertMatch({error, {busy, _}}, lists:last(Answers)),
    kill("CONT", status(os_pid)),
    ?assertMatch({ok, _}, hash()).

too_many_requests_are_busy(_) ->
    application:set_env(ringtail, port_max_requests, 5),
    {ok, _} = hash(),
    kill("STOP", status(os_pid)),
    Callers = [spawn_monitor(fun() -> exit(ringtail_companion:call(version, {}, 1000)) end)
               || _ <- lists:seq(1, 20)],
    Answers = [receive {'DOWN', Monitor, process, Pid, {error, {Code, _}}} -> Code end
               || {Pid, Monitor} <- Callers],
    ?assertEqual({5, 15}, {length([t || timeout <- Answers]), length([b || busy <- Answers])}),
    kill("CONT", status(os_pid)),
    ?assertMatch({ok, _}, hash()).

no_executable(_) ->
    application:set_env(ringtail, companion, "/no/such/ringtail"),
    {error, {no_companion, Detail}} = within(60000, fun() -> eventually_refused() end),
    ?assertMatch({_, _}, binary:match(Detail, <<"/no/such/ringtail">>)),
    %% Put right, it starts.
    application:unset_env(ringtail, companion),
    wait(fun() -> element(1, hash()) =:= ok end).

an_executable_that_fails_is_tried_less_and_less(Config) ->
    application:set_env(ringtail, companion, script(Config, "exit 7")),
    _ = within(60000, fun() -> eventually_refused() end),
    timer:sleep(2000),
    %% 10, 20, 40 ... ms: eight doublings make more than two seconds.
    ?assert(status(starts) < 12),
    ?assertMatch({error, {companion_died, <<"exit status 7", _/binary>>}},
                 ringtail_companion:call(version, {})),
    application:unset_env(ringtail, companion),
    wait(fun() -> element(1, hash()) =:= ok end).

%% While the next start is near, calls wait for it.
eventually_refused() ->
    {error, {Code, Detail}} = ringtail_companion:call(version, {}),
    case binary:match(Detail, <<"it is started again in a while">>) of
        nomatch -> eventually_refused();
        _ -> {error, {Code, Detail}}
    end.

a_companion_that_talks_nonsense(Config) ->
    application:set_env(ringtail, companion,
                        script(Config, "printf '\\000\\000\\000\\005hello'; sleep 60")),
    {error, {companion_died, Detail}} = within(60000, fun() -> eventually_refused() end),
    ?assertMatch({0, _}, binary:match(Detail, <<"it said something that is no answer">>)).

a_killed_caller_leaves_nothing(_) ->
    {ok, _} = hash(),
    kill("STOP", status(os_pid)),
    Callers = [spawn(fun() -> ringtail_companion:call(version, {}, infinity) end)
               || _ <- lists:seq(1, 50)],
    wait(fun() -> status(requests) >= 50 end),
    [exit(Caller, kill) || Caller <- Callers],
    kill("CONT", status(os_pid)),
    wait(fun() -> status(requests) =:= 0 end).

no_answer_after_the_deadline(_) ->
    {ok, _} = hash(),
    [begin
         Caller = spawn_monitor(fun() ->
                                        _ = [ringtail_companion:call(version, {}, 0)
                                             || _ <- lists:seq(1, 200)],
                                        timer:sleep(100),
                                        exit(process_info(self(), messages))
                                end),
         {Pid, Monitor} = Caller,
         receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual({messages, []}, Reason) end
     end || _ <- lists:seq(1, 3)],
    ?assertEqual(0, status(requests)).

%% ---- Ends ----

it_is_gone_when_its_vm_is_killed(Config) ->
    Paths = [Dir || Dir <- code:get_path(), string:find(Dir, "ringtail") =/= nomatch],
    File = filename:join(proplists:get_value(priv_dir, Config), "pids"),
    Keys = "[{<<0>>, <<0>>, <<I:32>>} || I <- lists:seq(1, 1000)]",
    Eval = "application:set_env(ringtail, engine, port), "
        "{ok, Bytes} = file:read_file(\"" ++ ringtail_test_util:vectors("rings/live4_my.etf")
            ++ "\"), "
        "binary_to_term(Bytes), {ok, Ring} = ringtail_engine:load_ring(Bytes), Keys = " ++ Keys
            ++ ", "
        "[spawn(fun F() -> ringtail_engine:primaries_many(Ring, Keys, std, 3), F() end) "
        "|| _ <- lists:seq(1, 100)], "
        "timer:sleep(300), {_, Pid} = lists:keyfind(os_pid, 1, ringtail_companion:status()), "
        "file:write_file(\"" ++ File ++ "\", [os:getpid(), \" \", integer_to_list(Pid)]).",
    Arguments = ["-noshell"] ++ lists:append([["-pa", Dir] || Dir <- Paths]) ++ ["-eval", Eval],
    _ = open_port({spawn_executable, os:find_executable("erl")},
                  [{args, Arguments}, exit_status, stderr_to_stdout]),
    wait(fun() -> filelib:file_size(File) > 2 end),
    {ok, Text} = file:read_file(File),
    [Vm, Companion] = [binary_to_integer(Part) || Part <- binary:split(Text, <<" ">>)],
    ?assert(alive(Vm) andalso alive(Companion)),
    kill("KILL", Vm),
    wait(fun() -> not alive(Companion) end).

it_is_gone_at_once_when_stopped_while_busy(_) ->
    {ok, Ring} = ringtail_engine:load_ring(ring_bytes()),
    Keys = [{<<"t">>, <<"b">>, <<K:32>>} || K <- lists:seq(1, 1000)],
    Callers = [spawn_monitor(fun() -> exit(busily(Ring, Keys)) end) || _ <- lists:seq(1, 30)],
    timer:sleep(200),
    OsPid = status(os_pid),
    ringtail_companion:stop(),
    wait(fun() -> not alive(OsPid) end),
    %% Those who asked go on with a new one, started by the first of them.
    [Pid ! enough || {Pid, _} <- Callers],
    [receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual(enough, Reason) end
     || {Pid, Monitor} <- Callers].

busily(Ring, Keys) ->
    case ringtail_engine:primaries_many(Ring, Keys, std, 3) of
        {ok, _} -> ok;
        {error, {Code, _}} -> ?assert(lists:member(Code, [companion_died, busy]))
    end,
    receive enough -> enough after 0 -> busily(Ring, Keys) end.

cycles_leave_nothing(_) ->
    cycle(5),
    Ports = length(erlang:ports()),
    Processes = length(processes()),
    Files = open_files(),
    OsPids = cycle(200),
    wait(fun() -> not lists:any(fun ringtail_test_companion:alive/1, OsPids) end),
    ?assertEqual(200, length(lists:usort(OsPids))),
    ?assertEqual(Ports, length(erlang:ports())),
    ?assert(length(processes()) =< Processes),
    ?assert(open_files() =< Files),
    ?assertEqual(undefined, ets:info(ringtail_companion, size)).

cycle(Count) ->
    [begin
         {ok, _} = hash(),
         OsPid = status(os_pid),
         ringtail_companion:stop(),
         OsPid
     end || _ <- lists:seq(1, Count)].

open_files() ->
    {ok, Files} = file:list_dir("/proc/self/fd"),
    length(Files).

%% The pipe is full of what a stopped companion does not read; then it dies. Who was not heard yet
%% is heard by the next one.
what_was_not_written_is_not_lost(_) ->
    {ok, _} = hash(),
    OsPid = status(os_pid),
    kill("STOP", OsPid),
    Large = binary:copy(<<1>>, 4 bsl 20),
    Ask = fun() -> exit(ringtail_companion:call(chash, {<<"t">>, <<"b">>, Large, std}, 20000)) end,
    First = spawn_monitor(Ask),
    wait(fun() -> status(requests) =:= 1 end),
    Others = [spawn_monitor(Ask) || _ <- lists:seq(1, 5)],
    wait(fun() -> status(requests) =:= 6 end),
    kill("KILL", OsPid),
    Answers = [receive {'DOWN', Monitor, process, Pid, Answer} -> element(1, Answer) end
               || {Pid, Monitor} <- [First | Others]],
    ?assertEqual([error, ok, ok, ok, ok, ok], Answers).
