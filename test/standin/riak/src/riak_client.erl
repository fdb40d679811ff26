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
    on(Node, standin_quorum, get, [Bucket, Key, Options]);
get(Bucket, Key, R, Client) -> get(Bucket, Key, [{r, R}], Client).

put(Obj, Client) -> put(Obj, [], Client).

put(Obj, Options, {?MODULE, [Node, _]}) -> on(Node, standin_quorum, put, [Obj, Options]).

delete(Bucket, Key, Client) -> delete(Bucket, Key, [], Client).

delete(Bucket, Key, Options, {?MODULE, [Node, _]}) ->
    on(Node, standin_quorum, delete, [Bucket, Key, undefined, Options]).

delete_vclock(Bucket, Key, VClock, Client) -> delete_vclock(Bucket, Key, VClock, [], Client).

delete_vclock(Bucket, Key, VClock, Options, {?MODULE, [Node, _]}) ->
    on(Node, standin_quorum, delete, [Bucket, Key, VClock, Options]).

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
set_bucket(Bucket, Props, {?MODULE, [Node, _]}) -> on(Node, riak_core_bucket, set_bucket, [Bucket, Props]).
reset_bucket(Bucket, {?MODULE, [Node, _]}) -> on(Node, riak_core_bucket, reset_bucket, [Bucket]).

on(Node, M, F, A) when Node =:= node() -> apply(M, F, A);
on(Node, M, F, A) -> rpc:call(Node, M, F, A).
