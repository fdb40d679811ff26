%% @doc What all resources have in common: the headers that every answer bears, the cluster's name
%% in the path, the methods. Each is given, when its route is installed, where its answers come
%% from: the origin, a module of the behaviour `ringtail_source'.
-module(ringtail_wm).

-export([origin/1, ping/2, ready/3, told/2, told_by/2, source/2, methods/3]).

%% @doc The origin among the arguments of a route.
-spec origin(Args :: [{atom(), term()}]) -> ringtail_source:origin().
origin(Args) ->
    {origin, Origin} = lists:keyfind(origin, 1, Args),
    Origin.

%% @doc The very first callback of an old webmachine, which must be there; newer ones do not know
%% it.
-spec ping(ringtail_reply:reqdata(), Context) -> ringtail_reply:result(Context).
ping(RD, Context) ->
    {pong, RD, Context}.

%% @doc service_available, the first callback of every webmachine: sets our headers, so that
%% whatever ends the request carries them; then sees that there is a snapshot and that the path
%% names a cluster.
-spec ready(ringtail_source:origin(), ringtail_reply:reqdata(), Context) ->
          ringtail_reply:result(Context).
ready(Origin, RD, Context) ->
    case ringtail_source:named(Origin, cluster(RD)) of
        {ok, Source} ->
            Prepared = ringtail_source:prepared(Source),
            Told = told(Prepared, Source, RD),
            %% Prepared headers come with the snapshot.
            case Prepared =/= none orelse ringtail_source:is_there(Source) of
                true ->
                    {true, Told, Context};
                {error, {Code, Detail}} ->
                    ringtail_reply:refuse(503, Code, Detail, Told, Context)
            end;
        {unknown, Known} ->
            unknown_cluster(Known, told(Origin, RD), Context)
    end.

%% @doc The same for what is not about one cluster of several: the first one's headers, and no
%% condition.
-spec told(ringtail_source:origin(), ringtail_reply:reqdata()) -> ringtail_reply:reqdata().
told(Origin, RD) ->
    case ringtail_source:named(Origin, "default") of
        {ok, Source} -> told_by(Source, RD);
        {unknown, _} -> RD
    end.

%% @doc The headers of an answer about this cluster.
-spec told_by(ringtail_source:source(), ringtail_reply:reqdata()) -> ringtail_reply:reqdata().
told_by(Source, RD) ->
    told(ringtail_source:prepared(Source), Source, RD).

told(Prepared, Source, RD) ->
    Told = case ringtail_reply_headers:set(Prepared, RD) of
               {ok, Set} -> Set;
               unfit -> wrq:set_resp_headers(ringtail_source:headers(Source), RD)
           end,
    case ringtail_source:age(Source) of
        [] -> Told;
        Age -> wrq:set_resp_headers(Age, Told)
    end.

%% @doc Where the answer to a request that is ready/3 comes from.
-spec source(ringtail_source:origin(), ringtail_reply:reqdata()) -> ringtail_source:source().
source(Origin, RD) ->
    {ok, Source} = ringtail_source:named(Origin, cluster(RD)),
    Source.

%% The name in the path, which is seldom another than this.
cluster(RD) ->
    case wrq:path_info(cluster, RD) of
        "default" -> "default";
        Name -> mochiweb_util:unquote(Name)
    end.

unknown_cluster(Known, RD, Context) ->
    Message = ["no cluster '", cluster(RD), "' is known here; use one of 'clusters'"],
    Clusters = [{clusters, [ringtail_json:text(Cluster) || Cluster <- Known]}],
    ringtail_reply:refuse(404, unknown_cluster, Message, Clusters, RD, Context).

%% @doc allowed_methods for a resource of our own: anything else is refused as JSON.
-spec methods([atom()], ringtail_reply:reqdata(), Context) -> ringtail_reply:result(Context).
methods(Allowed, RD, Context) ->
    case lists:member(wrq:method(RD), Allowed) of
        true ->
            {Allowed, RD, Context};
        false ->
            Names = string:join([atom_to_list(Method) || Method <- Allowed], ", "),
            Message = ["use ", Names, " here"],
            {Allowed, ringtail_reply:error_body(method_not_allowed, Message, [], RD), Context}
    end.
