%% Test support: bucket properties. Those of the default type's buckets live in
%% the ring, all others in the cluster's metadata over their type's.
-module(riak_core_bucket).

-export([append_bucket_defaults/1, set_bucket/2, get_bucket/1, get_bucket/2,
         reset_bucket/1, get_buckets/1, merge_props/2, name/1, n_val/1,
         get_value/2, default_object_nval/0, all_n/1]).

-define(PREFIX, {core, buckets}).

append_bucket_defaults(Props) -> riak_core_bucket_props:append_defaults(Props).

set_bucket({<<"default">>, Name}, Props) -> set_bucket(Name, Props);
set_bucket({Type, _} = Bucket, Props) ->
    case riak_core_bucket_type:get(Type) of
        undefined -> {error, no_type};
        _ -> store(Bucket, Props, fun(New) -> riak_core_metadata:put(?PREFIX, Bucket, New) end)
    end;
set_bucket(Name, Props) ->
    store(Name, Props, fun(New) ->
                               in_ring(fun(R) ->
                                               riak_core_ring:update_meta({bucket, Name}, New,
                                                                          R) end) end).

store(Bucket, Props, Write) ->
    Old = get_bucket(Bucket),
    case riak_core_bucket_props:validate(update, Bucket, Old, Props) of
        {ok, Valid} -> Write(merge_props(Valid, Old));
        Error -> Error
    end.

in_ring(Change) ->
    case riak_core_ring_manager:ring_trans(fun(R, _) -> {new_ring, Change(R)} end, []) of
        {ok, _} -> ok;
        Other -> {error, Other}
    end.

get_bucket({<<"default">>, Name}) -> get_bucket(Name);
get_bucket({Type, _} = Bucket) ->
    case riak_core_bucket_type:get(Type) of
        undefined -> {error, no_type};
        TypeProps ->
            Own = riak_core_metadata:get(?PREFIX, Bucket, [{default, []}]),
            [{name, Bucket} | merge_if(Own, TypeProps)]
    end;
get_bucket(Name) -> props(Name, riak_core_ring_manager:get_bucket_meta(Name)).

get_bucket({<<"default">>, Name}, Ring) -> get_bucket(Name, Ring);
get_bucket({_, _} = Bucket, _Ring) -> get_bucket(Bucket);
get_bucket(Name, Ring) -> props(Name, riak_core_ring:get_meta({bucket, Name}, Ring)).

props(Name, undefined) -> [{name, Name} | riak_core_bucket_props:defaults()];
props(_Name, {ok, Props}) -> Props.

%% A type's properties are shown in their own order unless the bucket has some.
merge_if([], TypeProps) -> TypeProps;
merge_if(Own, TypeProps) -> merge_props(lists:keydelete(name, 1, Own), TypeProps).

reset_bucket({<<"default">>, Name}) -> reset_bucket(Name);
reset_bucket({_, _} = Bucket) -> riak_core_metadata:delete(?PREFIX, Bucket);
reset_bucket(Name) -> in_ring(fun(R) -> riak_core_ring:remove_meta({bucket, Name}, R) end).

get_buckets(Ring) ->
    [get_bucket(B, Ring) || B <- riak_core_ring:get_buckets(Ring)]
        ++ [get_bucket(B) || {B, _} <- riak_core_metadata:to_list(?PREFIX)].

merge_props(Overriding, Other) -> riak_core_bucket_props:merge(Overriding, Other).

name(Props) -> get_value(name, Props).
n_val(Props) -> get_value(n_val, Props).
get_value(Key, Props) -> proplists:get_value(Key, Props).

default_object_nval() -> n_val(riak_core_bucket_props:defaults()).

all_n(Ring) ->
    Types = [n_val(P) || {_, P} <- riak_core_metadata:to_list({core, bucket_types})],
    lists:usort([default_object_nval() | [n_val(B) || B <- get_buckets(Ring)] ++ Types]).
