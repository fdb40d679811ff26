%% @doc Passing an answer of {@link ringtail_forward} on through webmachine, the
%% old and the new: a halt with the answer's status and the request data that
%% {@link response/4} returns.
-module(ringtail_forward_wm).

-export([body/1, response/4]).

%% Webmachine is there on a node, and not where this is built.
-ignore_xref([{wrq, create, 4}, {wrq, resp_body, 1}, {wrq, set_resp_body, 2},
              {wrq, get_resp_header, 2}, {wrq, set_resp_header, 3},
              {wrq, merge_resp_headers, 2}, {wrq, set_resp_range, 2},
              {mochiweb_headers, empty, 0}]).

%% @doc The body as `wrq:set_resp_body/2' takes it, Content-Length kept.
%%
%% `known_length_stream' has been in webmachine since 1.10 (Riak 2.0); an older
%% one gets the same bytes chunked. (The `{stream, Size, Fun}' of all versions
%% is sent chunked too, and lets a Range of the client's cut the body.) An
%% empty body goes as an empty stream, since webmachine puts a page of its own
%% where an error has no body.
-spec body(ringtail_forward:body()) -> term().
body(<<>>) ->
    body({stream, 0, fun() -> {<<>>, done} end});
body(Body) when is_binary(Body) ->
    Body;
body({stream, chunked, Next}) ->
    {stream, {<<>>, Next}};
body({stream, Length, Next}) ->
    Body = {known_length_stream, Length, {<<>>, Next}},
    case known_length_streams(Body) of
        true -> Body;
        false when Length =:= 0 -> <<>>;
        false -> {stream, {<<>>, Next}}
    end.

known_length_streams(Body) ->
    try
        Empty = wrq:create('GET', {1, 1}, "/", mochiweb_headers:empty()),
        wrq:resp_body(wrq:set_resp_body(Body, Empty)) =:= Body
    catch
        _:_ -> false
    end.

%% @doc Puts the answer's headers and body into webmachine's request data. With
%% `ours' headers replace those already there, in their own number, but of
%% `X-Ringtail-*' the ones already there stay, which speak of this node; with
%% `theirs' there are none yet. A Range of the client's has been applied by the
%% target and is not applied again.
-spec response(term(), [{string(), string()}], ringtail_forward:body(), ours | theirs) -> term().
response(RD0, Headers, Body, Whose) ->
    RD1 = wrq:set_resp_body(body(Body), with_headers(Whose, Headers, RD0)),
    case erlang:function_exported(wrq, set_resp_range, 2) of
        true -> wrq:set_resp_range(ignore_request, RD1);
        false -> RD1
    end.

with_headers(theirs, Headers, RD) ->
    wrq:merge_resp_headers(Headers, RD);
with_headers(ours, Headers, RD0) ->
    {RD, _} = lists:foldl(fun({Name, Value}, {RD1, Seen}) ->
                                  Lower = string:to_lower(Name),
                                  {set_header(Lower, Name, Value, RD0, RD1, Seen), [Lower | Seen]}
                          end, {RD0, []}, Headers),
    RD.

set_header("x-ringtail-" ++ _ = Lower, Name, Value, RD0, RD, Seen) ->
    case wrq:get_resp_header(Name, RD0) of
        undefined -> set_header(Lower, Name, Value, RD, Seen);
        _ -> RD
    end;
set_header(Lower, Name, Value, _, RD, Seen) ->
    set_header(Lower, Name, Value, RD, Seen).

set_header(Lower, Name, Value, RD, Seen) ->
    case lists:member(Lower, Seen) of
        true -> wrq:merge_resp_headers([{Name, Value}], RD);
        false -> wrq:set_resp_header(Name, Value, RD)
    end.
