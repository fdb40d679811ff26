%% @doc Test support: reads the body of the request being served.
%%
%% How far the body has been read is kept with the process: a resource reads
%% through a copy of the request, and after it the server must know whether
%% bytes are left that belong to no request and would break the connection's
%% next one. `drain/1' reads them off; where it cannot, the connection closes.
-module(webmachine_body).

-export([start/0, read/3, stream/2, drain/1, linger/1]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

-define(PROGRESS, webmachine_body_progress).
-define(RECV_TIMEOUT, 60000).
-define(DRAIN_TIMEOUT, 10000).
-define(LINGER_TIMEOUT, 2000).

%% Progress: unread | {whole, Body} | {part, Next} | done | broken

-spec start() -> ok.
start() ->
    erase(webmachine_sent_continue),
    erase(mochiweb_request_force_close),
    put(?PROGRESS, unread),
    erase(req_body),
    ok.

-spec read(#wm_reqstate{}, non_neg_integer(), pos_integer()) ->
          {ok, binary()} | {error, too_large | conflict}.
read(State, Max, MaxHunk) ->
    case get(?PROGRESS) of
        {whole, Body} ->
            {ok, Body};
        undefined ->                    % another process, given what was read
            {ok, get(req_body)};
        unread ->
            case body_length(State) of
                Length when is_integer(Length), Length > Max ->
                    {error, too_large};
                _ ->
                    collect(first_hunk(State, MaxHunk), [], 0, Max)
            end;
        _ ->
            {error, conflict}
    end.

collect({Hunk, _Next}, _Acc, Size, Max) when Size + byte_size(Hunk) > Max ->
    {error, too_large};
collect({Hunk, done}, Acc, _Size, _Max) ->
    Body = case Acc of
               [] -> Hunk;      % the usual case, without a copy
               _ -> iolist_to_binary(lists:reverse([Hunk | Acc]))
           end,
    put(?PROGRESS, {whole, Body}),
    put(req_body, Body),
    {ok, Body};
collect({Hunk, Next}, Acc, Size, Max) ->
    collect(Next(), [Hunk | Acc], Size + byte_size(Hunk), Max).

-spec stream(#wm_reqstate{}, pos_integer()) ->
          {binary(), done | fun()} | {error, conflict}.
stream(State, MaxHunk) ->
    case get(?PROGRESS) of
        unread -> first_hunk(State, MaxHunk);
        _ -> {error, conflict}
    end.

%% Reads off what is left of the body, up to the application's
%% max_flush_bytes. False: something is left and the connection must close.
%% A client that waits for "100 Continue" and did not get it may send the body
%% or not; nobody can tell, so that connection closes too.
-spec drain(#wm_reqstate{}) -> boolean().
drain(State) ->
    Max = application:get_env(webmachine, max_flush_bytes, 64 * 1024 * 1024),
    Finished =
        case get(?PROGRESS) of
            done -> true;
            {whole, _} -> true;
            broken -> false;
            {part, Next} -> discard(Next, Max);
            unread ->
                case body_length(State) of
                    none -> true;
                    0 -> true;
                    {unknown, _} -> false;
                    Length when is_integer(Length), Length > Max -> false;
                    _ ->
                        not expects_continue(State)
                            andalso discard(fun() -> first_hunk(State, 65536) end, Max)
                end
        end,
    case Finished of
        true -> put(mochiweb_request_recv, true);
        false -> put(mochiweb_request_force_close, true)
    end,
    put(?PROGRESS, done),       % lets go of the body, too
    Finished.

discard(_Next, Left) when Left =< 0 ->
    false;
discard(Next, Left) ->
    put(webmachine_recv_timeout, ?DRAIN_TIMEOUT),
    try Next() of
        {_Hunk, done} -> true;
        {Hunk, Next1} -> discard(Next1, Left - byte_size(Hunk))
    catch
        throw:{webmachine_recv_error, _} -> false
    after
        erase(webmachine_recv_timeout)
    end.

%% Before a connection with unread bytes is closed: say that nothing more will
%% come and take in what still arrives for a moment. A bare close would reset
%% the connection, and the client might never see the answer.
-spec linger(#wm_reqstate{}) -> ok.
linger(#wm_reqstate{socket = Socket}) ->
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

first_hunk(#wm_reqstate{socket = Socket} = State, MaxHunk) ->
    put(mochiweb_request_recv, true),
    case body_length(State) of
        none -> finished(<<>>);
        0 -> finished(<<>>);
        {unknown, Encoding} ->
            broken({unknown_transfer_encoding, Encoding});
        Length ->
            send_continue(State),
            case Length of
                chunked -> next_chunk(Socket, MaxHunk);
                _ -> plain(Socket, MaxHunk, Length)
            end
    end.

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
    put(?PROGRESS, {part, Next}),
    {Hunk, Next}.

broken(Reason) ->
    put(?PROGRESS, broken),
    throw({webmachine_recv_error, Reason}).

recv(Socket, Length) ->
    %% Until it has arrived whole, nobody knows where the stream stands.
    put(?PROGRESS, broken),
    Timeout = case get(webmachine_recv_timeout) of
                  undefined -> ?RECV_TIMEOUT;
                  Value -> Value
              end,
    case mochiweb_socket:recv(Socket, Length, Timeout) of
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
                Length ->
                    try list_to_integer(string:trim(Length)) of
                        N when N >= 0 -> N;
                        _ -> {unknown, Length}
                    catch
                        error:badarg -> {unknown, Length}
                    end
            end;
        Encoding ->
            case string:to_lower(Encoding) of
                "chunked" -> chunked;
                _ -> {unknown, Encoding}
            end
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
