%% @doc Whether the companion is there, and why not: in a table, for those who can do without it and
%% would rather not wait, and in the log, a line for each change and not for each try to start it.
-module(ringtail_companion_condition).

-export([read/0, new/1, up/1, steady/1, lost/3, unready/3, said/3, silent/1, heard/1, last_end/1]).
-export_type([condition/0, now/0]).

%% The table of `ringtail_companion_owner', which alone writes.
-define(TABLE, ringtail_companion).
-define(SILENT, <<"it does not answer">>).

%% `idle': nobody has needed it yet.
-type now() :: idle | up | {lost, Why :: binary()}.

-record(condition, {now = idle :: now(),
                    last_end = {companion_died, <<"it was never started">>} :: {atom(), binary()},
                    %% Why it last ended before it answered, and the same with what it says of it.
                    unready = none :: none | {binary(), binary()},
                    asking = false :: boolean(),
                    logged = up :: up | {lost, binary()}}).
-opaque condition() :: #condition{}.

%% @doc How it is. Where no process owns it, the next call starts one.
-spec read() -> now().
read() ->
    try
        ets:lookup_element(?TABLE, condition, 2)
    catch
        error:badarg -> idle
    end.

%% @doc Not started. The table is the caller's.
-spec new(Table :: atom()) -> condition().
new(?TABLE) ->
    kept(#condition{}).

%% @doc It was started and answers. That is logged once it has lasted: see steady/1.
-spec up(condition()) -> condition().
up(Condition) ->
    kept(Condition#condition{now = up, unready = none, asking = false}).

%% @doc It has been up for a while.
-spec steady(condition()) -> condition().
steady(#condition{now = up, logged = {lost, _}} = Condition) ->
    error_logger:info_msg("ringtail: the companion answers again~n"),
    Condition#condition{logged = up};
steady(Condition) ->
    Condition.

%% @doc It ended, or cannot be started.
-spec lost(Code :: atom(), Why :: binary(), condition()) -> condition().
lost(Code, Why, #condition{logged = {lost, Why}} = Condition) ->
    kept(Condition#condition{now = {lost, Why}, last_end = {Code, Why}});
lost(Code, Why, Condition) ->
    error_logger:warning_msg("ringtail: the companion is not there: ~ts~n", [Why]),
    lost(Code, Why, Condition#condition{logged = {lost, Why}}).

%% @doc It ended before it answered. Its own words on that are asked for, and come as a message to
%% the caller, who passes them to said/3; not for a signal, which is somebody else's doing.
-spec unready(Code :: atom(), Why :: binary(), condition()) -> condition().
unready(Code, <<"exit status ", _/binary>> = Why, #condition{unready = {Why, Full}} = Condition) ->
    lost(Code, Full, asked(Why, Condition));
unready(Code, <<"exit status ", _/binary>> = Why, Condition) ->
    lost(Code, Why, asked(Why, Condition#condition{unready = {Why, Why}}));
unready(Code, Why, Condition) ->
    lost(Code, Why, Condition).

%% Every time, for it may be another program by now; never twice at once.
asked(_, #condition{asking = true} = Condition) ->
    Condition;
asked(Why, Condition) ->
    _ = ringtail_companion_program:ask_why(self(), Why),
    Condition#condition{asking = true}.

%% @doc What the program says; `none' where it would start now.
-spec said(Why :: binary(), none | binary(), condition()) -> condition().
said(Why, Text, #condition{unready = {Why, Known}, now = {lost, Known}} = Condition)
  when is_binary(Text) ->
    #condition{last_end = {Code, Known}} = Condition,
    Full = case Text of
               <<>> -> Why;
               _ -> <<Why/binary, ": ", Text/binary>>
           end,
    lost(Code, Full, Condition#condition{unready = {Why, Full}, asking = false});
said(_, _, Condition) ->
    Condition#condition{asking = false}.

%% @doc Somebody waited for an answer, and nothing came of it meanwhile.
-spec silent(condition()) -> condition().
silent(#condition{now = up} = Condition) -> kept(Condition#condition{now = {lost, ?SILENT}});
silent(Condition) -> Condition.

%% @doc Something came of it.
-spec heard(condition()) -> condition().
heard(#condition{now = {lost, ?SILENT}} = Condition) -> kept(Condition#condition{now = up});
heard(Condition) -> Condition.

%% @doc How it last ended.
-spec last_end(condition()) -> {Code :: atom(), Why :: binary()}.
last_end(#condition{last_end = LastEnd}) -> LastEnd.

kept(#condition{now = Now} = Condition) ->
    true = ets:insert(?TABLE, {condition, Now}),
    Condition.
