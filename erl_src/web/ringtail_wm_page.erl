%% @doc The ring as a page for people, at /ringtail: who is in the cluster, who owns what, what is
%% up.
-module(ringtail_wm_page).

-export([init/1, content_types_provided/2, to_html/2]).

-define(ORIGIN(Context), Context).
-define(OWN_AVAILABILITY, true).
-include("ringtail_wm_read.hrl").

init(Args) ->
    {ok, ringtail_wm:origin(Args)}.

service_available(RD, Origin) ->
    ringtail_wm_read:well_framed(known(RD, Origin)).

known(RD, Origin) ->
    Told = ringtail_wm:told(Origin, RD),
    case source(RD, Origin) of
        {ok, Source} ->
            case ringtail_source:identity(Source) of
                {ok, _, _, _} -> {true, Told, Origin};
                {error, {Code, Detail}} -> ringtail_reply:refuse(503, Code, Detail, Told, Origin)
            end;
        {unknown, Known} ->
            Message = ["no such cluster is known here; there is: ",
                       string:join([text(Name) || Name <- Known], ", ")],
            ringtail_reply:refuse(404, unknown_cluster, Message, Told, Origin)
    end.

%% Of several clusters the first is shown, or the one that is asked for.
source(RD, Origin) ->
    ringtail_source:named(Origin, wrq:get_qs_value("cluster", "default", RD)).

text(Name) -> binary_to_list(iolist_to_binary(Name)).

content_types_provided(RD, Origin) ->
    ringtail_wm_read:provided("text/html", to_html, RD, Origin).

to_html(RD, Origin) ->
    {ok, Source} = source(RD, Origin),
    {ok, Token, _, _} = ringtail_source:identity(Source),
    Name = proplists:get_value(cluster_name, ringtail_source:info(Source)),
    Page = ringtail_page:html(Name, Token, ringtail_source:teller(Source),
                              ringtail_source:members(Source), ringtail_source:up(Source),
                              ringtail_source:owners(Source), ringtail_source:problems(Source)),
    ringtail_wm_read:answer("text/html; charset=utf-8", Page, RD, Origin).
