%% @doc The document of a topology from its canonical form, which docs/topology.md describes: what
%% the engine makes of it, for when the engine is lost. Pure.
-module(ringtail_topology_text).

-export([document/3]).

%% @doc The whole of it, which is a right answer to anybody who asks what has changed as well. `Up'
%% are the names of the nodes that are up.
-spec document(Token :: binary(), Canonical :: binary(), Up :: [binary()]) -> binary().
document(Token, Canonical, Up) ->
    [_, Cluster, Ring | Lines] = binary:split(Canonical, <<"\n">>, [global, trim]),
    [<<"cluster">>, ClusterUuid, ClusterName] = words(Cluster),
    [<<"ring">>, Size, Condition] = words(Ring),
    {MemberLines, [OwnerLine]} = lists:split(length(Lines) - 1, Lines),
    Members = [member(words(Line)) || Line <- MemberLines],
    [<<"owners">> | Owners] = words(OwnerLine),
    ringtail_json:object(
      [{full, true}, {token, Token},
       {cluster, {struct, [{uuid, ClusterUuid}, {name, text(ClusterName)}]}},
       {ring_size, number(Size)}, {resizing, Condition =:= <<"resizing">>},
       {members, [Member || {_, _, Member} <- Members]},
       {owners, {struct, owners(Owners, number(Size), [Uuid || {_, Uuid, _} <- Members])}},
       {up, [Uuid || {Name, Uuid, _} <- Members, lists:member(Name, Up)]}]).

member([<<"member">>, Uuid, Status, Word | Endpoints]) ->
    Name = text(Word),
    {Name, Uuid, {struct, [{uuid, Uuid}, {name, Name}, {status, Status},
                           {endpoints, endpoints(Endpoints)}]}}.

endpoints([Protocol, Host, Port | Others]) ->
    [{struct, [{protocol, Protocol}, {host, text(Host)}, {port, number(Port)}]}
     | endpoints(Others)];
endpoints([]) ->
    [].

%% Owners are numbers of members, from 0 on.
owners(Owners, Size, Uuids) ->
    Members = list_to_tuple(Uuids),
    Increment = (1 bsl 160) div Size,
    [{list_to_binary(integer_to_list(Position * Increment)), element(number(Owner) + 1, Members)}
     || {Position, Owner} <- lists:zip(lists:seq(0, Size - 1), Owners)].

words(Line) ->
    binary:split(Line, <<" ">>, [global]).

number(Word) ->
    list_to_integer(binary_to_list(Word)).

%% A word is never empty: `%' alone is the empty text.
text(<<"%">>) -> <<>>;
text(Word) -> unescaped(Word, <<>>).

unescaped(<<"%", Hex:2/binary, Rest/binary>>, Done) ->
    unescaped(Rest, <<Done/binary, (list_to_integer(binary_to_list(Hex), 16))>>);
unescaped(<<Byte, Rest/binary>>, Done) ->
    unescaped(Rest, <<Done/binary, Byte>>);
unescaped(<<>>, Done) ->
    Done.
