%% @doc When the companion is started again: pure, time is an argument.
%%
%% One that worked for a while and died is started again almost at once, for then something outside
%% killed it. One that dies as soon as it is started is tried at growing intervals, for it will do
%% so again. Either way, starts are never closer together than the first delay.
-module(ringtail_companion_restarts).

-export([new/0, up/2, ended/2]).
-export_type([life/0, milliseconds/0]).

-define(FIRST_DELAY, 10).
-define(LONGEST_DELAY, 5000).
%% One that was up for so long is no failed start.
-define(SETTLED, 100).

-type milliseconds() :: integer().
-record(life, {failures = 0 :: non_neg_integer(),
               up_since = undefined :: undefined | milliseconds()}).
-opaque life() :: #life{}.

%% @doc Never started.
-spec new() -> life().
new() ->
    #life{}.

%% @doc It was started and answers.
-spec up(milliseconds(), life()) -> life().
up(Now, Life) ->
    Life#life{up_since = Now}.

%% @doc It ended, or did not start: how long to wait before the next start.
-spec ended(milliseconds(), life()) -> {Delay :: milliseconds(), life()}.
ended(Now, #life{up_since = Since}) when is_integer(Since), Now - Since >= ?SETTLED ->
    {?FIRST_DELAY, #life{}};
ended(_, #life{failures = Failures}) ->
    %% Doubled at most so often that the number stays small.
    Delay = min(?LONGEST_DELAY, ?FIRST_DELAY bsl min(Failures, 10)),
    {Delay, #life{failures = Failures + 1}}.
