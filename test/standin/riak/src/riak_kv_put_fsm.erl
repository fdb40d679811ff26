%% Test support: a put, on the node where it is started.
-module(riak_kv_put_fsm).

-export([start/3, start/6, start/7, start_link/3, start_link/6, start_link/7]).

start(From, Obj, Options) ->
    standin_fsm:start(From, put, Options, fun() -> standin_quorum:put(Obj, Options) end).

start(ReqId, Obj, W, DW, Timeout, From) -> start(ReqId, Obj, W, DW, Timeout, From, []).

start(ReqId, Obj, W, DW, Timeout, From, Options) ->
    start({raw, ReqId, From}, Obj, [{w, W}, {dw, DW}, {timeout, Timeout} | Options]).

%% Riak's do not link either.
start_link(From, Obj, Options) -> start(From, Obj, Options).

start_link(ReqId, Obj, W, DW, Timeout, From) -> start(ReqId, Obj, W, DW, Timeout, From).

start_link(ReqId, Obj, W, DW, Timeout, From, Options) ->
    start(ReqId, Obj, W, DW, Timeout, From, Options).
