%% @doc The companion as the engine of a suite's cases, and what is asked of it and done to it
%% there.
-module(ringtail_test_companion).

-export([use/0, stop/0, hash/0, primaries/1, ring_bytes/0, status/1, kill/2, alive/1, script/2,
         wait/1, wait/2, within/2, memory/0, now_ms/0]).

use() ->
    application:set_env(ringtail, engine, port).

stop() ->
    ringtail_companion:stop(),
    [application:unset_env(ringtail, Key)
     || Key <- [engine, companion, port_hang_timeout, port_max_requests, port_timeout]],
    ok.

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

%% A program in place of the companion. It reads a little of what it is sent first: whatever ends
%% before that has no exit status that the VM would tell.
script(Config, Body) ->
    File = filename:join(proplists:get_value(priv_dir, Config),
                         "companion" ++ integer_to_list(erlang:unique_integer([positive]))),
    ok = file:write_file(File, ["#!/bin/sh\n[ \"$1\" != port ] || head -c 4 > /dev/null\n", Body,
                                "\n"]),
    ok = file:change_mode(File, 8#755),
    File.

wait(Condition) ->
    wait(Condition, 60000).

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
