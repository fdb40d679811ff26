%% Test support: the routes of the key/value store, of the shapes Riak has them:
%% the old ones under /riak, /buckets for the default type, /types for all.
-module(riak_kv_web).

-export([dispatch_table/0, is_post/1, is_props/1, is_keylist/1]).

dispatch_table() ->
    lists:append([old(), typed_only(),
                  new([], [{bucket_type, <<"default">>}, {api_version, 2} | props()]),
                  new(["types", bucket_type], [{api_version, 3} | props()]),
                  [{["stats"], riak_kv_wm_stats, [{prefix, "stats"}]},
                   {["ping"], riak_kv_wm_ping, []}]]).

props() -> [{prefix, "riak"}, {riak, local}].

old() ->
    Props = [{bucket_type, <<"default">>}, {api_version, 1} | props()],
    [{["riak"], riak_kv_wm_buckets, Props},
     {["riak", bucket], fun ?MODULE:is_post/1, riak_kv_wm_object, Props},
     {["riak", bucket], fun ?MODULE:is_props/1, riak_kv_wm_props, Props},
     {["riak", bucket], fun ?MODULE:is_keylist/1, riak_kv_wm_keylist,
      [{allow_props_param, true} | Props]},
     {["riak", bucket, key], riak_kv_wm_object, Props},
     {["riak", bucket, key, '*'], riak_kv_wm_link_walker, Props}].

typed_only() ->
    [{["types", bucket_type, "props"], riak_kv_wm_bucket_type, [{api_version, 3} | props()]}].

new(Prefix, Props) ->
    [{Prefix ++ ["buckets"], riak_kv_wm_buckets, Props},
     {Prefix ++ ["buckets", bucket, "props"], riak_kv_wm_props, Props},
     {Prefix ++ ["buckets", bucket, "keys"], fun ?MODULE:is_post/1, riak_kv_wm_object, Props},
     {Prefix ++ ["buckets", bucket, "keys"], riak_kv_wm_keylist, Props},
     {Prefix ++ ["buckets", bucket, "keys", key], riak_kv_wm_object, Props},
     {Prefix ++ ["buckets", bucket, "keys", key, '*'], riak_kv_wm_link_walker, Props},
     {Prefix ++ ["buckets", bucket, "index", field, '*'], riak_kv_wm_index, Props}].

is_post(RD) -> wrq:method(RD) =:= 'POST'.

is_props(RD) -> wrq:get_qs_value("props", RD) =/= "false" andalso not is_keylist(RD).

is_keylist(RD) -> lists:member(wrq:get_qs_value("keys", RD), ["true", "stream"]).
