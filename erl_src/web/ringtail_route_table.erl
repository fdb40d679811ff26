%% @doc The routes, as webmachine's dispatch list wants them. Pure.
%%
%% The atoms bucket_type, bucket and key are those that riak_kv_wm_object reads its path by.
-module(ringtail_route_table).

-export([routes/4, missing/2]).
-export_type([route/0]).

-type route() :: {Path :: [string() | atom()], Resource :: module(), Args :: [{atom(), term()}]}.

%% @doc All routes under these prefixes (paths such as "/explore"), each with the origin of its
%% answers; its parts say what is not alike for all origins.
-spec routes(Prefixes :: [string()], ringtail_source:origin(), Parts :: [{atom(), module()}],
             ObjectArgs :: [{atom(), term()}]) -> [route()].
routes(Prefixes, Origin, Parts, ObjectArgs) ->
    Args = [{origin, Origin}],
    Object = {proplists:get_value(objects, Parts), Args ++ ObjectArgs},
    Report = [{report, proplists:get_value(report, Parts)} | Args],
    Types = ["riak", "primary", "clusters", cluster, "types"],
    %% The one that is asked for most is looked at first.
    [route(Types ++ [bucket_type, "buckets", bucket, "keys", key], Object),
     {Types ++ ['*'], ringtail_wm_lost, Args}]
        ++ lists:append([under(string:tokens(Prefix, "/"), Object, Args) || Prefix <- Prefixes])
        ++ [{["ringtail"], ringtail_wm_page, Args},
            {["ringtail", "status"], ringtail_wm_status, [{format, status} | Report]},
            {["ringtail", "metrics"], ringtail_wm_status, [{format, metrics} | Report]},
            %% The one path that every node has, whatever its prefixes are: clients try it first.
            {["ringtail", "clusters", cluster, "topology"], ringtail_wm_topology, Args}].

under(Prefix, Object, Args) ->
    Cluster = Prefix ++ ["clusters", cluster],
    Bucket = Cluster ++ ["bucket_types", bucket_type, "buckets", bucket],
    [{Cluster ++ ["preflist"], ringtail_wm_preflist, Args},
     {Cluster ++ ["topology"], ringtail_wm_topology, Args},
     {Bucket ++ ["keys", key, "preflist"], ringtail_wm_key_preflist, Args},
     route(Bucket ++ ["primary", key], Object),
     {Bucket ++ ["primary", '*'], ringtail_wm_lost, Args}].

route(Path, {Module, Args}) -> {Path, Module, Args}.

%% @doc Those of our routes that the node's list lacks.
-spec missing([route()], Present :: [term()]) -> [route()].
missing(Ours, Present) ->
    [Route || Route <- Ours, not lists:member(Route, Present)].
