%% @doc The path of a request as Riak's own routes read it.
-module(ringtail_riak_path).

-export([bytes/2, bucket/1, key/1]).

%% @doc A path segment as the bytes that Riak stores.
-spec bytes(atom(), ringtail_reply:reqdata()) -> binary().
bytes(Name, RD) ->
    Segment = wrq:path_info(Name, RD),
    case is_plain(Segment) of
        true -> list_to_binary(Segment);
        false -> list_to_binary(riak_kv_wm_utils:maybe_decode_uri(RD, Segment))
    end.

%% However Riak is configured to decode, nothing else than these two characters is changed by it;
%% few segments have one.
is_plain([$% | _]) -> false;
is_plain([$+ | _]) -> false;
is_plain([_ | Rest]) -> is_plain(Rest);
is_plain([]) -> true.

%% @doc The bucket named by the path, as riak_core names it.
-spec bucket(ringtail_reply:reqdata()) -> ringtail_key_owners:bucket().
bucket(RD) ->
    riak_kv_wm_utils:maybe_bucket_type(bytes(bucket_type, RD), bytes(bucket, RD)).

%% @doc The key named by the path.
-spec key(ringtail_reply:reqdata()) -> binary().
key(RD) ->
    bytes(key, RD).
