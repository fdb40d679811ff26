%% @doc Where what is answered about a cluster comes from: the ring of this node, or what is known of a cluster that this VM
%% is no part of. The resources ask here and need not know which.
-module(ringtail_source).

-export([named/1, headers/1, prepared/1, age/1, is_there/1, identity/1, preflist/1, owners/1, info/1, members/1, up/1, history/1]).
-export_type([source/0]).

-type source() :: local | {far, ringtail_clusters:name()}.

%% @doc The cluster of this name, which has been percent-decoded; else the names there are.
-spec named(string()) -> {ok, source()} | {unknown, Known :: [iodata()]}.
named(Name) ->
    case ringtail_clusters:is_running() of
        false -> local(Name);
        true -> far(Name)
    end.

local("default") ->
    {ok, local};
local(Name) ->
    case ringtail_ring:identity() of
        {ok, _, Uuid, _} ->
            Alias = ringtail_config:cluster_alias(),
            case string:to_lower(Name) =:= binary_to_list(Uuid) orelse Name =:= Alias of
                true -> {ok, local};
                false -> {unknown, ["default", Uuid] ++ [Alias || Alias =/= undefined]}
            end;
        %% Whatever it is called, the answer is why there is none.
        {error, _} ->
            {ok, local}
    end.

far(Name) ->
    case ringtail_clusters:resolve(Name) of
        {ok, Resolved} -> {ok, {far, Resolved}};
        unknown -> {unknown, ["default" || ringtail_clusters:names() =/= []] ++ ringtail_clusters:names()}
    end.

%% @doc What every answer bears: token, cluster, node.
-spec headers(source()) -> [{string(), string()}].
headers(local) -> ringtail_ring:headers();
headers({far, Name}) -> ringtail_clusters:headers(Name).

%% @doc headers/1 in the form that costs nothing to send, where there is one.
-spec prepared(source()) -> ringtail_wm:prepared() | none.
prepared(local) -> ringtail_ring:prepared_headers();
prepared({far, Name}) -> ringtail_clusters:prepared_headers(Name).

%% @doc What an answer bears besides: from afar how old what is known is, and whether it may be out of date.
-spec age(source()) -> [{string(), string()}].
age(local) ->
    [];
age({far, Name}) ->
    case ringtail_clusters:freshness(Name) of
        {never, _} -> [];
        {current, Age} -> [age_header(Age)];
        {stale, Age} -> [age_header(Age), {"Warning", "110 - \"Response is Stale\""}]
    end.

age_header(Milliseconds) -> {"Age", integer_to_list(Milliseconds div 1000)}.

%% @doc Whether anything is known of the cluster, else why not.
-spec is_there(source()) -> true | ringtail_ring:missing().
is_there(local) ->
    ringtail_ring:is_there();
is_there({far, Name}) ->
    case ringtail_clusters:identity(Name) of
        {ok, _, _, _} -> true;
        {error, _} = Error -> Error
    end.

-spec identity(source()) -> {ok, ringtail_topology:token(), ClusterUuid :: binary(), NodeUuid :: binary()} | ringtail_ring:missing().
identity(local) -> ringtail_ring:identity();
identity({far, Name}) -> ringtail_clusters:identity(Name).

-spec preflist(source()) -> {ok, Etag :: string(), Json :: binary(), Gzipped :: binary()} | ringtail_ring:missing().
preflist(local) -> ringtail_ring:preflist();
preflist({far, Name}) -> ringtail_clusters:preflist(Name).

%% @doc Every partition with its owner, in ring order.
-spec owners(source()) -> [{non_neg_integer(), node() | binary()}].
owners(local) ->
    {ok, Owners} = ringtail_place:owners(),
    Owners;
owners({far, Name}) ->
    {ok, _, Json, _} = ringtail_clusters:preflist(Name),
    {struct, Owners} = mochijson2:decode(Json),
    [{list_to_integer(binary_to_list(Index)), Owner} || {Index, Owner} <- Owners].

-spec info(source()) -> [{atom(), term()}].
info(local) -> ringtail_ring:info();
info({far, Name}) -> ringtail_clusters:info(Name).

-spec members(source()) -> [ringtail_topology:member()].
members(local) -> ringtail_ring:members();
members({far, Name}) -> ringtail_clusters:members(Name).

-spec up(source()) -> [node() | binary()].
up(local) -> ringtail_ring:up();
up({far, Name}) -> ringtail_clusters:up(Name).

-spec history(source()) -> ringtail_topology:history().
history(local) -> ringtail_ring:history();
history({far, Name}) -> ringtail_clusters:history(Name).
