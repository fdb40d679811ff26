%% @doc The object route in a VM without Riak, for objects of other clusters. Where a node would
%% serve here this never does; everything is decided and done before webmachine asks about the
%% object itself, of which it knows nothing.
-module(ringtail_wm_far_object).

-export([init/1, ping/2, service_available/2, known_methods/2, allowed_methods/2,
         malformed_request/2, forbidden/2, finish_request/2]).

-record(object, {route = proxy :: ringtail_config:route(),
                 is_told = false :: boolean()}).            % the answer is there

init(_Args) ->
    {ok, #object{}}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

%% A cluster that has not answered yet may do so now: the request itself finds out.
service_available(RD, Context) ->
    case ringtail_wm:ready(RD, Context) of
        {{halt, 503}, _, _} -> well_framed(ringtail_wm:told(ringtail_wm:source(RD), RD), Context);
        {true, Told, _} -> well_framed(Told, Context);
        Refused -> Refused
    end.

well_framed(RD, Context) ->
    case ringtail_body:framing(RD) of
        {ok, _} -> {true, RD, Context};
        {error, Why} -> ringtail_body:refuse_framing(Why, RD, Context)
    end.

known_methods(RD, Context) ->
    {[wrq:method(RD)], RD, Context}.

allowed_methods(RD, Context) ->
    ringtail_wm:methods(['GET', 'HEAD', 'PUT', 'POST', 'DELETE'], RD, Context).

malformed_request(RD, Context) ->
    {far, Name} = ringtail_wm:source(RD),
    case ringtail_redirect:route(RD, ringtail_clusters:route(Name)) of
        {ok, Route} -> {false, RD, Context#object{route = Route}};
        {error, Message} -> ringtail_wm:refuse(400, bad_route, Message, RD, Context)
    end.

forbidden(RD, #object{route = Route} = Context) ->
    {far, Name} = ringtail_wm:source(RD),
    {halt, Status, Told} = ringtail_far_hop:object(Name, Route, RD),
    {ringtail_wm:ending(Status), Told, Context#object{is_told = true}}.

%% What a node says is passed on as it is.
finish_request(RD, #object{is_told = true} = Context) -> {true, ringtail_body:ended(RD), Context};
finish_request(RD, Context) -> ringtail_wm_read:finish(ringtail_body:ended(RD), Context).
