%% @doc Text for people from the data of the console calls. Pure.
-module(ringtail_render).

-export([lines/1, owners/1, where/5, help/0]).

%% @doc Named values, a line each; or the reason why there are none.
-spec lines([{atom(), term()}] | {error, term()}) -> string().
lines({error, Reason}) ->
    failure(Reason);
lines(Data) ->
    lists:flatten([io_lib:format("~-14s~ts~n", [Name, shown(Name, Value)])
                   || {Name, Value} <- Data, Value =/= []]).

%% @doc The whole map, a line for each partition.
-spec owners([{non_neg_integer(), node()}] | {error, term()}) -> string().
owners({error, Reason}) ->
    failure(Reason);
owners(Owners) ->
    lists:flatten([io_lib:format("~49b  ~s~n", [Index, Node]) || {Index, Node} <- Owners]).

failure({Code, Detail}) -> lists:flatten(io_lib:format("~s: ~ts~n", [Code, Detail])).

shown(snapshot, ok) -> "current";
shown(snapshot, {error, {Code, Detail}}) -> io_lib:format("~s: ~ts", [Code, Detail]);
shown(state, {engine_refused, Code, Detail}) ->
    io_lib:format("not serving, ~s: ~ts", [Code, Detail]);
shown(members, Members) -> list([member(Member) || Member <- Members]);
shown(Name, Nodes) when Name =:= up; Name =:= down ->
    list([binary_to_list(ringtail_json:name(Node)) || Node <- Nodes]);
shown(seeds, Seeds) -> list([binary_to_list(Seed) || Seed <- Seeds]);
shown(endpoints, Endpoints) -> list([ringtail_endpoints:url(Endpoint) || Endpoint <- Endpoints]);
shown(requests, Counts) ->
    list([io_lib:format("~s ~b", [Event, Count]) || {Event, Count} <- Counts, is_integer(Count)]);
shown(clusters, Clusters) -> list([cluster(Cluster) || Cluster <- Clusters]);
shown(problems, Problems) -> list(Problems);
shown(_, Value) when is_binary(Value) -> Value;
shown(_, Value) when is_atom(Value) -> atom_to_list(Value);
shown(_, [C | _] = Value) when is_integer(C) -> Value;
shown(_, Value) -> io_lib:format("~p", [Value]).

member({Node, Status}) ->
    io_lib:format("~s (~s)", [Node, Status]);
member({Node, Uuid, Status, Endpoints}) ->
    io_lib:format("~n  ~s (~s) ~s ~s",
                  [Node, Status, Uuid, list([ringtail_endpoints:url(E) || E <- Endpoints])]).

cluster({Name, Data}) ->
    ["\n  ", Name, "\n", [io_lib:format("    ~-14s~ts~n", [Key, shown(Key, Value)])
                          || {Key, Value} <- Data, Value =/= [], Value =/= undefined]].

list(Items) -> string:join([lists:flatten(Item) || Item <- Items], ", ").

%% @doc One line on where a key lives.
-spec where(ringtail_key_owners:bucket(), binary(), [{non_neg_integer(), node()}],
            Size :: pos_integer(), Up :: [node()]) ->
          string().
where(Bucket, Key, Primaries, Size, Up) ->
    Places =
        [io_lib:format("~s~s (partition ~b)",
                       [Node, down(Node, Up), Index div ((1 bsl 160) div Size)])
         || {Index, Node} <- Primaries],
    lists:flatten(io_lib:format("~ts/~ts is on ~s, of ~b partitions",
                                [bucket(Bucket), text(Key), list(Places), Size])).

down(Node, Up) ->
    case lists:member(Node, Up) of
        true -> "";
        false -> ", which is down"
    end.

bucket({Type, Name}) -> [text(Type), "/", text(Name)];
bucket(Name) -> text(Name).

%% Keys are bytes: what cannot be read as text is shown as an Erlang binary.
text(Bytes) ->
    Characters = unicode:characters_to_list(Bytes, utf8),
    case is_list(Characters) andalso lists:all(fun(C) -> C >= 32 andalso C =/= 127 end,
                                               Characters) of
        true -> Characters;
        false -> io_lib:format("~w", [Bytes])
    end.

-spec help() -> string().
help() ->
    "ringtail:start().                    start; harmless when it runs, waits while the node "
    "boots\n"
    "ringtail:stop().                     stop, and leave the node as it was\n"
    "ringtail:status().                   what it does at present, as data\n"
    "ringtail:print(status).              the same to read\n"
    "ringtail:where({Type, Bucket}, Key). where a key lives, as a line\n"
    "ringtail:primaries(Bucket, Key).     the owners of a key, up or not\n"
    "ringtail:preflist(Bucket, Key).      the preflist from the nodes that are up, with fallbacks\n"
    "ringtail:owners().                   every partition with its owner\n"
    "ringtail:topology().                 token, uuids, members and their endpoints\n"
    "ringtail:compile().                  compile the sources beside the beams for this node's OTP "
    "release\n"
    "ringtail:compile(Directory).         the same for the sources in a directory\n"
    "\n"
    "Bucket is a binary, or {Type, Bucket}; all three are binaries: {<<\"my_type\">>, "
    "<<\"photos\">>}.\n"
    "Where the beams do not load (\"please re-compile this module\"), compile them in the node, in "
    "its patches directory:\n"
    "  D = \"/path/to/patches\", [compile:file(F, [{outdir, D}]) || F <- filelib:wildcard(D ++ "
    "\"/ringtail*.erl\")].\n".
