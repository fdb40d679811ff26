%% @doc Test support: the HTTP decision diagram (version 3).
%%
%% Every node of the diagram is a clause of `at/2' under the node's own name.
%% A clause ends in `goto' (another node, or the status to answer with).
%% Callbacks may answer `{halt, Code}', `{halt, {Code, Phrase}}',
%% `{error, Reason}' or fail; `ask/2' then leaves the diagram by a throw.
-module(webmachine_decision_core).

-export([handle_request/2]).

-import(webmachine_flow,
        [call/2, req/1, set_req/2, reqdata/1, update/2, method/1,
         is_get_or_head/1, header/2, header/3, date_header/2,
         response_header/2, set_header/3, set_header_unless/5, meta/2,
         set_meta/3, set_code/2]).

-spec handle_request(webmachine_resource:t(), tuple()) -> ok.
handle_request(Resource, Req) ->
    S0 = webmachine_flow:new(Resource, Req),
    {Code, S1} = try
                     at(first(), S0)
                 catch
                     throw:{answer, Status, S} -> {Status, S};
                     throw:{fail, Status, Reason, S} -> failed(Status, Reason, S);
                     error:Reason:Stack -> failed(500, {error, Reason, Stack}, S0)
                 end,
    try
        finish(Code, S1)
    catch
        error:Why:Where ->
            %% The body's length cannot be read. If that fails again, it is the
            %% listener that answers.
            {Status1, S2} = failed(500, {error, Why, Where}, S1),
            finish(Status1, S2)
    end.

%% What finish_request sets is sent as it is, but for the status.
finish(Code, S) ->
    {_, S1} = call(finish_request, set_code(Code, S)),
    webmachine_response:finish(req(set_code(Code, S1))).

%% webmachine 1.10 (Riak 2.x) asks ping of every resource and answers 500 where
%% it is not exported; later ones never ask. The stricter one is the default.
first() ->
    case application:get_env(webmachine, ask_ping, true) of
        true -> b13;
        false -> b13b
    end.

%% Is the request one that can be served at all?
at(b13, S) -> ask(ping, pong, b13b, 503, S);
at(b13b, S) -> ask(service_available, true, b12, 503, S);
at(b12, S) ->
    {Known, S1} = ask(known_methods, S),
    goto(lists:member(method(S), Known), b11, {501, false}, S1);
at(b11, S) -> ask(uri_too_long, true, 414, b10, S);
at(b10, S) ->
    {Methods, S1} = ask(allowed_methods, S),
    case lists:member(method(S), Methods) of
        true -> at(b9, S1);
        false ->
            Names = [case is_atom(M) of true -> atom_to_list(M); false -> M end
                     || M <- Methods],
            goto(405, set_header("Allow", string:join(Names, ", "), S1))
    end;
at(b9, S) -> goto(header("content-md5", S) =:= undefined, b9b, b9a, S);
at(b9a, S) ->
    case ask(validate_content_checksum, S) of
        {not_validated, S1} -> goto(webmachine_content:md5_matches(req(S1)), b9b, 400, S1);
        {Valid, S1} -> goto(Valid =/= false, b9b, 400, S1)
    end;
at(b9b, S) -> ask(malformed_request, true, 400, b8, S);
at(b8, S) ->
    case ask(is_authorized, S) of
        {true, S1} -> at(b7, S1);
        {Challenge, S1} -> goto(401, set_header("WWW-Authenticate", Challenge, S1))
    end;
at(b7, S) -> ask(forbidden, true, 403, b6, S);
at(b6, S) -> ask(valid_content_headers, true, b5, 501, S);
at(b5, S) -> ask(known_content_type, true, b4, 415, S);
at(b4, S) -> ask(valid_entity_length, true, b3, 413, S);
at(b3, S) ->
    case method(S) of
        'OPTIONS' ->
            {Headers, S1} = ask(options, S),
            goto(200, update(fun(RD) -> wrq:set_resp_headers(Headers, RD) end, S1));
        _ ->
            at(c3, S)
    end;

%% Which representation?
at(c3, S) ->
    {Provided, S1} = ask(content_types_provided, S),
    Types = [Type || {Type, _} <- Provided],
    case header("accept", S1) of
        undefined ->
            at(d4, set_meta('content-type',
                              webmachine_util:format_content_type(hd(Types)), S1));
        Accept ->
            case webmachine_util:choose_media_type(Types, Accept) of
                none -> goto(406, S1);
                Type -> at(d4, set_meta('content-type', Type, S1))
            end
    end;
at(d4, S) -> goto(header("accept-language", S) =:= undefined, e5, d5, S);
at(d5, S) -> ask(language_available, true, e5, 406, S);
at(e5, S) ->
    case ask(charsets_provided, S) of
        {no_charset, S1} -> at(f6, S1);
        {Provided, S1} ->
            Names = [Name || {Name, _} <- Provided],
            case webmachine_util:choose_charset(Names, header("accept-charset", "*", S1)) of
                none -> goto(406, S1);
                Chosen -> at(f6, set_meta('chosen-charset', Chosen, S1))
            end
    end;
at(f6, S) ->
    Type = case meta('chosen-charset', S) of
               undefined -> meta('content-type', S);
               Charset -> meta('content-type', S) ++ "; charset=" ++ Charset
           end,
    {Provided, S1} = ask(encodings_provided, set_header("Content-Type", Type, S)),
    Accept = header("accept-encoding", "identity;q=1.0,*;q=0.5", S1),
    case webmachine_util:choose_encoding([Name || {Name, _} <- Provided], Accept) of
        none -> goto(406, S1);
        "identity" -> at(g7, set_meta('content-encoding', "identity", S1));
        Chosen -> at(g7, set_header("Content-Encoding", Chosen,
                                      set_meta('content-encoding', Chosen, S1)))
    end;

%% Does the resource exist, and do the request's conditions hold?
at(g7, S) ->
    S1 = case vary(S) of
             {[], S0} -> S0;
             {Names, S0} -> set_header("Vary", string:join(Names, ", "), S0)
         end,
    ask(resource_exists, true, g8, h7, S1);
at(g8, S) ->
    case header("if-match", S) of
        undefined -> at(h10, S);
        "*" -> at(h10, S);
        Wanted -> etag_among(Wanted, h10, 412, S)
    end;
at(h7, S) -> goto(header("if-match", S) =:= undefined, i7, 412, S);
at(h10, S) ->
    case date_header("if-unmodified-since", S) of
        none -> at(i12, S);
        Date ->
            {Modified, S1} = ask(last_modified, S),
            goto(Modified > Date, 412, i12, S1)
    end;
at(i12, S) ->
    case header("if-none-match", S) of
        undefined -> at(l13, S);
        "*" -> at(j18, S);
        Known -> etag_among(Known, j18, l13, S)
    end;
at(j18, S) -> goto(is_get_or_head(S), 304, 412, S);
at(l13, S) ->
    case date_header("if-modified-since", S) of
        none -> at(m16, S);
        Date ->
            case Date > calendar:universal_time() of
                true -> at(m16, S);
                false ->
                    {Modified, S1} = ask(last_modified, S),
                    goto(Modified =:= undefined orelse Modified > Date, m16, 304, S1)
            end
    end;

%% A resource that does not exist
at(i7, S) -> goto(method(S) =:= 'PUT', i4, k7, S);
at(i4, S) -> moved(moved_permanently, 301, p3, S);
at(k7, S) -> ask(previously_existed, true, k5, l7, S);
at(k5, S) -> moved(moved_permanently, 301, l5, S);
at(l5, S) -> moved(moved_temporarily, 307, m5, S);
at(l7, S) -> goto(method(S) =:= 'POST', m7, 404, S);
at(m5, S) -> goto(method(S) =:= 'POST', n5, 410, S);
at(m7, S) -> ask(allow_missing_post, true, n11, 404, S);
at(n5, S) -> ask(allow_missing_post, true, n11, 410, S);

%% What the method does
at(m16, S) ->
    case method(S) of
        'DELETE' -> at(m20, S);
        'POST' -> at(n11, S);
        'PUT' -> at(p3, S);       % o14 and p3 ask the same
        _ -> at(o18, S)
    end;
at(m20, S) -> ask(delete_resource, true, m20b, {500, false}, S);
at(m20b, S) -> ask(delete_completed, true, o20, 202, S);
at(n11, S) ->
    S2 = case ask(post_is_create, S) of
             {true, S1} -> post_creates(S1);
             {_, S1} ->
                 case ask(process_post, S1, whole_error) of
                     {true, S0} -> encode_body(S0);
                     {Other, S0} -> throw({fail, 500, Other, S0})
                 end
         end,
    case {wrq:resp_redirect(reqdata(S2)), response_header("Location", S2)} of
        {false, _} -> at(p11, S2);
        {true, undefined} ->
            throw({fail, 500, "Response had do_redirect but no Location", S2});
        {true, _} -> goto(303, S2)
    end;
at(p3, S) ->
    %% A failure counts as a no, and is seen by nobody.
    case call(is_conflict, S) of
        {true, S1} -> goto(409, S1);
        {_, S1} -> at(p11, accept(S1))
    end;
at(p11, S) -> goto(response_header("Location", S) =:= undefined, o20, 201, S);
at(o20, S) -> goto(webmachine_content:has_body(reqdata(S)), o18, 204, S);
at(o18, S) ->
    case is_get_or_head(S) of
        true -> at(o18b, produce(S));
        false -> at(o18b, S)
    end;
at(o18b, S) -> ask(multiple_choices, true, 300, 200, S).

%% Steps of more than one node

etag_among(Quoted, Yes, No, S) ->
    {ETag, S1} = ask(generate_etag, S),
    goto(lists:member(ETag, webmachine_util:split_quoted_strings(Quoted)), Yes, No, S1).

moved(Callback, Code, Next, S) ->
    case ask(Callback, S) of
        {{true, Uri}, S1} -> goto(Code, set_header("Location", Uri, S1));
        {_, S1} -> goto(Next, S1)
    end.

post_creates(S) ->
    case ask(create_path, S) of
        {undefined, S1} ->
            throw({fail, 500, "post_is_create w/o create_path", S1});
        {Path, S1} when is_list(Path) ->
            {Base, S2} = case ask(base_uri, S1) of
                             {undefined, S0} -> {wrq:base_uri(reqdata(S0)), S0};
                             {Given, S0} -> {string:trim(Given, trailing, "/"), S0}
                         end,
            S3 = update(fun(RD) -> wrq:set_disp_path(Path, RD) end, S2),
            Full = filename:join(["/", wrq:path(reqdata(S3)), Path]),
            accept(case response_header("Location", S3) of
                       undefined -> set_header("Location", Base ++ Full, S3);
                       _ -> S3
                   end);
        {Other, S1} ->
            throw({fail, 500, {"create_path not a string", Other}, S1})
    end.

%% Hands the request's body to the callback for its content type.
accept(S) ->
    ContentType = case header("content-type", S) of
                      undefined -> "application/octet-stream";
                      "" -> "application/octet-stream";
                      Given -> Given
                  end,
    {Type, Params} = webmachine_util:media_type_to_detail(ContentType),
    {Accepted, S1} = ask(content_types_accepted, set_meta(mediaparams, Params, S)),
    case [Fun || {T, Fun} <- Accepted, T =:= Type] of
        [] -> throw({answer, 415, fill_error(415, "", S1)});
        [Fun | _] ->
            case ask(Fun, S1, whole_error) of
                {true, S2} -> encode_body(S2);
                {_, S2} -> S2
            end
    end.

produce(S) ->
    {ETag, S1} = ask(generate_etag, S),
    S2 = set_header_unless(undefined, "ETag", ETag, fun webmachine_util:quoted_string/1, S1),
    {Modified, S3} = ask(last_modified, S2),
    S4 = set_header_unless(undefined, "Last-Modified", Modified,
                           fun webmachine_util:rfc1123_date/1, S3),
    S5 = expires(S4),
    {Provided, S6} = ask(content_types_provided, S5),
    Type = meta('content-type', S6),
    [Fun | _] = [F || {T, F} <- Provided, webmachine_util:format_content_type(T) =:= Type],
    {Body, S7} = ask(Fun, S6, whole_error),
    encode_body(update(fun(RD) -> wrq:set_resp_body(Body, RD) end, S7)).

expires(S) ->
    {Expires, S1} = ask(expires, S),
    set_header_unless(undefined, "Expires", Expires, fun webmachine_util:rfc1123_date/1, S1).

vary(S) ->
    {Types, S1} = ask(content_types_provided, S),
    {Encodings, S2} = ask(encodings_provided, S1),
    {Charsets, S3} = ask(charsets_provided, S2),
    {More, S4} = ask(variances, S3),
    {[Name || {Name, [_, _ | _]} <- [{"Accept", Types},
                                     {"Accept-Encoding", Encodings},
                                     {"Accept-Charset", Charsets}]] ++ More, S4}.

encode_body(S) ->
    RD = reqdata(S),
    case webmachine_content:has_body(RD) of
        false -> S;
        true ->
            {Charsets, S1} = ask(charsets_provided, S),
            {Encodings, S2} = ask(encodings_provided, S1),
            Encode = webmachine_content:encoder(meta('chosen-charset', S), Charsets,
                                                meta('content-encoding', S), Encodings),
            Body = webmachine_content:encode(Encode, wrq:resp_body(RD)),
            update(fun(R) -> wrq:set_resp_body(Body, R) end, S2)
    end.

%% Leaving the diagram

goto(true, Yes, _No, S) -> goto(Yes, S);
goto(false, _Yes, No, S) -> goto(No, S).

goto(Node, S) when is_atom(Node) ->
    at(Node, S);
goto({Code, Reason}, S) ->
    failed(Code, Reason, S);
goto(304, S) ->
    S1 = update(fun(RD) -> wrq:remove_resp_header("Content-Type", RD) end, S),
    {ETag, S2} = ask(generate_etag, S1),
    S3 = set_header_unless(undefined, "ETag", ETag, fun webmachine_util:quoted_string/1, S2),
    {304, expires(S3)};
goto(Code, S) when Code >= 500 ->
    failed(Code, false, S);
goto(Code, S) when Code >= 400 ->
    {Code, fill_error(Code, "", S)};
goto(Code, S) ->
    {Code, S}.

failed(Status, Reason, S) ->
    {Status, fill_error(Status, Reason, S)}.

%% An error keeps the body that the resource has set, else it gets a page.
fill_error(Status, Reason, S) ->
    Code = webmachine_response:code(Status),
    {ok, Handler} = application:get_env(webmachine, error_handler),
    {Body, Req} = Handler:render_error(Code, req(S), Reason),
    S1 = update(fun(RD) -> wrq:set_resp_body(Body, RD) end, set_req(Req, S)),
    try
        encode_body(S1)
    catch
        throw:_ -> S1       % the encoder is what failed
    end.

%% Callbacks

ask(Callback, Expected, Yes, No, S) ->
    case ask(Callback, S) of
        {Expected, S1} -> goto(Yes, S1);
        {Other, S1} when is_integer(No), No >= 500 -> failed(No, Other, S1);
        {_, S1} -> goto(No, S1)
    end.

ask(Callback, S) ->
    ask(Callback, S, reason).

%% The callbacks that read or write a body have the whole error term shown on
%% the error page, the others only the reason in it.
ask(Callback, S, Shown) ->
    case call(Callback, S) of
        {{halt, Status}, S1} ->
            throw({answer, Status, halted(Status, S1)});
        {{error, Reason} = Error, S1} ->
            throw({fail, 500, case Shown of reason -> Reason; whole_error -> Error end, S1});
        {{error, R0, R1} = Error, S1} ->
            throw({fail, 500, case Shown of reason -> {R0, R1}; whole_error -> Error end, S1});
        Result ->
            Result
    end.

halted(Status, S) ->
    case webmachine_response:code(Status) of
        Code when Code >= 400 -> fill_error(Status, "", S);
        304 -> element(2, goto(304, S));
        _ -> S
    end.
