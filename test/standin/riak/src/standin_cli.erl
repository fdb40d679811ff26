%% Test support: the commands of the script test/standin/standin.
-module(standin_cli).
-behaviour(gen_event).

-export([main/0]).
-export([init/1, handle_event/2, handle_call/2]).

main() ->
    try run(init:get_plain_arguments())
    catch
        throw:{usage, Text} -> io:format(standard_error, "standin: ~s~n", [Text]), halt(2);
        error:{standin, Reason} -> io:format(standard_error, "standin: ~0p~n", [Reason]), halt(1)
    end.

run(["start" | Args]) ->
    {Options, State} = options(Args, #{}, default_state()),
    spawn(fun end_with_stdin/0),
    ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
    {ok, C} = standin:start_cluster(Options),
    Nodes = standin:urls(C),
    ok = write_state(State, #{cookie => standin:cookie(C), nodes => [N || {N, _} <- Nodes]}),
    Https = case maps:get(https, Options, false) of
                true -> fun(N) -> [" ", standin:url(C, N, https)] end;
                false -> fun(_) -> "" end
            end,
    [io:format("~s ~s~s~n", [N, Url, Https(N)]) || {N, Url} <- Nodes],
    case standin:tls(C) of
        #{cacertfile := File} ->
            io:format(standard_error, "standin: certificates are signed by ~s~n", [File]);
        _ -> ok
    end,
    persistent_term:put(?MODULE, {C, State}),
    receive stop -> ok end;
run(["rpc" | Args]) ->
    {State, Rest} = case Args of
                        ["--state", File | More] -> {File, More};
                        _ -> {default_state(), Args}
                    end,
    case Rest of
        [Node, Expr] -> rpc(State, Node, Expr);
        _ -> throw({usage, "rpc [--state FILE] NODE 'Expr.'"})
    end;
run(_) -> throw({usage, "start [options] | rpc NODE 'Expr.' (see the head of the script)"}).

options(["--nodes", N | Rest], O, S) -> options(Rest, O#{nodes => number("--nodes", N)}, S);
options(["--names", Names | Rest], O, S) ->
    options(Rest, O#{nodes => string:tokens(Names, ",")}, S);
options(["--ring-size", N | Rest], O, S) ->
    options(Rest, O#{ring_size => number("--ring-size", N)}, S);
options(["--patches", Dir | Rest], O, S) ->
    filelib:is_dir(Dir) orelse throw({usage, "no such directory: " ++ Dir}),
    options(Rest, O#{patches => maps:get(patches, O, []) ++ [filename:absname(Dir)]}, S);
options(["--https" | Rest], O, S) -> options(Rest, O#{https => true}, S);
options(["--port", N | Rest], O, S) ->
    options(Rest, O#{ports => maps:get(ports, O, []) ++ [#{http => number("--port", N)}]}, S);
options(["--type", Spec | Rest], O, S) ->
    options(Rest, O#{types => maps:get(types, O, []) ++ [type(Spec)]}, S);
options(["--env", Spec | Rest], O, S) ->
    options(Rest, O#{env => maps:get(env, O, []) ++ term("--env", Spec)}, S);
options(["--boot-delay", N | Rest], O, S) ->
    options(Rest, O#{boot_delay => number("--boot-delay", N)}, S);
options(["--backend", "leveldb" | Rest], O, S) ->
    options(Rest, O#{backend => riak_kv_eleveldb_backend}, S);
options(["--backend", "bitcask" | Rest], O, S) -> options(Rest, O, S);
options(["--state", File | Rest], O, _) -> options(Rest, O, File);
options([], O, S) -> {O, S};
options([Other | _], _, _) -> throw({usage, "what is " ++ Other ++ "?"}).

number(Name, Text) ->
    try list_to_integer(Text)
    catch error:badarg -> throw({usage, Name ++ " takes a number"})
    end.

%% NAME or NAME=[{n_val, 1}]
type(Spec) ->
    case string:split(Spec, "=") of
        [Name] -> {list_to_binary(Name), []};
        [Name, Props] -> {list_to_binary(Name), term("--type", Props)}
    end.

term(Name, Text) ->
    try
        {ok, Tokens, _} = erl_scan:string(Text ++ "."),
        {ok, Term} = erl_parse:parse_term(Tokens),
        Term
    catch error:_ -> throw({usage, Name ++ " takes an Erlang term"})
    end.

default_state() ->
    os:getenv("STANDIN_STATE",
              filename:join(filename:dirname(filename:dirname(code:which(?MODULE))), "current")).

%% Readable by its owner only: the cookie is a password.
write_state(File, Map) ->
    ok = filelib:ensure_dir(File),
    ok = file:write_file(File, ""),
    ok = file:change_mode(File, 8#600),
    file:write_file(File, io_lib:format("~0p.~n", [Map])).

rpc(File, Name, Expr) ->
    case file:consult(File) of
        {ok, [#{cookie := Cookie, nodes := Nodes}]} ->
            case [N || N <- Nodes, matches(Name, atom_to_list(N))] of
                [Node | _] ->
                    ok = standin:ensure_distributed(),
                    erlang:set_cookie(Node, Cookie),
                    print(catch_rpc(Node, dotted(Expr)));
                [] ->
                    throw({usage,
                           "no node " ++ Name ++ "; there are: "
                               ++ string:join([atom_to_list(N) || N <- Nodes], ", ")})
            end;
        {error, _} -> throw({usage, "no cluster is running (no " ++ File ++ ")"})
    end.

matches(Name, Full) -> Name =:= Full orelse hd(string:split(Full, "@")) =:= Name.

dotted(Expr) ->
    case lists:suffix(".", string:trim(Expr)) of
        true -> Expr;
        false -> Expr ++ "."
    end.

catch_rpc(Node, Expr) ->
    try {ok, erpc:call(Node, standin_node, eval, [Expr], 120000)}
    catch Class:Reason -> {failed, Class, Reason}
    end.

print({ok, Value}) -> io:format("~p~n", [Value]), halt(0);
print({failed, Class, Reason}) ->
    io:format(standard_error, "standin: ~p: ~p~n", [Class, Reason]),
    halt(1).

%% Closed input ends the cluster, and so does TERM. However this emulator ends,
%% the nodes do; this way their files go too.
end_with_stdin() ->
    Port = open_port({fd, 0, 1}, [in, eof, binary]),
    wait(Port).

wait(Port) ->
    receive
        {Port, eof} -> finish();
        {Port, _} -> wait(Port)
    end.

finish() ->
    case persistent_term:get(?MODULE, none) of
        {C, State} -> standin:stop_cluster(C), file:delete(State);
        none -> ok
    end,
    halt(0).

%% In place of the emulator's own handler of signals.
init(_) -> {ok, none}.

handle_event(sigterm, State) ->
    spawn(fun finish/0),
    {ok, State};
handle_event(_, State) -> {ok, State}.

handle_call(_, State) -> {ok, ok, State}.
