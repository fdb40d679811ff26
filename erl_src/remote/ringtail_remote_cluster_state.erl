%% @doc What is known of one cluster that is asked now and then, how old that is, and when to ask
%% again. Pure: time (in milliseconds, of a clock that does not jump) and chance are arguments.
-module(ringtail_remote_cluster_state).

-export([new/0, asking/1, reached/3, failed/2, failure/1, token/1, pause/2, freshness/2]).
-export_type([state/0, freshness/0, milliseconds/0]).

-type milliseconds() :: integer().
-type failure() :: {Code :: atom(), Detail :: binary()}.
-type freshness() :: {never, failure()} | {current | stale, Age :: milliseconds()}.

-record(state, {token = <<>> :: binary(),               % of what was told last; empty for never
                at = never :: never | milliseconds(),   % when that was
                failure = none :: none | failure(),     % of the last attempt
                failures = 0 :: non_neg_integer()}).    % in a row

-opaque state() :: #state{}.

%% As the companion's own client does when it is idle: 10 s, give or take 20 %.
-define(PAUSE_MS, 10000).
-define(SPREAD, 0.2).
-define(FIRST_RETRY_MS, 500).
%% Without news for so long something is wrong, whatever the last attempt said.
-define(CURRENT_MS, 3 * ?PAUSE_MS).

-spec new() -> state().
new() ->
    #state{}.

%% @doc Why nothing is known, as an error.
-spec asking(state()) -> failure().
asking(#state{failure = none}) ->
    {not_asked_yet, <<"the cluster has not answered yet; try again in a moment">>};
asking(#state{failure = Failure}) -> Failure.

-spec reached(Token :: binary(), milliseconds(), state()) -> state().
reached(Token, Now, _) ->
    #state{token = Token, at = Now}.

-spec failed(failure(), state()) -> state().
failed(Failure, #state{failures = Failures} = State) ->
    State#state{failure = Failure, failures = Failures + 1}.

%% @doc Why the last attempt failed.
-spec failure(state()) -> none | failure().
failure(#state{failure = Failure}) -> Failure.

-spec token(state()) -> binary().
token(#state{token = Token}) -> Token.

%% @doc How long to wait before the cluster is asked again. `Chance' is from 0 to 1.
-spec pause(Chance :: float(), state()) -> milliseconds().
pause(Chance, #state{failures = Failures}) ->
    Usual = case Failures of
                0 -> ?PAUSE_MS;
                _ -> min(?PAUSE_MS, ?FIRST_RETRY_MS bsl min(Failures - 1, 10))
            end,
    round(Usual * (1 - ?SPREAD + 2 * ?SPREAD * Chance)).

%% @doc Whether what is known can be relied on, and its age.
-spec freshness(milliseconds(), state()) -> freshness().
freshness(_, #state{at = never} = State) ->
    {never, asking(State)};
freshness(Now, #state{at = At, failure = Failure}) ->
    Age = max(0, Now - At),
    case Failure =:= none andalso Age =< ?CURRENT_MS of
        true -> {current, Age};
        false -> {stale, Age}
    end.
