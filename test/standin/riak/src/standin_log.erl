%% Test support: an append-only log of terms, one file a partition. Written
%% without syncing: what a killed process has written, the system still has.
%% A log that has outgrown its live content is written anew.
-module(standin_log).

-export([open/3, write/2, compact/2, close/1, indices/1]).

-record(log, {file, fd, size}).

-define(COMPACT_BYTES, (32 * 1024 * 1024)).

%% A data directory of undefined means: nothing is kept.
open(undefined, _Index, _Replay) -> none;
open(Dir, Index, Replay) ->
    File = filename:join(Dir, integer_to_list(Index) ++ ".log"),
    ok = filelib:ensure_dir(File),
    case file:read_file(File) of
        {ok, Bin} -> replay(Bin, Replay);
        {error, enoent} -> ok
    end,
    {ok, Fd} = file:open(File, [append, raw, binary]),
    #log{file = File, fd = Fd, size = counters:new(2, [])}.

%% A node killed while writing leaves half an entry, which is dropped.
replay(<<Size:32, Bin:Size/binary, Rest/binary>>, Fun) ->
    Fun(binary_to_term(Bin)),
    replay(Rest, Fun);
replay(_, _Fun) -> ok.

write(none, _Term) -> ok;
write(#log{fd = Fd, size = Size}, Term) ->
    Bin = term_to_iovec(Term),
    Bytes = iolist_size(Bin),
    counters:add(Size, 1, Bytes),
    ok = file:write(Fd, [<<Bytes:32>> | Bin]).

compact(none, _Rewrite) -> none;
compact(Log = #log{size = Size}, Rewrite) ->
    Limit = max(?COMPACT_BYTES, 2 * counters:get(Size, 2)),
    case counters:get(Size, 1) > Limit of
        false -> Log;
        true -> rewrite(Log, Rewrite)
    end.

rewrite(#log{file = File, fd = Fd}, Rewrite) ->
    Temp = File ++ ".tmp",
    {ok, New} = file:open(Temp, [write, raw, binary]),
    Log = #log{file = File, fd = New, size = counters:new(2, [])},
    Rewrite(fun(Term) -> write(Log, Term) end),
    ok = file:rename(Temp, File),
    ok = file:close(Fd),
    counters:put(Log#log.size, 2, counters:get(Log#log.size, 1)),
    Log.

close(none) -> ok;
close(#log{fd = Fd}) -> file:close(Fd).

%% Partitions for which there is a log.
indices(undefined) -> [];
indices(Dir) ->
    [list_to_integer(filename:basename(F, ".log"))
     || F <- filelib:wildcard(filename:join(Dir, "*.log"))].
