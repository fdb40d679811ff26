%% @doc The rules of DESIGN section 3 in plain Erlang, written from Riak's definitions and not from
%% the Rust code, with no thought of speed: a ring is the list of its owners, everything else is
%% integer arithmetic and list walking.
-module(ringtail_model).

-export([ring/2, term/1, legacy_term/1, owners/1, hash/4, primaries/3, preflist/4, position/2]).
-export_type([ring/0]).

-type ring() :: {Size :: pos_integer(), [node()]}.

-define(SPACE, (1 bsl 160)).

%% A ring of this size whose partitions belong to these nodes, one each.
-spec ring(pos_integer(), [node()]) -> ring().
ring(Size, Nodes) when length(Nodes) =:= Size ->
    {Size, Nodes}.

increment(Size) ->
    ?SPACE div Size.

%% [{Index, Node}]
owners({Size, Nodes}) ->
    Increment = increment(Size),
    {Owners, Size} = lists:mapfoldl(fun(Node, I) -> {{I * Increment, Node}, I + 1} end, 0, Nodes),
    Owners.

%% The ring as riak_core holds it.
term({Size, Nodes} = Ring) ->
    Members = lists:usort(Nodes),
    [First | _] = Members,
    VClock = [{First, {Size, 63000000000}}],
    {chstate_v2, First, VClock, {Size, owners(Ring)}, dict:new(), {First, {1, 2, 3}}, [],
     [{Node, {valid, VClock, [{gossip_vsn, 2}]}} || Node <- Members], First, [{First, VClock}],
     VClock}.

legacy_term({Size, [First | _]} = Ring) ->
    {chstate, First, [{First, {Size, 63000000000}}], {Size, owners(Ring)}, dict:new()}.

hash(Type, Bucket, Key, Keyfun) ->
    Name = case Type of
               <<"default">> -> Bucket;
               _ -> {Type, Bucket}
           end,
    Term = case Keyfun of
               std -> {Name, Key};
               bucketonly -> Name
           end,
    <<Hash:160>> = crypto:hash(sha, term_to_binary(Term)),
    Hash.

%% The first primary's position: the partition after the one the hash falls into.
position({Size, _}, Hash) ->
    (Hash div increment(Size) + 1) rem Size.

successors({Size, _} = Ring, Hash) ->
    {Before, From} = lists:split(position(Ring, Hash), owners(Ring)),
    Size = length(Before) + length(From),
    From ++ Before.

primaries(Ring, Hash, N) ->
    lists:sublist(successors(Ring, Hash), N).

preflist(Ring, Hash, N, Up) ->
    {Primaries, Others} = lists:split(N, successors(Ring, Hash)),
    IsUp = fun(Node) -> lists:member(Node, Up) end,
    {Answering, Silent} = lists:partition(fun({_, Node}) -> IsUp(Node) end, Primaries),
    StandIns = [Node || {_, Node} <- Others, IsUp(Node)],
    Pairs = min(length(Silent), length(StandIns)),
    [{Entry, primary} || Entry <- Answering]
        ++ [{{Index, Node}, fallback}
            || {{Index, _}, Node} <- lists:zip(lists:sublist(Silent, Pairs),
                                               lists:sublist(StandIns, Pairs))].
