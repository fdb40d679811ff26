%% @doc What the suites share: where the project is, the recorded vectors, generators of nodes.
-module(ringtail_test_util).

-export([root/0, vectors/1, lines/1, json_file/1, ring_names/0, ring_bytes/1, load/1, hex/1, get/2,
         atom/1, source/1, sources/0]).

%% The directory of rebar.config, found upwards from this module's beam.
root() ->
    up(filename:dirname(filename:absname(code:which(?MODULE)))).

up(Dir) ->
    case filelib:is_regular(filename:join(Dir, "rebar.config"))
        andalso filelib:is_dir(filename:join([Dir, "test", "vectors"])) of
        true -> Dir;
        false when Dir =/= "/" -> up(filename:dirname(Dir))
    end.

%% The path of a source of ours, in whatever room it is; where there is none, of none.
source(Name) ->
    case [Source || Source <- sources(), filename:basename(Source) =:= Name] of
        [Source] -> Source;
        [] -> filename:join([root(), "erl_src", Name])
    end.

sources() ->
    filelib:wildcard(filename:join([root(), "erl_src", "**", "*.erl"])).

vectors(Name) ->
    filename:join([root(), "test", "vectors", Name]).

%% A file of one JSON object per line, decoded.
lines(Name) ->
    {ok, Bytes} = file:read_file(vectors(Name)),
    [mochijson2:decode(Line) || Line <- binary:split(Bytes, <<"\n">>, [global]), Line =/= <<>>].

json_file(Name) ->
    {ok, Bytes} = file:read_file(vectors(Name)),
    mochijson2:decode(Bytes).

ring_names() ->
    [filename:basename(File, ".etf") || File <- filelib:wildcard(vectors("rings/*.etf"))].

ring_bytes(Name) ->
    {ok, Bytes} = file:read_file(vectors(filename:join("rings", Name ++ ".etf"))),
    Bytes.

%% A recorded ring in the engine.
load(Name) ->
    {ok, Ring} = ringtail_engine:load_ring(ring_bytes(Name)),
    known_nodes(Ring, Name).

%% Makes the VM know the recorded ring's nodes; the library never does.
known_nodes(Ring, Name) ->
    Recorded = json_file("rings/" ++ Name ++ ".json"),
    [atom(Node) || [_, Node] <- get(owners, Recorded)],
    [atom(get(node, Member)) || Member <- get(members, Recorded)],
    Ring.

hex(Hex) ->
    << <<(binary_to_integer(<<A, B>>, 16))>> || <<A, B>> <= Hex >>.

get(Key, {struct, Members}) ->
    {_, Value} = lists:keyfind(atom_to_binary(Key, utf8), 1, Members),
    Value.

%% Makes the VM know a node; the library never does.
atom(Name) ->
    binary_to_atom(Name, utf8).
