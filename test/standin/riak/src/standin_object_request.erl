%% Test support: what a request to the object resource says: parameters, links,
%% indexes, metadata, vclock. Refusals carry Riak's texts.
-module(standin_object_request).

-include("standin_md.hrl").
-include("standin_object.hrl").

-export([check/2, content_type/1, is_conditional/1, vclock/1, object/2]).

-define(QUORUMS, [r, w, dw, rw, pw, node_confirms, pr]).

%% The answer of malformed_request/2; the first thing wrong decides.
check(RD, Ctx = #ctx{method = Method}) ->
    Write = [fun has_content_type/2] ++ common() ++ [fun links/2, fun indexes/2],
    Checks = case Method =:= 'PUT' orelse Method =:= 'POST' of
                 true -> Write;
                 false -> common()
             end,
    run(Checks, RD, Ctx).

common() ->
    [fun timeout/2] ++ [fun(RD, Ctx) -> quorum(Name, RD, Ctx) end || Name <- ?QUORUMS]
        ++ [fun sync_on_write/2]
        ++ [fun(RD, Ctx) -> boolean(Name, Default, RD, Ctx) end
            || {Name, Default} <- [{basic_quorum, default}, {notfound_ok, default}, {asis, false}]].

run([], RD, Ctx) -> {false, RD, Ctx};
run([Check | Rest], RD, Ctx) ->
    case Check(RD, Ctx) of
        {ok, Ctx1} -> run(Rest, RD, Ctx1);
        {refuse, Text} ->
            RD1 = wrq:set_resp_header("Content-Type", "text/plain", RD),
            {true, wrq:append_to_resp_body(Text, RD1), Ctx}
    end.

has_content_type(RD, Ctx) ->
    case wrq:get_req_header("Content-Type", RD) of
        undefined -> {refuse, <<"Missing Content-Type request header">>};
        _ -> {ok, Ctx}
    end.

timeout(RD, Ctx) ->
    case riak_kv_wm_utils:timeout(RD) of
        none -> {ok, Ctx};
        {ok, Ms} -> {ok, option(timeout, Ms, Ctx)};
        {error, Text} -> {refuse, Text}
    end.

quorum(Name, RD, Ctx) ->
    case wrq:get_qs_value(atom_to_list(Name), "default", RD) of
        "default" -> {ok, Ctx};
        "one" -> {ok, option(Name, one, Ctx)};
        "quorum" -> {ok, option(Name, quorum, Ctx)};
        "all" -> {ok, option(Name, all, Ctx)};
        Text ->
            try {ok, option(Name, list_to_integer(Text), Ctx)}
            catch error:badarg ->
                {refuse, io_lib:format("~s query parameter must be an integer or one of the "
                                       "following words: 'one', 'quorum' or 'all'~n", [Name])}
            end
    end.

sync_on_write(RD, Ctx) ->
    Words = ["default", "backend", "one", "all"],
    case lists:member(string:to_lower(wrq:get_qs_value("sync_on_write", "default", RD)), Words) of
        true -> {ok, Ctx};
        false ->
            {refuse, io_lib:format("~s query parameter must be one of the following words: ~p~n",
                                   ["sync_on_write", [list_to_atom(W) || W <- Words]])}
    end.

boolean(Name, Default, RD, Ctx) ->
    case string:to_lower(wrq:get_qs_value(atom_to_list(Name), atom_to_list(Default), RD)) of
        "true" -> {ok, option(Name, true, Ctx)};
        "false" -> {ok, option(Name, false, Ctx)};
        "default" -> {ok, Ctx};
        _ -> {refuse, io_lib:format("~s query parameter must be true or false~n", [Name])}
    end.

option(Name, Value, Ctx = #ctx{options = Options}) -> Ctx#ctx{options = [{Name, Value} | Options]}.

%% --- links: </buckets/B/keys/K>; riaktag="T", and one to the bucket itself ---

links(RD, Ctx = #ctx{prefix = Prefix, api_version = Version, bucket = Bucket}) ->
    Headers = string:tokens(wrq_header("Link", "", RD), ","),
    {ToBucket, ToKey} = patterns(Prefix, Version),
    try [link(Header, ToBucket, ToKey) || Header <- Headers] of
        Parsed ->
            Up = [L || {B, _} = L <- Parsed, is_binary(B)],
            case lists:all(fun(L) -> L =:= {Bucket, <<"up">>} end, Up) andalso length(Up) =< 1 of
                true -> {ok, Ctx#ctx{links = lists:reverse(Parsed -- Up)}};
                false -> {refuse, bad_link(Prefix, Version)}
            end
    catch throw:bad_link -> {refuse, bad_link(Prefix, Version)}
    end.

patterns(Prefix, 1) ->
    {"</" ++ Prefix ++ "/([^/]+)>; ?rel=\"([^\"]+)\"",
     "</" ++ Prefix ++ "/([^/]+)/([^/]+)>; ?riaktag=\"([^\"]+)\""};
patterns(_Prefix, _) ->
    {"</buckets/([^/]+)>; ?rel=\"([^\"]+)\"",
     "</buckets/([^/]+)/keys/([^/]+)>; ?riaktag=\"([^\"]+)\""}.

link(Header, ToBucket, ToKey) ->
    Match = fun(Pattern) -> re:run(Header, Pattern, [{capture, all_but_first, list}]) end,
    case {Match(ToBucket), Match(ToKey)} of
        {{match, [B, Tag]}, _} -> {unquoted(B), unquoted(Tag)};
        {_, {match, [B, K, Tag]}} -> {{unquoted(B), unquoted(K)}, unquoted(Tag)};
        _ -> throw(bad_link)
    end.

unquoted(Text) -> list_to_binary(mochiweb_util:unquote(Text)).

bad_link(Prefix, 1) ->
    io_lib:format("Invalid Link header. Links must be of the form~n"
                  "</~s/BUCKET/KEY>; riaktag=\"TAG\"~n", [Prefix]);
%% Riak has no text for version 3: a 500.
bad_link(_Prefix, 2) ->
    "Invalid Link header. Links must be of the form\n</buckets/BUCKET/keys/KEY>; riaktag=\"TAG\"\n".

%% --- indexes: x-riak-index-FIELD: value, value ---

indexes(RD, Ctx) ->
    Fields = [{list_to_binary(string:to_lower(Field)), Value}
              || {"x-riak-index-" ++ Field, Values} <- prefixed("x-riak-index-", RD),
                 Value <- re:split(Values, ",\\s", [{return, binary}])],
    case riak_index:parse_fields(Fields) of
        {ok, Parsed} -> {ok, Ctx#ctx{index_fields = Parsed}};
        {error, Reasons} -> {refuse, [riak_index:format_failure_reason(R) || R <- Reasons]}
    end.

%% --- the object to be stored ---

object(RD, #ctx{bucket_type = Type, bucket = Bucket, key = Key, links = Links,
                index_fields = Fields}) ->
    {CType, Charset} = content_type(RD),
    Meta = [{?MD_CTYPE, CType}, {?MD_LINKS, Links}, {?MD_INDEX, Fields},
            {?MD_USERMETA, user_meta(RD)}]
        ++ [{?MD_CHARSET, Charset} || Charset =/= undefined]
        ++ [{?MD_ENCODING, E}
            || E <- [wrq:get_req_header("Content-Encoding", RD)], E =/= undefined],
    New = riak_object:new(riak_kv_wm_utils:maybe_bucket_type(Type, Bucket), Key, <<>>),
    Clock = case vclock(RD) of undefined -> vclock:fresh(); Given -> Given end,
    Obj = riak_object:update_metadata(riak_object:set_vclock(New, Clock), dict:from_list(Meta)),
    riak_object:update_value(Obj, riak_kv_wm_utils:accept_value(CType, wrq:req_body(RD))).

vclock(RD) ->
    case wrq:get_req_header("X-Riak-Vclock", RD) of
        undefined -> undefined;
        Text -> riak_object:decode_vclock(base64:decode(Text))
    end.

content_type(RD) ->
    case wrq:get_req_header("Content-Type", RD) of
        undefined -> {undefined, undefined};
        Raw ->
            [CType | Params] = string:tokens(Raw, "; "),
            Charset = [V || P <- Params, ["charset", V] <- [string:tokens(P, "=")]],
            {CType, case Charset of [First | _] -> First; [] -> undefined end}
    end.

%% Kept with the name as the client wrote it.
user_meta(RD) ->
    [{K, V} || {K0, V} <- mochiweb_headers:to_list(wrq:req_headers(RD)),
               K <- [riak_kv_wm_utils:any_to_list(K0)],
               lists:prefix("x-riak-meta-", string:to_lower(K))].

prefixed(Prefix, RD) ->
    [{string:to_lower(K), V} || {K0, V} <- mochiweb_headers:to_list(wrq:req_headers(RD)),
                                K <- [riak_kv_wm_utils:any_to_list(K0)],
                                lists:prefix(Prefix, string:to_lower(K))].

is_conditional(RD) ->
    lists:any(fun(Name) -> wrq:get_req_header(Name, RD) =/= undefined end,
              ["If-None-Match", "If-Match", "If-Unmodified-Since", "X-Riak-If-Not-Modified"]).

wrq_header(Name, Default, RD) ->
    case wrq:get_req_header(Name, RD) of
        undefined -> Default;
        Value -> Value
    end.
