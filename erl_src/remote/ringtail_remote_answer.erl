%% @doc An answer of another cluster's node as webmachine's own, whose own reading of ranges and of
%% errors would come on top of the node's.
-module(ringtail_remote_answer).

-export([response/3]).
-export_type([body/0]).

-type body() :: binary() | {stream, non_neg_integer() | chunked, ringtail_body:read()}.

%% @doc The request data with these headers and this body for an answer. A Range of the client's was
%% applied by the node and is not applied again.
-spec response(ringtail_reply:reqdata(), [{string(), string()}], body()) ->
          ringtail_reply:reqdata().
response(RD, Headers, Body) ->
    Told = wrq:set_resp_body(as_webmachine(Body), wrq:merge_resp_headers(Headers, RD)),
    case erlang:function_exported(wrq, set_resp_range, 2) of
        true -> wrq:set_resp_range(ignore_request, Told);
        false -> Told
    end.

%% `known_length_stream' has been in webmachine since 1.10 (Riak 2.0) and keeps Content-Length; an
%% older one gets the same bytes chunked. An empty body goes as an empty stream, since webmachine
%% puts a page of its own where an error has none.
as_webmachine(<<>>) ->
    as_webmachine({stream, 0, fun() -> {<<>>, done} end});
as_webmachine(Body) when is_binary(Body) ->
    Body;
as_webmachine({stream, chunked, Next}) ->
    {stream, {<<>>, Next}};
as_webmachine({stream, Length, Next}) ->
    Body = {known_length_stream, Length, {<<>>, Next}},
    case knows(Body) of
        true -> Body;
        false when Length =:= 0 -> <<>>;
        false -> {stream, {<<>>, Next}}
    end.

knows(Body) ->
    try
        Empty = wrq:create('GET', {1, 1}, "/", mochiweb_headers:empty()),
        wrq:resp_body(wrq:set_resp_body(Body, Empty)) =:= Body
    catch
        _:_ -> false
    end.
