%% @doc Test support: starts and stops the webmachine application.
-module(webmachine).

-export([start/0, stop/0]).

start() ->
    {ok, _} = application:ensure_all_started(webmachine),
    ok.

stop() -> application:stop(webmachine).
