%% Test support: a get, on the node where it is started.
-module(riak_kv_get_fsm).

-export([start/4, start/6, start_link/4, start_link/6]).

start(From, Bucket, Key, Options) ->
    standin_fsm:start(From, get, Options, fun() -> standin_quorum:get(Bucket, Key, Options) end).

start(ReqId, Bucket, Key, R, Timeout, From) ->
    start({raw, ReqId, From}, Bucket, Key, [{r, R}, {timeout, Timeout}]).

%% Riak's do not link either.
start_link(From, Bucket, Key, Options) -> start(From, Bucket, Key, Options).

start_link(ReqId, Bucket, Key, R, Timeout, From) -> start(ReqId, Bucket, Key, R, Timeout, From).
