%% Test support: stand-in nodes as OS processes, seen from their controller.
%% A node's standard input is held by the calling process: when that ends, or
%% the whole controller is killed, the node ends too.
-module(standin_os).

-export([start/1, kill/1, close/1, os_pid/1]).

%% Spec: #{name, cookie, dir, path (code path, first first), config (a map),
%% args (more of the emulator's, as strings), main (the module that starts it,
%% standin_node)}. Returns the port; lines it
%% prints and {exit_status, _} come to the caller as messages.
start(#{name := Name, cookie := Cookie, dir := Dir, path := Path, config := Config} = Spec) ->
    File = filename:join(Dir, "node.config"),
    ok = filelib:ensure_dir(File),
    ok = file:write_file(File, io_lib:format("~0p.~n", [Config])),
    Args = ["-noinput", "-name", atom_to_list(Name), "-setcookie", atom_to_list(Cookie),
            "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
            "-kernel", "prevent_overlapping_partitions", "false",
            "-kernel", "logger_level", "warning",
            "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none", "+K", "true"]
        ++ maps:get(args, Spec, [])
        ++ ["-pa" | lists:reverse(Path)]
            ++ ["-run", atom_to_list(maps:get(main, Spec, standin_node)), "main", File],
    %% Of several directories of one -pa the last comes first.
    Erl = filename:join([code:root_dir(), "bin", "erl"]),
    open_port({spawn_executable, Erl},
              [{args, Args}, {cd, Dir}, {line, 1000}, exit_status, stderr_to_stdout, hide,
               {env, [{"ERL_CRASH_DUMP", "/dev/null"}, {"ERL_FLAGS", false}, {"ERL_AFLAGS", false},
                      {"ERL_ZFLAGS", false}, {"ERL_LIBS", false}]}]).

os_pid(Port) ->
    case erlang:port_info(Port, os_pid) of
        {os_pid, Pid} -> Pid;
        undefined -> undefined
    end.

%% As the power cord would.
kill(Port) ->
    case os_pid(Port) of
        undefined -> ok;
        Pid -> os:cmd("kill -9 " ++ integer_to_list(Pid)), ok
    end.

%% Closes its standard input, at which it ends by itself.
close(Port) ->
    catch port_close(Port),
    ok.
