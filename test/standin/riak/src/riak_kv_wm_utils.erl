%% Test support: what Riak's HTTP resources share.
-module(riak_kv_wm_utils).

-include("standin_md.hrl").

-export([maybe_decode_uri/2, get_riak_client/2, get_client_id/1, default_encodings/0,
         multipart_encode_body/4, format_links/3, format_uri/4, format_uri/5,
         encode_value/1, accept_value/2, any_to_list/1, any_to_bool/1,
         is_forbidden/1, is_forbidden/3, jsonify_bucket_prop/1,
         erlify_bucket_prop/1, ensure_bucket_type/3, bucket_type_exists/1,
         maybe_bucket_type/2, method_to_perm/1, is_authorized/3, permit/4,
         path_binary/2, timeout/1, get_ctype/2, last_modified_text/1]).

%% --- the request ---

%% Percent-decoding is on unless configured off; a plus becomes a space.
maybe_decode_uri(RD, Value) ->
    On = application:get_env(riak_kv, http_url_encoding, on) =:= on
        orelse wrq:get_req_header("X-Riak-URL-Encoding", RD) =:= "on",
    case On of
        true -> mochiweb_util:unquote(Value);
        false -> Value
    end.

path_binary(Name, RD) ->
    case wrq:path_info(Name, RD) of
        undefined -> undefined;
        Value -> list_to_binary(maybe_decode_uri(RD, Value))
    end.

get_riak_client(local, ClientId) -> riak:local_client(ClientId);
get_riak_client({Node, Cookie}, ClientId) ->
    erlang:set_cookie(Node, Cookie),
    {ok, riak_client:new(Node, ClientId)}.

get_client_id(RD) ->
    case wrq:get_req_header("X-Riak-ClientId", RD) of
        undefined -> undefined;
        Raw ->
            try base64:decode(Raw) of
                <<_:32>> = Id -> Id;
                _ -> Raw
            catch error:_ -> Raw
            end
    end.

%% Field: position of the bucket type in a context tuple.
ensure_bucket_type(RD, Ctx, Field) ->
    case {path_binary(bucket_type, RD), element(Field, Ctx)} of
        {undefined, undefined} -> setelement(Field, Ctx, <<"default">>);
        {undefined, _} -> Ctx;
        {Type, _} -> setelement(Field, Ctx, Type)
    end.

bucket_type_exists(<<"default">>) -> true;
bucket_type_exists(Type) -> riak_core_bucket_type:get(Type) =/= undefined.

maybe_bucket_type(undefined, Bucket) -> Bucket;
maybe_bucket_type(<<"default">>, Bucket) -> Bucket;
maybe_bucket_type(Type, Bucket) -> {Type, Bucket}.

%% none | {ok, Milliseconds} | {error, body of the answer}
timeout(RD) ->
    case wrq:get_qs_value("timeout", RD) of
        undefined -> none;
        Text ->
            try {ok, list_to_integer(Text)}
            catch error:badarg -> {error, io_lib:format("Bad timeout value ~p~n", [Text])}
            end
    end.

%% --- who may ---

method_to_perm('GET') -> "riak_kv.get";
method_to_perm('HEAD') -> "riak_kv.get";
method_to_perm('PUT') -> "riak_kv.put";
method_to_perm('POST') -> "riak_kv.put";
method_to_perm('DELETE') -> "riak_kv.delete".

%% The answer of is_authorized/2; Set puts the security context into Ctx.
is_authorized(RD, Ctx, Set) ->
    case riak_api_web_security:is_authorized(RD) of
        {true, Security} -> {true, RD, Set(Security)};
        false -> {"Basic realm=\"Riak\"", RD, Ctx};
        insecure ->
            Text =
                <<"Security is enabled and Riak does not accept credentials over HTTP. "
                  "Try HTTPS instead.">>,
            {{halt, 426}, wrq:append_to_resp_body(Text, RD), Ctx}
    end.

%% Permission: {Name, Bucket}; ok, or the answer of forbidden/2.
permit(_Permission, undefined, _RD, _Ctx) -> ok;
permit(Permission, Security, RD, Ctx) ->
    case riak_core_security:check_permission(Permission, Security) of
        {true, _} -> ok;
        {false, Text, _} ->
            RD1 = wrq:set_resp_header("Content-Type", "text/plain", RD),
            {true, wrq:append_to_resp_body(Text, RD1), Ctx}
    end.

%% Against requests that a page of another site makes a browser send.
is_forbidden(RD) ->
    wrq:get_req_header("Origin", RD) =:= "null"
        orelse (app_helper:get_env(riak_kv, secure_referer_check, true)
                andalso foreign_referer(RD)).

is_forbidden(RD, JobClass, Ctx) ->
    case {is_forbidden(RD), riak_core_util:job_class_enabled(JobClass)} of
        {true, _} -> {true, RD, Ctx};
        {false, true} -> {false, RD, Ctx};
        {false, false} ->
            Text = riak_core_util:job_class_disabled_message(binary, JobClass),
            {true, wrq:append_to_resp_body(Text,
                                           wrq:set_resp_header("Content-Type", "text/plain", RD)),
                                           Ctx}
    end.

%% A referer that is an address but names no port, or no host, fails as in Riak
%% 3.2: its request is a 500.
foreign_referer(RD) ->
    case wrq:get_req_header("Referer", RD) of
        undefined -> false;
        Url ->
            Here = {wrq:scheme(RD), string:join(wrq:host_tokens(RD), "."), wrq:port(RD)},
            case uri_string:parse(Url) of
                #{scheme := Scheme, host := Host, port := Port} ->
                    {known_scheme(Scheme), Host, Port} =/= Here;
                {error, _, _} -> true
            end
    end.

known_scheme(Http) when Http =:= "http"; Http =:= "HTTP" -> http;
known_scheme(Https) when Https =:= "https"; Https =:= "HTTPS" -> https;
known_scheme(Other) -> Other.

%% --- bodies and headers ---

default_encodings() -> [{"identity", fun(X) -> X end}, {"gzip", fun(X) -> zlib:gzip(X) end}].

encode_value(Value) when is_binary(Value) -> Value;
encode_value(Value) -> term_to_binary(Value).

accept_value("application/x-erlang-binary", Value) -> binary_to_term(Value, [safe]);
accept_value(_, Value) -> Value.

get_ctype(Meta, Value) ->
    case dict:find(?MD_CTYPE, Meta) of
        {ok, CType} -> CType;
        error when is_binary(Value) -> "application/octet-stream";
        error -> "application/x-erlang-binary"
    end.

last_modified_text(Meta) ->
    case dict:fetch(?MD_LASTMOD, Meta) of
        {_, _, _} = Now -> httpd_util:rfc1123_date(calendar:now_to_local_time(Now));
        Text -> Text
    end.

%% One sibling as a part of a multipart body.
multipart_encode_body(Prefix, Bucket, {Meta, Value}, Version) ->
    Links = format_links([{Bucket, "up"} | found(?MD_LINKS, Meta, [])], Prefix, Version),
    [{_, Joined}] = mochiweb_headers:to_list(mochiweb_headers:make(Links)),
    Charset = case found(?MD_CHARSET, Meta, none) of
                  none -> [];
                  CS -> ["; charset=", CS]
              end,
    Head = [["Content-Type: ", get_ctype(Meta, Value), Charset],
            [["Content-Encoding: ", E] || {ok, E} <- [dict:find(?MD_ENCODING, Meta)]],
            ["Link: ", Joined],
            ["Etag: ", dict:fetch(?MD_VTAG, Meta)],
            ["Last-Modified: ", last_modified_text(Meta)],
            ["X-Riak-Deleted: true" || dict:is_key(?MD_DELETED, Meta)]]
        ++ [[K, ": ", V] || {K, V} <- found(?MD_USERMETA, Meta, [])]
        ++ [["x-riak-index-", K, ": ", any_to_list(V)] || {K, V} <- found(?MD_INDEX, Meta, [])],
    [[[Line, "\r\n"] || Line <- Head, Line =/= []], "\r\n", encode_value(Value)].

found(Key, Meta, Default) ->
    case dict:find(Key, Meta) of
        {ok, Value} -> Value;
        error -> Default
    end.

%% {Bucket, Tag}: to a bucket; {{Bucket, Key}, Tag}: to an object. Last first.
format_links(Links, Prefix, Version) ->
    lists:reverse([{"Link", link(L, Prefix, Version)} || L <- Links]).

link({{Bucket, Key}, Tag}, Prefix, Version) ->
    Uri = format_uri(quote(Bucket), quote(Key), Prefix, Version),
    io_lib:format("<~s>; riaktag=\"~s\"", [Uri, quote(Tag)]);
link({Bucket, Tag}, Prefix, 1) ->
    io_lib:format("</~s/~s>; rel=\"~s\"", [Prefix, quote(Bucket), quote(Tag)]);
link({Bucket, Tag}, _Prefix, _Version) ->
    io_lib:format("</buckets/~s>; rel=\"~s\"", [quote(Bucket), quote(Tag)]).

quote(Text) -> mochiweb_util:quote_plus(Text).

%% There is no form for a link in version 3: an object that has one is a 500
%% under /types.
format_uri(Bucket, Key, Prefix, 1) -> io_lib:format("/~s/~s/~s", [Prefix, Bucket, Key]);
format_uri(Bucket, Key, _Prefix, 2) -> io_lib:format("/buckets/~s/keys/~s", [Bucket, Key]).

format_uri(Type, Bucket, Key, _Prefix, 3) ->
    io_lib:format("/types/~s/buckets/~s/keys/~s", [Type, Bucket, Key]);
format_uri(_Type, Bucket, Key, Prefix, Version) -> format_uri(Bucket, Key, Prefix, Version).

any_to_list(V) when is_list(V) -> V;
any_to_list(V) when is_atom(V) -> atom_to_list(V);
any_to_list(V) when is_binary(V) -> binary_to_list(V);
any_to_list(V) when is_integer(V) -> integer_to_list(V).

any_to_bool(V) when is_boolean(V) -> V;
any_to_bool(V) when is_integer(V) -> V =/= 0;
any_to_bool(V) -> lists:member(any_to_list(V), ["1", "true", "TRUE"]).

%% --- properties as JSON ---

jsonify_bucket_prop({name, {_Type, Bucket}}) -> {<<"name">>, Bucket};
jsonify_bucket_prop({linkfun, {modfun, M, F}}) -> {<<"linkfun">>, modfun(M, F)};
jsonify_bucket_prop({chash_keyfun, {M, F}}) -> {<<"chash_keyfun">>, modfun(M, F)};
jsonify_bucket_prop({Name, Value}) -> {atom_to_binary(Name, utf8), Value}.

modfun(M, F) ->
    {struct, [{<<"mod">>, atom_to_binary(M, utf8)}, {<<"fun">>, atom_to_binary(F, utf8)}]}.

erlify_bucket_prop({<<"linkfun">>, {struct, Props}}) ->
    {M, F} = erl_modfun(Props),
    {linkfun, {modfun, M, F}};
erlify_bucket_prop({<<"chash_keyfun">>, {struct, Props}}) -> {chash_keyfun, erl_modfun(Props)};
erlify_bucket_prop({Name, Value}) -> {binary_to_existing_atom(Name, utf8), Value}.

erl_modfun(Props) ->
    [M, F] = [binary_to_existing_atom(proplists:get_value(K, Props), utf8)
              || K <- [<<"mod">>, <<"fun">>]],
    {M, F}.
