%% @doc Asks the companion about a cluster that this VM is no part of.
%%
%% A cluster goes by the digest of its configuration there, as a ring goes by the digest of its
%% bytes. A companion that was restarted does not know it any more: it is told again by whoever asks
%% next, and nobody has to keep count. What changes nothing is asked once more when the companion
%% dies over it.
%%
%% The configuration holds a password, and what processes hold comes to stand in logs when they
%% crash. So it is in a table of its own, and what is handed around is the digest.
-module(ringtail_remote).

-export([start/0, new/2, forget/1, topology/3, locate/5, open/2, stream/4, close/1]).
-export_type([far/0, failure/0, topology/0, details/0, member/0, located/0]).

-record(far, {handle :: binary()}).

-opaque far() :: #far{}.
-type failure() :: {error, {Code :: atom(), Detail :: binary()}}.
-type endpoint() :: {ringtail_endpoints:scheme(), Host :: binary(), inet:port_number()}.
-type member() :: {Name :: binary(), Uuid :: binary(), Status :: binary(), [endpoint()]}.
-type details() :: {ClusterName :: binary(), Size :: pos_integer(), Resizing :: boolean(),
                    Canonical :: binary(), Preflist :: binary(), [member()]}.
-type topology() :: {Token :: binary(), ClusterUuid :: binary(), NodeUuid :: binary(),
                     Up :: [binary()], same | details()}.
-type place() :: {Index :: non_neg_integer() | undefined, member(), Up :: boolean()}.
-type located() :: {primaries | any, [place()]}.

%% Configurations by handle: `{Handle, Seeds, Options}'.
-define(TABLE, ?MODULE).
%% Until the companion, whose own time for the answer runs out first, is taken to say nothing any
%% more. In ms.
-define(GRACE_MS, 2000).

%% @doc Makes room for configurations, for as long as the calling process lives: new/2 and forget/1
%% are for that one.
-spec start() -> ok.
start() ->
    ?TABLE = ets:new(?TABLE, [named_table, protected, {read_concurrency, true}]),
    ok.

%% @doc Options: user, password, cacertfile, certfile, keyfile.
-spec new(Seeds :: [binary()], [{atom(), binary()}]) -> far().
new(Seeds, Options) ->
    Handle = crypto:hash(sha, term_to_binary({Seeds, Options})),
    true = ets:insert(?TABLE, {Handle, Seeds, Options}),
    #far{handle = Handle}.

%% @doc The configuration is not used any more.
-spec forget(far()) -> ok.
forget(#far{handle = Handle}) ->
    true = ets:delete(?TABLE, Handle),
    ok.

%% @doc Asks a node of the cluster now. Where its token is the one known here, only who is up is
%% new.
-spec topology(far(), KnownToken :: binary(), pos_integer()) -> {ok, topology()} | failure().
topology(Far, KnownToken, Timeout) ->
    call(Far, cluster_topology, [KnownToken, Timeout], Timeout).

%% @doc The primaries of a key with their addresses. `any': the cluster has a keyfun of its own for
%% this bucket, and only its nodes can tell; these are all of them.
-spec locate(far(), Type :: binary(), Bucket :: binary(), Key :: binary(), pos_integer()) ->
          {ok, located()} | failure().
locate(Far, Type, Bucket, Key, Timeout) ->
    call(Far, cluster_locate, [Type, Bucket, Key, Timeout], Timeout).

%% @doc Begins an operation whose answer comes in pieces. Where the companion does not know the
%% cluster, which the first event then says, open/2 makes it known.
-spec stream(far(), atom(), [term()], pos_integer()) ->
          {ok, ringtail_companion_stream:stream()} | failure().
stream(#far{handle = Handle}, Operation, Arguments, Timeout) ->
    Request = list_to_tuple([Handle | Arguments] ++ [Timeout]),
    ringtail_companion_stream:open(Operation, Request, Timeout + ?GRACE_MS).

%% @doc Makes the cluster known to the companion; harmless where it is.
-spec open(far(), pos_integer()) -> ok | failure().
open(#far{handle = Handle}, Timeout) ->
    case ringtail_table:find(?TABLE, Handle) of
        {Handle, _, _} = Opening ->
            case ringtail_companion:call(cluster_open, Opening, Timeout + ?GRACE_MS) of
                {ok, _} -> ok;
                {error, _} = Error -> Error
            end;
        none ->
            {error, {not_configured, <<"the cluster was just taken out of the configuration">>}}
    end.

%% @doc The cluster is not asked about any more: its connections are closed.
-spec close(far()) -> ok.
close(#far{handle = Handle}) ->
    _ = ringtail_companion:call(cluster_close, {Handle}),
    ok.

%% ---- Inside ----

call(#far{handle = Handle} = Far, Operation, Arguments, Timeout) ->
    Request = list_to_tuple([Handle | Arguments]),
    case ringtail_companion:call(Operation, Request, Timeout + ?GRACE_MS) of
        {error, {Code, _}} when Code =:= no_such_cluster; Code =:= companion_died ->
            case open(Far, Timeout) of
                ok -> ringtail_companion:call(Operation, Request, Timeout + ?GRACE_MS);
                {error, _} = Error -> Error
            end;
        Answer ->
            Answer
    end.
