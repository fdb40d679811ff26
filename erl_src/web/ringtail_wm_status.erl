%% @doc What the application knows of itself: /ringtail/status as JSON, /ringtail/metrics for
%% Prometheus. Both answer before there is a ring too, for that is when somebody looks.
-module(ringtail_wm_status).

-export([init/1, content_types_provided/2, to_json/2, to_text/2]).

-record(status, {origin :: ringtail_source:origin(),
                 report :: module(),                    % whose words these are
                 format :: status | metrics}).

-define(ORIGIN(Context), Context#status.origin).
-define(OWN_AVAILABILITY, true).
-include("ringtail_wm_read.hrl").

init(Args) ->
    {ok, #status{origin = ringtail_wm:origin(Args),
                 report = proplists:get_value(report, Args),
                 format = proplists:get_value(format, Args)}}.

service_available(RD, #status{origin = Origin} = Context) ->
    ringtail_wm_read:well_framed({true, ringtail_wm:told(Origin, RD), Context}).

content_types_provided(RD, #status{format = status} = Context) ->
    ringtail_wm_read:provided("application/json", to_json, RD, Context);
content_types_provided(RD, #status{format = metrics} = Context) ->
    ringtail_wm_read:provided("text/plain", to_text, RD, Context).

to_json(RD, #status{report = Report} = Context) ->
    ringtail_wm_read:answer("application/json", ringtail_json:object(Report:json()), RD, Context).

to_text(RD, #status{report = Report} = Context) ->
    Text = ringtail_metrics:text(Report:metrics()),
    ringtail_wm_read:answer("text/plain; version=0.0.4; charset=utf-8", Text, RD, Context).
