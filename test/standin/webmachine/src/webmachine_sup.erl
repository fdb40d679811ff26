%% @doc Test support: supervisor of the webmachine application.
-module(webmachine_sup).
-behaviour(supervisor).

-export([start_link/0, init/1]).

start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

init([]) ->
    ok = webmachine_router:create_table(),
    Router = {webmachine_router, {webmachine_router, start_link, []},
              permanent, 5000, worker, [webmachine_router]},
    {ok, {{one_for_one, 9, 10}, [Router]}}.
