%% Test support: listings over all partitions. Each partition is asked once, at
%% the node that stands first in its preference list; a key counts at its first
%% partition that is up, so it is listed once.
-module(standin_coverage).

-include("standin_md.hrl").

-export([keys/2, stream_keys/3, buckets/2, stream_buckets/3, index/3]).

-define(TIMEOUT, 60000).

keys(Bucket, Timeout) -> all(fun(F) -> each_key(Bucket, Timeout, F) end).

stream_keys(Bucket, Timeout, Client) ->
    stream(Client, keys, fun(F) -> each_key(Bucket, Timeout, F) end).

buckets(Type, Timeout) ->
    case all(fun(F) -> each_bucket(Type, Timeout, F) end) of
        {ok, Buckets} -> {ok, lists:usort(Buckets)};
        Error -> Error
    end.

stream_buckets(Type, Timeout, Client) ->
    stream(Client, buckets_stream, fun(F) -> each_bucket(Type, Timeout, F) end).

%% The bitcask back end, Riak's default and the one that was recorded, has no
%% indexes; leveldb, leveled and memory have.
index(Bucket, {Field, Start, End}, Options) ->
    Timeout = proplists:get_value(timeout, Options),
    case app_helper:get_env(riak_kv, storage_backend, riak_kv_bitcask_backend) of
        riak_kv_bitcask_backend = Backend -> {error, {indexes_not_supported, Backend}};
        _ ->
            Rows = fun(Obj, Key) -> matching(Field, Start, End, Obj, Key) end,
            Found = all(fun(F) -> each_row(Bucket, Timeout, Rows, F) end),
            case Found of
                {ok, List} ->
                    {ok, limit(proplists:get_value(max_results, Options), lists:usort(List))};
                Error -> Error
            end
    end.

limit(Max, List) when is_integer(Max) -> lists:sublist(List, Max);
limit(_, List) -> List.

matching(<<"$bucket">>, _, _, _Obj, Key) -> [{Key, Key}];
matching(<<"$key">>, Start, End, _Obj, Key) -> [{Key, Key} || Key >= Start, Key =< End];
matching(Field, Start, End, Obj, Key) ->
    [{V, Key} || {F, V} <- riak_object:index_data(Obj), F =:= Field, V >= Start, V =< End].

each_key(Bucket, Timeout, F) -> each_row(Bucket, Timeout, fun(_Obj, Key) -> [Key] end, F).

each_row(Bucket, Timeout, Rows, F) ->
    Props = riak_core_bucket:get_bucket(Bucket),
    First = first_index(Props),
    Fold = fun(Index) ->
        fun({{B, Key}, Obj}, Acc) when B =:= Bucket ->
                case not riak_object:is_deleted(Obj) andalso First({B, Key}) =:= Index of
                    true -> Rows(Obj, Key) ++ Acc;
                    false -> Acc
                end;
           (_, Acc) -> Acc
        end
    end,
    cover(Fold, Timeout, F).

each_bucket(Type, Timeout, F) ->
    Name = fun({T, B}) when T =:= Type -> [B];
              (B) when is_binary(B), Type =:= <<"default">> -> [B];
              (_) -> []
           end,
    Fold = fun(_Index) ->
        fun({{Bucket, _}, Obj}, Acc) ->
                case riak_object:is_deleted(Obj) of
                    true -> Acc;
                    false -> lists:usort(Name(Bucket) ++ Acc)
                end
        end
    end,
    cover(Fold, Timeout, F).

%% The index of the partition that answers for a key, from one view of the ring.
first_index(Props) ->
    {ok, Bin} = riak_core_ring_manager:get_chash_bin(),
    Up = riak_core_node_watcher:nodes(riak_kv),
    N = proplists:get_value(n_val, Props),
    fun(BKey) ->
        Hash = riak_core_util:chash_key(BKey, Props),
        {Primaries, _} = chashbin:itr_pop(N, chashbin:iterator(Hash, Bin)),
        case [I || {I, Node} <- Primaries, lists:member(Node, Up)] of
            [Index | _] -> Index;
            [] -> element(1, hd(Primaries))
        end
    end.

%% Fold(Index) is run at the node that stands for the partition; F takes what
%% comes back, in order of arrival.
cover(Fold, Timeout, F) ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    Up = riak_core_node_watcher:nodes(riak_kv),
    Ref = make_ref(),
    Ids = [begin
               [Id | _] = [{Index, N}
                           || {_, N} <- riak_core_ring:preflist(<<(Index - 1):160>>, Ring),
                                         lists:member(N, Up)],
               {Index, Node} = Id,
               riak_kv_vnode:ask(Index, Node, Ref, {fold, Fold(Index), []}),
               Id
           end || {Index, _} <- riak_core_ring:all_owners(Ring)],
    Wait = case Timeout of undefined -> ?TIMEOUT; _ -> Timeout end,
    arrive(Ref, length(Ids), F, erlang:monotonic_time(millisecond) + Wait).

arrive(_Ref, 0, _F, _Deadline) -> ok;
arrive(Ref, Left, F, Deadline) ->
    receive
        {Ref, _Id, {ok, Found}} -> F(Found), arrive(Ref, Left - 1, F, Deadline)
    after max(0, Deadline - erlang:monotonic_time(millisecond)) -> {error, timeout}
    end.

%% In a process of its own, so that late answers disturb no one.
all(Run) ->
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        exit({result, collect(Run, Self)})
    end),
    receive {'DOWN', Monitor, process, Pid, Reason} ->
        case Reason of
            {result, Result} -> Result;
            Crash -> {error, Crash}
        end
    end.

collect(Run, _Client) ->
    put(found, []),
    case Run(fun(Found) -> put(found, Found ++ get(found)) end) of
        ok -> {ok, get(found)};
        Error -> Error
    end.

stream(Client, Tag, Run) ->
    ReqId = erlang:phash2({self(), make_ref()}),
    spawn(fun() ->
        case Run(fun(Found) -> Client ! {ReqId, {Tag, Found}} end) of
            ok -> Client ! {ReqId, done};
            Error -> Client ! {ReqId, Error}
        end
    end),
    {ok, ReqId}.
