%% @doc The application's settings, read where they are used so that `application:set_env/3' in a
%% console takes effect at once. A setting that makes no sense is replaced by its default and
%% named by problems/0, never a reason to crash a request; so is a name that is none.
-module(ringtail_config).

-export([version/0, mode/0, clusters/0, route/0, prefixes/0, cluster_alias/0]).
-export([max_body/0, advertise/0]).
-export([client_pause/0, publish/0, engine/0, nif_path/0, companion/0]).
-export([port_timeout/0, port_hang_timeout/0, port_max_requests/0]).
-export([problems/0]).
-export_type([route/0]).

-type route() :: proxy | redirect | local.

%% Larger than any object Riak takes by default (50 MiB), small enough that a few of them do not
%% fill a node.
-define(MAX_BODY, 67108864).
%% Of a path's segment, a name, a list: far above what makes sense, far below what does harm.
-define(TEXT_LENGTH, 255).
-define(PATH_LENGTH, 4096).
-define(MOST_PREFIXES, 16).
-define(MOST_BYTES, 16#10000000000).
-define(HOUR_MS, 3600000).
-define(DAY_MS, 86400000).
-define(MOST_REQUESTS, 1000000).

%% @doc The application's version; undefined where it is not loaded.
-spec version() -> undefined | string().
version() ->
    case application:get_key(ringtail, vsn) of
        {ok, Version} -> Version;
        undefined -> undefined
    end.

%% @doc Whether the application serves the Riak node it runs in or, in a VM without Riak, the
%% clusters that are configured. This looks at the code path: for the start, not for each request.
-spec mode() -> node | standalone.
mode() ->
    case has_riak() orelse application:get_env(ringtail, clusters) =:= undefined of
        true -> node;
        false -> standalone
    end.

has_riak() -> code:which(riak_core_ring_manager) =/= non_existing.

%% @doc The clusters that a VM without Riak serves.
-spec clusters() -> [ringtail_config_clusters:cluster()].
clusters() ->
    {Clusters, _} = read_clusters(),
    Clusters.

read_clusters() ->
    case application:get_env(ringtail, clusters) of
        {ok, Entries} -> ringtail_config_clusters:read(Entries);
        undefined -> {[], []}
    end.

%% @doc What the object route does where this node is no primary.
-spec route() -> route().
route() -> value(route).

%% @doc Under which paths the cluster's routes are: Explorer's own two, stand-alone and inside a
%% node.
-spec prefixes() -> [string()].
prefixes() -> value(prefixes).

%% @doc Another name for this cluster in paths, besides `default' and its uuid.
-spec cluster_alias() -> undefined | string().
cluster_alias() -> value(cluster_alias).

%% @doc Largest request body taken on the object route, in bytes.
-spec max_body() -> pos_integer().
max_body() -> value(max_body).

%% @doc How long a client of a VM without Riak may pause in the middle of a body, sent or taken, in
%% milliseconds.
-spec client_pause() -> pos_integer().
client_pause() -> value(client_pause).

%% @doc Endpoints to publish in place of the listeners: `[{http | https | pb, Host, Port}]'.
-spec advertise() -> undefined | [ringtail_endpoint:endpoint()].
advertise() ->
    case value(advertise) of
        undefined -> undefined;
        Listed -> [ringtail_endpoint:normal(Endpoint) || Endpoint <- Listed]
    end.

%% @doc Whether to publish this node's endpoints in the ring.
-spec publish() -> boolean().
publish() -> value(publish).

%% @doc Which engine is to compute.
-spec engine() -> nif | port | auto.
engine() -> value(engine).

%% @doc Where the NIF's library is, where that is not beside the beams.
-spec nif_path() -> undefined | file:filename().
nif_path() -> path(value(nif_path)).

%% @doc Where the companion is, where that is not beside the beams.
-spec companion() -> undefined | file:filename().
companion() -> path(value(companion)).

%% @doc How long the companion may take for one request, in milliseconds.
-spec port_timeout() -> pos_integer().
port_timeout() -> value(port_timeout).

%% @doc After how many milliseconds without a sign of life the companion is killed.
-spec port_hang_timeout() -> pos_integer().
port_hang_timeout() -> value(port_hang_timeout).

%% @doc How many requests may wait for the companion at once.
-spec port_max_requests() -> pos_integer().
port_max_requests() -> value(port_max_requests).

%% ---- What there is ----

%% Name, default, and what a value must be, for people.
settings() ->
    [{route, proxy, "proxy, redirect or local"},
     {prefixes, ["/explore", "/admin/explore"], "a list of paths such as \"/explore\""},
     {cluster_alias, undefined, "a string without '/'"},
     {max_body, ?MAX_BODY, "a number of bytes"},
     {client_pause, 30000, "a number of milliseconds up to an hour"},
     {advertise, undefined,
      "a list of {http | https | pb, Host, Port}, each Host a DNS name or an IP address"},
     {publish, true, "true or false"},
     {engine, auto, "nif, port or auto"},
     {nif_path, undefined, "the path of the NIF's library"},
     {companion, undefined, "the path of the executable `ringtail'"},
     {port_timeout, 5000, "a number of milliseconds"},
     {port_hang_timeout, 10000, "a number of milliseconds"},
     {port_max_requests, 1024, "a number of requests"}].

%% Besides: read by a module of its own; what the application keeps there itself; what OTP puts
%% there.
-define(OTHERS, [clusters, automatic_engine, included_applications]).

-define(GONE, [{forward, "nodes send each other no HTTP any more"},
               {forward_ssl, "nodes send each other no HTTP any more"}]).

value(Name) ->
    {Name, Default, _} = lists:keyfind(Name, 1, settings()),
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
valid(prefixes, Prefixes) ->
    listed(?MOST_PREFIXES, fun(Prefix) -> Prefix =:= "" orelse text(Prefix) end, Prefixes);
valid(cluster_alias, Alias) ->
    Alias =:= undefined orelse (text(Alias) andalso not lists:member($/, Alias));
valid(max_body, Max) -> within(Max, ?MOST_BYTES);
valid(client_pause, Pause) -> within(Pause, ?HOUR_MS);
valid(advertise, undefined) -> true;
valid(advertise, Listed) -> listed(ringtail_endpoint:most(), fun advertised/1, Listed);
valid(publish, Publish) -> is_boolean(Publish);
valid(engine, Engine) -> lists:member(Engine, [nif, port, auto]);
valid(Path, Value) when Path =:= nif_path; Path =:= companion ->
    Value =:= undefined orelse path(Value) =/= "";
valid(port_timeout, Timeout) -> within(Timeout, ?DAY_MS);
valid(port_hang_timeout, Timeout) -> within(Timeout, ?DAY_MS);
valid(port_max_requests, Requests) -> within(Requests, ?MOST_REQUESTS).

within(Number, Most) -> is_integer(Number) andalso Number > 0 andalso Number =< Most.

listed(Most, Check, Listed) ->
    length_of(Listed) =< Most andalso lists:all(Check, Listed).

%% Of what is no list, or an improper one, infinity.
length_of(Listed) ->
    try
        length(Listed)
    catch
        error:badarg -> infinity
    end.

%% Printable, and not empty.
text(Text) ->
    Text =/= "" andalso listed(?TEXT_LENGTH, fun is_printable/1, Text).

is_printable(C) -> is_integer(C) andalso C >= 32 andalso C =< 255 andalso C =/= 127.

advertised(Endpoint) -> ringtail_endpoint:is_valid(ringtail_endpoint:normal(Endpoint)).

%% An empty one is none.
path(undefined) -> undefined;
path(Path) ->
    try unicode:characters_to_list(Path) of
        Text when is_list(Text), length(Text) =< ?PATH_LENGTH ->
            case lists:all(fun(C) -> C >= 32 end, Text) of
                true -> Text;
                false -> ""
            end;
        _ ->
            ""
    catch
        error:_ -> ""
    end.

%% ---- Problems ----

%% @doc A sentence for each setting that is not used: because it makes no sense, or is none.
-spec problems() -> [string()].
problems() ->
    [text("{ringtail, ~p}: ~P is not ~s; the default is used", [Name, Value, 20, Wanted])
     || {Name, _, Wanted} <- settings(),
        {ok, Value} <- [application:get_env(ringtail, Name)],
        not valid(Name, Value)]
        ++ unknown_problems() ++ cluster_problems().

%% Their values are not told: one may be a password.
unknown_problems() ->
    Known = [Name || {Name, _, _} <- settings()] ++ ?OTHERS,
    [unknown(Name, [clusters | [Setting || {Setting, _, _} <- settings()]])
     || Name <- lists:usort([Name || {Name, _} <- application:get_all_env(ringtail)]),
        not lists:member(Name, Known)].

unknown(Name, Settings) ->
    case lists:keyfind(Name, 1, ?GONE) of
        {Name, Why} -> text("{ringtail, ~p} is no setting any more: ~s; take it out", [Name, Why]);
        false -> text("{ringtail, ~P} is no setting; ~s", [Name, 10, meant(Name, Settings)])
    end.

meant(Name, Settings) ->
    case ringtail_near:nearest(Name, Settings) of
        {ok, Nearest} -> ["did you mean ", atom_to_list(Nearest), "?"];
        none -> ["there are ", string:join([atom_to_list(Setting) || Setting <- Settings], ", ")]
    end.

cluster_problems() ->
    {Clusters, Problems} = read_clusters(),
    case {has_riak(), application:get_env(ringtail, clusters)} of
        {true, undefined} ->
            [];
        {true, _} ->
            ["{ringtail, clusters} is for a VM without Riak; this node serves its own cluster"];
        {false, undefined} ->
            ["there is no Riak in this VM: name the clusters to serve in {ringtail, clusters}"];
        {false, _} when Clusters =:= [] ->
            Problems ++ ["{ringtail, clusters} names no cluster that can be served"];
        {false, _} ->
            Problems
    end.

text(Format, Args) ->
    lists:flatten(io_lib:format(Format, Args)).
