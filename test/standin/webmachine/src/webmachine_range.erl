%% @doc Test support: byte ranges of a 200 answer.
-module(webmachine_range).

-export([apply_to/2]).

-include("wm_reqdata.hrl").

%% Status and response for the request's Range header. A range that cannot be
%% read or satisfied, or a body of unknown length, gives the whole body.
apply_to(Status, #wm_reqdata{resp_range = follow_request} = RD) ->
    case {webmachine_response:code(Status), wrq:get_req_header("range", RD)} of
        {200, Range} when Range =/= undefined -> ranges(Status, Range, RD);
        _ -> {Status, RD}
    end;
apply_to(Status, RD) ->
    {Status, RD}.

ranges(Status, Range, RD) ->
    case {source(wrq:resp_body(RD)), mochiweb_http:parse_range_request(Range)} of
        {none, _} -> {Status, RD};
        {_, fail} -> {Status, RD};
        {{Size, Take}, Specs} ->
            Found = [mochiweb_http:range_skip_length(Spec, Size) || Spec <- Specs],
            case [{Skip, Skip + Length - 1} || {Skip, Length} <- Found, Length > 0] of
                [] -> {Status, RD};
                %% The phrase stays that of a 200, as on a real node.
                Parts -> {{206, "OK"}, partial(Parts, Size, Take, RD)}
            end
    end.

%% Size of a body and how to take the bytes Start..End of it.
source(Body) when is_binary(Body) ->
    {byte_size(Body), fun(Start, End) -> binary:part(Body, Start, End - Start + 1) end};
source({stream, Size, Fun}) ->
    {Size, fun(Start, End) -> read(Fun(Start, End), []) end};
%% Nothing is skipped of it: a real node announces the range and sends it all.
source({known_length_stream, Size, Hunks}) ->
    {Size, fun(Start, End) -> {known_length_stream, End - Start + 1, Hunks} end};
source(_) ->
    none.

read({Data, done}, Acc) -> iolist_to_binary(lists:reverse([Data | Acc]));
read({Data, Next}, Acc) -> read(Next(), [Data | Acc]).

partial([{Start, End}], Size, Take, RD) ->
    Headers = [{"Accept-Ranges", "bytes"}, {"Content-Range", content_range(Start, End, Size)}],
    wrq:set_resp_body(Take(Start, End), wrq:set_resp_headers(Headers, RD));
partial(Parts, Size, Take, RD) ->
    Boundary = mochihex:to_hex(crypto:strong_rand_bytes(8)),
    Type = case wrq:get_resp_header("content-type", RD) of
               undefined -> "text/html";
               Given -> Given
           end,
    Body = [[["--", Boundary, "\r\nContent-Type: ", Type,
              "\r\nContent-Range: ", content_range(Start, End, Size), "\r\n\r\n",
              Take(Start, End), "\r\n"] || {Start, End} <- Parts],
            "--", Boundary, "--\r\n"],
    Headers = [{"Accept-Ranges", "bytes"},
               {"Content-Type", "multipart/byteranges; boundary=" ++ Boundary}],
    wrq:set_resp_body(iolist_to_binary(Body), wrq:set_resp_headers(Headers, RD)).

content_range(Start, End, Size) ->
    lists:flatten(io_lib:format("bytes ~b-~b/~b", [Start, End, Size])).

