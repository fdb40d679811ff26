%% Test support: quorum words, vtags and the like.
-module(riak_kv_util).

-export([make_vtag/1, expand_rw_value/4, normalize_rw_value/2, expand_value/3,
         is_x_deleted/1, consistent_object/1, get_write_once/1, get_index_n/1]).

make_vtag(Now) ->
    <<Hash:128>> = crypto:hash(md5, term_to_binary({node(), Now, make_ref()})),
    riak_core_util:integer_to_list(Hash, 62).

expand_rw_value(Type, default, Props, N) -> normalize_rw_value(proplists:get_value(Type, Props), N);
expand_rw_value(_Type, Value, _Props, N) -> normalize_rw_value(Value, N).

normalize_rw_value(Value, _N) when is_integer(Value) -> Value;
normalize_rw_value(one, _N) -> 1;
normalize_rw_value(quorum, N) -> N div 2 + 1;
normalize_rw_value(all, N) -> N;
normalize_rw_value(<<"one">>, N) -> normalize_rw_value(one, N);
normalize_rw_value(<<"quorum">>, N) -> normalize_rw_value(quorum, N);
normalize_rw_value(<<"all">>, N) -> normalize_rw_value(all, N);
normalize_rw_value(_, _N) -> error.

expand_value(Type, default, Props) -> proplists:get_value(Type, Props);
expand_value(_Type, Value, _Props) -> Value.

is_x_deleted(Obj) -> riak_object:is_deleted(Obj).

consistent_object(Bucket) -> has(consistent, Bucket).
get_write_once(Bucket) -> has(write_once, Bucket).

has(Property, Bucket) ->
    case riak_core_bucket:get_bucket(Bucket) of
        {error, _} = Error -> Error;
        Props -> lists:member({Property, true}, Props)
    end.

get_index_n({Bucket, _} = BKey) ->
    Props = riak_core_bucket:get_bucket(Bucket),
    {ok, Bin} = riak_core_ring_manager:get_chash_bin(),
    Hash = riak_core_util:chash_key(BKey, Props),
    {chashbin:responsible_index(Hash, Bin), proplists:get_value(n_val, Props)}.
