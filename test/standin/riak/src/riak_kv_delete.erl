%% Test support: a delete, on the node where it is started.
-module(riak_kv_delete).

-export([start_link/6, start_link/7, start_link/8, delete/8]).

start_link(ReqId, Bucket, Key, Options, Timeout, Client) ->
    start_link(ReqId, Bucket, Key, Options, Timeout, Client, undefined).

start_link(ReqId, Bucket, Key, Options, Timeout, Client, ClientId) ->
    start_link(ReqId, Bucket, Key, Options, Timeout, Client, ClientId, undefined).

start_link(ReqId, Bucket, Key, Options, Timeout, Client, ClientId, VClock) ->
    Args = [ReqId, Bucket, Key, Options, Timeout, Client, ClientId, VClock],
    {ok, proc_lib:spawn_link(?MODULE, delete, Args)}.

delete(ReqId, Bucket, Key, Options, Timeout, Client, _ClientId, VClock) ->
    standin_fault:delay(delete),
    Limited = [{timeout, Timeout} | proplists:delete(timeout, Options)],
    Client ! {ReqId, standin_quorum:delete(Bucket, Key, VClock, Limited)}.
