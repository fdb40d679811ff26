%% @doc One connection to another node, over TCP or TLS: the only module of the
%% hop that knows which. Connections are passive; every call that can block
%% takes the milliseconds it may.
%%
%% TLS. The hop stays inside the cluster, to addresses that the ring names. If
%% the cluster's CA is known (`{riak_core, [{ssl, [{cacertfile, _}]}]}'), the
%% other node's chain is verified against it; the name in its certificate is
%% not, since node certificates carry whatever name the operator chose and the
%% ring holds addresses. Without a CA the hop is encrypted and not verified.
%% `{ringtail, [{forward_ssl, Options}]}' are options of ssl:connect/4 and win
%% over both, for instance
%% `[{cacertfile, "ca.pem"}, {verify, verify_peer}, {depth, 2}]'.
-module(ringtail_forward_conn).

-export([connect/2, alive/1, give/2, close/1]).
-export([send/3, recv/3]).
-export([watch/1, seen/1, unwatch/1]).
-export([expect_silence/1, end_silence/1, key/1]).
-export([now_ms/0, ssl_options/0, verification/1]).

-export_type([conn/0]).

-type conn() :: {gen_tcp, inet:socket()} | {ssl, term()}.

%% What is read from a socket at once, and so the size of one piece of a body.
-define(BUFFER, 65536).

%% @doc Connects within `Timeout' ms. A name is tried over IPv4, then IPv6.
-spec connect({http | https, string(), inet:port_number()}, pos_integer()) ->
                     {ok, conn()} | {error, term()}.
connect({Scheme, Host0, Port}, Timeout) ->
    Host = string:strip(string:strip(Host0, left, $[), right, $]),
    Started = now_ms(),
    case inet:parse_address(Host) of
        {ok, Address} when tuple_size(Address) =:= 8 ->
            connect(Scheme, Address, Port, inet6, Timeout);
        {ok, Address} ->
            connect(Scheme, Address, Port, inet, Timeout);
        {error, _} ->
            case connect(Scheme, Host, Port, inet, Timeout) of
                {error, nxdomain} ->
                    Left = max(1, Timeout - (now_ms() - Started)),
                    connect(Scheme, Host, Port, inet6, Left);
                Result ->
                    Result
            end
    end.

connect(http, Address, Port, Family, Timeout) ->
    opened(gen_tcp, gen_tcp:connect(Address, Port, tcp_options(Family),
                                    Timeout));
connect(https, Address, Port, Family, Timeout) ->
    _ = ssl:start(),
    try ssl:connect(Address, Port, tcp_options(Family) ++ ssl_options(),
                    Timeout) of
        Result -> opened(ssl, Result)
    catch
        %% R16B's ssl exits on some options that it does not like.
        exit:Reason -> {error, Reason}
    end.

opened(Module, {ok, Socket}) -> {ok, {Module, Socket}};
opened(_, {error, Reason}) -> {error, Reason};
%% OTP 20 and later: {ok, Socket, Extensions}.
opened(Module, Other) when is_tuple(Other) -> {ok, {Module, element(2, Other)}}.

tcp_options(Family) ->
    [Family, binary, {packet, raw}, {active, false}, {nodelay, true},
     {keepalive, true}, {buffer, ?BUFFER}, {send_timeout_close, true}].

%% @doc The TLS options in force, configuration applied.
-spec ssl_options() -> [term()].
ssl_options() ->
    Configured = env(ringtail, forward_ssl, []),
    Default = case proplists:get_value(cacertfile, env(riak_core, ssl, [])) of
                  undefined -> [{verify, verify_none}];
                  CaFile -> [{verify, verify_peer}, {cacertfile, CaFile}]
              end,
    Keys = [K || {K, _} <- Configured],
    [O || {K, _} = O <- Default ++ no_name_check(), not lists:member(K, Keys)]
        ++ Configured.

%% @doc Whether the other side is verified under these options.
-spec verification([term()]) -> verified | encrypted_only.
verification(Options) ->
    case proplists:get_value(verify, Options) of
        verify_peer -> verified;
        _ -> encrypted_only
    end.

%% Turning server_name_indication off turns the check of names off; releases
%% before 18 know neither and refuse the option.
no_name_check() ->
    try list_to_integer(erlang:system_info(otp_release)) of
        Release when Release >= 18 -> [{server_name_indication, disable}];
        _ -> []
    catch
        error:badarg -> []
    end.

env(App, Key, Default) ->
    case application:get_env(App, Key) of
        {ok, Value} when is_list(Value) -> Value;
        _ -> Default
    end.

%% @doc Hands the connection, passive, to another process. Only its owner can.
-spec give(conn(), pid()) -> ok | {error, term()}.
give({Module, Socket}, Pid) ->
    try Module:controlling_process(Socket, Pid)
    catch _:Reason -> {error, Reason}
    end.

%% @doc Whether a connection just taken from the pool is still good: nobody has
%% closed it, and nobody has sent what we did not ask for. For TLS the pool has
%% found that out when it ended the silence.
-spec alive(conn()) -> boolean().
alive({gen_tcp, Socket}) -> gen_tcp:recv(Socket, 0, 0) =:= {error, timeout};
alive({ssl, _}) -> true.

%% @doc Closes, from any process, without waiting. What could not be sent yet is
%% dropped (gen_tcp would wait seconds for a side that hangs to take it); TLS
%% says goodbye to the other side, so another process does that.
-spec close(conn()) -> ok.
close({gen_tcp, Socket}) ->
    _ = case (catch inet:getstat(Socket, [send_pend])) of
            {ok, [{send_pend, 0}]} -> ok;
            _ -> catch inet:setopts(Socket, [{linger, {true, 0}}])
        end,
    _ = (catch gen_tcp:close(Socket)),
    ok;
close({ssl, Socket}) ->
    _ = spawn(fun() -> catch ssl:close(Socket) end),
    ok.

%% @doc Sends all of `Data' within `Timeout' ms, or the connection is lost.
-spec send(conn(), iodata(), integer()) -> ok | {error, term()}.
send(_, _, Timeout) when Timeout =< 0 ->
    {error, timeout};
send({gen_tcp, Socket}, Data, Timeout) ->
    case inet:setopts(Socket, [{send_timeout, Timeout}]) of
        ok -> reason(gen_tcp:send(Socket, Data));
        {error, _} -> {error, closed}
    end;
send({ssl, Socket}, Data, Timeout) ->
    try
        _ = ssl:setopts(Socket, [{send_timeout, Timeout}]),
        reason(ssl:send(Socket, Data))
    catch
        exit:_ -> {error, closed}
    end.

%% @doc Receives `Length' bytes, or what is there if it is 0.
-spec recv(conn(), non_neg_integer(), integer()) ->
                  {ok, binary()} | {error, term()}.
recv(_, _, Timeout) when Timeout =< 0 ->
    {error, timeout};
recv({Module, Socket}, Length, Timeout) ->
    reason(Module:recv(Socket, Length, Timeout)).

%% What callers tell apart: a connection that ended, time that ran out, others.
reason({error, R}) when R =:= enotconn; R =:= einval; R =:= econnreset;
                        R =:= epipe; R =:= econnaborted; R =:= no_ssl_pid ->
    {error, closed};
reason({error, {tls_alert, _}}) ->
    {error, closed};
reason({error, etimedout}) ->
    {error, timeout};
reason(Result) ->
    Result.

%% ---------------------------------------------------------------------
%% Noticing an answer while still sending
%% ---------------------------------------------------------------------

%% @doc From now to unwatch/1 what the other side sends reaches this process's
%% mailbox, even while it waits in send/3. A server that refuses a body
%% answers, then closes: reading only after the failed send would find the
%% answer gone with the connection. (TLS answers are polled for instead; its
%% own process reads the socket.) One call brings one piece of data: seen/1
%% having brought it, call again.
-spec watch(conn()) -> ok.
watch({gen_tcp, Socket}) ->
    _ = inet:setopts(Socket, [{active, once}]),
    ok;
watch({ssl, _}) ->
    ok.

%% @doc What has come since.
-spec seen(conn()) -> nothing | {data, binary()} | closed.
seen({gen_tcp, Socket}) ->
    receive
        {tcp, Socket, Data} -> {data, Data};
        {tcp_closed, Socket} -> closed;
        {tcp_error, Socket, _} -> closed
    after 0 -> nothing
    end;
seen({ssl, Socket}) ->
    case ssl:recv(Socket, 0, 0) of
        {ok, Data} -> {data, Data};
        {error, timeout} -> nothing;
        {error, _} -> closed
    end.

%% @doc Back to passive. Leaves no message behind: mochiweb takes a message it
%% does not know for a broken request.
-spec unwatch(conn()) -> {[binary()], open | closed}.
unwatch({gen_tcp, Socket} = Conn) ->
    _ = inet:setopts(Socket, [{active, false}]),
    flush(Conn, [], open);
unwatch({ssl, _}) ->
    {[], open}.

flush(Conn, Acc, State) ->
    case seen(Conn) of
        nothing -> {lists:reverse(Acc), State};
        {data, Data} -> flush(Conn, [Data | Acc], State);
        closed -> flush(Conn, Acc, closed)
    end.

%% ---------------------------------------------------------------------
%% Idle connections
%% ---------------------------------------------------------------------

%% @doc The owner wants to hear if an idle connection ends.
-spec expect_silence(conn()) -> ok | {error, term()}.
expect_silence({gen_tcp, Socket}) ->
    inet:setopts(Socket, [{active, once}]);
expect_silence({ssl, Socket}) ->
    try ssl:setopts(Socket, [{active, once}])
    catch exit:Reason -> {error, Reason}
    end.

%% @doc Ends that, leaving no message behind. An error if silence was broken.
-spec end_silence(conn()) -> ok | {error, term()}.
end_silence({gen_tcp, Socket} = Conn) ->
    Set = inet:setopts(Socket, [{active, false}]),
    case flush(Conn, [], open) of
        {[], open} -> Set;
        _ -> {error, closed}
    end;
end_silence({ssl, Socket}) ->
    try ssl:setopts(Socket, [{active, false}])
    catch exit:Reason -> {error, Reason}
    end.

%% @doc What names the connection in the messages of its socket.
-spec key(conn()) -> term().
key({_, Socket}) -> Socket.

%% @doc Milliseconds of a clock that does not jump, where the release has one.
-spec now_ms() -> integer().
now_ms() ->
    case erlang:function_exported(erlang, monotonic_time, 1) of
        true ->
            erlang:monotonic_time(1000);
        false ->
            {Mega, Sec, Micro} = os:timestamp(),
            (Mega * 1000000 + Sec) * 1000 + Micro div 1000
    end.
