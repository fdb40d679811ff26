%% @doc What the snapshot of the ring says, from a table that any process reads without a message.
%% `ringtail_ring_follower' keeps it.
-module(ringtail_ring).

-export([ring/0, here/0, is_there/0, identity/0, headers/0, prepared_headers/0, members/0]).
-export([is_member/1, endpoints/1, published/0, preflist/0, info/0, up/0, history/0]).
-export([state/0, builds/0, table/0]).
-export_type([missing/0]).

-type missing() :: {error, {Code :: atom(), Detail :: binary()}}.

-define(TABLE, ringtail_ring_snapshot).

%% @doc The table, for who keeps it.
-spec table() -> atom().
table() -> ?TABLE.

%% @doc The ring in the engine's form, and its number of partitions.
-spec ring() -> {ok, ringtail_engine:ring(), Size :: pos_integer()} | missing().
ring() ->
    case here() of
        {ok, Ring, Size, _} -> {ok, Ring, Size};
        {error, _} = Missing -> Missing
    end.

%% @doc The same, and whether riak_kv is up on this node: for a request that is served here, all
%% in one reading of the table.
-spec here() -> {ok, ringtail_engine:ring(), Size :: pos_integer(), IsUp :: boolean()} | missing().
here() ->
    case find(ring) of
        {ring, Ring, Size, IsUp} -> {ok, Ring, Size, IsUp};
        none -> missing()
    end.

%% @doc Whether there is a snapshot, else why not.
-spec is_there() -> true | missing().
is_there() ->
    try ets:member(?TABLE, identity) of
        true -> true;
        false -> missing()
    catch
        error:badarg -> missing()   % not running
    end.

-spec identity() ->
          {ok, ringtail_topology_history:token(), ClusterUuid :: binary(), NodeUuid :: binary()}
        | missing().
identity() ->
    case find(identity) of
        {identity, Token, Cluster, Node} -> {ok, Token, Cluster, Node};
        none -> missing()
    end.

%% @doc The headers that every answer bears; none before there is a ring.
-spec headers() -> [{string(), string()}].
headers() -> value(headers, []).

-spec prepared_headers() -> ringtail_reply_headers:prepared() | none.
prepared_headers() -> value(prepared_headers, none).

-spec members() -> [ringtail_topology_history:member()].
members() -> value(members, []).

-spec is_member(node()) -> boolean().
is_member(Node) -> find({endpoints, Node}) =/= none.

%% @doc The endpoints that a node published in the ring.
-spec endpoints(node()) -> [ringtail_endpoints:endpoint()].
endpoints(Node) -> value({endpoints, Node}, []).

%% @doc What this node's own metadata in the ring is, whatever that is; undefined where there is
%% none.
-spec published() -> term().
published() -> value(published, undefined).

%% @doc The cluster preflist as it is sent.
-spec preflist() -> {ok, Etag :: string(), Json :: binary(), Gzipped :: binary()} | missing().
preflist() ->
    case find(preflist) of
        {preflist, Etag, Json, Gzipped} -> {ok, Etag, Json, Gzipped};
        none -> missing()
    end.

-spec info() -> [{atom(), term()}].
info() -> value(info, []).

%% @doc The nodes whose riak_kv is up, as this node sees it.
-spec up() -> [node()].
up() -> value(up, []).

-spec history() -> ringtail_topology_history:history().
history() -> value(history, ringtail_topology_history:history()).

%% @doc How many snapshots were built since the start.
-spec builds() -> non_neg_integer().
builds() -> value(builds, 0).

%% @doc Why there is no snapshot, or why it may be an old one; `ok' otherwise.
-spec state() -> ok | missing().
state() ->
    NotRunning = <<"ringtail is not running on this node: call ringtail:start()">>,
    value(state, {error, {not_running, NotRunning}}).

missing() ->
    case state() of
        ok -> {error, {no_ring, <<"this node has no ring yet; try again in a moment">>}};
        {error, _} = Error -> Error
    end.

value(Key, Default) ->
    case find(Key) of
        {Key, Value} -> Value;
        none -> Default
    end.

find(Key) -> ringtail_table:find(?TABLE, Key).
