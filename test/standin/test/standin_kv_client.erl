%% Test support: objects over HTTP, as few words as can be.
-module(standin_kv_client).

-export([put/4, get/3, delete/3, request/6, primaries/4, key_at/4, owners/2, port/2]).
-export([eventually/1]).

-include_lib("eunit/include/eunit.hrl").

port(C, Node) ->
    #{port := Port} = uri_string:parse(standin:url(C, Node)),
    Port.

%% Path below the node: "/types/t/buckets/b/keys/k" or {Type, Bucket, Key}.
put(C, Node, Path, Value) ->
    {Code, _, _, _} = request(C, Node, "PUT", Path, [{"Content-Type", "application/octet-stream"}],
                              Value),
    Code.

get(C, Node, Path) ->
    {Code, _, _, Body} = request(C, Node, "GET", Path, [], none),
    {Code, iolist_to_binary(Body)}.

delete(C, Node, Path) ->
    {Code, _, _, _} = request(C, Node, "DELETE", Path, [], none),
    Code.

request(C, Node, Method, Path, Headers, Body) ->
    standin_wm_client:once(port(C, Node), Method, path(Path), Headers, Body).

path({Type, Bucket, Key}) -> lists:concat(["/types/", Type, "/buckets/", Bucket, "/keys/", Key]);
path(Text) -> Text.

%% [{Index, Node}] by the ring of a node.
primaries(C, Node, {Type, Bucket, Key}, N) ->
    Hash = chash:key_of({{list_to_binary(Type), list_to_binary(Bucket)}, list_to_binary(Key)}),
    lists:sublist(riak_core_ring:preflist(Hash, standin:ring(C, Node)), N).

%% A key of which this node is the (first) primary.
key_at(C, Node, Type, Bucket) -> key_at(C, Node, Type, Bucket, 1).

key_at(C, Node, Type, Bucket, I) ->
    Path = {Type, Bucket, "k" ++ integer_to_list(I)},
    case primaries(C, Node, Path, 1) of
        [{_, Node}] -> Path;
        _ -> key_at(C, Node, Type, Bucket, I + 1)
    end.

owners(C, Node) -> lists:usort([N || {_, N} <- riak_core_ring:all_owners(standin:ring(C, Node))]).

%% Half a minute, on a machine with much else to do.
eventually(Condition) -> eventually(Condition, 600).

eventually(Condition, 0) -> ?assert(Condition()), ok;
eventually(Condition, Left) ->
    case Condition() of
        true -> ok;
        false -> timer:sleep(50), eventually(Condition, Left - 1)
    end.
