%% @doc The companion's executable: where it is, how it is started, and why it does not start.
%%
%% What a program writes to its error output goes where the VM's own goes, and that is often
%% nowhere. So one that ended before it ever answered is run once more with `--version' and the two
%% outputs joined: what keeps it from starting, such as a C library that is too old for it, shows
%% there as well.
-module(ringtail_companion_program).

-export([executable/0, open/0, write/2, close/1, kill/1, ending/1, failure/1, ask_why/2]).

%% So much of what it says, for so long.
-define(MOST_BYTES, 2000).
-define(WAIT_MS, 5000).
%% What the VM makes of a program that the system does not know how to run.
-define(ENOEXEC, 8).
%% And of what it says, what comes to stand in a line.
-define(MOST_CHARACTERS, 400).

%% @doc Its path: where `{ringtail, companion}' says, else beside the beams, else in the
%% application's priv directory.
-spec executable() -> {ok, file:filename()} | {error, {no_companion, binary()}}.
executable() ->
    Paths = case ringtail_config:companion() of
                undefined -> ringtail_files:places(?MODULE, "ringtail");
                Configured -> [Configured]
            end,
    case [Path || Path <- Paths, filelib:is_regular(Path)] of
        [Path | _] ->
            {ok, Path};
        [] ->
            Tried = [[" ", Path] || Path <- Paths],
            {error, {no_companion, text("put the executable `ringtail' where one of these looks "
                                        "for it:~s; or set {ringtail, companion}", [Tried])}}
    end.

%% @doc Starts it for requests.
-spec open() -> {ok, port(), OsPid :: undefined | integer()} | {error, Why :: binary()}.
open() ->
    case executable() of
        {ok, Path} -> opened(Path, run(Path, ["port"], [stream, use_stdio]));
        {error, {_, Detail}} -> {error, Detail}
    end.

opened(_, {ok, Port}) ->
    {ok, Port, os_pid(Port)};
opened(Path, {error, eacces}) ->
    {error, text("~s cannot be run: this user may not execute it (chmod +x; no noexec mount)",
                 [Path])};
opened(Path, {error, Reason}) ->
    {error, text("~s cannot be run: ~p", [Path, Reason])}.

run(Path, Arguments, Options) ->
    Settings = [{args, Arguments}, binary, exit_status, hide | Options],
    try
        {ok, open_port({spawn_executable, Path}, Settings)}
    catch
        error:Reason -> {error, Reason}
    end.

os_pid(Port) ->
    case erlang:port_info(Port, os_pid) of
        {os_pid, OsPid} -> OsPid;
        undefined -> undefined
    end.

%% @doc Whether its pipe takes this now. A port that is closed takes nothing; why it is comes as a
%% message.
-spec write(port(), iodata()) -> boolean().
write(Port, Bytes) ->
    try
        erlang:port_command(Port, Bytes, [nosuspend])
    catch
        error:badarg -> false
    end.

-spec close(none | port()) -> ok.
close(none) ->
    ok;
close(Port) ->
    _ = try port_close(Port) catch error:badarg -> true end,
    ok.

%% @doc How it ended, in words.
-spec ending(ExitStatus :: non_neg_integer()) -> binary().
ending(Status) when Status > 128 -> text("signal ~w", [Status - 128]);
ending(Status) -> text("exit status ~w", [Status]).

%% @doc Why its port is there no more, in words. It may have closed its pipe before it read what was
%% written; the VM waits for no status then.
-spec failure(Reason :: term()) -> binary().
failure(epipe) -> <<"exit status unknown">>;
failure(Reason) -> text("its port failed: ~p", [Reason]).

%% @doc Ends a program that does not react to anything.
-spec kill(undefined | integer()) -> ok.
kill(undefined) ->
    ok;
kill(OsPid) ->
    _ = os:cmd("kill -KILL " ++ integer_to_list(OsPid)),
    ok.

%% @doc Has a process find out, which sends `{said, Tag, Text}': what the program says, which may be
%% nothing, or `none' where it would start now.
-spec ask_why(pid(), Tag :: term()) -> pid().
ask_why(Owner, Tag) ->
    spawn_link(fun() -> Owner ! {said, Tag, why(executable())} end).

why({ok, Path}) ->
    case run(Path, ["--version"], [stderr_to_stdout]) of
        {ok, Port} -> said(Port, os_pid(Port));
        {error, _} -> none
    end;
why({error, _}) ->
    none.

said(Port, OsPid) ->
    Timer = erlang:start_timer(?WAIT_MS, self(), enough),
    Text = heard(Port, OsPid, Timer, <<>>),
    _ = erlang:cancel_timer(Timer),
    Text.

heard(Port, OsPid, Timer, Bytes) ->
    receive
        {Port, {data, More}} when byte_size(Bytes) + byte_size(More) < ?MOST_BYTES ->
            heard(Port, OsPid, Timer, <<Bytes/binary, More/binary>>);
        {Port, {data, More}} ->
            ended(Port, OsPid, <<Bytes/binary, More/binary>>);
        %% It starts now.
        {Port, {exit_status, 0}} ->
            none;
        {Port, {exit_status, ?ENOEXEC}} when Bytes =:= <<>> ->
            <<"this machine cannot run it: it is built for another one, or damaged">>;
        {Port, {exit_status, _}} ->
            line(Bytes);
        {timeout, Timer, enough} ->
            ended(Port, OsPid, Bytes)
    end.

ended(Port, OsPid, Bytes) ->
    ok = close(Port),
    ok = kill(OsPid),
    line(Bytes).

%% The program may say anything; a line of the log, JSON and HTML are to bear it.
line(Bytes) ->
    Printable = [case Byte >= 32 andalso Byte < 127 of
                     true -> Byte;
                     false -> $\s
                 end || <<Byte>> <= Bytes],
    Text = string:join(string:tokens(Printable, " "), " "),
    list_to_binary(lists:sublist(Text, ?MOST_CHARACTERS)).

text(Format, Arguments) ->
    unicode:characters_to_binary(io_lib:format(Format, Arguments)).
