%% @doc Test support: the webmachine application.
-module(webmachine_app).
-behaviour(application).

-export([start/2, stop/1]).

start(_Type, _Args) -> webmachine_sup:start_link().

stop(_State) -> ok.
