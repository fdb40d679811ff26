%% @doc The application: starts the supervisor at once, whatever state the node is in; its processes
%% wait for Riak.
-module(ringtail_app).

-behaviour(application).

-export([start/2, prep_stop/1, stop/1]).

start(_Type, _Args) ->
    _ = [error_logger:warning_msg("ringtail: ~ts~n", [Problem])
         || Problem <- ringtail_config:problems()],
    ringtail_sup:start_link().

%% How many routes there are to take out.
prep_stop(_State) ->
    length(ringtail_routes:installed()).

%% The routes' process removes them when it ends; when it was killed instead, they are still
%% there. An application that ends because its processes failed too often was not prepared.
stop(Prepared) ->
    Left = length(ringtail_routes:installed()),
    ok = ringtail_routes:remove_all(),
    Routes = case is_integer(Prepared) of
                 true -> Prepared;
                 false -> Left
             end,
    error_logger:info_msg("ringtail ~s: stopped, its ~b routes are taken out~n",
                          [ringtail_config:version(), Routes]).
