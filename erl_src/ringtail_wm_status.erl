%% @doc What the application knows of itself: /ringtail/status as JSON, /ringtail/metrics for
%% Prometheus. Both answer before there is a ring too, for that is when somebody looks.
-module(ringtail_wm_status).

-export([init/1, ping/2, service_available/2, known_methods/2, allowed_methods/2, is_authorized/2,
         forbidden/2, content_types_provided/2, to_json/2, to_text/2, finish_request/2]).

-type format() :: status | metrics.

-spec init([format()]) -> {ok, format()}.
init([Format]) ->
    {ok, Format}.

ping(RD, Format) ->
    ringtail_wm:ping(RD, Format).

service_available(RD, Format) ->
    ringtail_wm_read:well_framed({true, ringtail_wm:told(RD), Format}).

known_methods(RD, Format) ->
    {[wrq:method(RD)], RD, Format}.

allowed_methods(RD, Format) ->
    ringtail_wm:methods(['GET', 'HEAD'], RD, Format).

is_authorized(RD, Format) ->
    {Result, _} = ringtail_wm:is_authorized(RD, Format),
    Result.

forbidden(RD, Format) ->
    case ringtail_wm:permitted(RD, any, undefined) of
        true -> {false, RD, Format};
        {false, Told} -> {true, Told, Format}
    end.

content_types_provided(RD, status) ->
    ringtail_wm_read:provided("application/json", to_json, RD, status);
content_types_provided(RD, metrics) ->
    ringtail_wm_read:provided("text/plain", to_text, RD, metrics).

to_json(RD, status) ->
    Json = ringtail_json:object(ringtail_status:json()),
    ringtail_wm_read:answer("application/json", Json, RD, status).

to_text(RD, metrics) ->
    Text = ringtail_metrics:text(ringtail_status:metrics()),
    ringtail_wm_read:answer("text/plain; version=0.0.4; charset=utf-8", Text, RD, metrics).

finish_request(RD, Format) ->
    ringtail_wm_read:finish(RD, Format).
