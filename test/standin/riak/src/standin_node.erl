%% Test support: start and end of a stand-in node (an OS process of its own),
%% and what its controller asks of it.
-module(standin_node).

-export([main/1, eval/1, ports/0]).

%% The file holds one map: #{env => [{App, [{Key, Value}]}], boot_delay => Ms}.
main([File]) ->
    spawn(fun end_with_stdin/0),
    try boot(File)
    catch Class:Reason:Stack ->
        io:format("standin: failed ~0p~n", [{Class, Reason, Stack}]),
        halt(1)
    end.

boot(File) ->
    {ok, [#{env := Env, boot_delay := Delay}]} = file:consult(File),
    [begin
         _ = application:load(App),
         [application:set_env(App, K, V) || {K, V} <- Values]
     end || {App, Values} <- Env],
    application:set_env(webmachine, connection_hook, {standin_traffic, connection}),
    application:set_env(webmachine, request_hook, {standin_traffic, request}),
    [{ok, _} = application:ensure_all_started(App)
     || App <- [inets, ssl, webmachine, riak_core, riak_api]],
    io:format("standin: listening ~0p~n", [ports()]),
    timer:sleep(Delay),
    ok = standin_app:boot(),
    {ok, _} = application:ensure_all_started(riak_kv),
    io:format("standin: ready~n", []).

%% Whoever started this node holds its standard input. When that closes, be it
%% because the controller was killed, the node must not stay behind.
end_with_stdin() ->
    Port = open_port({fd, 0, 1}, [in, eof, binary]),
    wait_for_eof(Port).

wait_for_eof(Port) ->
    receive
        {Port, eof} -> halt(0);
        {Port, _} -> wait_for_eof(Port)
    end.

ports() ->
    [{Scheme, Port}
     || Scheme <- [http, https, pb], {_, Port} <- app_helper:get_env(riak_api, Scheme, [])].

%% For a shell: the value of Erlang expressions given as text.
eval(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    {value, Value, _} = erl_eval:exprs(Exprs, erl_eval:new_bindings()),
    Value.
