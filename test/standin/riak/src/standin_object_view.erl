%% Test support: an object as a client sees it: body, headers, etag, siblings.
-module(standin_object_view).

-include("standin_md.hrl").
-include("standin_object.hrl").

-export([select/1, meta/2, is_there/1, etag/1, last_modified/1, document/2,
         sibling_list/2, multipart/2, returned/2, vclock_header/2]).

%% The content to show: the only one, or that with the vtag asked for.
select(#ctx{doc = {ok, Obj}, vtag = Vtag}) ->
    case {riak_object:get_update_value(Obj), riak_object:get_contents(Obj)} of
        {undefined, [Only]} -> Only;
        {undefined, Siblings} ->
            case [C || {Meta, _} = C <- Siblings, dict:fetch(?MD_VTAG, Meta) =:= Vtag] of
                [Match | _] -> Match;
                [] -> multiple_choices
            end;
        {Value, _} -> {riak_object:get_update_metadata(Obj), Value}
    end.

%% A field of that content's metadata.
meta(Key, Ctx = #ctx{doc = {ok, _}}) ->
    case select(Ctx) of
        multiple_choices -> undefined;
        {Meta, _} -> found(Key, Meta, undefined)
    end;
meta(_Key, _Ctx) -> undefined.

is_there(#ctx{doc = {ok, _}, vtag = undefined}) -> true;
is_there(#ctx{doc = {ok, Obj}, vtag = Vtag}) ->
    lists:any(fun(Meta) -> dict:fetch(?MD_VTAG, Meta) =:= Vtag end, riak_object:get_metadatas(Obj));
is_there(_) -> false.

etag(Ctx = #ctx{doc = {ok, Obj}}) ->
    case select(Ctx) of
        {Meta, _} -> dict:fetch(?MD_VTAG, Meta);
        multiple_choices ->
            <<Hash:128>> = riak_core_util:md5(term_to_binary(riak_object:vclock(Obj))),
            riak_core_util:integer_to_list(Hash, 62)
    end.

last_modified(Ctx = #ctx{doc = {ok, Obj}}) ->
    case select(Ctx) of
        {Meta, _} -> modified(Meta);
        multiple_choices -> lists:max([modified(Meta) || Meta <- riak_object:get_metadatas(Obj)])
    end.

modified(Meta) ->
    case dict:fetch(?MD_LASTMOD, Meta) of
        {_, _, _} = Now -> calendar:now_to_universal_time(Now);
        Text -> httpd_util:convert_request_date(Text)
    end.

%% --- bodies, with their headers ---

document(RD, Ctx = #ctx{bucket = Bucket, prefix = Prefix, api_version = Version}) ->
    {Meta, Value} = select(Ctx),
    Links = riak_kv_wm_utils:format_links([{Bucket, "up"} | found(?MD_LINKS, Meta, [])], Prefix,
                                          Version),
    Indexes = [{"x-riak-index-" ++ binary_to_list(K), riak_kv_wm_utils:any_to_list(V)}
               || {K, V} <- found(?MD_INDEX, Meta, [])],
    Headers = Links ++ found(?MD_USERMETA, Meta, []) ++ Indexes,
    RD1 = lists:foldl(fun(Header, Acc) -> wrq:merge_resp_headers([Header], Acc) end, RD, Headers),
    {riak_kv_wm_utils:encode_value(Value), vclock_header(RD1, Ctx), Ctx}.

sibling_list(RD, Ctx = #ctx{doc = {ok, Obj}}) ->
    Vtags = [[dict:fetch(?MD_VTAG, Meta), "\n"] || Meta <- riak_object:get_metadatas(Obj)],
    RD1 = wrq:set_resp_header("Content-Type", "text/plain", vclock_header(RD, Ctx)),
    {["Siblings:\n", Vtags], RD1, Ctx}.

multipart(RD, Ctx = #ctx{doc = {ok, Obj}, bucket = Bucket, prefix = Prefix,
                         api_version = Version}) ->
    Boundary = riak_core_util:unique_id_62(),
    Parts =
        [["\r\n--", Boundary, "\r\n", riak_kv_wm_utils:multipart_encode_body(Prefix, Bucket, C,
                                                                             Version)]
         || C <- riak_object:get_contents(Obj)],
    Type = "multipart/mixed; boundary=" ++ Boundary,
    {[Parts, "\r\n--", Boundary, "--\r\n"],
     wrq:set_resp_header("Content-Type", Type, vclock_header(RD, Ctx)), Ctx}.

%% The answer to a write that asked for the object.
returned(RD, Ctx) ->
    {Body, RD1, Ctx1} = case {select(Ctx), prefers_multipart(RD)} of
                            {multiple_choices, true} -> multipart(RD, Ctx);
                            {multiple_choices, false} -> sibling_list(RD, Ctx);
                            _ -> document(RD, Ctx)
                        end,
    Modified = httpd_util:rfc1123_date(calendar:universal_time_to_local_time(last_modified(Ctx1))),
    RD2 = wrq:set_resp_header("ETag", webmachine_util:quoted_string(etag(Ctx1)), RD1),
    RD3 = wrq:set_resp_header("Last-Modified", Modified, RD2),
    {true, wrq:append_to_response_body(Body, RD3), Ctx1}.

prefers_multipart(RD) ->
    Accept = case wrq:get_req_header("Accept", RD) of undefined -> "*/*"; Given -> Given end,
    webmachine_util:choose_media_type(["multipart/mixed", "text/plain"],
                                      Accept) =:= "multipart/mixed".

vclock_header(RD, #ctx{doc = {ok, Obj}}) ->
    {Name, Value} = riak_object:vclock_header(Obj),
    wrq:set_resp_header(Name, Value, RD);
vclock_header(RD, #ctx{doc = {error, {deleted, Clock}}}) ->
    Text = binary_to_list(base64:encode(riak_object:encode_vclock(Clock))),
    wrq:set_resp_header("X-Riak-Vclock", Text, RD).

found(Key, Meta, Default) ->
    case dict:find(Key, Meta) of
        {ok, Value} -> Value;
        error -> Default
    end.
