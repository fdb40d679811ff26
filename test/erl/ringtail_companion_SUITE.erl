%% @doc The companion as a process among others: it is killed, stopped, fed with nonsense, and its
%% VM is killed.
-module(ringtail_companion_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).
-export([requests_it_does_not_know/1, a_frame_too_large_is_refused_and_the_next_one_served/1,
         garbage_ends_it_and_it_is_started_again/1, killed_again_and_again_under_load/1,
         a_stopped_companion_keeps_nobody_waiting/1, a_companion_that_hangs_is_killed/1,
         a_full_pipe_is_busy/1,
         too_many_requests_are_busy/1, no_executable/1,
         an_executable_that_fails_is_tried_less_and_less/1,
         a_companion_that_talks_nonsense/1, a_killed_caller_leaves_nothing/1,
         no_answer_after_the_deadline/1,
         it_is_gone_when_its_vm_is_killed/1, it_is_gone_at_once_when_stopped_while_busy/1,
         cycles_leave_nothing/1,
         many_callers_at_once/1, the_current_ring_is_there_after_a_restart/1,
         more_rings_than_it_holds/1,
         a_supervisor_takes_over/1, the_first_call_starts_it/1, when_it_is_started_again/1,
         round_trips_are_counted/1,
         answers_of_all_kinds/1, every_error_code_is_known/1, frames_in_any_pieces/1,
         what_was_not_written_is_not_lost/1]).

suite() ->
    [{timetrap, {minutes, 2}}].

all() ->
    [requests_it_does_not_know, a_frame_too_large_is_refused_and_the_next_one_served,
     garbage_ends_it_and_it_is_started_again, killed_again_and_again_under_load,
     a_stopped_companion_keeps_nobody_waiting,
     a_companion_that_hangs_is_killed, a_full_pipe_is_busy, too_many_requests_are_busy,
     no_executable,
     an_executable_that_fails_is_tried_less_and_less, a_companion_that_talks_nonsense,
     a_killed_caller_leaves_nothing,
     no_answer_after_the_deadline, it_is_gone_when_its_vm_is_killed,
     it_is_gone_at_once_when_stopped_while_busy,
     cycles_leave_nothing, many_callers_at_once, the_current_ring_is_there_after_a_restart,
     more_rings_than_it_holds,
     a_supervisor_takes_over, the_first_call_starts_it, when_it_is_started_again,
     round_trips_are_counted,
     answers_of_all_kinds, every_error_code_is_known, frames_in_any_pieces,
     what_was_not_written_is_not_lost].

init_per_testcase(_, Config) ->
    application:set_env(ringtail, engine, port),
    Config.

end_per_testcase(_, _) ->
    ringtail_companion:stop(),
    [application:unset_env(ringtail, Key)
     || Key <- [engine, companion, port_hang_timeout, port_max_requests, port_timeout]],
    ok.

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
    ?assert(lists:max(Times) < 2500),
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
    wait(fun() -> status(starts) =:= 2 andalso status(state) =:= up end, 15000),
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
    {error, {no_companion, Detail}} = within(3000, fun() -> eventually_refused() end),
    ?assertMatch({_, _}, binary:match(Detail, <<"/no/such/ringtail">>)),
    %% Put right, it starts.
    application:unset_env(ringtail, companion),
    wait(fun() -> element(1, hash()) =:= ok end, 10000).

an_executable_that_fails_is_tried_less_and_less(Config) ->
    application:set_env(ringtail, companion, script(Config, "exit 7")),
    _ = within(3000, fun() -> eventually_refused() end),
    timer:sleep(2000),
    %% 10, 20, 40 ... ms: eight doublings make more than two seconds.
    ?assert(status(starts) < 12),
    ?assertMatch({error, {companion_died, <<"exit status 7", _/binary>>}},
                 ringtail_companion:call(version, {})),
    application:unset_env(ringtail, companion),
    wait(fun() -> element(1, hash()) =:= ok end, 10000).

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
    {error, {companion_died, Detail}} = within(5000, fun() -> eventually_refused() end),
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
    wait(fun() -> filelib:file_size(File) > 2 end, 30000),
    {ok, Text} = file:read_file(File),
    [Vm, Companion] = [binary_to_integer(Part) || Part <- binary:split(Text, <<" ">>)],
    ?assert(alive(Vm) andalso alive(Companion)),
    kill("KILL", Vm),
    wait(fun() -> not alive(Companion) end, 1000).

it_is_gone_at_once_when_stopped_while_busy(_) ->
    {ok, Ring} = ringtail_engine:load_ring(ring_bytes()),
    Keys = [{<<"t">>, <<"b">>, <<K:32>>} || K <- lists:seq(1, 1000)],
    Callers = [spawn_monitor(fun() -> exit(busily(Ring, Keys)) end) || _ <- lists:seq(1, 30)],
    timer:sleep(200),
    OsPid = status(os_pid),
    ringtail_companion:stop(),
    wait(fun() -> not alive(OsPid) end, 1000),
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
    wait(fun() -> not lists:any(fun alive/1, OsPids) end, 2000),
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

%% ---- Callers and rings ----

many_callers_at_once(_) ->
    {ok, Ring} = ringtail_engine:load_ring(ring_bytes()),
    Expected = fun(Key) -> <<(ringtail_model:hash(<<"t">>, <<"b">>, Key, std)):160>> end,
    Caller = fun(I) ->
                     [begin
                          Key = <<I:32, K:32>>,
                          ?assertEqual({ok, Expected(Key)},
                                       ringtail_engine:chash(<<"t">>, <<"b">>, Key, std)),
                          {ok, One} = ringtail_engine:primaries(Ring, <<"t">>, <<"b">>, Key, std,
                                                                3),
                          ?assertEqual({ok, [One]}, ringtail_engine:primaries_many(Ring,
                                                                                   [{<<"t">>,
                                                                                     <<"b">>, Key}],
                                                                                     std, 3))
                      end || K <- lists:seq(1, 50)]
             end,
    Callers = [spawn_monitor(fun() -> Caller(I) end) || I <- lists:seq(1, 64)],
    [receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual(normal, Reason) end
     || {Pid, Monitor} <- Callers],
    ?assertEqual(1, status(starts)).

the_current_ring_is_there_after_a_restart(_) ->
    Bytes = ring_bytes(),
    {ok, _} = ringtail_engine:load_ring(Bytes),
    Digest = crypto:hash(sha, Bytes),
    kill("KILL", status(os_pid)),
    wait(fun() -> status(starts) =:= 2 andalso status(state) =:= up end),
    %% Asked without the engine, which would send it again.
    ?assertMatch({ok, 64}, ringtail_companion:call(ring_size, {Digest})).

more_rings_than_it_holds(_) ->
    Names = ringtail_test_util:ring_names(),
    Rings = [begin
                 Bytes = ringtail_test_util:ring_bytes(Name),
                 {ok, Ring} = ringtail_engine:load_ring(Bytes),
                 {ok, Document} = ringtail_engine:document(Ring, ring_summary),
                 {Ring, Document}
             end || Name <- Names],
    Terms =
        [{chstate, n@h, [], {1, [{0, list_to_atom("n" ++ integer_to_list(I) ++ "@h")}]}, dict:new()}
         || I <- lists:seq(1, 20)],
    [{ok, _} = ringtail_engine:load_ring(Term) || Term <- Terms],
    {FirstDigest, _} = {crypto:hash(sha, ringtail_test_util:ring_bytes(hd(Names))), first},
    ?assertMatch({error, {no_such_ring, _}}, ringtail_companion:call(ring_size, {FirstDigest})),
    [?assertEqual({ok, Document}, ringtail_engine:document(Ring, ring_summary))
     || {Ring, Document} <- Rings].

a_supervisor_takes_over(_) ->
    {ok, _} = hash(),
    OfCall = whereis(ringtail_companion),
    {ok, Supervised} = ringtail_companion:start_link(),
    ?assertNotEqual(OfCall, Supervised),
    ?assertMatch({ok, _}, hash()),
    ?assertEqual(Supervised, whereis(ringtail_companion)),
    unlink(Supervised).

the_first_call_starts_it(_) ->
    ?assertEqual([{state, stopped}], ringtail_companion:status()),
    {ok, Supervised} = ringtail_companion:start_link(),
    unlink(Supervised),
    ?assertEqual({idle, 0}, {status(state), status(starts)}),
    Callers = [spawn_monitor(fun() -> exit(hash()) end) || _ <- lists:seq(1, 20)],
    [receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertMatch({ok, _}, Reason) end
     || {Pid, Monitor} <- Callers],
    ?assertEqual({up, 1}, {status(state), status(starts)}).

%% ---- Plain calls ----

when_it_is_started_again(_) ->
    New = ringtail_companion_restarts:new(),
    %% It dies at once, time after time.
    DiesAtOnce = fun(_, Life) ->
                         Up = ringtail_companion_restarts:up(0, Life),
                         ringtail_companion_restarts:ended(5, Up)
                 end,
    {Delays, Failing} = lists:mapfoldl(DiesAtOnce, New, lists:seq(1, 15)),
    ?assertEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000, 5000, 5000, 5000, 5000],
                 Delays),
    %% One that worked starts afresh.
    {Delay, Fresh} = ringtail_companion_restarts:ended(10000,
                                                       ringtail_companion_restarts:up(1000,
                                                                                      Failing)),
    ?assertEqual(10, Delay),
    ?assertMatch({10, _}, ringtail_companion_restarts:ended(10001, Fresh)).

round_trips_are_counted(_) ->
    ?assertEqual([{answers, 0}], ringtail_companion_stats:report(ringtail_companion_stats:new())),
    Stats = lists:foldl(fun ringtail_companion_stats:add/2, ringtail_companion_stats:new(),
                        lists:duplicate(98, 10) ++ [-5, 1000]),
    ?assertEqual([{answers, 100}, {mean_us, (980 + 1 + 1000) div 100}, {median_us, 15},
                  {p99_us, 15}, {longest_us, 1000}],
                 ringtail_companion_stats:report(Stats)),
    {ok, _} = hash(),
    ?assertEqual(1, status(answers)),
    ?assert(status(median_us) > 0).

answers_of_all_kinds(_) ->
    Frame = fun(Term) -> <<131, Tail/binary>> = term_to_binary(Term),
                <<131, 104, 3, 110, 8, 0, 7:64/little, Tail/binary>> end,
    Kind = fun(Name, Value) ->
                   <<131, Tail/binary>> = term_to_binary(Value),
                   <<131, 104, 3, 110, 8, 0, 7:64/little, 100, (byte_size(Name)):16, Name/binary,
                     Tail/binary>>
           end,
    ?assertEqual({7, last}, ringtail_companion_codec:addressee(Kind(<<"ok">>, 1))),
    ?assertEqual({7, last}, ringtail_companion_codec:addressee(Kind(<<"error">>, 1))),
    ?assertEqual({7, progress}, ringtail_companion_codec:addressee(Kind(<<"progress">>, 1))),
    [?assertEqual(error, ringtail_companion_codec:addressee(Bad))
     || Bad <- [<<>>, <<131>>, Frame(other), Kind(<<"oh">>, 1)]],
    ?assertEqual({ok, [a]}, ringtail_companion_codec:answer(Kind(<<"ok">>, [a]))),
    ?assertEqual({error, {busy, <<"b">>}},
                 ringtail_companion_codec:answer(Kind(<<"error">>, {<<"busy">>, <<"b">>}))),
    ?assertEqual({error, {companion_error, <<"never heard of that: b">>}},
                 ringtail_companion_codec:answer(Kind(<<"error">>,
                                                      {<<"never heard of that">>, <<"b">>}))),
    Unknown = <<131, 104, 3, 110, 8, 0, 7:64/little, 100, 2:16, "ok", 119, 22,
                "an atom nobody ever said">>,
    ?assertMatch({error, {bad_answer, _}}, ringtail_companion_codec:answer(Unknown)).

frames_in_any_pieces(_) ->
    _ = rand:seed(exsplus, {5, 8, 2}),
    [begin
         Frames = [crypto:strong_rand_bytes(one_of([0, 1, 3, 10, 300, 70000]))
                   || _ <- lists:seq(1, rand:uniform(12))],
         Stream = iolist_to_binary([ringtail_companion_frames:framed(Frame) || Frame <- Frames]),
         Most = one_of([1, 2, 5, 1000, 65536]),
         Got = in_pieces(Stream, Most, ringtail_companion_frames:new()),
         ?assertEqual(Frames, [ringtail_companion_frames:whole(Frame) || Frame <- Got]),
         %% What says whose it is is never cut.
         [?assert(byte_size(First) >= 64) || [First | _] <- Got]
     end || _ <- lists:seq(1, 60)],
    ?assertEqual(error, ringtail_companion_frames:add(<<65:8, 0:24, "x">>,
                                                      ringtail_companion_frames:new())).

in_pieces(<<>>, _, _) ->
    [];
in_pieces(Stream, Most, Frames) ->
    Size = min(byte_size(Stream), rand:uniform(Most)),
    <<Piece:Size/binary, Rest/binary>> = Stream,
    {Whole, Left} = ringtail_companion_frames:add(Piece, Frames),
    Whole ++ in_pieces(Rest, Most, Left).

one_of(List) ->
    lists:nth(rand:uniform(length(List)), List).

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

%% Those that are not are told in words, but a program cannot match on them.
every_error_code_is_known(_) ->
    Files =
        lists:append([filelib:wildcard(filename:join([ringtail_test_util:root(), "native", Dir,
                                                      "**", "*.rs"]))
                      || Dir <- ["ringtail-core/src", "ringtail-client/src", "ringtail/src/port"]]),
    Codes = lists:usort(lists:append([codes_in(File) || File <- Files])),
    ?assert(length(Codes) > 40),
    Known = [atom_to_list(Atom) || Atom <- ringtail_companion_codec:vocabulary()],
    ?assertEqual([], Codes -- Known).

%% The texts in the body of every function `code'.
codes_in(File) ->
    {ok, Text} = file:read_file(File),
    case re:run(Text, "^( *)pub fn code\\(.*?^\\1}$",
                [global, multiline, dotall, {capture, [0], binary}]) of
        {match, Bodies} ->
            lists:append([begin
                              {match, Found} = re:run(Body, "\"([a-z_]+)\"",
                                                      [global, {capture, [1], list}]),
                              lists:append(Found)
                          end || [Body] <- Bodies]);
        nomatch ->
            []
    end.

%% ---- What the cases share ----

hash() ->
    ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, std).

primaries(Ring) ->
    ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3).

ring_bytes() ->
    Bytes = ringtail_test_util:ring_bytes("live4_my"),
    _ = binary_to_term(Bytes),
    Bytes.

status(Key) ->
    proplists:get_value(Key, ringtail_companion:status()).

kill(_, undefined) ->
    ok;
kill(Signal, OsPid) ->
    os:cmd("kill -" ++ Signal ++ " " ++ integer_to_list(OsPid) ++ " 2>/dev/null").

%% A process that ended and was not fetched by its parent is not alive.
alive(OsPid) ->
    case file:read_file("/proc/" ++ integer_to_list(OsPid) ++ "/stat") of
        {ok, Stat} -> re:run(Stat, "\\) [ZX]") =:= nomatch;
        {error, _} -> false
    end.

script(Config, Line) ->
    File = filename:join(proplists:get_value(priv_dir, Config), "companion.sh"),
    ok = file:write_file(File, ["#!/bin/sh\n", Line, "\n"]),
    ok = file:change_mode(File, 8#755),
    File.

wait(Condition) ->
    wait(Condition, 5000).

wait(Condition, Left) ->
    case Condition() of
        true -> ok;
        false when Left > 0 -> timer:sleep(20), wait(Condition, Left - 20);
        false -> error({not_in_time, erlang:fun_info(Condition)})
    end.

within(Time, Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({value, Fun()}) end),
    receive
        {'DOWN', Monitor, process, Pid, {value, Value}} -> Value;
        {'DOWN', Monitor, process, Pid, Reason} -> error(Reason)
    after Time -> error(too_slow)
    end.

memory() ->
    [erlang:garbage_collect(Pid) || Pid <- processes()],
    erlang:memory(total).

now_ms() ->
    erlang:monotonic_time(millisecond).
