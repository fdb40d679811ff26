%% @doc The console calls in a VM without Riak: about the first of the configured clusters, which
%% paths call `default'. Nodes are binaries, for another cluster's nodes are no atoms of this VM.
-module(ringtail_console_remote).

-export([preflist/2, primaries/2, owners/0, where/2, topology/0]).

-define(WAIT_MS, 10000).

-type entry() :: {non_neg_integer(), binary()}.

%% @doc As one of the cluster's nodes sees it.
-spec preflist(ringtail_key_owners:bucket(), binary()) ->
          [{entry(), primary | fallback}] | ringtail_remote:failure().
preflist(Bucket, Key) ->
    with_far(fun(_, Far) ->
                     {Type, Name} = ringtail_key_owners:typed(Bucket),
                     Path =
                         iolist_to_binary(["/bucket_types/", quoted(Type), "/buckets/",
                                           quoted(Name),
                                           "/keys/", quoted(Key), "/preflist"]),
                     Request = {'GET', {document, Path}, "", [], none},
                     case ringtail_remote_request:request(Far, Request, ?WAIT_MS,
                                                          fun() -> ok end) of
                         {ok, 200, _, Body} when is_binary(Body) ->
                             entries(mochijson2:decode(Body));
                         {ok, Status, _, _} ->
                             Why = io_lib:format("the node answered ~w", [Status]),
                             {error, {refused, iolist_to_binary(Why)}};
                         {error, _} = Error ->
                             Error
                     end
             end).

entries({struct, [{<<"preflist">>, Entries}]}) ->
    [begin
         [Node, Index, Primary] = [proplists:get_value(Name, Entry)
                                   || Name <- [<<"node">>, <<"index">>, <<"primary">>]],
         {{list_to_integer(binary_to_list(Index)), Node}, kind(Primary)}
     end || {struct, Entry} <- Entries].

kind(true) -> primary;
kind(false) -> fallback.

-spec primaries(ringtail_key_owners:bucket(), binary()) -> [entry()] | ringtail_remote:failure().
primaries(Bucket, Key) ->
    case located(Bucket, Key) of
        {ok, Located} -> [{Index, Node} || {Index, {Node, _, _, _}, _} <- Located];
        {error, _} = Error -> Error
    end.

located(Bucket, Key) ->
    with_far(fun(_, Far) ->
                     {Type, Name} = ringtail_key_owners:typed(Bucket),
                     case ringtail_remote:locate(Far, Type, Name, Key, ?WAIT_MS) of
                         {ok, {primaries, Located}} ->
                             {ok, Located};
                         {ok, {any, _}} ->
                             {error, {custom_keyfun,
                                      <<"the bucket has a keyfun of its own: only a node "
                                        "can tell; use preflist/2">>}};
                         {error, _} = Error ->
                             Error
                     end
             end).

-spec owners() -> [entry()] | ringtail_remote:failure().
owners() ->
    with_known(fun(Source) -> ringtail_source:owners(Source) end).

-spec where(ringtail_key_owners:bucket(), binary()) -> string() | ringtail_remote:failure().
where(Bucket, Key) ->
    case located(Bucket, Key) of
        {ok, Located} ->
            Size = with_far(fun(Name, _) ->
                                    proplists:get_value(ring_size,
                                                        ringtail_remote_clusters:info(Name), 1)
                            end),
            Primaries = [{Index, Node} || {Index, {Node, _, _, _}, _} <- Located],
            Up = [Node || {_, {Node, _, _, _}, true} <- Located],
            ringtail_render:where(Bucket, Key, Primaries, Size, Up);
        {error, _} = Error ->
            Error
    end.

-spec topology() -> [{atom(), term()}] | ringtail_remote:failure().
topology() ->
    with_known(fun(Source) ->
                       {ok, Token, Cluster, Teller} = ringtail_source:identity(Source),
                       [{token, Token}, {cluster, Cluster}, {node, Teller},
                        {members, ringtail_source:members(Source)},
                        {up, ringtail_source:up(Source)}]
               end).

%% ---- Inside ----

with_far(Fun) ->
    case ringtail_remote_clusters:resolve("default") of
        {ok, Name} ->
            case ringtail_remote_clusters:far(Name) of
                {ok, Far} -> Fun(Name, Far);
                gone -> none()
            end;
        unknown ->
            none()
    end.

with_known(Fun) ->
    with_far(fun(Name, _) ->
                     case ringtail_remote_clusters:identity(Name) of
                         {ok, _, _, _} -> Fun({ringtail_remote_source, Name});
                         {error, _} = Error -> Error
                     end
             end).

none() ->
    {error, {no_cluster, <<"{ringtail, clusters} names no cluster that can be served: see "
                           "ringtail:status()">>}}.

quoted(Bytes) -> [quoted_byte(Byte) || <<Byte>> <= Bytes].

quoted_byte(Byte) -> io_lib:format("%~2.16.0B", [Byte]).
