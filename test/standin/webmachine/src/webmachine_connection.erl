%% @doc Test support: the requests of one connection, read as the mochiweb of
%% Riak 3.2 reads them: 431 for a header line over the socket's buffer, 400 for
%% such a request line and for a thousand headers; a line that is none leaves
%% the client waiting. What follows a request is mochiweb's to decide.
-module(webmachine_connection).

-export([serve/3]).

-define(REQUEST_TIMEOUT, 300000).
-define(HEADER_TIMEOUT, 30000).
-define(MAX_HEADERS, 1000).

serve(Socket, Options, Body) ->
    mode(Socket, http),
    case mochiweb_socket:recv(Socket, 0, ?REQUEST_TIMEOUT) of
        {ok, {http_request, Method, Path, Version}} ->
            mode(Socket, httph),
            headers({Socket, Options, {Method, Path, Version}}, [], 0, Body);
        {ok, {http_error, Blank}} when Blank =:= "\r\n"; Blank =:= "\n" ->
            serve(Socket, Options, Body);
        {ok, _} ->
            stuck(Socket, ?REQUEST_TIMEOUT);
        {error, emsgsize} ->
            refuse({Socket, Options, {'GET', {abs_path, "/"}, {0, 9}}}, [], 400);
        {error, Reason} ->
            close(Socket, Reason)
    end.

headers(Start, Headers, ?MAX_HEADERS, _Body) ->
    refuse(Start, Headers, 400);
headers({Socket, _, _} = Start, Headers, Count, Body) ->
    case mochiweb_socket:recv(Socket, 0, ?HEADER_TIMEOUT) of
        {ok, http_eoh} ->
            handle(Start, Headers, Body);
        {ok, {http_header, _, Name, _, Value}} ->
            headers(Start, [{Name, Value} | Headers], Count + 1, Body);
        {ok, _} ->
            stuck(Socket, ?HEADER_TIMEOUT);
        {error, emsgsize} ->
            %% In full: not every inets has a phrase for it.
            refuse(Start, Headers, "431 Request Header Fields Too Large");
        {error, Reason} ->
            close(Socket, Reason)
    end.

handle({Socket, Options, _} = Start, Headers, {Module, Fun, Args} = Body) ->
    Request = request(Start, Headers),
    apply(Module, Fun, [Request | Args]),
    case mochiweb_request:should_close(Request) of
        true ->
            close(Socket, should_close);
        false ->
            mochiweb_request:cleanup(Request),
            erlang:garbage_collect(),
            serve(Socket, Options, Body)
    end.

request({Socket, Options, Line}, Headers) ->
    mode(Socket, raw),
    mochiweb:new_request({Socket, Options, Line, lists:reverse(Headers)}).

refuse({Socket, _, _} = Start, Headers, Status) ->
    mochiweb_request:respond({Status, [], []}, request(Start, Headers)),
    close(Socket, invalid_request).

stuck(Socket, Timeout) ->
    timer:sleep(Timeout),
    close(Socket, timeout).

mode(Socket, Packet) ->
    case mochiweb_socket:setopts(Socket, [{packet, Packet}]) of
        ok -> ok;
        {error, Reason} -> close(Socket, Reason)
    end.

-spec close(term(), term()) -> no_return().
close(Socket, Reason) ->
    _ = mochiweb_socket:close(Socket),
    exit({shutdown, Reason}).
