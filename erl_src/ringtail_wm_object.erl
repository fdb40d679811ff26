%% @doc The object route that only primaries serve. Where this node is a primary of the key it is Riak's own object
%% resource, callback for callback, with pr and pw defaulting to one. Elsewhere the request is sent to a primary,
%% the client is, or it is refused: `ringtail_decide' says which, `ringtail_hop' does it.
%%
%% The decision is taken in forbidden/2. Before it Riak has checked the parameters and who asks; after it Riak's
%% resource reads the object, which a node that is no primary must not do, since that is the very transfer this route
%% avoids. So where the request goes elsewhere, the permission is checked here by the same calls.
-module(ringtail_wm_object).

-export([init/1, ping/2, service_available/2, allowed_methods/2, malformed_request/2, is_authorized/2, forbidden/2,
         valid_entity_length/2, content_types_provided/2, charsets_provided/2, encodings_provided/2,
         content_types_accepted/2, resource_exists/2, generate_etag/2, last_modified/2, is_conflict/2,
         allow_missing_post/2, post_is_create/2, create_path/2, process_post/2, delete_resource/2, multiple_choices/2]).
%% Named by Riak's resource as producers and acceptors
-export([produce_doc_body/2, produce_multipart_body/2, produce_sibling_message_body/2, accept_doc_body/2]).

-define(RIAK, riak_kv_wm_object).
%% What Riak's resource answers, its context kept in ours. Written out for each callback, for a call of a function whose name is a
%% variable is looked up every time, and there are twenty for each request.
-define(DELEGATE(Callback, RD, Context), kept(?RIAK:Callback(RD, Context#object.riak), Context)).

-record(object, {riak :: tuple(),                               % the context of Riak's resource
                 unasked :: undefined | tuple(),                % what it was before Riak asked who the client is
                 query_element :: pos_integer(),
                 route = configured :: ringtail_hop:wanted(),   % where this node is no primary
                 here = false :: boolean()}).                   % whether Riak's resource answers on this node

init(Args) ->
    {ok, Riak} = ?RIAK:init([{api_version, 3}, {prefix, "riak"}, {riak, local}]),
    {ok, #object{riak = Riak, query_element = proplists:get_value(query_element, Args)}}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

service_available(RD, #object{query_element = Element} = Context) ->
    case ringtail_wm:ready(RD, Context) of
        {true, Told, _} ->
            ?DELEGATE(service_available, ringtail_wm:query_with(quorums(wrq:method(RD)), Element, Told), Context);
        Refused ->
            Refused
    end.

%% Of a read only what counts for it. A write reads first where it is conditional.
quorums(Method) when Method =:= 'GET'; Method =:= 'HEAD' -> [{"pr", "one"}];
quorums(_) -> [{"pr", "one"}, {"pw", "one"}].

malformed_request(RD, Context) ->
    case ringtail_hop:route(RD, configured) of
        {ok, Route} ->
            Routed = Context#object{route = Route},
            ?DELEGATE(malformed_request, RD, Routed);
        {error, Message} -> ringtail_wm:refuse(400, bad_route, Message, RD, Context)
    end.

is_authorized(RD, #object{riak = Unasked} = Context) ->
    Asking = Context#object{unasked = Unasked},
    ?DELEGATE(is_authorized, RD, Asking).

forbidden(RD, #object{route = Route} = Context) ->
    Bucket = ringtail_wm:bucket(RD),
    case ringtail_place:primaries(Bucket, ringtail_wm:key(RD)) of
        {ok, Primaries} ->
            Outcome = ringtail_hop:decide(Primaries, Route, RD),
            ok = ringtail_count:add(Outcome),
            case Outcome of
                serve -> serve(RD, Context);
                _ -> leave(Outcome, Primaries, RD, Context)
            end;
        {error, {no_type, _}} ->
            serve(RD, Context);     % so that the 404 is Riak's own
        {error, {Code, Detail}} ->
            ringtail_wm:refuse(503, Code, Detail, RD, Context)
    end.

leave(Outcome, Primaries, RD, #object{unasked = Before, riak = After, route = Route} = Context) ->
    Security = ringtail_wm:security(Before, After, RD),
    Permission = riak_kv_wm_utils:method_to_perm(wrq:method(RD)),
    Bucket = {ringtail_wm:path_bytes(bucket_type, RD), ringtail_wm:path_bytes(bucket, RD)},
    case ringtail_wm:permitted(RD, [{Permission, Bucket}], Security) of
        true ->
            case ringtail_hop:leave(Outcome, Primaries, Route, RD) of
                serve -> serve(RD, Context);
                {halt, Status, Told} -> {ringtail_wm:ending(Status), Told, Context}
            end;
        {false, Told} ->
            {true, Told, Context}
    end.

valid_entity_length(RD, Context) ->
    case reads_body(wrq:method(RD)) andalso ringtail_hop:too_large(RD) of
        false -> {true, RD, Context};
        {true, Status, Told} -> {ringtail_wm:ending(Status), Told, Context#object{here = false}}
    end.

%% Nothing reads the body of any other, so its length is no matter.
reads_body(Method) -> Method =:= 'PUT' orelse Method =:= 'POST'.

%% webmachine encodes the body of an error answer too, and asks for charset and encoding then. Riak's resource would
%% read the object for that, from wherever it is, so it is not asked unless it answers.
charsets_provided(RD, #object{here = false} = Context) -> {no_charset, RD, Context};
charsets_provided(RD, Context) -> ?DELEGATE(charsets_provided, RD, Context).

encodings_provided(RD, #object{here = false} = Context) -> {[{"identity", fun(Body) -> Body end}], RD, Context};
encodings_provided(RD, Context) -> ?DELEGATE(encodings_provided, RD, Context).

%% Asked when a 304 is sent, which may be another node's.
generate_etag(RD, #object{here = false} = Context) -> {undefined, RD, Context};
generate_etag(RD, Context) -> ?DELEGATE(generate_etag, RD, Context).

%% Riak 2.x has no such callback.
is_conflict(RD, Context) ->
    case erlang:function_exported(?RIAK, is_conflict, 2) of
        true -> ?DELEGATE(is_conflict, RD, Context);
        false -> {false, RD, Context}
    end.

process_post(RD, Context) -> with_body(RD, Context, fun(Read) -> ?DELEGATE(process_post, Read, Context) end).
accept_doc_body(RD, Context) -> with_body(RD, Context, fun(Read) -> ?DELEGATE(accept_doc_body, Read, Context) end).

%% ---- As Riak has it ----

allowed_methods(RD, Context) -> ?DELEGATE(allowed_methods, RD, Context).
content_types_provided(RD, Context) -> ?DELEGATE(content_types_provided, RD, Context).
content_types_accepted(RD, Context) -> ?DELEGATE(content_types_accepted, RD, Context).
resource_exists(RD, Context) -> ?DELEGATE(resource_exists, RD, Context).
last_modified(RD, Context) -> ?DELEGATE(last_modified, RD, Context).
allow_missing_post(RD, Context) -> ?DELEGATE(allow_missing_post, RD, Context).
post_is_create(RD, Context) -> ?DELEGATE(post_is_create, RD, Context).
create_path(RD, Context) -> ?DELEGATE(create_path, RD, Context).
delete_resource(RD, Context) -> ?DELEGATE(delete_resource, RD, Context).
multiple_choices(RD, Context) -> ?DELEGATE(multiple_choices, RD, Context).
produce_doc_body(RD, Context) -> ?DELEGATE(produce_doc_body, RD, Context).
produce_multipart_body(RD, Context) -> ?DELEGATE(produce_multipart_body, RD, Context).
produce_sibling_message_body(RD, Context) -> ?DELEGATE(produce_sibling_message_body, RD, Context).

%% ---- Inside ----

kept({Answer, Told, Riak}, Context) ->
    {Answer, Told, Context#object{riak = Riak}}.

serve(RD, Context) ->
    Here = Context#object{here = true},
    ?DELEGATE(forbidden, RD, Here).

%% A body without a length is counted as it is read, before Riak sees it.
with_body(RD, Context, Take) ->
    Limited = wrq:set_max_recv_body(ringtail_config:max_body(), RD),
    try wrq:req_body(Limited) of
        _ -> Take(Limited)
    catch
        exit:"request body too large" ->
            {Status, Told} = ringtail_hop:body_too_large(RD),
            {ringtail_wm:ending(Status), Told, Context#object{here = false}}
    end.
