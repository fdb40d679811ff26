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
         allow_missing_post/2, post_is_create/2, create_path/2, process_post/2, delete_resource/2, multiple_choices/2,
         finish_request/2]).
%% Named by Riak's resource as producers and acceptors
-export([produce_doc_body/2, produce_multipart_body/2, produce_sibling_message_body/2, accept_doc_body/2]).

-define(RIAK, riak_kv_wm_object).
%% A request leaves some 14,000 words of garbage, and after each mochiweb collects all of it, so that the next begins with the
%% smallest heap there is: a dozen collections on the way, and less than half of that with this room from the start. In words.
-define(HEAP, 10000).
%% What Riak's resource answers before the decision, its context kept in ours. Written out for each callback, for a call of a
%% function whose name is a variable is looked up every time.
-define(DELEGATE(Callback, RD, Context), kept(?RIAK:Callback(RD, Context#undecided.riak), Context)).

%% The context until it is decided who serves the request, and to the end where that is not Riak's resource. Where it is, its own
%% context takes the place of ours; `refused' does where a body turns out to be too large for it after all.
-record(undecided, {riak :: tuple(),                                % the context of Riak's resource
                    unasked :: undefined | tuple(),                 % what it was before Riak asked who the client is
                    query_element :: pos_integer(),
                    route = configured :: ringtail_hop:wanted()}).  % where this node is no primary

-define(UNSERVED(Context), Context =:= refused orelse is_record(Context, undecided)).

init(Args) ->
    ok = make_room(),
    {ok, Riak} = ?RIAK:init([{api_version, 3}, {prefix, "riak"}, {riak, local}]),
    {ok, #undecided{riak = Riak, query_element = proplists:get_value(query_element, Args)}}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

service_available(RD, #undecided{query_element = Element} = Context) ->
    case ringtail_wm:ready(RD, Context) of
        {true, Told, _} ->
            ?DELEGATE(service_available, ringtail_wm:query_with(quorums(wrq:method(RD)), Element, Told), Context);
        Refused ->
            Refused
    end.

%% Of a read only what counts for it. A write reads first where it is conditional.
quorums(Method) when Method =:= 'GET'; Method =:= 'HEAD' -> [{"pr", "one"}];
quorums(_) -> [{"pr", "one"}, {"pw", "one"}].

allowed_methods(RD, Context) -> ?DELEGATE(allowed_methods, RD, Context).

malformed_request(RD, Context) ->
    case ringtail_hop:route(RD, configured) of
        {ok, Route} ->
            Routed = Context#undecided{route = Route},
            ?DELEGATE(malformed_request, RD, Routed);
        {error, Message} -> ringtail_wm:refuse(400, bad_route, Message, RD, Context)
    end.

is_authorized(RD, #undecided{riak = Unasked} = Context) ->
    Asking = Context#undecided{unasked = Unasked},
    ?DELEGATE(is_authorized, RD, Asking).

forbidden(RD, #undecided{route = Route} = Context) ->
    Here = ringtail_ring:here(),
    case ringtail_place:primaries(ringtail_wm:bucket(RD), ringtail_wm:key(RD), Here) of
        {ok, Primaries} ->
            {ok, _, _, IsUp} = Here,
            Outcome = case ringtail_decide:is_here(Primaries, node(), IsUp) of
                          true -> serve;
                          false -> ringtail_hop:decide(Primaries, Route, RD)
                      end,
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

leave(Outcome, Primaries, RD, #undecided{unasked = Before, riak = After, route = Route} = Context) ->
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
        {true, Status, Told} -> {ringtail_wm:ending(Status), Told, refused}
    end.

%% Nothing reads the body of any other, so its length is no matter.
reads_body(Method) -> Method =:= 'PUT' orelse Method =:= 'POST'.

%% webmachine encodes the body of an error answer too, and asks for charset and encoding then. Riak's resource would
%% read the object for that, from wherever it is, so it is not asked unless it answers.
charsets_provided(RD, Context) when ?UNSERVED(Context) -> {no_charset, RD, Context};
charsets_provided(RD, Riak) -> ?RIAK:charsets_provided(RD, Riak).

encodings_provided(RD, Context) when ?UNSERVED(Context) -> {[{"identity", fun(Body) -> Body end}], RD, Context};
encodings_provided(RD, Riak) -> ?RIAK:encodings_provided(RD, Riak).

%% Asked when a 304 is sent, which may be another node's.
generate_etag(RD, Context) when ?UNSERVED(Context) -> {undefined, RD, Context};
generate_etag(RD, Riak) -> ?RIAK:generate_etag(RD, Riak).

%% Riak 2.x has no such callback.
is_conflict(RD, Riak) ->
    case erlang:function_exported(?RIAK, is_conflict, 2) of
        true -> ?RIAK:is_conflict(RD, Riak);
        false -> {false, RD, Riak}
    end.

process_post(RD, Riak) -> with_body(RD, fun(Read) -> ?RIAK:process_post(Read, Riak) end).
accept_doc_body(RD, Riak) -> with_body(RD, fun(Read) -> ?RIAK:accept_doc_body(Read, Riak) end).

%% ---- As Riak has it ----

content_types_provided(RD, Riak) -> ?RIAK:content_types_provided(RD, Riak).
content_types_accepted(RD, Riak) -> ?RIAK:content_types_accepted(RD, Riak).
resource_exists(RD, Riak) -> ?RIAK:resource_exists(RD, Riak).
last_modified(RD, Riak) -> ?RIAK:last_modified(RD, Riak).
allow_missing_post(RD, Riak) -> ?RIAK:allow_missing_post(RD, Riak).
post_is_create(RD, Riak) -> ?RIAK:post_is_create(RD, Riak).
create_path(RD, Riak) -> ?RIAK:create_path(RD, Riak).
delete_resource(RD, Riak) -> ?RIAK:delete_resource(RD, Riak).
multiple_choices(RD, Riak) -> ?RIAK:multiple_choices(RD, Riak).
produce_doc_body(RD, Riak) -> ?RIAK:produce_doc_body(RD, Riak).
produce_multipart_body(RD, Riak) -> ?RIAK:produce_multipart_body(RD, Riak).
produce_sibling_message_body(RD, Riak) -> ?RIAK:produce_sibling_message_body(RD, Riak).

finish_request(RD, Context) ->
    ok = give_back_room(),
    {true, RD, Context}.

%% ---- Inside ----

%% The process is Riak's, so it has what it had when the request is over. What a request that broke off left here, the next
%% one gives back.
make_room() ->
    case process_flag(min_heap_size, ?HEAP) of
        Before when Before < ?HEAP -> put(?MODULE, Before);
        Before -> process_flag(min_heap_size, Before)
    end,
    ok.

give_back_room() ->
    case erase(?MODULE) of
        undefined -> ok;
        Before -> process_flag(min_heap_size, Before), ok
    end.

kept({Answer, Told, Riak}, Context) ->
    {Answer, Told, Context#undecided{riak = Riak}}.

serve(RD, #undecided{riak = Riak}) ->
    ?RIAK:forbidden(RD, Riak).

%% A body without a length is counted as it is read, before Riak sees it.
with_body(RD, Take) ->
    Limited = wrq:set_max_recv_body(ringtail_config:max_body(), RD),
    try wrq:req_body(Limited) of
        _ -> Take(Limited)
    catch
        exit:"request body too large" ->
            {Status, Told} = ringtail_hop:body_too_large(RD),
            {ringtail_wm:ending(Status), Told, refused}
    end.
