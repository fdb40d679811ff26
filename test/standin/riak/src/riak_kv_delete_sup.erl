%% Test support: deletes of this node, whoever asked for them.
-module(riak_kv_delete_sup).
-behaviour(supervisor).

-export([start_link/0, start_delete/2, init/1]).

start_delete(Node, Args) -> supervisor:start_child({?MODULE, Node}, Args).

start_link() -> supervisor:start_link({local, ?MODULE}, ?MODULE, []).

init([]) ->
    {ok, {#{strategy => simple_one_for_one, intensity => 10, period => 10},
          [#{id => undefined, start => {riak_kv_delete, start_link, []}, restart => temporary}]}}.
