%% @doc The ring as a page for people, at /ringtail: who is in the cluster, who owns what, what is
%% up.
-module(ringtail_wm_page).

-export([init/1, ping/2, service_available/2, known_methods/2, allowed_methods/2, is_authorized/2,
         forbidden/2, content_types_provided/2, to_html/2, finish_request/2]).

init(_Args) ->
    {ok, none}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

service_available(RD, Context) ->
    ringtail_wm_read:well_framed(known(RD, Context)).

known(RD, Context) ->
    Told = ringtail_wm:told(RD),
    case source(RD) of
        {ok, Source} ->
            case ringtail_source:identity(Source) of
                {ok, _, _, _} -> {true, Told, Context};
                {error, {Code, Detail}} -> ringtail_wm:refuse(503, Code, Detail, Told, Context)
            end;
        {unknown, Known} ->
            Message = ["no such cluster is known here; there is: ",
                       string:join([text(Name) || Name <- Known], ", ")],
            ringtail_wm:refuse(404, unknown_cluster, Message, Told, Context)
    end.

%% Of several clusters the first is shown, or the one that is asked for.
source(RD) ->
    ringtail_source:named(wrq:get_qs_value("cluster", "default", RD)).

text(Name) -> binary_to_list(iolist_to_binary(Name)).

known_methods(RD, Context) ->
    {[wrq:method(RD)], RD, Context}.

allowed_methods(RD, Context) ->
    ringtail_wm:methods(['GET', 'HEAD'], RD, Context).

is_authorized(RD, Context) ->
    {Result, _} = ringtail_wm:is_authorized(RD, Context),
    Result.

forbidden(RD, Context) ->
    case ringtail_wm:permitted(RD, any, undefined) of
        true -> {false, RD, Context};
        {false, Told} -> {true, Told, Context}
    end.

content_types_provided(RD, Context) ->
    ringtail_wm_read:provided("text/html", to_html, RD, Context).

to_html(RD, Context) ->
    {ok, Source} = source(RD),
    {ok, Token, _, Teller} = ringtail_source:identity(Source),
    Name = proplists:get_value(cluster_name, ringtail_source:info(Source)),
    Members = ringtail_source:members(Source),
    Page = ringtail_page:html(Name, Token, teller(Source, Teller, Members), Members,
                              ringtail_source:up(Source), ringtail_source:owners(Source),
                              problems(Source)),
    ringtail_wm_read:answer("text/html; charset=utf-8", Page, RD, Context).

finish_request(RD, Context) ->
    ringtail_wm_read:finish(RD, Context).

problems(local) ->
    [<<"The engine is lost and riak_core answers in its place: ", Why/binary>>
     || {lost, Why} <- [ringtail_engine:condition()]];
problems({far, _}) ->
    [].

teller(local, _, _) -> node();
teller(_, Uuid, Members) -> hd([Name || {Name, Known, _, _} <- Members, Known =:= Uuid] ++ [Uuid]).
