%% @doc Test support: puts a response on the wire.
-module(webmachine_response).

-export([finish/1, send/1, code/1]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

code({Code, _Phrase}) -> Code;
code(Code) -> Code.

%% Sends, too, but first reads off what is left unread of the request's body, or
%% announces that the connection closes.
-spec finish(#wm_reqstate{}) -> ok.
finish(#wm_reqstate{reqdata = RD} = Req) ->
    case webmachine_body:drain(Req) of
        true -> send(Req);
        false ->
            Closing = wrq:set_resp_header("Connection", "close", RD),
            send(Req#wm_reqstate{reqdata = Closing}),
            webmachine_body:linger(Req)
    end.

%% Sends what the request holds. A client that has gone, or a body that fails
%% half way, closes the connection and is no error of the server's.
-spec send(#wm_reqstate{}) -> ok.
send(#wm_reqstate{socket = Socket, reqdata = RD0}) ->
    {Status, RD} = webmachine_range:apply_to(RD0#wm_reqdata.response_code, RD0),
    {Length, Body} = body(RD),
    Head = [version(wrq:version(RD)), status_line(Status), <<"\r\n">>
           | headers(code(Status), Length, RD)],
    put(webmachine_head_sent, true),
    try
        case {wrq:method(RD), Body} of
            {'HEAD', _} -> write(Socket, Head);
            {_, {data, Data}} -> write(Socket, [Head, Data]);
            {_, {hunks, Hunks}} ->
                write(Socket, Head),
                hunks(Hunks, fun(Data) -> write(Socket, Data) end);
            {_, {chunks, Hunks}} ->
                write(Socket, Head),
                hunks(Hunks, fun(Data) -> chunk(Socket, Data) end),
                write(Socket, <<"0\r\n\r\n">>);
            {_, {writer, Fun}} ->
                write(Socket, Head),
                Fun(fun(Data) -> chunk(Socket, Data) end),
                write(Socket, <<"0\r\n\r\n">>)
        end
    catch
        throw:{webmachine_send_error, _} ->
            put(mochiweb_request_force_close, true);
        Class:Reason:Stack ->
            put(mochiweb_request_force_close, true),
            logger:warning("response to ~ts broke off: ~p",
                           [wrq:raw_path(RD), {Class, Reason, Stack}])
    end,
    ok.

body(RD) ->
    case wrq:resp_body(RD) of
        undefined -> {0, {data, <<>>}};
        {stream, Hunks} -> {chunked, {chunks, Hunks}};
        {stream, Size, Fun} -> {chunked, {chunks, Fun(0, Size - 1)}};
        {known_length_stream, Size, Hunks} -> {Size, {hunks, Hunks}};
        {writer, Fun} -> {chunked, {writer, Fun}};
        Data -> {byte_size(Data), {data, Data}}
    end.

hunks({Data, done}, Send) ->
    Send(Data),
    ok;
hunks({Data, Next}, Send) ->
    Send(Data),
    hunks(Next(), Send).

chunk(Socket, Data) ->
    case iolist_size(Data) of
        0 -> 0;     % a chunk of size 0 would end the body
        Size ->
            write(Socket, [integer_to_list(Size, 16), <<"\r\n">>, Data, <<"\r\n">>]),
            Size
    end.

write(Socket, Data) ->
    case mochiweb_socket:send(Socket, Data) of
        ok -> ok;
        {error, Reason} -> throw({webmachine_send_error, Reason})
    end.

version({1, 0}) -> <<"HTTP/1.0 ">>;
version(_) -> <<"HTTP/1.1 ">>.

status_line({Code, undefined}) -> status_line(Code);
status_line({Code, Phrase}) -> [integer_to_list(Code), " ", Phrase];
status_line(Code) -> status_line({Code, httpd_util:reason_phrase(Code)}).

%% In the order of a real node's answers: names backwards through the alphabet.
headers(Code, Length, RD) ->
    Sized = case Length of
                _ when Code < 200; Code =:= 204; Code =:= 304 -> wrq:resp_headers(RD);
                chunked -> enter("Transfer-Encoding", "chunked", wrq:resp_headers(RD));
                _ -> enter("Content-Length", integer_to_list(Length), wrq:resp_headers(RD))
            end,
    {ok, Server} = application:get_env(webmachine, server_name),
    Dated = mochiweb_headers:default("Date", httpd_util:rfc1123_date(),
                                     enter("Server", Server, Sized)),
    lists:foldl(fun({Name, Value}, Acc) ->
                        [mochiweb_util:make_io(Name), <<": ">>, Value, <<"\r\n">> | Acc]
                end, [<<"\r\n">>], mochiweb_headers:to_list(Dated)).

enter(Name, Value, Headers) -> mochiweb_headers:enter(Name, Value, Headers).
