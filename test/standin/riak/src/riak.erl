%% Test support: local clients.
-module(riak).
-export([local_client/0, local_client/1]).

local_client() -> local_client(undefined).

local_client(ClientId) ->
    case lists:member(riak_kv, riak_core_node_watcher:services(node())) of
        true -> {ok, riak_client:new(node(), ClientId)};
        false -> {error, riak_kv_not_running}
    end.
