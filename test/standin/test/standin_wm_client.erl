%% @doc Test support: an HTTP client that hides nothing. It sends exactly the
%% bytes it is given and reads answers off the socket one by one, so that
%% tests see what is left on a connection.
-module(standin_wm_client).

-export([connect/1, connect_tls/1, close/1, send/2, request/5, recv/2, recv_head/1,
         get/2, get/3, once/5, closed/1, header/2, headers/2]).

-define(TIMEOUT, 10000).

connect(Port) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port,
                                   [binary, {active, false}, {nodelay, true}]),
    Socket.

connect_tls(Port) ->
    {ok, Socket} = ssl:connect({127, 0, 0, 1}, Port,
                               [binary, {active, false}, {verify, verify_none}]),
    {ssl, Socket}.

close(Socket) -> mochiweb_socket:close(Socket).

send(Socket, Data) -> ok = mochiweb_socket:send(Socket, Data).

%% A request in full on an open connection: {Code, Phrase, Headers, Body}. A
%% body `{chunked, [Chunk]}' is sent in these chunks.
request(Socket, Method, Path, Headers, Body) ->
    send(Socket, format(Method, Path, Headers, Body)),
    recv(Socket, Method).

once(Port, Method, Path, Headers, Body) ->
    Socket = connect(Port),
    try
        request(Socket, Method, Path, Headers, Body)
    after
        close(Socket)
    end.

get(Port, Path) -> get(Port, Path, []).

get(Port, Path, Headers) -> once(Port, "GET", Path, Headers, none).

format(Method, Path, Headers, Body) ->
    Given = lists:keymember("Content-Length", 1, Headers),
    Sized = case Body of
                _ when Given -> [];
                none -> [];
                {chunked, _} -> [{"Transfer-Encoding", "chunked"}];
                _ -> [{"Content-Length", integer_to_list(iolist_size(Body))}]
            end,
    Host = case lists:keymember("Host", 1, Headers) of
               true -> [];
               false -> [{"Host", "localhost"}]
           end,
    [Method, " ", Path, " HTTP/1.1\r\n",
     [[K, ": ", V, "\r\n"] || {K, V} <- Host ++ Sized ++ Headers], "\r\n",
     case Body of
         none -> [];
         {chunked, Chunks} ->
             [[[integer_to_list(iolist_size(C), 16), "\r\n", C, "\r\n"] || C <- Chunks],
              "0\r\n\r\n"];
         _ -> Body
     end].

%% The next answer; interim ones (100) are read over.
recv(Socket, Method) ->
    case recv_head(Socket) of
        {100, _, _} -> recv(Socket, Method);
        {Code, Phrase, Headers} -> {Code, Phrase, Headers, body(Socket, Method, Code, Headers)}
    end.

recv_head(Socket) ->
    ok = mochiweb_socket:setopts(Socket, [{packet, http_bin}]),
    {ok, {http_response, _Version, Code, Phrase}} = mochiweb_socket:recv(Socket, 0, ?TIMEOUT),
    ok = mochiweb_socket:setopts(Socket, [{packet, httph_bin}]),
    Headers = recv_headers(Socket),
    ok = mochiweb_socket:setopts(Socket, [{packet, raw}]),
    {Code, Phrase, Headers}.

recv_headers(Socket) ->
    case mochiweb_socket:recv(Socket, 0, ?TIMEOUT) of
        {ok, http_eoh} -> [];
        {ok, {http_header, _, Name, _, Value}} ->
            [{string:lowercase(to_binary(Name)), Value} | recv_headers(Socket)]
    end.

to_binary(A) when is_atom(A) -> atom_to_binary(A);
to_binary(B) -> B.

body(_Socket, "HEAD", _Code, _Headers) -> <<>>;
body(_Socket, _Method, Code, _Headers) when Code =:= 204; Code =:= 304 -> <<>>;
body(Socket, _Method, _Code, Headers) ->
    case {header("transfer-encoding", Headers), header("content-length", Headers)} of
        {<<"chunked">>, _} -> iolist_to_binary(chunks(Socket));
        {undefined, <<"0">>} -> <<>>;
        {undefined, Length} ->
            {ok, Data} = mochiweb_socket:recv(Socket, binary_to_integer(Length), ?TIMEOUT),
            Data
    end.

chunks(Socket) ->
    ok = mochiweb_socket:setopts(Socket, [{packet, line}]),
    {ok, Line} = mochiweb_socket:recv(Socket, 0, ?TIMEOUT),
    ok = mochiweb_socket:setopts(Socket, [{packet, raw}]),
    Size = binary_to_integer(string:trim(Line), 16),
    {ok, Data} = mochiweb_socket:recv(Socket, Size + 2, ?TIMEOUT),
    <<Chunk:Size/binary, "\r\n">> = Data,
    case Size of
        0 -> [];
        _ -> [Chunk | chunks(Socket)]
    end.

%% Whether the server closes the connection, with nothing more sent.
closed(Socket) ->
    mochiweb_socket:recv(Socket, 0, ?TIMEOUT) =:= {error, closed}.

header(Name, Headers) ->
    case headers(Name, Headers) of
        [] -> undefined;
        [Value | _] -> Value
    end.

headers(Name, Headers) ->
    Key = string:lowercase(iolist_to_binary(Name)),
    [Value || {K, Value} <- Headers, K =:= Key].
