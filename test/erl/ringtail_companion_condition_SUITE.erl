%% @doc The companion as others see it who would rather not wait: whether it is there, why not, what
%% is logged of it, and what callers who gave up find in their mailboxes.
-module(ringtail_companion_condition_SUITE).

-include_lib("stdlib/include/assert.hrl").

-import(ringtail_test_companion, [script/2]).

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2, log/2]).
-export([one_that_could_not_start_told_nobody_why/1, one_that_may_not_be_executed/1,
         one_for_another_machine/1, one_that_closed_its_pipe_told_nobody_why/1,
         every_try_to_start_it_was_a_line_in_the_log/1, what_it_says_is_bounded/1,
         one_that_hangs_is_known_by_who_gave_up_first/1,
         an_answer_came_long_after_its_caller_gave_up/1, timeouts_of_any_size/1,
         a_password_stood_in_the_log_of_a_crash/1]).

suite() ->
    [{timetrap, {minutes, 5}}].

all() ->
    [one_that_could_not_start_told_nobody_why, one_that_may_not_be_executed,
     one_for_another_machine, one_that_closed_its_pipe_told_nobody_why,
     every_try_to_start_it_was_a_line_in_the_log, what_it_says_is_bounded,
     one_that_hangs_is_known_by_who_gave_up_first, an_answer_came_long_after_its_caller_gave_up,
     timeouts_of_any_size, a_password_stood_in_the_log_of_a_crash].

init_per_testcase(_, Config) ->
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self()}),
    application:set_env(ringtail, engine, port),
    Config.

end_per_testcase(_, _) ->
    _ = logger:remove_handler(?MODULE),
    ringtail_companion:stop(),
    [application:unset_env(ringtail, Key) || Key <- [engine, companion, port_timeout]],
    ok.

one_that_could_not_start_told_nobody_why(Config) ->
    Words = "libc.so.6: version `GLIBC_2.34' not found (required by ringtail)",
    Script = script(Config, "echo \"" ++ escaped(Words) ++ "\" >&2; exit 1"),
    application:set_env(ringtail, companion, Script),
    Full = iolist_to_binary(["exit status 1: ", Words]),
    {error, _} = ringtail_companion:call(version, {}),
    ok = wait(fun() -> ringtail_companion:condition() =:= {lost, Full} end),
    ok = wait(fun() -> status(last_end) =:= Full end),
    ?assertEqual({lost, <<"the companion is not there: ", Full/binary>>},
                 ringtail_engine:condition()),
    ok = wait(fun() -> ringtail_engine:is_there() =:= false end),
    %% Another program with the same status has its own words.
    ok = file:write_file(Script, "#!/bin/sh\necho 'no space left' >&2; exit 1\n"),
    Other = <<"exit status 1: no space left">>,
    ok = wait(fun() -> ringtail_companion:condition() =:= {lost, Other} end),
    ok = file:write_file(Script, "#!/bin/sh\nexit 1\n"),
    ok = wait(fun() -> ringtail_companion:condition() =:= {lost, <<"exit status 1">>} end),
    %% Put right, it starts by itself.
    application:unset_env(ringtail, companion),
    ok = wait(fun() -> ringtail_companion:condition() =:= up end),
    ?assertEqual(ok, ringtail_engine:condition()),
    ?assertMatch({ok, _}, ringtail_companion:call(version, {})).

one_that_may_not_be_executed(Config) ->
    Script = script(Config, "exit 0"),
    ok = file:change_mode(Script, 8#644),
    application:set_env(ringtail, companion, Script),
    Refused = {error, {no_companion, _}} = refused(),
    {lost, Why} = ringtail_companion:condition(),
    %% In the same words each time, for those who log a reason once.
    timer:sleep(10),
    ?assertEqual(Refused, refused()),
    [?assertMatch({_, _}, binary:match(Why, Words))
     || Words <- [list_to_binary(Script), <<"may not execute it">>, <<"chmod +x">>]].

one_for_another_machine(Config) ->
    File = script(Config, ""),
    ok = file:write_file(File, <<127, "ELF", 0:400>>),
    application:set_env(ringtail, companion, File),
    {error, _} = ringtail_companion:call(version, {}),
    ok = wait(fun() ->
                      {lost, Why} = ringtail_companion:condition(),
                      binary:match(Why, <<"this machine cannot run it">>) =/= nomatch
              end).

%% The port fails as when it is written to and nobody reads, and no status comes with that.
one_that_closed_its_pipe_told_nobody_why(Config) ->
    Script = script(Config, "[ $1 != port ] || exec sleep 60; echo broken >&2; exit 7"),
    application:set_env(ringtail, companion, Script),
    _ = spawn(ringtail_companion, call, [version, {}]),
    ok = wait(fun() -> is_port(port()) end),
    true = exit(port(), epipe),
    Full = <<"exit status unknown: broken">>,
    ok = wait(fun() -> status(last_end) =:= Full end).

port() ->
    Owner = whereis(ringtail_companion),
    Ports = [Port || Port <- erlang:ports(),
                     {connected, Pid} <- [erlang:port_info(Port, connected)], Pid =:= Owner],
    case Ports of
        [Port] -> Port;
        [] -> none
    end.

every_try_to_start_it_was_a_line_in_the_log(Config) ->
    application:set_env(ringtail, companion, script(Config, "echo broken >&2; exit 7")),
    {error, _} = ringtail_companion:call(version, {}),
    ok = wait(fun() -> status(starts) > 6 end),
    ok = wait(fun() -> ringtail_companion:condition() =:= {lost, <<"exit status 7: broken">>} end),
    application:unset_env(ringtail, companion),
    ok = wait(fun() -> lists:member("ringtail: the companion answers again\n", logged()) end),
    ?assertEqual(["ringtail: the companion is not there: exit status 7\n",
                  "ringtail: the companion is not there: exit status 7: broken\n",
                  "ringtail: the companion answers again\n"], logged()).

%% Megabytes, bytes that are no text, a program that does not end.
what_it_says_is_bounded(Config) ->
    Noise = "[ $1 = port ] && exit 3; printf '\\033[31m\\000\\377<b>'; yes '' | head -c 300; "
        "yes loud | head -c 5000000; exec sleep 1000",
    application:set_env(ringtail, companion, script(Config, Noise)),
    {error, _} = ringtail_companion:call(version, {}),
    ok = wait(fun() -> is_longer(ringtail_companion:condition(),
                                 byte_size(<<"exit status 3">>)) end),
    {lost, Why} = ringtail_companion:condition(),
    ct:log("~s", [Why]),
    ?assert(byte_size(Why) < 500),
    ?assertEqual([], [Byte || <<Byte>> <= Why, Byte < 32 orelse Byte > 126]).

is_longer({lost, Why}, Size) -> byte_size(Why) > Size;
is_longer(_, _) -> false.

one_that_hangs_is_known_by_who_gave_up_first(_) ->
    {ok, _} = ringtail_companion:call(version, {}),
    ?assertEqual(up, ringtail_companion:condition()),
    OsPid = status(os_pid),
    kill("STOP", OsPid),
    {error, {timeout, _}} = ringtail_companion:call(version, {}, 100),
    ?assertMatch({lost, _}, ringtail_companion:condition()),
    kill("CONT", OsPid),
    ok = wait(fun() -> ringtail_companion:condition() =:= up end),
    ?assertEqual(OsPid, status(os_pid)).

%% The owner was too busy to hear that the caller had given up: five seconds were not enough.
an_answer_came_long_after_its_caller_gave_up(_) ->
    {ok, _} = ringtail_companion:call(version, {}),
    Owner = whereis(ringtail_companion),
    true = erlang:suspend_process(Owner),
    Caller = spawn_monitor(fun() ->
                                   Answer = ringtail_companion:call(version, {}, 50),
                                   receive look -> ok end,
                                   exit({Answer, process_info(self(), messages)})
                           end),
    timer:sleep(6000),
    true = erlang:resume_process(Owner),
    {ok, _} = ringtail_companion:call(version, {}),
    _ = status(state),
    {Pid, Monitor} = Caller,
    Pid ! look,
    receive
        {'DOWN', Monitor, process, Pid, {Answer, Messages}} ->
            ?assertMatch({error, {timeout, _}}, Answer),
            ?assertEqual({messages, []}, Messages)
    end.

timeouts_of_any_size(_) ->
    [?assertMatch({ok, _}, ringtail_companion:call(version, {}, Timeout))
     || Timeout <- [infinity, 16#ffffffff, 16#100000000, 1 bsl 100]],
    [begin
         {error, {Code, _}} = ringtail_companion:call(no_such, {binary:copy(<<1>>, 1 bsl 20)},
                                                      Timeout),
         ?assert(lists:member(Code, [timeout, busy]))
     end || Timeout <- [0, -1, -(1 bsl 100)]],
    ?assertMatch({ok, _}, ringtail_companion:call(version, {})),
    ?assertEqual(1, status(starts)).

a_password_stood_in_the_log_of_a_crash(_) ->
    {ok, _} = ringtail_companion:call(version, {}),
    Owner = whereis(ringtail_companion),
    OsPid = status(os_pid),
    Secret = <<"open sesame">>,
    Open = fun() -> ringtail_companion:call(cluster_open, {<<"h">>, [<<"http://127.0.0.1:1">>],
                                                      [{user, <<"u">>}, {password, Secret}]}) end,
    %% In the mailbox, which a crash report shows.
    true = erlang:suspend_process(Owner),
    First = spawn(Open),
    ok = wait(fun() -> element(2, process_info(Owner, message_queue_len)) > 0 end),
    hidden(Secret, process_info(Owner, messages)),
    true = erlang:resume_process(Owner),
    %% Among what is not written, which is part of the state.
    kill("STOP", OsPid),
    Large = binary:copy(<<1>>, 4 bsl 20),
    Fill = spawn(fun() -> ringtail_companion:call(chash, {<<>>, <<>>, Large, std}) end),
    Second = spawn(fun() -> timer:sleep(100), Open() end),
    ok = wait(fun() -> status(requests) >= 2 end),
    hidden(Secret, sys:get_status(Owner)),
    [exit(Pid, kill) || Pid <- [First, Fill, Second]],
    exit(Owner, kill),
    kill("KILL", OsPid).

%% As it is printed, where bytes that are no text are numbers.
hidden(Secret, Term) ->
    Numbers = string:join([integer_to_list(Byte) || <<Byte>> <= Secret], ","),
    Printed = lists:flatten(io_lib:format("~0p ~w", [Term, Term])),
    ?assertEqual(nomatch, string:find(Printed, binary_to_list(Secret))),
    ?assertEqual(nomatch, string:find(Printed, Numbers)).

%% ---- Helpers ----

%% Until the next start is so far off that nobody waits for it.
refused() ->
    {error, {Code, Detail}} = ringtail_companion:call(version, {}),
    case binary:match(Detail, <<"it is started again in a while">>) of
        nomatch -> refused();
        _ -> {error, {Code, Detail}}
    end.

status(Key) -> proplists:get_value(Key, ringtail_companion:status()).

kill(Signal, OsPid) -> os:cmd("kill -" ++ Signal ++ " " ++ integer_to_list(OsPid)).

escaped(Text) -> lists:flatmap(fun($`) -> "\\`"; (C) -> [C] end, Text).

wait(Condition) -> ringtail_test_cluster:wait(Condition).

%% What was logged of the companion since the case began.
log(#{msg := {report, #{format := Format, args := Args}}}, #{config := Case}) ->
    Case ! {logged, lists:flatten(io_lib:format(Format, Args))};
log(#{msg := {Format, Args}}, #{config := Case}) when is_list(Args) ->
    Case ! {logged, lists:flatten(io_lib:format(Format, Args))};
log(_, _) ->
    ok.

logged() ->
    Lines = [Line || Line <- all_logged([]), string:find(Line, "companion") =/= nomatch],
    [self() ! {logged, Line} || Line <- Lines],
    Lines.

all_logged(Lines) ->
    receive {logged, Line} -> all_logged([Line | Lines])
    after 0 -> lists:reverse(Lines)
    end.
