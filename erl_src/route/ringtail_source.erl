%% @doc Where what is answered about a cluster comes from: the ring of this node
%% (`ringtail_node_source'), or what is known of a cluster that this VM is no part of
%% (`ringtail_remote_source'). Which of the two a VM has is decided once, by the supervisor, and
%% given to each route when it is installed; the resources ask here and need not know.
-module(ringtail_source).

-export([named/2, headers/1, prepared/1, age/1, is_there/1, identity/1, preflist/1, owners/1,
         info/1, members/1, up/1, history/1, teller/1, problems/1, key_preflist/2]).
-export_type([origin/0, source/0, missing/0, member/0]).

%% A module of this behaviour.
-type origin() :: module().
-type cluster() :: term().
-type source() :: {origin(), cluster()}.
-type missing() :: {error, {Code :: atom(), Detail :: binary()}}.
-type headers() :: [{string(), string()}].
-type member() :: ringtail_topology_history:member().
-type identity() :: {ok, ringtail_topology_history:token(), ClusterUuid :: binary(),
                     NodeUuid :: binary()}.
-type preflist() :: {ok, Etag :: string(), Json :: binary(), Gzipped :: binary()}.
-type key_preflist() :: {document, Json :: binary()}
                      | {refuse, 100..599, Code :: atom(), Detail :: iodata()}
                      | {halt, 100..599, ringtail_reply:reqdata()}.

%% The cluster of this name, which has been percent-decoded; else the names there are.
-callback named(string()) -> {ok, cluster()} | {unknown, Known :: [iodata()]}.
%% What every answer bears: token, cluster, node.
-callback headers(cluster()) -> headers().
%% The same in the form that costs nothing to send, where there is one.
-callback prepared(cluster()) -> ringtail_reply_headers:prepared() | none.
%% What an answer bears besides: how old what is known is, and whether it may be out of date.
-callback age(cluster()) -> headers().
%% Whether anything is known of the cluster, else why not.
-callback is_there(cluster()) -> true | missing().
-callback identity(cluster()) -> identity() | missing().
-callback preflist(cluster()) -> preflist() | missing().
%% Every partition with its owner, in ring order.
-callback owners(cluster()) -> [{non_neg_integer(), node() | binary()}].
-callback info(cluster()) -> [{atom(), term()}].
-callback members(cluster()) -> [member()].
-callback up(cluster()) -> [node() | binary()].
-callback history(cluster()) -> ringtail_topology_history:history().
%% Who tells, by name.
-callback teller(cluster()) -> node() | binary().
%% What is wrong, for people.
-callback problems(cluster()) -> [binary()].
%% The preflist of the key that the path names.
-callback key_preflist(cluster(), ringtail_reply:reqdata()) -> key_preflist().
%% is_authorized of the resources that only read, and what is known of who asks.
-callback is_authorized(ringtail_reply:reqdata(), Context) ->
    {ringtail_reply:result(Context), Security :: term()}.
%% Whether this user may do one of these; what is said otherwise. `any' is any user.
-callback permitted(ringtail_reply:reqdata(),
                    [{Permission :: string(), Bucket :: term()}] | any, Security :: term()) ->
    true | {false, ringtail_reply:reqdata()}.
%% A path segment as the bytes that Riak stores.
-callback path_bytes(atom(), ringtail_reply:reqdata()) -> binary().
%% Whether the routes may be installed; `Checked' says that all that needs checking once is.
-callback may_serve(Checked :: boolean()) ->
    {ok, Checked :: boolean()} | {wait, atom()} | missing().
%% The resource for objects; who reports; whose calls the console's are.
-callback parts() -> [{objects | report | console, module()}].
%% What the resource for objects wants to know besides, once the routes may be installed.
-callback object_args() -> [{atom(), term()}].

-spec named(origin(), string()) -> {ok, source()} | {unknown, Known :: [iodata()]}.
named(Origin, Name) ->
    case Origin:named(Name) of
        {ok, Cluster} -> {ok, {Origin, Cluster}};
        {unknown, _} = Unknown -> Unknown
    end.

-spec headers(source()) -> headers().
headers({Origin, Cluster}) -> Origin:headers(Cluster).

-spec prepared(source()) -> ringtail_reply_headers:prepared() | none.
prepared({Origin, Cluster}) -> Origin:prepared(Cluster).

-spec age(source()) -> headers().
age({Origin, Cluster}) -> Origin:age(Cluster).

-spec is_there(source()) -> true | missing().
is_there({Origin, Cluster}) -> Origin:is_there(Cluster).

-spec identity(source()) -> identity() | missing().
identity({Origin, Cluster}) -> Origin:identity(Cluster).

-spec preflist(source()) -> preflist() | missing().
preflist({Origin, Cluster}) -> Origin:preflist(Cluster).

-spec owners(source()) -> [{non_neg_integer(), node() | binary()}].
owners({Origin, Cluster}) -> Origin:owners(Cluster).

-spec info(source()) -> [{atom(), term()}].
info({Origin, Cluster}) -> Origin:info(Cluster).

-spec members(source()) -> [member()].
members({Origin, Cluster}) -> Origin:members(Cluster).

-spec up(source()) -> [node() | binary()].
up({Origin, Cluster}) -> Origin:up(Cluster).

-spec history(source()) -> ringtail_topology_history:history().
history({Origin, Cluster}) -> Origin:history(Cluster).

-spec teller(source()) -> node() | binary().
teller({Origin, Cluster}) -> Origin:teller(Cluster).

-spec problems(source()) -> [binary()].
problems({Origin, Cluster}) -> Origin:problems(Cluster).

-spec key_preflist(source(), ringtail_reply:reqdata()) -> key_preflist().
key_preflist({Origin, Cluster}, RD) -> Origin:key_preflist(Cluster, RD).
