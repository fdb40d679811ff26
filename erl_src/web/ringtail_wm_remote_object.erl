%% @doc The object route in a VM without Riak, for objects of other clusters. Where a node would
%% serve here this never does; everything is decided and done before webmachine asks about the
%% object itself, of which it knows nothing.
-module(ringtail_wm_remote_object).

-export([init/1, ping/2, service_available/2, known_methods/2, allowed_methods/2,
         validate_content_checksum/2, malformed_request/2, forbidden/2, finish_request/2]).

-record(object, {origin :: ringtail_source:origin(),
                 route = proxy :: ringtail_config:route(),
                 is_told = false :: boolean()}).            % the answer is there

init(Args) ->
    {ok, #object{origin = ringtail_wm:origin(Args)}}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

%% A cluster that has not answered yet may do so now: the request itself finds out.
service_available(RD, #object{origin = Origin} = Context) ->
    case ringtail_wm:ready(Origin, RD, Context) of
        {{halt, 503}, _, _} ->
            Source = ringtail_wm:source(Origin, RD),
            well_framed(ringtail_wm:told_by(Source, RD), Context);
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

validate_content_checksum(RD, Context) ->
    ringtail_body:validate_content_checksum(RD, Context).

malformed_request(RD, #object{origin = Origin} = Context) ->
    {_, Name} = ringtail_wm:source(Origin, RD),
    case ringtail_redirect:route(RD, ringtail_remote_clusters:route(Name)) of
        {ok, Route} -> {false, RD, Context#object{route = Route}};
        {error, Message} -> ringtail_reply:refuse(400, bad_route, Message, RD, Context)
    end.

forbidden(RD, #object{origin = Origin, route = Route} = Context) ->
    {_, Name} = ringtail_wm:source(Origin, RD),
    {halt, Status, Told} = ringtail_remote_route:object(Name, Route, RD),
    {ringtail_reply:ending(Status), Told, Context#object{is_told = true}}.

%% What a node says is passed on as it is.
finish_request(RD, #object{is_told = true} = Context) -> {true, ringtail_body:ended(RD), Context};
finish_request(RD, Context) -> ringtail_wm_read:finish(ringtail_body:ended(RD), Context).
