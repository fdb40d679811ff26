%% @doc The ring as a page for people, at /ringtail: who is in the cluster, who owns what, what is up.
-module(ringtail_wm_page).

-export([init/1, ping/2, service_available/2, known_methods/2, allowed_methods/2, is_authorized/2, forbidden/2,
         content_types_provided/2, to_html/2]).

init(_Args) ->
    {ok, none}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

service_available(RD, Context) ->
    Told = wrq:set_resp_headers(ringtail_ring:headers(), RD),
    case ringtail_ring:ring() of
        {ok, _, _} -> {true, Told, Context};
        {error, {Code, Detail}} -> ringtail_wm:refuse(503, Code, Detail, Told, Context)
    end.

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
    {[{"text/html", to_html}], RD, Context}.

to_html(RD, Context) ->
    {ok, Ring, _} = ringtail_ring:ring(),
    {ok, Owners} = ringtail_engine:owners(Ring),
    {ok, Token, _, _} = ringtail_ring:identity(),
    Name = proplists:get_value(cluster_name, ringtail_ring:info()),
    Page = ringtail_page:html(Name, Token, node(), ringtail_ring:members(), ringtail_ring:up(), Owners),
    {Page, RD, Context}.
