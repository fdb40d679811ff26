%% @doc What the suites of the hop share: a pool and scripted servers for each case, which must leave no socket behind; bodies as
%% wrq:stream_req_body/2 gives them; requests by either scheme; what they took in memory.
-module(ringtail_forward_case).

-include_lib("stdlib/include/assert.hrl").

-export([refusal/0, init_per_suite/1, end_per_suite/1, init_per_testcase/2, end_per_testcase/2, stop_pool/1, server/1,
         started/1, https/3, file/2, forward/3, forward/4, get_/1, put_/2, sget/2, sput/3, read/1, drain/1, hashed/2,
         hashed/4, body/1, repeated_hash/2, pieces/1, pieces/2, endless/1, piece/0, watched/2, measured/1, stats/1,
         limits/1, sockets/0, sockets_to/1, wait_until/1, wait_until/2]).

init_per_suite(Config) ->
    {ok, _} = application:ensure_all_started(ssl),
    Dir = proplists:get_value(priv_dir, Config),
    certificate(Dir, "ca", ""),
    certificate(Dir, "other", ""),
    certificate(Dir, "node", " -CA ca.pem -CAkey ca.key"),
    [{dir, Dir} | Config].

end_per_suite(_) ->
    ok.

%% Every case must leave no port behind but those of ssl's and CT's own.
init_per_testcase(Case, Config) ->
    application:unset_env(ringtail, forward),
    application:unset_env(ringtail, forward_ssl),
    application:unset_env(riak_core, ssl),
    Before = sockets(),
    {ok, Sup} = ringtail_forward_sup:start_link(),
    unlink(Sup),
    erase(mochiweb_request_force_close),
    [{before, Before}, {sup, Sup}, {'case', Case} | Config].

end_per_testcase(_, Config) ->
    stop_pool(proplists:get_value(sup, Config)),
    [ringtail_test_server:stop(S) || S <- case erase(servers) of undefined -> []; Servers -> Servers end],
    try wait_until(fun() -> sockets() -- proplists:get_value(before, Config) =:= [] end)
    catch error:_ -> {fail, {sockets_left, sockets() -- proplists:get_value(before, Config)}}
    end.

stop_pool(Sup) ->
    Ref = monitor(process, Sup),
    exit(Sup, shutdown),
    receive {'DOWN', Ref, _, _, _} -> ok end.


server(Script) -> started(ringtail_test_server:start(Script)).

%% To be stopped at the end of the case, which runs in the same process.
started(S) ->
    put(servers, [S | case get(servers) of undefined -> []; Others -> Others end]),
    S.

https(Config, Name, Script) ->
    started(ringtail_test_server:start(Script, [{certfile, file(Config, Name ++ ".pem")}, {keyfile, file(Config, Name ++ ".key")}])).

file(Config, Name) -> filename:join(proplists:get_value(dir, Config), Name).

certificate(Dir, Name, By) ->
    Key = "openssl req -newkey rsa:2048 -nodes -subj /CN=riak@" ++ Name ++ " -keyout " ++ Name ++ ".key -out " ++ Name ++ ".csr",
    Sign = case By of
               "" -> "openssl req -x509 -days 2 -key " ++ Name ++ ".key -in " ++ Name ++ ".csr -out " ++ Name ++ ".pem";
               _ -> "openssl x509 -req -days 2 -set_serial 1 -in " ++ Name ++ ".csr -out " ++ Name ++ ".pem" ++ By
           end,
    Out = os:cmd("cd '" ++ Dir ++ "' && (" ++ Key ++ " && " ++ Sign ++ ") 2>&1"),
    filelib:file_size(filename:join(Dir, Name ++ ".pem")) > 0 orelse ct:fail("openssl: ~s", [Out]).

forward(S, Request, Opts) -> forward(http, S, Request, Opts).
forward(Scheme, S, Request, Opts) ->
    ringtail_forward:forward({Scheme, "127.0.0.1", ringtail_test_server:port(S)}, Request, Opts).

get_(S) -> forward(S, {"GET", "/x", [], none}, []).
put_(S, Body) -> forward(S, {"PUT", "/x", [], Body}, []).
sget(S, Opts) -> forward(https, S, {"GET", "/x", [], none}, Opts).
sput(S, Body, Opts) -> forward(https, S, {"PUT", "/x", [], Body}, Opts).

read({stream, Length, Next}) -> {stream, Length, iolist_to_binary(drain(Next))};
read(Body) -> Body.

drain(Next) ->
    case Next() of
        {Data, done} -> [Data];
        {Data, Next1} -> [Data | drain(Next1)]
    end.

hashed(Next, Watch) -> hashed(Next, Watch, 0, crypto:hash_init(sha)).
hashed(Next, Watch, Size0, Hash0) ->
    {Data, Next1} = Next(),
    Watch(),
    Size = Size0 + iolist_size(Data),
    Hash = crypto:hash_update(Hash0, Data),
    case Next1 of
        done -> {Size, crypto:hash_final(Hash)};
        _ -> hashed(Next1, Watch, Size, Hash)
    end.

%% What a node answers to a body it will not take.
refusal() -> "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig".

body(Bytes) -> {byte_size(Bytes), crypto:hash(sha, Bytes)}.

repeated_hash(Times, Piece) ->
    crypto:hash_final(lists:foldl(fun(_, H) -> crypto:hash_update(H, Piece) end, crypto:hash_init(sha), lists:seq(1, Times))).

%% Bodies as wrq:stream_req_body/2 gives them.
pieces(List) -> pieces(List, fun() -> ok end).
pieces([Last], Before) -> fun() -> Before(), {Last, done} end;
pieces([Piece | More], Before) -> fun() -> Before(), {Piece, pieces(More, Before)} end.

endless(Size) when Size =< 65536 -> fun() -> {binary:part(binary:copy(piece()), 0, Size), done} end;
endless(Size) -> fun() -> {binary:copy(piece()), endless(Size - 65536)} end.

piece() ->
    case persistent_term:get(?MODULE, undefined) of
        undefined -> P = crypto:strong_rand_bytes(65536), persistent_term:put(?MODULE, P), P;
        P -> P
    end.

watched(Read, Watch) ->
    fun() -> Watch(), case Read() of {D, done} -> {D, done}; {D, Next} -> {D, watched(Next, Watch)} end end.

%% Runs in a process of its own, of which the most memory, heap and binaries, at any call of Watch is returned too.
measured(Fun) ->
    Self = self(),
    {_, Ref} = spawn_monitor(
                 fun() ->
                         put(peak, 0),
                         Watch = fun() ->
                                         [{memory, Heap}, {binary, Binaries}] = process_info(self(), [memory, binary]),
                                         Bytes = lists:sum([Size || {_, Size, _} <- lists:ukeysort(1, Binaries)]),
                                         put(peak, max(get(peak), Heap + Bytes))
                                 end,
                         Result = Fun(Watch),
                         Self ! {self(), Result},
                         exit({peak, get(peak)})
                 end),
    receive {'DOWN', Ref, process, Pid, {peak, Peak}} ->
            ?assert(Peak > 0),
            receive {Pid, {A, B}} -> {A, B, Peak}; {Pid, Result} -> {Result, Peak} end;
            {'DOWN', Ref, process, _, Why} -> ct:fail(Why)
    end.

stats(Names) ->
    Stats = ringtail_forward_pool:stats(),
    [proplists:get_value(Name, Stats, 0) || Name <- Names].

limits(Limits) -> application:set_env(ringtail, forward, Limits).

sockets() -> [P || P <- erlang:ports(), erlang:port_info(P, name) =:= {name, "tcp_inet"}].

sockets_to(S) ->
    Port = ringtail_test_server:port(S),
    length([P || P <- sockets(), {ok, {_, To}} <- [inet:peername(P)], To =:= Port]).

wait_until(Condition) -> wait_until(Condition, 500).
wait_until(Condition, 0) -> ?assert(Condition());
wait_until(Condition, N) ->
    Condition() orelse begin timer:sleep(10), wait_until(Condition, N - 1) end.
