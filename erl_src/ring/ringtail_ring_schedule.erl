%% @doc When to build a snapshot of the ring: the pure half of `ringtail_ring'. Each function
%% takes the state and what happened and gives the next state and what the process shall do.
%%
%% Riak announces every change of its ring, and a cluster in motion announces hundreds in a
%% second. Building a snapshot costs far more than an announcement, so: a change waits a moment
%% for others to join it; one build runs at a time; what changes during a build is remembered by
%% one flag and costs one more build after it; and builds use at most half of the time, however
%% fast the changes come.
-module(ringtail_ring_schedule).

-export([new/0, changed/1, timer/1, built/2, failed/1, phase/1]).
-export_type([state/0, effect/0]).

%% A burst that arrives within this time is one change. In milliseconds, as everything here.
-define(SETTLE_MS, 5).
%% After a build, rest as long as it took, within these bounds: a change must be seen within a
%% second.
-define(REST_MIN_MS, 20).
-define(REST_MAX_MS, 500).
%% After a build that failed, each further try waits twice as long.
-define(RETRY_MIN_MS, 250).
-define(RETRY_MAX_MS, 30000).

-record(rebuild, {phase = idle :: idle | settling | building | resting,
                  dirty = false :: boolean(),
                  failures = 0 :: non_neg_integer()}).

-opaque state() :: #rebuild{}.
-type effect() :: build | {timer, Milliseconds :: non_neg_integer()}.

-spec new() -> state().
new() -> #rebuild{}.

-spec phase(state()) -> idle | settling | building | resting.
phase(#rebuild{phase = Phase}) -> Phase.

%% @doc Something says that the ring changed.
-spec changed(state()) -> {state(), [effect()]}.
changed(#rebuild{phase = idle} = State) ->
    {State#rebuild{phase = settling}, [{timer, ?SETTLE_MS}]};
changed(#rebuild{phase = settling} = State) ->
    {State, []};
changed(State) ->
    {State#rebuild{dirty = true}, []}.

%% @doc The time asked for is over.
-spec timer(state()) -> {state(), [effect()]}.
timer(#rebuild{phase = settling} = State) ->
    build(State);
timer(#rebuild{phase = resting, dirty = true} = State) ->
    build(State);
timer(#rebuild{phase = resting} = State) ->
    {State#rebuild{phase = idle}, []};
timer(State) ->
    {State, []}.

%% @doc The build that ran is done.
-spec built(state(), Milliseconds :: non_neg_integer()) -> {state(), [effect()]}.
built(#rebuild{phase = building} = State, Took) ->
    Rest = min(max(Took, ?REST_MIN_MS), ?REST_MAX_MS),
    {State#rebuild{phase = resting, failures = 0}, [{timer, Rest}]}.

%% @doc The build that ran came to nothing: it is tried again, later each time.
-spec failed(state()) -> {state(), [effect()]}.
failed(#rebuild{phase = building, failures = Failures} = State) ->
    Wait = min(?RETRY_MIN_MS bsl min(Failures, 16), ?RETRY_MAX_MS),
    {State#rebuild{phase = resting, dirty = true, failures = Failures + 1}, [{timer, Wait}]}.

build(State) ->
    {State#rebuild{phase = building, dirty = false}, [build]}.
