%% @doc A clock that does not jump, where the release has one (R16B02 has none).
-module(ringtail_clock).

-export([micros/0, millis/0]).

%% @doc Microseconds since some moment in the past.
-spec micros() -> integer().
micros() ->
    case erlang:function_exported(erlang, monotonic_time, 1) of
        true ->
            erlang:monotonic_time(1000000);
        false ->
            {Mega, Seconds, Micro} = os:timestamp(),
            (Mega * 1000000 + Seconds) * 1000000 + Micro
    end.

%% @doc The same in milliseconds.
-spec millis() -> integer().
millis() ->
    micros() div 1000.
