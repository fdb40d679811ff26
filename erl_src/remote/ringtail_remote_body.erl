%% @doc A request's body on its way to another cluster, at the pace of whoever sends it.
%%
%% A client may stall in the middle of its body, and any number of clients may. So nothing that
%% others need, a worker of the companion or a connection to a node, is taken before a part of the
%% body is here; a small body is here as a whole by then. One that pauses for too long is told 408,
%% and its connection ends: what it still sends belongs to no request.
-module(ringtail_remote_body).

-export([begun/3, refuse_stalled/2]).
-export_type([unread/0]).

%% So much is read before anything else happens; where the length is not known, as much as makes a
%% small body. In bytes.
-define(BEGINNING, 65536).
-define(SMALL, 1048576).

%% What to do about a body that nobody has asked for.
-type unread() :: fun(() -> ok).

%% @doc The body with its beginning read, and what to do about the rest of it where nobody wants it.
%% A client that waits to be asked for its body is not asked here, but when the node wants it.
%% Reading throws `{ringtail_remote_body, stalled}' where the client sends nothing for so many
%% milliseconds.
-spec begun(ringtail_body:body(), Pause :: pos_integer(), ringtail_reply:reqdata()) ->
          {ringtail_body:body(), unread()}.
begun({length, Length, Read}, Pause, RD) ->
    case beginning(?BEGINNING, Read, Pause, RD) of
        {whole, Body} -> {Body, fun nothing/0};
        {part, Ahead, Unread} -> {{length, Length, Ahead}, Unread}
    end;
begun({chunked, Read}, Pause, RD) ->
    case beginning(?SMALL, Read, Pause, RD) of
        {whole, Body} -> {Body, fun nothing/0};
        {part, Ahead, Unread} -> {{chunked, Ahead}, Unread}
    end;
begun(Body, _, _) ->
    {Body, fun nothing/0}.

nothing() -> ok.

beginning(Wanted, Read, Pause, RD) ->
    Guarded = guarded(Read, Pause, socket(RD)),
    case wrq:get_req_header("Expect", RD) of
        undefined -> ahead(Wanted, Guarded, []);
        _ -> {part, Guarded, fun() -> ringtail_body:unread(RD) end}
    end.

ahead(Wanted, Read, Before) ->
    {Piece, Next} = Read(),
    Pieces = [Piece | Before],
    case Wanted - iolist_size(Piece) of
        _ when Next =:= done -> {whole, iolist_to_binary(lists:reverse(Pieces))};
        Left when Left > 0 -> ahead(Left, Next, Pieces);
        _ -> {part, replayed(lists:reverse(Pieces), Next), fun() -> ringtail_body:drain(Next) end}
    end.

replayed([Piece | Pieces], Next) -> fun() -> {Piece, rest(Pieces, Next)} end.

rest([], Next) -> Next;
rest(Pieces, Next) -> replayed(Pieces, Next).

%% ---- A client that pauses ----

guarded(Read, Pause, Socket) ->
    fun() ->
            case patiently(Read, Pause, Socket) of
                {Piece, done} -> {Piece, done};
                {Piece, Next} -> {Piece, guarded(Next, Pause, Socket)}
            end
    end.

%% webmachine waits for a piece for a minute, or for ever, and cannot be told otherwise. So another
%% process ends the wait, by closing the half of the connection that is read from: the other half is
%% left for the answer.
patiently(Read, Pause, Socket) ->
    Reader = self(),
    {Watcher, Monitor} = spawn_monitor(fun() -> watch(Reader, Pause, Socket) end),
    try
        Read()
    catch
        Class:Reason ->
            case is_over(Watcher, Monitor) of
                true -> throw({?MODULE, stalled});
                false -> erlang:raise(Class, Reason, [])
            end
    after
        erlang:demonitor(Monitor, [flush]),
        exit(Watcher, kill)
    end.

%% It ends by itself only where it has ended the wait.
is_over(Watcher, Monitor) ->
    Watcher ! {self(), Monitor, done},
    receive
        {Monitor, done} -> false;
        {'DOWN', Monitor, process, _, _} -> true
    end.

watch(Reader, Pause, Socket) ->
    Monitor = erlang:monitor(process, Reader),
    receive
        {Reader, Ref, done} -> Reader ! {Ref, done};
        {'DOWN', Monitor, process, _, _} -> ok
    after Pause ->
            stop_reading(Socket, Reader)
    end.

stop_reading({ssl, Socket}, _) ->
    _ = ssl:close(Socket),
    ok;
stop_reading(none, Reader) ->
    exit(Reader, kill);
stop_reading(Socket, _) ->
    _ = inet:setopts(Socket, [{exit_on_close, false}]),
    _ = gen_tcp:shutdown(Socket, read),
    ok.

%% The client's connection. Not every webmachine has a function that tells it, but all hold it in
%% the state within the request's data.
socket(RD) ->
    States = [State || State <- tuple_to_list(RD), is_tuple(State)],
    Sockets = [Socket || State <- States, Socket <- tuple_to_list(State), is_socket(Socket)],
    case Sockets of
        [Socket | _] -> Socket;
        [] -> none
    end.

is_socket({ssl, _}) -> true;
is_socket(Socket) -> is_port(Socket).

%% @doc The answer to a client that paused for too long.
-spec refuse_stalled(Pause :: pos_integer(), ringtail_reply:reqdata()) ->
          ringtail_reply:ending().
refuse_stalled(Pause, RD) ->
    ok = ringtail_body:close_afterwards(),
    %% webmachine, newer ones, must not look for the rest of the body before it answers.
    _ = put(webmachine_stream_progress, done),
    Message = io_lib:format("nothing of the body came for ~b ms, and nothing was stored; send it "
                            "at once, or raise {ringtail, client_pause}", [Pause]),
    Closing = wrq:set_resp_header("Connection", "close", RD),
    {_, Told, _} = ringtail_reply:refuse(408, client_paused, Message, Closing, none),
    {halt, 408, Told}.
