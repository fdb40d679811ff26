%% @doc A scripted HTTP server: for each request a fun says what goes over the wire. Requests are
%% read by OTP's own parser and not by ours.
%%
%% The script gets a map (n: how many requests came before over all connections, conn: the same for
%% connections, method, path, headers in lower case) and returns a list of: `{send, Iodata}',
%% `{send_many, Count, Iodata}', `read_body',
%% `{read, Bytes}', `{sleep, Ms}', `hang', `close', `reset', `{tell, Pid, Term}'. At its end the
%% connection stays open for the next request. `read_body' stores how many bytes came, and their
%% hash: see bodies/1.
-module(ringtail_test_server).

-export([start/1, start/2, stop/1, port/1, requests/1, accepted/1, open/1, bodies/1]).
-export([ok/1, ok/2]).

start(Script) -> start(Script, gen_tcp, []).
start(Script, SslOptions) -> start(Script, ssl, SslOptions).

start(Script, Module, Options) ->
    Self = self(),
    Pid = spawn(fun() ->
                        Table = ets:new(?MODULE, [public, ordered_set]),
                        ets:insert(Table, [{requests, 0}, {accepted, 0}, {open, 0}]),
                        {ok, Listen} = Module:listen(0,
                                                     [binary, {active, false}, {reuseaddr, true},
                                                      {backlog, 512},
                                                      {ip, {127, 0, 0, 1}}, {nodelay,
                                                                             true} | Options]),
                        {ok, {_, Port}} = case Module of gen_tcp -> inet:sockname(Listen); ssl ->
                                                  ssl:sockname(Listen) end,
                        Self ! {self(), Table, Port},
                        Acceptor = spawn_link(fun() -> accept(Module, Listen, Table, Script) end),
                        process_flag(trap_exit, true),
                        receive stop -> ok end,
                        exit(Acceptor, kill),
                        Module:close(Listen)
                end),
    receive {Pid, Table, Port} -> {Pid, Table, Port} end.

%% Kills every connection too, as a killed node would.
stop({Pid, _, _}) ->
    Ref = monitor(process, Pid),
    Pid ! stop,
    receive {'DOWN', Ref, process, Pid, _} -> ok end.

port({_, _, Port}) -> Port.
requests({_, Table, _}) -> ets:lookup_element(Table, requests, 2).
accepted({_, Table, _}) -> ets:lookup_element(Table, accepted, 2).
open({_, Table, _}) -> ets:lookup_element(Table, open, 2).
bodies({_, Table, _}) -> [Body || {{body, _}, Body} <- ets:tab2list(Table)].

ok(Body) -> ok(Body, []).
ok(Body, Headers) ->
    ["HTTP/1.1 200 OK\r\n", [[N, ": ", V, "\r\n"] || {N, V} <- Headers],
     "Content-Length: ", integer_to_list(iolist_size(Body)), "\r\n\r\n", Body].

accept(Module, Listen, Table, Script) ->
    case Module of
        gen_tcp ->
            {ok, Socket} = gen_tcp:accept(Listen),
            serve(Module, Socket, Table, Script);
        ssl ->
            {ok, Transport} = ssl:transport_accept(Listen),
            spawn_handshake(Transport, Table, Script)
    end,
    accept(Module, Listen, Table, Script).

serve(Module, Socket, Table, Script) ->
    Conn = ets:update_counter(Table, accepted, 1) - 1,
    Worker = spawn_link(fun() ->
                                receive go -> ok end,
                                ets:update_counter(Table, open, 1),
                                watch(Table),
                                loop(Module, Socket, Table, Script, Conn)
                        end),
    ok = Module:controlling_process(Socket, Worker),
    Worker ! go.

spawn_handshake(Transport, Table, Script) ->
    Worker = spawn_link(fun() ->
                                receive go -> ok end,
                                case ssl:handshake(Transport, 60000) of
                                    {ok, Socket} ->
                                        Conn = ets:update_counter(Table, accepted, 1) - 1,
                                        ets:update_counter(Table, open, 1),
                                        watch(Table),
                                        loop(ssl, Socket, Table, Script, Conn);
                                    {error, _} -> ok
                                end
                        end),
    ok = ssl:controlling_process(Transport, Worker),
    Worker ! go.

watch(Table) ->
    Worker = self(),
    spawn(fun() ->
                  Ref = monitor(process, Worker),
                  receive {'DOWN', Ref, _, _, _} -> catch ets:update_counter(Table, open, -1) end
          end).

loop(Module, Socket, Table, Script, Conn) ->
    setopts(Module, Socket, [{packet, http_bin}]),
    case Module:recv(Socket, 0) of
        {ok, {http_request, Method, {abs_path, Path}, _}} ->
            setopts(Module, Socket, [{packet, httph_bin}]),
            Headers = headers(Module, Socket),
            setopts(Module, Socket, [{packet, raw}]),
            N = ets:update_counter(Table, requests, 1) - 1,
            Request = #{n => N, conn => Conn, method => name(Method), path => Path,
                        headers => Headers},
            case play(Script(Request), Module, Socket, Table, Request) of
                next -> loop(Module, Socket, Table, Script, Conn);
                over -> ok
            end;
        {error, _} ->
            ok
    end.

headers(Module, Socket) ->
    case Module:recv(Socket, 0) of
        {ok, http_eoh} -> [];
        {ok, {http_header, _, Name, _, Value}} ->
            [{string:lowercase(name(Name)), Value} | headers(Module, Socket)]
    end.

play([], _, _, _, _) ->
    next;
play([close | _], Module, Socket, _, _) ->
    Module:close(Socket),
    over;
play([reset | _], gen_tcp, Socket, _, _) ->
    inet:setopts(Socket, [{linger, {true, 0}}]),
    gen_tcp:close(Socket),
    over;
play([hang | _], Module, Socket, _, _) ->
    %% Reads nothing more; ends with the client or the server.
    setopts(Module, Socket, [{active, false}]),
    timer:sleep(infinity);
play([Step | Steps], Module, Socket, Table, Request) ->
    case step(Step, Module, Socket, Table, Request) of
        ok -> play(Steps, Module, Socket, Table, Request);
        {error, _} -> over
    end.

step({send, Data}, Module, Socket, _, _) -> Module:send(Socket, Data);
step({send_many, 0, _}, _, _, _, _) -> ok;
step({send_many, Count, Data}, Module, Socket, Table, Request) ->
    case Module:send(Socket, Data) of
        ok -> step({send_many, Count - 1, Data}, Module, Socket, Table, Request);
        Error -> Error
    end;
step({sleep, Ms}, _, _, _, _) -> timer:sleep(Ms);
step({tell, Pid, Term}, _, _, _, _) -> Pid ! Term, ok;
step({read, Bytes}, Module, Socket, _, _) ->
    case Module:recv(Socket, Bytes) of {ok, _} -> ok; Error -> Error end;
step(read_body, Module, Socket, Table, #{n := N, headers := Headers}) ->
    Hash = crypto:hash_init(sha),
    Read = case proplists:get_value(<<"transfer-encoding">>, Headers) of
               <<"chunked">> -> read_chunks(Module, Socket, 0, Hash);
               undefined ->
                   read_length(Module, Socket,
                               binary_to_integer(proplists:get_value(<<"content-length">>,
                                                                     Headers)), 0, Hash)
           end,
    case Read of
        {ok, Size, Hash1} -> ets:insert(Table, {{body, N}, {Size, crypto:hash_final(Hash1)}}), ok;
        Error -> Error
    end.

read_length(_, _, 0, Size, Hash) -> {ok, Size, Hash};
read_length(Module, Socket, Left, Size, Hash) ->
    case Module:recv(Socket, min(Left, 65536)) of
        {ok, D} ->
            read_length(Module, Socket, Left - byte_size(D), Size + byte_size(D),
                        crypto:hash_update(Hash, D));
        Error -> Error
    end.

read_chunks(Module, Socket, Size, Hash) ->
    setopts(Module, Socket, [{packet, line}]),
    case Module:recv(Socket, 0) of
        {ok, Line} ->
            setopts(Module, Socket, [{packet, raw}]),
            case binary_to_integer(string:trim(Line), 16) of
                0 -> {ok, <<"\r\n">>} = Module:recv(Socket, 2), {ok, Size, Hash};
                Length ->
                    case read_length(Module, Socket, Length, Size, Hash) of
                        {ok, Size1, Hash1} ->
                            {ok, <<"\r\n">>} = Module:recv(Socket, 2),
                            read_chunks(Module, Socket, Size1, Hash1);
                        Error -> Error
                    end
            end;
        Error -> Error
    end.

setopts(gen_tcp, Socket, Options) -> inet:setopts(Socket, Options);
setopts(ssl, Socket, Options) -> ssl:setopts(Socket, Options).

name(V) when is_atom(V) -> atom_to_binary(V, latin1);
name(V) -> V.
