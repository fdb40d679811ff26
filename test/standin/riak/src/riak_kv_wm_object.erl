%% Test support: Riak's object resource. Callbacks, their order of effects, the
%% texts and the headers follow the recorded exchanges in test/vectors/http.
%% Parsing of requests is in standin_object_request, errors in
%% standin_object_error, what an object looks like in standin_object_view.
-module(riak_kv_wm_object).


-include("standin_md.hrl").
-include("standin_object.hrl").

-export([init/1, service_available/2, is_authorized/2, forbidden/2,
         allowed_methods/2, allow_missing_post/2, malformed_request/2,
         resource_exists/2, is_conflict/2, last_modified/2, generate_etag/2,
         content_types_provided/2, charsets_provided/2, encodings_provided/2,
         content_types_accepted/2, post_is_create/2, create_path/2,
         process_post/2, produce_doc_body/2, accept_doc_body/2,
         produce_sibling_message_body/2, produce_multipart_body/2,
         multiple_choices/2, delete_resource/2]).

-include("webmachine.hrl").

-define(IS_UPDATE(M), M =:= 'PUT'; M =:= 'POST').

init(Props) ->
    [Version, Prefix, Riak, Type] =
        [proplists:get_value(K, Props) || K <- [api_version, prefix, riak, bucket_type]],
    {ok, #ctx{api_version = Version, prefix = Prefix, riak = Riak, bucket_type = Type}}.

service_available(RD, Ctx0 = #ctx{riak = Riak}) ->
    Ctx = riak_kv_wm_utils:ensure_bucket_type(RD, Ctx0, #ctx.bucket_type),
    case riak_kv_wm_utils:get_riak_client(Riak, riak_kv_wm_utils:get_client_id(RD)) of
        {ok, Client} ->
            {true, RD, Ctx#ctx{method = wrq:method(RD), client = Client,
                               bucket = riak_kv_wm_utils:path_binary(bucket, RD),
                               key = riak_kv_wm_utils:path_binary(key, RD),
                               vtag = wrq:get_qs_value("vtag", RD)}};
        Error ->
            RD1 = wrq:set_resp_header("Content-Type", "text/plain", RD),
            {false, wrq:set_resp_body(io_lib:format("Unable to connect to Riak: ~p~n", [Error]),
                                      RD1), Ctx}
    end.

is_authorized(RD, Ctx) ->
    riak_kv_wm_utils:is_authorized(RD, Ctx, fun(S) -> Ctx#ctx{security = S} end).

allowed_methods(RD, Ctx) -> {['HEAD', 'GET', 'POST', 'PUT', 'DELETE'], RD, Ctx}.

allow_missing_post(RD, Ctx) -> {true, RD, Ctx}.

malformed_request(RD, Ctx) -> standin_object_request:check(RD, Ctx).

%% A read has its object fetched here, so that all that can go wrong with it is
%% answered before the content types are looked at.
forbidden(RD, Ctx = #ctx{method = Method, security = Security, bucket_type = Type,
                         bucket = Bucket}) ->
    case riak_kv_wm_utils:is_forbidden(RD) of
        true -> {true, RD, Ctx};
        false ->
            Permission = riak_kv_wm_utils:method_to_perm(Method),
            case riak_kv_wm_utils:permit({Permission, {Type, Bucket}}, Security, RD, Ctx) of
                ok when Permission =:= "riak_kv.get" -> readable(RD, ensure_doc(Ctx));
                ok -> known_type(RD, Ctx);
                Denied -> Denied
            end
    end.

readable(RD, Ctx = #ctx{doc = {error, Reason}}) -> standin_object_error:answer(Reason, RD, Ctx);
readable(RD, Ctx) -> {false, RD, Ctx}.

known_type(RD, Ctx = #ctx{bucket_type = Type}) ->
    case riak_kv_wm_utils:bucket_type_exists(Type) of
        true -> {false, RD, Ctx};
        false -> standin_object_error:answer(bucket_type_unknown, RD, Ctx)
    end.

ensure_doc(Ctx = #ctx{doc = undefined, key = undefined}) -> Ctx#ctx{doc = {error, notfound}};
ensure_doc(Ctx = #ctx{doc = undefined, bucket_type = Type, bucket = Bucket, key = Key,
                      client = Client}) ->
    case riak_kv_wm_utils:bucket_type_exists(Type) of
        true ->
            Name = riak_kv_wm_utils:maybe_bucket_type(Type, Bucket),
            Ctx#ctx{doc = riak_client:get(Name, Key, [deletedvclock | Ctx#ctx.options], Client)};
        false -> Ctx#ctx{doc = {error, bucket_type_unknown}}
    end;
ensure_doc(Ctx) -> Ctx.

%% --- what is there ---

content_types_provided(RD, Ctx = #ctx{method = Method}) when ?IS_UPDATE(Method) ->
    {CType, _} = standin_object_request:content_type(RD),
    {[{CType, produce_doc_body}], RD, Ctx};
content_types_provided(RD, Ctx = #ctx{method = 'DELETE'}) -> {[{"text/html", to_html}], RD, Ctx};
content_types_provided(RD, Ctx0) ->
    Ctx = ensure_doc(Ctx0),
    case standin_object_view:select(Ctx) of
        {Meta, Value} -> {[{riak_kv_wm_utils:get_ctype(Meta, Value), produce_doc_body}], RD, Ctx};
        multiple_choices ->
            {[{"text/plain", produce_sibling_message_body},
              {"multipart/mixed", produce_multipart_body}], RD, Ctx}
    end.

charsets_provided(RD, Ctx = #ctx{method = Method}) when ?IS_UPDATE(Method) ->
    charset(element(2, standin_object_request:content_type(RD)), RD, Ctx);
charsets_provided(RD, Ctx = #ctx{method = 'DELETE'}) -> {no_charset, RD, Ctx};
charsets_provided(RD, Ctx0) ->
    Ctx = ensure_doc(Ctx0),
    charset(standin_object_view:meta(?MD_CHARSET, Ctx), RD, Ctx).

charset(undefined, RD, Ctx) -> {no_charset, RD, Ctx};
charset(Charset, RD, Ctx) -> {[{Charset, fun(X) -> X end}], RD, Ctx}.

%% An object that was stored encoded is served so; others may be compressed.
encodings_provided(RD, Ctx0 = #ctx{method = Method}) ->
    Ctx = case Method of
              _ when ?IS_UPDATE(Method); Method =:= 'DELETE' -> Ctx0;
              _ -> ensure_doc(Ctx0)
          end,
    case standin_object_view:meta(?MD_ENCODING, Ctx) of
        undefined -> {riak_kv_wm_utils:default_encodings(), RD, Ctx};
        Encoding -> {[{Encoding, fun(X) -> X end}], RD, Ctx}
    end.

content_types_accepted(RD, Ctx) ->
    case wrq:get_req_header("Content-Type", RD) of
        undefined -> {[], RD, Ctx};
        Header ->
            Media = hd(string:tokens(Header, ";")),
            case string:tokens(Media, "/") of
                [_, _] -> {[{Media, accept_doc_body}], RD, Ctx};
                _ ->
                    Text = ["\"", Media,
                            "\" is not a valid media type for the Content-type header.\n"],
                    RD1 = wrq:set_resp_header("Content-Type", "text/plain", RD),
                    {[], wrq:set_resp_body(Text, RD1), Ctx}
            end
    end.

%% A write does not read first, unless a condition asks for it; it is then
%% taken to be of something new, a delete to be of something there.
resource_exists(RD, Ctx0 = #ctx{method = Method}) ->
    Write = Method =:= 'PUT' orelse Method =:= 'POST' orelse Method =:= 'DELETE',
    case Write andalso not standin_object_request:is_conditional(RD) of
        true -> {Method =:= 'DELETE', RD, Ctx0};
        false ->
            Ctx = ensure_doc(Ctx0),
            {standin_object_view:is_there(Ctx), RD, Ctx}
    end.

is_conflict(RD, Ctx = #ctx{method = Method}) when ?IS_UPDATE(Method) ->
    case {wrq:get_req_header("X-Riak-If-Not-Modified", RD), Ctx#ctx.doc} of
        {undefined, _} -> {false, RD, Ctx};
        {Clock, {ok, Obj}} ->
            Given = riak_object:decode_vclock(base64:decode(Clock)),
            {not vclock:equal(Given, riak_object:vclock(Obj)), RD, Ctx};
        _ -> {true, RD, Ctx}
    end;
is_conflict(RD, Ctx) -> {false, RD, Ctx}.

generate_etag(RD, Ctx) -> {standin_object_view:etag(Ctx), RD, Ctx}.

last_modified(RD, Ctx) -> {standin_object_view:last_modified(Ctx), RD, Ctx}.

multiple_choices(RD, Ctx = #ctx{vtag = undefined, doc = {ok, Obj}}) ->
    {riak_object:get_update_value(Obj) =:= undefined andalso riak_object:value_count(Obj) > 1, RD,
     Ctx};
multiple_choices(RD, Ctx) ->
    case standin_object_view:meta(?MD_DELETED, Ctx) of
        undefined -> {false, RD, Ctx};
        _ -> {false, wrq:set_resp_header("X-Riak-Deleted", "true", RD), Ctx}
    end.

produce_doc_body(RD, Ctx) -> standin_object_view:document(RD, Ctx).
produce_sibling_message_body(RD, Ctx) -> standin_object_view:sibling_list(RD, Ctx).
produce_multipart_body(RD, Ctx) -> standin_object_view:multipart(RD, Ctx).

%% --- changing it ---

post_is_create(RD, Ctx) -> {Ctx#ctx.key =:= undefined, RD, Ctx}.

create_path(RD, Ctx = #ctx{prefix = Prefix, bucket_type = Type, bucket = Bucket,
                           api_version = Version}) ->
    Key = riak_core_util:unique_id_62(),
    Uri = riak_kv_wm_utils:format_uri(Type, Bucket, Key, Prefix, Version),
    {Key, wrq:set_resp_header("Location", lists:flatten(Uri), RD),
     Ctx#ctx{key = list_to_binary(Key)}}.

process_post(RD, Ctx) -> accept_doc_body(RD, Ctx).

accept_doc_body(RD, Ctx = #ctx{client = Client, options = Options}) ->
    Doc = standin_object_request:object(RD, Ctx),
    Return = [returnbody || wrq:get_qs_value("returnbody", RD) =:= "true"],
    case riak_client:put(Doc, Return ++ Options, Client) of
        ok -> {true, RD, Ctx#ctx{doc = {ok, Doc}}};
        {ok, Written} -> standin_object_view:returned(RD, Ctx#ctx{doc = {ok, Written}});
        {error, Reason} -> standin_object_error:answer(Reason, RD, Ctx)
    end.

delete_resource(RD, Ctx = #ctx{bucket_type = Type, bucket = Bucket, key = Key, client = Client,
                               options = Options}) ->
    Name = riak_kv_wm_utils:maybe_bucket_type(Type, Bucket),
    Result = case standin_object_request:vclock(RD) of
                 undefined -> riak_client:delete(Name, Key, Options, Client);
                 Clock -> riak_client:delete_vclock(Name, Key, Clock, Options, Client)
             end,
    case Result of
        ok -> {true, RD, Ctx};
        {error, Reason} -> standin_object_error:answer(Reason, RD, Ctx)
    end.
