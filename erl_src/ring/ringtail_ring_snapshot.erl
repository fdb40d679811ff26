%% @doc Makes a snapshot of a ring: everything a request may want to know of it, computed once per
%% ring and not per request. A snapshot is a list of objects for the table of `ringtail_ring',
%% which inserts them as one.
%%
%% Calls the engine and reads the ring with riak_core's own functions; no process, no state.
-module(ringtail_ring_snapshot).

-export([build/2]).
-export_type([object/0]).

-type object() ::
        {ring, ringtail_engine:ring(), Size :: pos_integer()}
      | {identity, Token :: binary(), ClusterUuid :: binary(), NodeUuid :: binary()}
      | {headers, [{string(), string()}]}
      | {prepared_headers, ringtail_reply_headers:prepared() | none}
      | {members, [ringtail_topology_history:member()]}
      | {{endpoints, node()}, [ringtail_endpoints:endpoint()]}
      | {published, term()}
      | {preflist, Etag :: string(), Json :: binary(), Gzipped :: binary()}
      | {canonical, Canonical :: binary()}
      | {info, [{atom(), term()}]}.

%% @doc `Self' is the node that answers with this snapshot.
-spec build(RingTerm :: tuple(), Self :: node()) -> {ok, [object()]} | {error, {atom(), binary()}}.
build(RingTerm, Self) ->
    try
        {ok, objects(RingTerm, Self)}
    catch
        throw:{?MODULE, Failure} -> {error, Failure}
    end.

objects(RingTerm, Self) ->
    Ring = ok(ringtail_engine:load_ring(RingTerm)),
    Size = ok(ringtail_engine:ring_size(Ring)),
    Json = ok(ringtail_engine:document(Ring, cluster_preflist)),
    {Token, Cluster, Canonical} = ok(versions(Ring)),
    Members = members(RingTerm, Cluster),
    SelfUuid = ok(ringtail_engine:node_uuid(Cluster, ringtail_json:name(Self))),
    Headers = [{"X-Ringtail-Topology", binary_to_list(Token)},
               {"X-Ringtail-Node", binary_to_list(SelfUuid)},
               {"X-Ringtail-Cluster", binary_to_list(Cluster)}],
    [{ring, Ring, Size},
     {identity, Token, Cluster, SelfUuid},
     {headers, Headers},
     {prepared_headers, ringtail_reply_headers:prepared(Headers)},
     {members, Members},
     {published, meta(RingTerm, Self)},
     {preflist, binary_to_list(Token), Json, zlib:gzip(Json)},
     {canonical, Canonical},
     {info, ok(ringtail_engine:ring_info(Ring))}
     | [{{endpoints, Node}, Endpoints} || {Node, _, _, Endpoints} <- Members]].

versions(Ring) ->
    case ringtail_engine:topology(Ring) of
        {ok, Token, Cluster, Canonical} -> {ok, {Token, Cluster, Canonical}};
        {error, _} = Error -> Error
    end.

members(RingTerm, Cluster) ->
    [{Node,
      ok(ringtail_engine:node_uuid(Cluster, ringtail_json:name(Node))),
      riak_core_ring:member_status(RingTerm, Node),
      ringtail_endpoints:from_meta(meta(RingTerm, Node))}
     || Node <- riak_core_ring:all_members(RingTerm)].

meta(RingTerm, Node) ->
    riak_core_ring:get_member_meta(RingTerm, Node, ringtail_endpoints:meta_key()).

ok({ok, Value}) -> Value;
ok({error, Failure}) -> throw({?MODULE, Failure}).
