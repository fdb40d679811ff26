%% What the resources that only read answer alike. Whoever includes this has defined
%% ORIGIN(Context), where the answers come from, and OWN_AVAILABILITY or OWN_PERMISSION where it
%% answers otherwise.

-export([ping/2, service_available/2, known_methods/2, allowed_methods/2, is_authorized/2,
         forbidden/2, finish_request/2]).

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

-ifndef(OWN_AVAILABILITY).
service_available(RD, Context) ->
    ringtail_wm_read:well_framed(ringtail_wm:ready(?ORIGIN(Context), RD, Context)).
-endif.

%% So that any other is refused by allowed_methods, as JSON.
known_methods(RD, Context) ->
    {[wrq:method(RD)], RD, Context}.

allowed_methods(RD, Context) ->
    ringtail_wm:methods(['GET', 'HEAD'], RD, Context).

-ifndef(OWN_PERMISSION).
is_authorized(RD, Context) ->
    ringtail_wm_read:is_authorized(?ORIGIN(Context), RD, Context).

forbidden(RD, Context) ->
    ringtail_wm_read:forbidden(?ORIGIN(Context), RD, Context).
-endif.

finish_request(RD, Context) ->
    ringtail_wm_read:finish(RD, Context).
