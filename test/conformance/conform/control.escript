#!/usr/bin/env escript
%%! +sbwt none -kernel logger_level error
%% Keeps a stand-in cluster for the Python cases: evaluates one line of Erlang at a time, where C is
%% the cluster, and answers with one line that begins with a control character, after whatever the
%% expression wrote. The cluster ends with its standard input.
main([Ebin]) ->
    true = code:add_patha(Ebin),
    ok = io:setopts(standard_io, [{encoding, utf8}]),
    loop().

loop() ->
    case io:get_line("") of
        eof -> finish();
        {error, _} -> finish();
        Line ->
            {Kind, Value} = evaluate(Line),
            io:format("~c~s ~s~n", [1, Kind, one_line(Value)]),
            loop()
    end.

finish() ->
    case get(cluster) of
        undefined -> ok;
        Cluster -> standin:stop_cluster(Cluster)
    end,
    halt(0).

evaluate(Line) ->
    try
        {ok, Tokens, _} = erl_scan:string(Line),
        {ok, Expressions} = erl_parse:parse_exprs(Tokens),
        {value, Value, _} = erl_eval:exprs(Expressions, [{'C', get(cluster)}]),
        {ok, Value}
    catch
        Class:Reason -> {failed, {Class, Reason}}
    end.

%% As ~p prints it, in ASCII and without line ends: Python undoes the escapes.
one_line(Value) ->
    Text = unicode:characters_to_binary(io_lib:format("~tp", [Value])),
    [escape(Byte) || <<Byte>> <= Text].

escape($\\) -> "\\\\";
escape($\n) -> "\\n";
escape(Byte) when Byte < 32; Byte > 126 -> io_lib:format("\\x~2.16.0b", [Byte]);
escape(Byte) -> Byte.
