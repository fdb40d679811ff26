%% @doc Test support: reads the body of the request being served.
%%
%% How far it has been read is kept with the process, under webmachine's own
%% names: a resource reads through a copy of the request, and after it the
%% server must know whether bytes are left that belong to no request and would
%% break the connection's next one. `drain/1' reads them off.
-module(webmachine_body).

-export([start/0, read/3, stream/2, drain/1, linger/1]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

-define(PROGRESS, webmachine_stream_progress).
-define(LINGER_TIMEOUT, 2000).

%% Progress: undefined (nothing read) | what reads on | done | broken

-spec start() -> ok.
start() ->
    [erase(Key) || Key <- [resource, reqstate, tmp_reqstate, req_body, ?PROGRESS,
                           webmachine_sent_continue, webmachine_head_sent]],
    ok.

-spec read(#wm_reqstate{}, non_neg_integer(), pos_integer()) ->
          binary() | {error, req_body_too_large}.
read(State, Max, MaxHunk) ->
    collect(stream(State, MaxHunk), [], 0, Max).

collect({Hunk, _Next}, _Acc, Size, Max) when Size + byte_size(Hunk) > Max ->
    {error, req_body_too_large};
collect({Hunk, done}, [], _Size, _Max) ->
    Hunk;      % the usual case, without a copy
collect({Hunk, done}, Acc, _Size, _Max) ->
    iolist_to_binary(lists:reverse([Hunk | Acc]));
collect({Hunk, Next}, Acc, Size, Max) ->
    collect(Next(), [Hunk | Acc], Size + byte_size(Hunk), Max).

-spec stream(#wm_reqstate{}, pos_integer()) -> {binary(), done | fun()}.
stream(State, MaxHunk) ->
    case body_length(State) of
        none -> finished(<<>>);
        0 -> finished(<<>>);
        {unknown, Encoding} -> exit({unknown_transfer_encoding, Encoding});
        Length ->
            send_continue(State),
            Socket = State#wm_reqstate.socket,
            case Length of
                chunked -> next_chunk(Socket, MaxHunk);
                _ -> plain(Socket, MaxHunk, Length)
            end
    end.

%% Reads off what is left of the body, up to the application's
%% max_flush_bytes. False: something is left, the answer must announce that the
%% connection closes, and mochiweb closes it. A length that cannot be read
%% fails, whatever the answer was to be, as on a real node. A client that waits
%% for "100 Continue" and was not told so is taken to send no body. With the
%% environment variable `flushes' set to false as Riak 2.x: nothing is read off,
%% and who began to read is taken to have read to the end.
-spec drain(#wm_reqstate{}) -> boolean().
drain(State) ->
    case application:get_env(webmachine, flushes, true) of
        true -> read_off(State);
        false ->
            _ = get(?PROGRESS) =/= undefined andalso put(mochiweb_request_recv, true),
            true
    end.

read_off(State) ->
    Max = application:get_env(webmachine, max_flush_bytes, 64 * 1024 * 1024),
    Finished =
        case get(?PROGRESS) of
            done -> true;
            broken -> false;
            undefined ->
                expects_continue(State)
                    orelse discard(fun() -> stream(State, 65535) end, Max);
            Next -> discard(Next, Max)
        end,
    _ = Finished andalso put(mochiweb_request_recv, true),
    Finished.

discard(_Next, Left) when Left =< 0 ->
    false;
discard(Next, Left) ->
    try Next() of
        {_Hunk, done} -> true;
        {Hunk, Next1} -> discard(Next1, Left - byte_size(Hunk))
    catch
        throw:{webmachine_recv_error, _} -> false;
        exit:Reason -> error(Reason)
    end.

%% Before mochiweb closes a connection with unread bytes: say that nothing more
%% will come and take in what still arrives for a moment. A bare close, a real
%% node's, would reset the connection, and the client might never see the answer.
-spec linger(#wm_reqstate{}) -> ok.
linger(#wm_reqstate{socket = Socket} = State) ->
    case body_length(State) of
        none -> ok;
        0 -> ok;
        _ -> shut(Socket)
    end.

shut(Socket) ->
    _ = case Socket of
            {ssl, S} -> ssl:shutdown(S, write);
            _ -> gen_tcp:shutdown(Socket, write)
        end,
    linger(Socket, erlang:monotonic_time(millisecond) + ?LINGER_TIMEOUT).

linger(Socket, Deadline) ->
    case Deadline - erlang:monotonic_time(millisecond) of
        Left when Left > 0 ->
            case mochiweb_socket:recv(Socket, 0, Left) of
                {ok, _} -> linger(Socket, Deadline);
                {error, _} -> ok
            end;
        _ ->
            ok
    end.

%% Hunks

plain(_Socket, _MaxHunk, Left) when Left < 0 ->
    error(badarg);
plain(Socket, MaxHunk, Left) when Left =< MaxHunk ->
    finished(recv(Socket, Left));
plain(Socket, MaxHunk, Left) ->
    Hunk = recv(Socket, MaxHunk),
    more(Hunk, fun() -> plain(Socket, MaxHunk, Left - MaxHunk) end).

next_chunk(Socket, MaxHunk) ->
    case chunk_size(recv_line(Socket)) of
        0 ->
            skip_trailers(Socket),
            finished(<<>>);
        Size ->
            chunk(Socket, MaxHunk, Size)
    end.

chunk(Socket, MaxHunk, Left) when Left =< MaxHunk ->
    Hunk = recv(Socket, Left),
    case recv_line(Socket) of
        <<>> -> more(Hunk, fun() -> next_chunk(Socket, MaxHunk) end);
        _ -> broken(bad_chunk)
    end;
chunk(Socket, MaxHunk, Left) ->
    Hunk = recv(Socket, MaxHunk),
    more(Hunk, fun() -> chunk(Socket, MaxHunk, Left - MaxHunk) end).

chunk_size(Line) ->
    [Hex | _Extensions] = binary:split(Line, <<";">>),
    try binary_to_integer(string:trim(Hex), 16) of
        Size when Size >= 0 -> Size;
        _ -> broken(bad_chunk)
    catch
        error:badarg -> broken(bad_chunk)
    end.

skip_trailers(Socket) ->
    case recv_line(Socket) of
        <<>> -> ok;
        _ -> skip_trailers(Socket)
    end.

finished(Hunk) ->
    put(?PROGRESS, done),
    {Hunk, done}.

more(Hunk, Next) ->
    put(?PROGRESS, Next),
    {Hunk, Next}.

broken(Reason) ->
    put(?PROGRESS, broken),
    throw({webmachine_recv_error, Reason}).

%% For as long as it takes.
recv(Socket, Length) ->
    %% Until it has arrived whole, nobody knows where the stream stands.
    put(?PROGRESS, broken),
    case mochiweb_socket:recv(Socket, Length, infinity) of
        {ok, Data} -> Data;
        {error, Reason} -> broken(Reason)
    end.

recv_line(Socket) ->
    ok = setopts(Socket, [{packet, line}]),
    Line = recv(Socket, 0),
    ok = setopts(Socket, [{packet, raw}]),
    strip_eol(Line).

strip_eol(Line) ->
    case binary:split(Line, [<<"\r\n">>, <<"\n">>]) of
        [Text, <<>>] -> Text;
        _ -> broken(bad_chunk)      % longer than the socket's line buffer
    end.

setopts(Socket, Opts) ->
    case mochiweb_socket:setopts(Socket, Opts) of
        ok -> ok;
        {error, Reason} -> broken(Reason)
    end.

%% What the headers say

body_length(#wm_reqstate{reqdata = RD}) ->
    case wrq:get_req_header("transfer-encoding", RD) of
        undefined ->
            case wrq:get_req_header("content-length", RD) of
                undefined -> none;
                Length -> list_to_integer(Length)
            end;
        "chunked" -> chunked;
        Encoding -> {unknown, Encoding}
    end.

expects_continue(#wm_reqstate{reqdata = RD}) ->
    case wrq:get_req_header("expect", RD) of
        undefined -> false;
        Value ->
            string:to_lower(Value) =:= "100-continue"
                andalso get(webmachine_sent_continue) =/= true
    end.

send_continue(#wm_reqstate{socket = Socket} = State) ->
    case expects_continue(State) of
        true ->
            put(webmachine_sent_continue, true),
            _ = mochiweb_socket:send(Socket, <<"HTTP/1.1 100 Continue\r\n\r\n">>),
            ok;
        false ->
            ok
    end.
