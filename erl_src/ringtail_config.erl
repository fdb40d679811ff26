%% @doc The application's settings, read where they are used so that `application:set_env/3' in a console takes effect at
%% once. A setting that makes no sense is replaced by its default and named by problems/0, never a reason to crash a
%% request.
-module(ringtail_config).

-export([mode/0, clusters/0, route/0, prefixes/0, cluster_alias/0, max_body/0]).
-export([client_pause/0, advertise/0, publish/0, problems/0]).
-export_type([route/0]).

-type route() :: proxy | redirect | local.

%% Larger than any object Riak takes by default (50 MiB), small enough that a few of them do not fill a node.
-define(MAX_BODY, 67108864).

-define(CLIENT_PAUSE, 30000).

%% @doc Whether the application serves the Riak node it runs in or, in a VM without Riak, the clusters that are configured.
%% This looks at the code path: for the start, not for each request.
-spec mode() -> node | standalone.
mode() ->
    case has_riak() orelse application:get_env(ringtail, clusters) =:= undefined of
        true -> node;
        false -> standalone
    end.

has_riak() -> code:which(riak_core_ring_manager) =/= non_existing.

%% @doc The clusters that a VM without Riak serves.
-spec clusters() -> [ringtail_clusters_config:cluster()].
clusters() ->
    {Clusters, _} = read_clusters(),
    Clusters.

read_clusters() ->
    case application:get_env(ringtail, clusters) of
        {ok, Entries} -> ringtail_clusters_config:read(Entries);
        undefined -> {[], []}
    end.

%% @doc What the object route does where this node is no primary.
-spec route() -> route().
route() -> value(route, proxy).

%% @doc Under which paths the cluster's routes are: Explorer's own two, stand-alone and inside a node.
-spec prefixes() -> [string()].
prefixes() -> value(prefixes, ["/explore", "/admin/explore"]).

%% @doc Another name for this cluster in paths, besides `default' and its uuid.
-spec cluster_alias() -> undefined | string().
cluster_alias() -> value(cluster_alias, undefined).

%% @doc Largest request body taken on the object route, in bytes.
-spec max_body() -> pos_integer().
max_body() -> value(max_body, ?MAX_BODY).

%% @doc How long a client of a VM without Riak may pause in the middle of a body, sent or taken, in ms.
-spec client_pause() -> pos_integer().
client_pause() -> value(client_pause, ?CLIENT_PAUSE).

%% @doc Endpoints to publish in place of the listeners: `[{http | https | pb, Host, Port}]'.
-spec advertise() -> undefined | [ringtail_endpoints:endpoint()].
advertise() ->
    case value(advertise, undefined) of
        undefined -> undefined;
        Listed -> [normal(Endpoint) || Endpoint <- Listed]
    end.

%% @doc Whether to publish this node's endpoints in the ring.
-spec publish() -> boolean().
publish() -> value(publish, true).

%% @doc A sentence for each setting that is not used because it makes no sense.
-spec problems() -> [string()].
problems() ->
    [lists:flatten(io_lib:format("{ringtail, ~p}: ~p is not ~s; the default is used", [Name, Value, Wanted]))
     || {Name, Wanted} <- [{route, "proxy, redirect or local"}, {prefixes, "a list of paths such as \"/explore\""},
                           {cluster_alias, "a string without '/'"}, {max_body, "a number of bytes"},
                           {client_pause, "a number of milliseconds up to an hour"},
                           {advertise, "a list of {http | https | pb, Host, Port}"}, {publish, "true or false"}],
        {ok, Value} <- [application:get_env(ringtail, Name)],
        not valid(Name, Value)] ++ cluster_problems().

cluster_problems() ->
    {Clusters, Problems} = read_clusters(),
    case {has_riak(), application:get_env(ringtail, clusters)} of
        {true, undefined} -> [];
        {true, _} -> ["{ringtail, clusters} is for a VM without Riak; this node serves its own cluster"];
        {false, undefined} -> ["there is no Riak in this VM: name the clusters to serve in {ringtail, clusters}"];
        {false, _} when Clusters =:= [] -> Problems ++ ["{ringtail, clusters} names no cluster that can be served"];
        {false, _} -> Problems
    end.

%% ---- Inside ----

value(Name, Default) ->
    case application:get_env(ringtail, Name) of
        {ok, Value} ->
            case valid(Name, Value) of
                true -> Value;
                false -> Default
            end;
        undefined ->
            Default
    end.

valid(route, Route) -> lists:member(Route, [proxy, redirect, local]);
valid(prefixes, Prefixes) -> is_list(Prefixes) andalso lists:all(fun text/1, Prefixes);
valid(cluster_alias, Alias) -> Alias =:= undefined orelse (text(Alias) andalso Alias =/= [] andalso not lists:member($/, Alias));
valid(max_body, Max) -> is_integer(Max) andalso Max > 0;
valid(client_pause, Pause) -> is_integer(Pause) andalso Pause > 0 andalso Pause =< 3600000;
valid(advertise, undefined) -> true;
valid(advertise, Listed) -> is_list(Listed) andalso lists:all(fun endpoint/1, Listed);
valid(publish, Publish) -> is_boolean(Publish).

text(Text) -> is_list(Text) andalso lists:all(fun(C) -> is_integer(C) andalso C > 0 andalso C < 256 end, Text).

endpoint({Scheme, Host, Port}) when is_integer(Port), Port > 0, Port < 65536 ->
    lists:member(Scheme, [http, https, pb]) andalso
        (is_binary(Host) orelse text(Host)) andalso iolist_size(Host) > 0;
endpoint(_) ->
    false.

normal({Scheme, Host, Port}) -> {Scheme, iolist_to_binary(Host), Port}.
