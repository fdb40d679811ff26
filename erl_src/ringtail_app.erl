%% @doc The application: starts the supervisor at once, whatever state the node is in; its processes wait for Riak.
-module(ringtail_app).

-behaviour(application).

-export([start/2, stop/1]).

start(_Type, _Args) ->
    _ = [error_logger:warning_msg("~s~n", [Problem]) || Problem <- ringtail_config:problems()],
    ringtail_sup:start_link().

%% The routes' process removes them when it ends; when it was killed instead, they are still there.
stop(_State) ->
    ringtail_routes:remove_all().
