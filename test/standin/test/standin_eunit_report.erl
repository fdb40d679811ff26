%% @doc Test support: runs the stand-in's EUnit modules and Common Test suites
%% and ends with a line `N passed, N failed'. A test that could not be run, or
%% a module without a test, counts as failed.
-module(standin_eunit_report).
-behaviour(eunit_listener).

-export([main/0]).
-export([start/1, init/1, handle_begin/3, handle_end/3, handle_cancel/3, terminate/2]).

main() ->
    {Suites, Modules} = lists:partition(fun(M) -> lists:suffix("_SUITE", M) end,
                                        init:get_plain_arguments()),
    Results = [eunit_module(list_to_atom(M)) || M <- Modules]
        ++ [suite(S) || S <- Suites],
    Passed = lists:sum([P || {P, _} <- Results]),
    Failed = lists:sum([F || {_, F} <- Results]),
    io:format("~b passed, ~b failed~n", [Passed, Failed]),
    halt(case Failed of 0 -> 0; _ -> 1 end).

eunit_module(Module) ->
    Self = self(),
    _ = eunit:test(Module, [no_tty, {report, {?MODULE, [{to, Self}]}}]),
    {Passed, Failed} = receive {?MODULE, Counts} -> Counts end,
    io:format("~ts: ~b passed, ~b failed~n", [Module, Passed, Failed]),
    case Passed + Failed of
        0 -> {0, 1};
        _ -> {Passed, Failed}
    end.

suite(Suite) ->
    case ct:run_test([{suite, list_to_atom(Suite)},
                      {dir, filename:dirname(code:which(list_to_atom(Suite)))},
                      {auto_compile, false}, {logdir, os:getenv("STANDIN_LOGS", "/tmp")}]) of
        {Passed, Failed, {Skipped, Aborted}} -> {Passed, Failed + Skipped + Aborted};
        Error ->
            io:format("~ts: ~p~n", [Suite, Error]),
            {0, 1}
    end.

start(Options) -> eunit_listener:start(?MODULE, Options).

init(Options) ->
    receive
        {start, _} -> {proplists:get_value(to, Options), 0, 0}
    end.

handle_begin(_Kind, _Data, State) -> State.

handle_end(test, Data, {To, Passed, Failed}) ->
    case proplists:get_value(status, Data) of
        ok -> {To, Passed + 1, Failed};
        Status ->
            describe(Data, Status),
            {To, Passed, Failed + 1}
    end;
handle_end(group, _Data, State) -> State.

handle_cancel(_Kind, Data, {To, Passed, Failed}) ->
    case proplists:get_value(reason, Data) of
        undefined -> {To, Passed, Failed};
        Reason ->
            describe(Data, Reason),
            {To, Passed, Failed + 1}
    end.

terminate({ok, _Data}, {To, Passed, Failed}) -> To ! {?MODULE, {Passed, Failed}};
terminate({error, Reason}, {To, Passed, Failed}) ->
    io:format("test run ended: ~p~n", [Reason]),
    To ! {?MODULE, {Passed, Failed + 1}}.

describe(Data, Reason) ->
    io:format("FAILED ~p ~ts line ~p~n~p~n~ts~n",
              [proplists:get_value(source, Data), proplists:get_value(desc, Data, ""),
               proplists:get_value(line, Data), Reason, proplists:get_value(output, Data, "")]).
