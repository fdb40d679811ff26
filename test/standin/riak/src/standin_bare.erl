%% Test support: a VM that has webmachine and no Riak, as a tool beside the
%% cluster has it: an OS process of its own, with a listener on loopback. Only
%% webmachine, mochiweb and the given patches are on its code path.
%%
%%   {ok, Vm} = standin_bare:start(#{patches => [Dir],
%%                                   env => [{some_app, [{key, value}]}]}),
%%   Url = standin_bare:url(Vm),
%%   ok = standin_bare:stop(Vm).
-module(standin_bare).

-export([start/1, stop/1, kill/1, url/1, rpc/4, os_pid/1]).
-export([main/1]).

-define(BOOT_MS, 60000).

%% --- from a suite ---

start(Options) ->
    ok = standin:ensure_distributed(),
    Caller = self(),
    {Holder, Monitor} = spawn_monitor(fun() -> hold(Caller, Options) end),
    receive
        {Holder, Vm} ->
            erlang:demonitor(Monitor, [flush]),
            {ok, Vm#{holder => Holder}};
        {'DOWN', Monitor, _, _, Why} ->
            error({standin, Why})
    end.

url(#{port := Port}) -> "http://127.0.0.1:" ++ integer_to_list(Port).

%% The value, or the error of the call as an exception.
rpc(#{node := Node, cookie := Cookie}, M, F, A) ->
    erlang:set_cookie(Node, Cookie),
    erpc:call(Node, M, F, A).

os_pid(Vm) -> rpc(Vm, os, getpid, []).

%% Leaves no process and no file behind.
stop(Vm) -> ended(Vm, stop).

%% SIGKILL.
kill(Vm) -> ended(Vm, kill).

ended(#{holder := Holder}, How) ->
    Monitor = monitor(process, Holder),
    Holder ! How,
    receive {'DOWN', Monitor, _, _, _} -> ok end.

%% --- the process that holds it ---

hold(Caller, Options) ->
    Unique = os:getpid() ++ "x" ++ integer_to_list(erlang:unique_integer([positive])),
    Dir = filename:join(os:getenv("TMPDIR", "/tmp"), "standin-bare-" ++ Unique),
    Node = list_to_atom("bare" ++ Unique ++ "@127.0.0.1"),
    Cookie = list_to_atom("standin" ++ Unique),
    Spec = #{name => Node, cookie => Cookie, dir => Dir, main => ?MODULE,
             args => maps:get(args, Options, []),
             path => maps:get(patches, Options, []) ++ [webmachine(Dir) | mochiweb()],
             config => #{env => maps:get(env, Options, []), port => maps:get(port, Options, 0)}},
    Port = standin_os:start(Spec),
    try
        Listener = listening(Port, []),
        Caller ! {self(), #{node => Node, cookie => Cookie, port => Listener, dir => Dir}},
        wait(Port)
    after
        standin_os:kill(Port),
        receive {Port, {exit_status, _}} -> ok after 5000 -> ok end,
        file:del_dir_r(Dir)
    end.

listening(Port, Said) ->
    receive
        {Port, {data, {_, "standin: listening " ++ Number}}} -> list_to_integer(Number);
        {Port, {data, {_, Line}}} -> listening(Port, [Line | Said]);
        {Port, {exit_status, Status}} -> exit({not_started, Status, lists:reverse(Said)})
    after ?BOOT_MS -> exit({not_started, in_time, lists:reverse(Said)})
    end.

%% A suite's processes come and go; the VM stays until it is stopped, or until
%% this emulator ends and its standard input closes.
wait(Port) ->
    receive
        stop -> standin_os:close(Port);
        kill -> ok;
        {Port, {exit_status, _}} -> wait(Port);
        {Port, {data, {_, Line}}} ->
            logger:notice("bare VM: ~ts", [Line]),
            wait(Port)
    end.

%% The stand-in's Riak lies in the same directory as its webmachine, so what
%% this VM may have is copied out.
webmachine(Dir) ->
    Ours = filename:dirname(code:which(?MODULE)),
    Ebin = filename:join(Dir, "ebin"),
    Files = filelib:wildcard("webmachine*", Ours) ++ ["wrq.beam", atom_to_list(?MODULE) ++ ".beam"],
    [begin
         To = filename:join(Ebin, File),
         ok = filelib:ensure_dir(To),
         {ok, _} = file:copy(filename:join(Ours, File), To)
     end || File <- Files],
    Ebin.

mochiweb() -> [filename:dirname(W) || W <- [code:which(mochiweb)], is_list(W)].

%% --- in the VM ---

%% The file holds one map: #{env => [{App, [{Key, Value}]}], port => Port}.
main([File]) ->
    spawn(fun() ->
                  Stdin = open_port({fd, 0, 1}, [in, eof, binary]),
                  receive {Stdin, eof} -> halt(0) end
          end),
    {ok, [#{env := Env, port := Port}]} = file:consult(File),
    [begin
         _ = application:load(App),
         [application:set_env(App, K, V) || {K, V} <- Values]
     end || {App, Values} <- Env],
    [{ok, _} = application:ensure_all_started(App) || App <- [inets, ssl, webmachine]],
    {ok,
     Listener} =
         webmachine_mochiweb:start([{name, "bare"}, {ip, "127.0.0.1"}, {port, Port},
                                    {nodelay, true},
                                    {backlog, 512}, {dispatch, []}]),
    unlink(Listener),
    io:format("standin: listening ~b~n", [mochiweb_socket_server:get(Listener, port)]).
