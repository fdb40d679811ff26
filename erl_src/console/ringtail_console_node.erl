%% @doc The console calls about the cluster of the node that the console is on.
-module(ringtail_console_node).

-export([preflist/2, primaries/2, owners/0, where/2, topology/0]).

-spec preflist(ringtail_key_owners:bucket(), binary()) ->
          [{{non_neg_integer(), node()}, primary | fallback}] | {error, term()}.
preflist(Bucket, Key) ->
    value(ringtail_key_owners:preflist(plain(Bucket), Key)).

-spec primaries(ringtail_key_owners:bucket(), binary()) ->
          [{non_neg_integer(), node()}] | {error, term()}.
primaries(Bucket, Key) ->
    value(ringtail_key_owners:primaries(plain(Bucket), Key)).

-spec owners() -> [{non_neg_integer(), node()}] | {error, term()}.
owners() ->
    value(ringtail_key_owners:owners()).

%% @doc A line to read: where the key lives and who of them is up.
-spec where(ringtail_key_owners:bucket(), binary()) -> string() | {error, term()}.
where(Bucket, Key) ->
    case {ringtail_key_owners:primaries(plain(Bucket), Key), ringtail_ring:ring()} of
        {{ok, Primaries}, {ok, _, Size}} ->
            ringtail_render:where(Bucket, Key, Primaries, Size, ringtail_ring:up());
        {{error, _} = Error, _} -> Error;
        {_, {error, _} = Error} -> Error
    end.

-spec topology() -> [{atom(), term()}] | {error, term()}.
topology() ->
    case ringtail_ring:identity() of
        {ok, Token, Cluster, Self} ->
            [{token, Token}, {cluster, Cluster}, {node, Self}, {members, ringtail_ring:members()},
             {up, ringtail_ring:up()}];
        {error, _} = Error ->
            Error
    end.

plain({<<"default">>, Bucket}) -> Bucket;
plain(Bucket) -> Bucket.

value({ok, Value}) -> Value;
value({error, _} = Error) -> Error.
