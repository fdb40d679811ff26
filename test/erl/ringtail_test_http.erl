%% HTTP for the suites: one request on a connection of its own, and the answer as it came. OTP's own
%% client is no use here: it follows a Retry-After by itself, for ever.
-module(ringtail_test_http).

-export([start/0, request/2, request/3, request/4, header/2, json/1, raw/2]).

-define(TIMEOUT, 60000).

start() ->
    {ok, _} = application:ensure_all_started(ssl),
    ok.

%% -> {Status, [{lower case name, value}], Body} | {error, Reason}
request(Method, Url) -> request(Method, Url, [], none).

request(Method, Url, Headers) -> request(Method, Url, Headers, none).

%% Body: none or {ContentType, binary()}
request(Method, Url, Headers, Body) ->
    #{host := Host, port := Port, path := Path} = Parsed = uri_string:parse(Url),
    Query = case Parsed of
                #{query := Q} -> "?" ++ Q;
                _ -> ""
            end,
    Line = [string:uppercase(atom_to_list(Method)), " ", Path, Query, " HTTP/1.1\r\nHost: ", Host,
            ":", integer_to_list(Port),
            "\r\nConnection: close\r\n", [[Name, ": ", Value, "\r\n"] || {Name, Value} <- Headers]],
    Bytes = case Body of
                none -> [Line, "\r\n"];
                {Type, Data} ->
                    [Line, "Content-Type: ", Type, "\r\nContent-Length: ",
                     integer_to_list(iolist_size(Data)),
                     "\r\n\r\n", Data]
            end,
    raw(Url, Bytes).

%% Sends these bytes and reads until the other side closes.
raw(Url, Bytes) ->
    #{scheme := Scheme, host := Host, port := Port} = uri_string:parse(Url),
    {Module, Options} = case Scheme of
                            "http" -> {gen_tcp, []};
                            "https" -> {ssl, [{verify, verify_none}]}
                        end,
    case Module:connect(Host, Port, [binary, {active, false} | Options], ?TIMEOUT) of
        {ok, Socket} ->
            _ = Module:send(Socket, Bytes),
            Answer = read(Module, Socket, <<>>),
            Module:close(Socket),
            parsed(Answer);
        {error, _} = Error ->
            Error
    end.

read(Module, Socket, Got) ->
    case Module:recv(Socket, 0, ?TIMEOUT) of
        {ok, More} -> read(Module, Socket, <<Got/binary, More/binary>>);
        {error, closed} -> Got;
        {error, Reason} -> {error, Reason, Got}
    end.

parsed(Answer) when is_binary(Answer) ->
    case erlang:decode_packet(http_bin, Answer, []) of
        {ok, {http_response, _, 100, _}, Rest} ->
            {ok, http_eoh, Final} = erlang:decode_packet(httph_bin, Rest, []),
            parsed(Final);
        {ok, {http_response, _, Status, _}, Rest} ->
            {Headers, Body} = headers(Rest, []),
            case proplists:get_value("transfer-encoding", Headers) of
                "chunked" -> {Status, Headers, iolist_to_binary(chunks(Body))};
                undefined -> {Status, Headers, Body}
            end;
        Other ->
            {error, {no_answer, Other}}
    end;
parsed(Error) ->
    {error, Error}.

headers(Bytes, Seen) ->
    case erlang:decode_packet(httph_bin, Bytes, []) of
        {ok, {http_header, _, Name, _, Value}, Rest} ->
            headers(Rest, [{string:lowercase(name(Name)), binary_to_list(Value)} | Seen]);
        {ok, http_eoh, Rest} ->
            {lists:reverse(Seen), Rest}
    end.

name(Name) when is_atom(Name) -> atom_to_list(Name);
name(Name) -> binary_to_list(Name).

chunks(Bytes) ->
    [Size, Rest] = binary:split(Bytes, <<"\r\n">>),
    case binary_to_integer(Size, 16) of
        0 -> [];
        Length ->
            <<Chunk:Length/binary, "\r\n", More/binary>> = Rest,
            [Chunk | chunks(More)]
    end.

header(Name, {_, Headers, _}) -> proplists:get_value(string:lowercase(Name), Headers).

json({_, _, Body}) -> simple(mochijson2:decode(Body)).

%% Objects as maps.
simple({struct, Members}) -> maps:from_list([{Name, simple(Value)} || {Name, Value} <- Members]);
simple(List) when is_list(List) -> [simple(Value) || Value <- List];
simple(Value) -> Value.
