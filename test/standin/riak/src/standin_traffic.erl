%% Test support: bytes that travel between the nodes of a cluster. Each node
%% counts what it sends to other members by distribution, and both directions of
%% HTTP connections to its listeners that another member opened. What clients
%% outside the cluster exchange is not counted.
-module(standin_traffic).
-behaviour(gen_server).

-export([start_link/0, connection/1, request/1, read/0, reset/0, mine/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-record(state, {dist = #{}, http = #{}, sent = 0, http_bytes = 0, connections = 0}).

-define(DIST_MS, 100).
-define(HTTP_MS, 10).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% #{dist => Bytes, http => Bytes, connections => Number} since the last reset.
read() -> gen_server:call(?MODULE, read).

reset() -> gen_server:call(?MODULE, reset).

%% Webmachine's connection hook, run by the process that serves the connection.
%% A member is told by the port it connects from: the member is asked.
connection(Socket) ->
    case nodes() =/= [] andalso peer(Socket) of
        {ok, Peer} ->
            case member_at(Peer) of
                true ->
                    put(?MODULE, Socket),
                    gen_server:call(?MODULE, {member, plain(Socket)});
                false -> ok
            end;
        _ -> ok
    end.

%% After each request, while the socket is still open.
request(_Socket) ->
    case get(?MODULE) of
        undefined -> ok;
        Socket -> gen_server:call(?MODULE, {sample, plain(Socket)})
    end.

peer({ssl, Socket}) -> ssl:peername(Socket);
peer(Socket) -> inet:peername(Socket).

%% The TCP port below TLS, which counts what is on the wire.
plain({ssl, Socket}) ->
    case element(2, Socket) of
        Fd when is_tuple(Fd) -> hd([P || P <- tuple_to_list(Fd), is_port(P)] ++ [none]);
        _ -> none
    end;
plain(Socket) -> Socket.

member_at(Peer) ->
    lists:any(fun(Node) ->
        try erpc:call(Node, ?MODULE, mine, [Peer], 1000)
        catch _:_ -> false
        end
    end, nodes()).

%% Is this the local end of a connection that this node opened?
mine(Address) ->
    lists:any(fun(Port) ->
        erlang:port_info(Port, name) =:= {name, "tcp_inet"}
            andalso inet:sockname(Port) =:= {ok, Address}
    end, erlang:ports()).

init([]) ->
    erlang:send_after(?DIST_MS, self(), dist),
    {ok, #state{}}.

handle_call(read, _From, State0) ->
    State = http(dist(State0)),
    Answer = #{dist => State#state.sent, http => State#state.http_bytes,
               connections => State#state.connections},
    {reply, Answer, State};
handle_call(reset, _From, State) ->
    {reply, ok, (http(dist(State)))#state{sent = 0, http_bytes = 0, connections = 0}};
handle_call({member, Socket}, _From, State = #state{http = Http, connections = N}) ->
    _ = map_size(Http) =:= 0 andalso erlang:send_after(?HTTP_MS, self(), http),
    {reply, ok, State#state{http = Http#{Socket => 0}, connections = N + 1}};
handle_call({sample, _Socket}, _From, State) -> {reply, ok, http(State)}.

handle_cast(_, State) -> {noreply, State}.

handle_info(dist, State) ->
    erlang:send_after(?DIST_MS, self(), dist),
    {noreply, dist(State)};
handle_info(http, State0) ->
    State = http(State0),
    _ = map_size(State#state.http) > 0 andalso erlang:send_after(?HTTP_MS, self(), http),
    {noreply, State};
handle_info(_, State) -> {noreply, State}.

dist(State = #state{dist = Before, sent = Sent}) ->
    Members = nodes(),
    Now =
        maps:from_list([{Port, Bytes}
                        || {Node, Port} <- erlang:system_info(dist_ctrl), is_port(Port),
                                         lists:member(Node, Members),
                                         {ok, [{send_oct, Bytes}]} <- [inet:getstat(Port,
                                                                                    [send_oct])]]),
    State#state{dist = Now, sent = Sent + grown(Now, Before)}.

%% A connection that has closed is dropped; its last bytes were counted when
%% its last request was done.
http(State = #state{http = Before, http_bytes = Bytes}) ->
    Now =
        maps:from_list([{Port, proplists:get_value(send_oct, S) + proplists:get_value(recv_oct, S)}
                        || Port <- maps:keys(Before), is_port(Port),
                           {ok, S} <- [inet:getstat(Port, [send_oct, recv_oct])]]),
    State#state{http = Now, http_bytes = Bytes + grown(Now, Before)}.

grown(Now, Before) ->
    maps:fold(fun(Port, Bytes, Sum) -> Sum + Bytes - maps:get(Port, Before, 0) end, 0, Now).
