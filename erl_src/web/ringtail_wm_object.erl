%% @doc The object route that only primaries serve. Where this node is a primary of the key it is
%% Riak's own object resource, callback for callback, with pr and pw defaulting to one. Elsewhere
%% that same resource answers with its client pointed at a primary (`ringtail_relay'), or the client
%% is sent there or refused (`ringtail_redirect'); `ringtail_decide' says which.
%%
%% The decision is taken in forbidden/2. Before it Riak has checked the parameters and who asks; in
%% it Riak's resource reads the object. So where it is not asked, the permission is checked here by
%% the same calls.
-module(ringtail_wm_object).

-export([init/1, ping/2, service_available/2, allowed_methods/2, validate_content_checksum/2,
         malformed_request/2, is_authorized/2, forbidden/2, valid_entity_length/2,
         content_types_provided/2, charsets_provided/2, encodings_provided/2,
         content_types_accepted/2, resource_exists/2, generate_etag/2, last_modified/2,
         is_conflict/2, allow_missing_post/2, post_is_create/2, create_path/2, process_post/2,
         delete_resource/2, multiple_choices/2, finish_request/2]).
%% Named by Riak's resource as producers and acceptors
-export([produce_doc_body/2, produce_multipart_body/2, produce_sibling_message_body/2,
         accept_doc_body/2]).

-define(RIAK, riak_kv_wm_object).
%% A request leaves some 14,000 words of garbage, and after each mochiweb collects all of it, so
%% that the next begins with the smallest heap there is: a dozen collections on the way, and less
%% than half of that with this room from the start. In words.
-define(HEAP, 10000).
%% What Riak's resource answers before the decision, its context kept in ours. Written out for each
%% callback, for a call of a function whose name is a variable is looked up every time.
-define(DELEGATE(Callback, RD, Context), kept(?RIAK:Callback(RD, Context#undecided.riak), Context)).
%% A callback that is Riak's once it is decided who serves the request.
-define(AS_RIAK(Callback),
        Callback(RD, {relayed, Relay}) -> relayed(Callback, RD, Relay);
        Callback(RD, Riak) -> ?RIAK:Callback(RD, Riak)).

%% What Riak's resource leaves webmachine to say, with a status and no more.
-define(MEANINGS,
        [{405, {method_not_allowed, "use GET, HEAD, PUT, POST or DELETE here"}},
         {406, {not_acceptable,
                "the object is of no type, charset or encoding that the request accepts"}},
         {409, {conflict, "the object has changed since; read it, and write with its vclock"}},
         {412, {precondition_failed, "the object is not as the request's conditions want it"}},
         {415, {unsupported_media_type, "Content-Type must be a media type such as text/plain"}}]).

%% The context until it is decided who serves the request, and to the end where that is not Riak's
%% resource. Where it is, its own context takes the place of ours, or `{relayed, Relay}' where its
%% client works elsewhere; `refused' does where the request ends after all.
-record(undecided, {origin :: ringtail_source:origin(),
                    riak :: undefined | tuple(),                % the context of Riak's resource
                    unasked :: undefined | tuple(),             % before Riak knew who asks
                    query_element :: pos_integer(),
                    client :: {ok, pos_integer()} | {error, term()},
                    route = configured :: configured | ringtail_config:route()}).

-define(UNSERVED(Context), Context =:= refused orelse is_record(Context, undecided)).

init(Args) ->
    ok = make_room(),
    {ok, #undecided{origin = ringtail_wm:origin(Args),
                    query_element = proplists:get_value(query_element, Args),
                    client = proplists:get_value(client, Args)}}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

service_available(RD, #undecided{origin = Origin} = Context) ->
    case ringtail_wm:ready(Origin, RD, Context) of
        {true, Told, _} ->
            case ringtail_body:framing(Told) of
                {ok, _} -> available(Told, Context);
                {error, Why} -> ringtail_body:refuse_framing(Why, Told, Context)
            end;
        Refused ->
            Refused
    end.

available(RD, #undecided{query_element = Element} = Context) ->
    {ok, Riak} = ?RIAK:init(arguments(wrq:path_info(bucket_type, RD))),
    Asking = Context#undecided{riak = Riak},
    Told = ringtail_query:with(quorums(wrq:method(RD)), Element, RD),
    ?DELEGATE(service_available, Told, Asking).

%% As Riak's own routes have them. Those of buckets without a type are the only ones that can show
%% an object's links.
arguments("default") ->
    [{bucket_type, <<"default">>}, {api_version, 2}, {prefix, "riak"}, {riak, local}];
arguments(_) ->
    [{api_version, 3}, {prefix, "riak"}, {riak, local}].

%% Of a read only what counts for it. A write reads first where it is conditional.
quorums(Method) when Method =:= 'GET'; Method =:= 'HEAD' -> [{"pr", "one"}];
quorums(_) -> [{"pr", "one"}, {"pw", "one"}].

allowed_methods(RD, Context) -> ?DELEGATE(allowed_methods, RD, Context).

validate_content_checksum(RD, Context) ->
    ringtail_body:validate_content_checksum(RD, Context).

malformed_request(RD, Context) ->
    case {ringtail_redirect:route(RD, configured), ringtail_body:too_long(RD)} of
        {{ok, Route}, false} ->
            Routed = Context#undecided{route = Route},
            ?DELEGATE(malformed_request, RD, Routed);
        {{ok, _}, {true, Message}} ->
            ringtail_reply:refuse(400, bad_timeout, Message, RD, Context);
        {{error, Message}, _} ->
            ringtail_reply:refuse(400, bad_route, Message, RD, Context)
    end.

is_authorized(RD, #undecided{riak = Unasked} = Context) ->
    Asking = Context#undecided{unasked = Unasked},
    ?DELEGATE(is_authorized, RD, Asking).

forbidden(RD, {relayed, Relay}) ->
    relayed(forbidden, RD, Relay);
forbidden(RD, #undecided{} = Context) ->
    Here = ringtail_ring:here(),
    case ringtail_key_owners:primaries(ringtail_riak_path:bucket(RD), ringtail_riak_path:key(RD),
                                       Here) of
        {ok, Primaries} ->
            {ok, _, _, IsUp} = Here,
            Outcome = case ringtail_decide:is_here(Primaries, node(), IsUp) of
                          true -> serve;
                          false -> elsewhere(Primaries, Context)
                      end,
            ok = ringtail_count:add(Outcome),
            act(Outcome, Primaries, RD, Context);
        {error, {no_type, Detail}} ->
            leave(fun(Told) -> ringtail_redirect:no_type(Detail, Told) end, RD, Context);
        {error, {Code, Detail}} ->
            ringtail_reply:refuse(503, Code, Detail, RD, Context)
    end.

%% Without a client that can be pointed elsewhere the request's own client is.
elsewhere(Primaries, #undecided{route = Wanted, client = Client}) ->
    Route = case {Wanted, Client} of
                {configured, _} -> relayable(ringtail_config:route(), Client);
                _ -> relayable(Wanted, Client)
            end,
    {_, _, Turn} = os:timestamp(),
    ringtail_decide:decide(Primaries, node(), ringtail_ring:up(), Route, Turn).

relayable(proxy, {error, _}) -> redirect;
relayable(Route, _) -> Route.

act(serve, _, RD, #undecided{riak = Riak}) ->
    ?RIAK:forbidden(RD, Riak);
act({proxy, Nodes}, _, RD, #undecided{riak = Riak, client = {ok, Element}}) ->
    Relay = ringtail_relay:new(Riak, Element, Nodes, wrq:method(RD), ringtail_body:timeout(RD)),
    relayed(forbidden, RD, Relay);
act(Outcome, Primaries, RD, Context) ->
    leave(fun(Told) -> ringtail_redirect:leave(Outcome, Primaries, Told) end, RD, Context).

leave(Leave, RD, #undecided{unasked = Before, riak = After} = Context) ->
    Security = ringtail_riak_security:security(Before, After, RD),
    Permission = riak_kv_wm_utils:method_to_perm(wrq:method(RD)),
    Bucket = {ringtail_riak_path:bytes(bucket_type, RD), ringtail_riak_path:bytes(bucket, RD)},
    case ringtail_riak_security:permitted(RD, [{Permission, Bucket}], Security) of
        true -> ended(Leave(RD));
        {false, Told} -> {true, Told, Context}
    end.

ended({halt, Status, RD}) -> {ringtail_reply:ending(Status), RD, refused}.

relayed(Callback, RD, Relay) ->
    case ringtail_relay:call(Callback, RD, Relay) of
        {answer, Answer, Told, Later} -> {Answer, Told, {relayed, Later}};
        {lost, Why, Node} -> ended(ringtail_redirect:lost(Why, Node, RD))
    end.

valid_entity_length(RD, Context) ->
    case reads_body(wrq:method(RD)) andalso ringtail_body:too_large(RD) of
        false -> {true, RD, Context};
        true -> ended(ringtail_body:refuse_too_large(RD))
    end.

%% Nothing reads the body of any other, so its length is no matter.
reads_body(Method) -> Method =:= 'PUT' orelse Method =:= 'POST'.

%% webmachine encodes the body of an error answer too, and asks for charset and encoding then.
%% Riak's resource would read the object for that, from wherever it is, so it is not asked unless it
%% answers.
charsets_provided(RD, Context) when ?UNSERVED(Context) -> {no_charset, RD, Context};
?AS_RIAK(charsets_provided).

encodings_provided(RD, Context) when ?UNSERVED(Context) ->
    {[{"identity", fun(Body) -> Body end}], RD, Context};
?AS_RIAK(encodings_provided).

%% Asked when a 304 is sent, which may be another node's.
generate_etag(RD, Context) when ?UNSERVED(Context) -> {undefined, RD, Context};
?AS_RIAK(generate_etag).

%% Riak 2.x has no such callback.
is_conflict(RD, Context) ->
    case erlang:function_exported(?RIAK, is_conflict, 2) of
        true -> is_riak_conflict(RD, Context);
        false -> {false, RD, Context}
    end.

is_riak_conflict(RD, {relayed, Relay}) -> relayed(is_conflict, RD, Relay);
is_riak_conflict(RD, Riak) -> ?RIAK:is_conflict(RD, Riak).

process_post(RD, Context) -> with_body(process_post, RD, Context).
accept_doc_body(RD, Context) -> with_body(accept_doc_body, RD, Context).

%% ---- As Riak has it ----

?AS_RIAK(content_types_provided).
?AS_RIAK(content_types_accepted).
?AS_RIAK(resource_exists).
?AS_RIAK(last_modified).
?AS_RIAK(allow_missing_post).
?AS_RIAK(post_is_create).
?AS_RIAK(create_path).
?AS_RIAK(delete_resource).
?AS_RIAK(multiple_choices).
?AS_RIAK(produce_doc_body).
?AS_RIAK(produce_multipart_body).
?AS_RIAK(produce_sibling_message_body).

finish_request(RD, Context) ->
    ok = give_back_room(),
    ringtail_wm_read:finish(?MEANINGS, ringtail_body:ended(RD), Context).

%% ---- Inside ----

%% The process is Riak's, so it has what it had when the request is over. What a request that broke
%% off left here, the next one gives back.
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

%% webmachine keeps a body that was read, so Riak reads it once more at no cost.
with_body(Callback, RD, Context) ->
    case ringtail_body:whole(RD) of
        {ok, Read} -> stored(Callback, Read, Context);
        {halt, _, _} = Refused -> ended(Refused)
    end.

stored(Callback, RD, {relayed, Relay}) -> relayed(Callback, RD, Relay);
stored(process_post, RD, Riak) -> ?RIAK:process_post(RD, Riak);
stored(accept_doc_body, RD, Riak) -> ?RIAK:accept_doc_body(RD, Riak).
