%% @doc What the hop to other nodes needs running.
-module(ringtail_forward_sup).
-behaviour(supervisor).

-export([start_link/0]).
-export([init/1]).

-spec start_link() -> {ok, pid()} | ignore | {error, term()}.
start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

init([]) ->
    Pool = {ringtail_forward_pool, {ringtail_forward_pool, start_link, []},
            permanent, 5000, worker, [ringtail_forward_pool]},
    {ok, {{one_for_one, 10, 10}, [Pool]}}.
