%% Test support: the client that Riak's own resources (and others in the node)
%% use. The handle comes last: {riak_client, [Node, ClientId]}.
-module(riak_client).

-export([new/2, get/3, get/4, put/2, put/3, delete/3, delete/4, delete_vclock/4,
         delete_vclock/5, list_keys/2, list_keys/3, stream_list_keys/3,
         list_buckets/2, list_buckets/4, stream_list_buckets/4, get_index/4,
         get_bucket/2, set_bucket/3, reset_bucket/2]).

new(Node, ClientId) -> {?MODULE, [Node, ClientId]}.

get(Bucket, Key, Client) -> get(Bucket, Key, [], Client).

get(Bucket, Key, Options, {?MODULE, [Node, _]}) when is_list(Options) ->
    known(Node, consistent_object, Bucket, fun() ->
        ask(Node, riak_kv_get_fsm, [Bucket, Key, Options], Options)
    end);
get(Bucket, Key, R, Client) -> get(Bucket, Key, [{r, R}], Client).

put(Obj, Client) -> put(Obj, [], Client).

put(Obj, Options, {?MODULE, [Node, _]}) ->
    Bucket = riak_object:bucket(Obj),
    known(Node, consistent_object, Bucket, fun() ->
        known(Node, get_write_once, Bucket, fun() ->
            ask(Node, riak_kv_put_fsm, [Obj, Options], Options)
        end)
    end).

%% What Riak looks up of the bucket before it begins, on the node it asks. Here
%% a consistent or write-once bucket is as any other.
known(Node, Function, Bucket, Begin) ->
    case on(Node, riak_kv_util, Function, [Bucket]) of
        Is when is_boolean(Is) -> Begin();
        {badrpc, _} = Error -> {error, Error};
        {error, _} = Error -> Error
    end.

%% Not watched: where the node dies, the whole time is waited. The process that
%% the link leads to ends as soon as the request has begun.
ask(Node, Module, Args, Options) ->
    ReqId = erlang:phash2({self(), os:timestamp()}),
    From = {raw, ReqId, self()},
    _ = case Node =:= node() of
            true -> apply(Module, start, [From | Args]);
            false -> proc_lib:spawn_link(Node, Module, start_link, [From | Args])
        end,
    answer(ReqId, recv_timeout(Options)).

%% A time that cannot be waited fails in Riak unless the answer is there before
%% the waiting begins, which is rare; here it always fails.
answer(_ReqId, Timeout) when Timeout < 0; Timeout > 16#ffffffff -> error(timeout_value);
answer(ReqId, Timeout) ->
    receive
        {ReqId, Answer} -> Answer
    after Timeout -> {error, timeout}
    end.

recv_timeout(Options) ->
    case proplists:get_value(recv_timeout, Options) of
        undefined -> proplists:get_value(timeout, Options, 60000) + 100;
        Timeout -> Timeout
    end.

delete(Bucket, Key, Client) -> delete(Bucket, Key, [], Client).

delete(Bucket, Key, Options, {?MODULE, [Node, ClientId]}) ->
    delete_on(Node, Bucket, Key, Options, [ClientId]).

delete_vclock(Bucket, Key, VClock, Client) -> delete_vclock(Bucket, Key, VClock, [], Client).

delete_vclock(Bucket, Key, VClock, Options, {?MODULE, [Node, ClientId]}) ->
    delete_on(Node, Bucket, Key, Options, [ClientId, VClock]).

delete_on(Node, Bucket, Key, Options, Rest) ->
    known(Node, consistent_object, Bucket, fun() ->
        ReqId = erlang:phash2({self(), os:timestamp()}),
        Timeout = recv_timeout(Options),
        Args = [ReqId, Bucket, Key, Options, Timeout, self() | Rest],
        _ = riak_kv_delete_sup:start_delete(Node, Args),
        answer(ReqId, Timeout)
    end).

list_keys(Bucket, Client) -> list_keys(Bucket, undefined, Client).

list_keys(Bucket, Timeout, {?MODULE, [Node, _]}) ->
    on(Node, standin_coverage, keys, [Bucket, Timeout]).

%% Sends {ReqId, {keys, Keys}} to the caller, a list a partition, then {ReqId, done}.
stream_list_keys(Bucket, Timeout, {?MODULE, [Node, _]}) ->
    on(Node, standin_coverage, stream_keys, [Bucket, Timeout, self()]).

list_buckets(Timeout, Client) -> list_buckets(none, Timeout, <<"default">>, Client).

list_buckets(none, Timeout, Type, {?MODULE, [Node, _]}) ->
    on(Node, standin_coverage, buckets, [Type, Timeout]).

stream_list_buckets(none, Timeout, Type, {?MODULE, [Node, _]}) ->
    on(Node, standin_coverage, stream_buckets, [Type, Timeout, self()]).

%% Query: {Field, Start, End}; answers sorted [{Value, Key}], at most Max.
get_index(Bucket, Query, Options, {?MODULE, [Node, _]}) ->
    on(Node, standin_coverage, index, [Bucket, Query, Options]).

get_bucket(Bucket, {?MODULE, [Node, _]}) -> on(Node, riak_core_bucket, get_bucket, [Bucket]).
set_bucket(Bucket, Props, {?MODULE, [Node, _]}) ->
    on(Node, riak_core_bucket, set_bucket, [Bucket, Props]).
reset_bucket(Bucket, {?MODULE, [Node, _]}) -> on(Node, riak_core_bucket, reset_bucket, [Bucket]).

on(Node, M, F, A) when Node =:= node() -> apply(M, F, A);
on(Node, M, F, A) -> rpc:call(Node, M, F, A).
