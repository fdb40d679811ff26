%% @doc Test support: bodies of responses, whatever form a resource gives them.
-module(webmachine_content).

-export([has_body/1, md5_matches/1, encoder/4, encode/2]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

has_body(#wm_reqdata{resp_body = undefined}) -> false;
has_body(#wm_reqdata{resp_body = <<>>}) -> false;
has_body(#wm_reqdata{resp_body = []}) -> false;
has_body(#wm_reqdata{}) -> true.

%% Reads the request's body to compare it with its Content-MD5. What is no base64
%% fails, as on a real node.
md5_matches(#wm_reqstate{reqdata = RD} = Req) ->
    Sum = base64:decode(wrq:get_req_header("content-md5", RD)),
    Sum =:= crypto:hash(md5, wrq:req_body(RD#wm_reqdata{wm_state = Req})).

%% One function for the chosen charset and encoding; `identity' where neither
%% changes anything, so that large bodies go through untouched.
encoder(Charset, Charsets, Encoding, Encodings) ->
    case {chosen(Charset, Charsets), chosen(Encoding, Encodings)} of
        {identity, identity} -> identity;
        {identity, E} -> E;
        {C, identity} -> C;
        {C, E} -> fun(Data) -> E(C(Data)) end
    end.

chosen(_Name, no_charset) -> identity;
chosen("identity", _Functions) -> identity;
chosen(Name, Functions) ->
    case lists:keyfind(Name, 1, Functions) of
        {_, Fun} -> Fun;
        false -> identity
    end.

encode(identity, Body) ->
    Body;
encode(Encode, {stream, Hunks}) ->
    {stream, hunks(Encode, Hunks)};
encode(Encode, {known_length_stream, Size, Hunks}) ->
    {known_length_stream, Size, hunks(Encode, Hunks)};
encode(Encode, {stream, Size, Fun}) ->
    {stream, Size, fun(Start, End) -> hunks(Encode, Fun(Start, End)) end};
encode(Encode, {writer, Fun}) ->
    {writer, fun(Write) -> Fun(fun(Data) -> Write(Encode(Data)) end) end};
encode(Encode, Body) ->
    Encode(iolist_to_binary(Body)).

hunks(Encode, {Data, done}) ->
    {Encode(Data), done};
hunks(Encode, {Data, Next}) ->
    {Encode(Data), fun() -> hunks(Encode, Next()) end}.
