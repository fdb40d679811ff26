%% @doc The routes, as webmachine's dispatch list wants them. Pure.
%%
%% The atoms bucket_type, bucket and key are those that riak_kv_wm_object reads its path by.
-module(ringtail_route_table).

-export([routes/3, missing/2]).
-export_type([route/0]).

-type route() :: {Path :: [string() | atom()], Resource :: module(), Args :: [term()]}.

%% @doc All routes under these prefixes (paths such as "/explore"), with this resource for objects.
-spec routes(Prefixes :: [string()], Objects :: module(), ObjectArgs :: [term()]) -> [route()].
routes(Prefixes, Objects, ObjectArgs) ->
    Types = ["riak", "primary", "clusters", cluster, "types"],
    %% The one that is asked for most is looked at first.
    [{Types ++ [bucket_type, "buckets", bucket, "keys", key], Objects, ObjectArgs},
     {Types ++ ['*'], ringtail_wm_lost, []}]
        ++ lists:append([under(string:tokens(Prefix, "/"), Objects, ObjectArgs)
                         || Prefix <- Prefixes])
        ++ [{["ringtail"], ringtail_wm_page, []},
            {["ringtail", "status"], ringtail_wm_status, [status]},
            {["ringtail", "metrics"], ringtail_wm_status, [metrics]},
            %% The one path that every node has, whatever its prefixes are: clients try it first.
            {["ringtail", "clusters", cluster, "topology"], ringtail_wm_topology, []}].

under(Prefix, Objects, ObjectArgs) ->
    Cluster = Prefix ++ ["clusters", cluster],
    Bucket = Cluster ++ ["bucket_types", bucket_type, "buckets", bucket],
    [{Cluster ++ ["preflist"], ringtail_wm_preflist, []},
     {Cluster ++ ["topology"], ringtail_wm_topology, []},
     {Bucket ++ ["keys", key, "preflist"], ringtail_wm_key_preflist, []},
     {Bucket ++ ["primary", key], Objects, ObjectArgs},
     {Bucket ++ ["primary", '*'], ringtail_wm_lost, []}].

%% @doc Those of our routes that the node's list lacks.
-spec missing([route()], Present :: [term()]) -> [route()].
missing(Ours, Present) ->
    [Route || Route <- Ours, not lists:member(Route, Present)].
