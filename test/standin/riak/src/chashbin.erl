%% Test support: the ring packed into a binary for fast look-ups, with
%% riak_core's interface: <<Index:160, NodeId:16>> per partition, node ids
%% counted from 1 into a tuple of node names.
-module(chashbin).

-export([create/1, to_chash/1, to_list/1, to_list_filter/2, num_partitions/1,
         responsible_index/2, responsible_position/2, index_owner/2,
         iterator/2, exact_iterator/2, itr_value/1, itr_pop/2, itr_next/1,
         itr_next_while/2]).

-record(chashbin, {size, owners, nodes}).
-record(iterator, {pos, start, ring}).

-define(WIDTH, 22).

create({Size, Owners}) ->
    Names = lists:usort([Node || {_, Node} <- Owners]),
    Ids = maps:from_list(lists:zip(Names, lists:seq(1, length(Names)))),
    Bin = << <<Index:160, (maps:get(Node, Ids)):16>> || {Index, Node} <- Owners >>,
    #chashbin{size = Size, owners = Bin, nodes = list_to_tuple(Names)}.

to_chash(Ring = #chashbin{size = Size}) -> {Size, to_list(Ring)}.

to_list(#chashbin{owners = Bin, nodes = Nodes}) ->
    [{Index, element(Id, Nodes)} || <<Index:160, Id:16>> <= Bin].

to_list_filter(Pred, Ring) -> lists:filter(Pred, to_list(Ring)).

num_partitions(#chashbin{size = Size}) -> Size.

responsible_index(Hash, Ring = #chashbin{size = Size}) ->
    responsible_position(Hash, Ring) * chash:ring_increment(Size).

responsible_position(<<Hash:160>>, Ring) -> responsible_position(Hash, Ring);
responsible_position(Hash, #chashbin{size = Size}) ->
    (Hash div chash:ring_increment(Size) + 1) rem Size.

index_owner(Index, #chashbin{size = Size} = Ring) ->
    {Index, Node} = at(Index div chash:ring_increment(Size), Ring),
    Node.

iterator(Hash, Ring) ->
    Pos = responsible_position(Hash, Ring),
    #iterator{pos = Pos, start = Pos, ring = Ring}.

exact_iterator(<<Index:160>>, Ring) -> exact_iterator(Index, Ring);
exact_iterator(Index, #chashbin{size = Size} = Ring) ->
    Pos = Index div chash:ring_increment(Size),
    #iterator{pos = Pos, start = Pos, ring = Ring}.

itr_value(#iterator{pos = done}) -> done;
itr_value(#iterator{pos = Pos, ring = Ring}) -> at(Pos, Ring).

itr_next(Itr = #iterator{pos = Pos, start = Start, ring = Ring}) ->
    case (Pos + 1) rem Ring#chashbin.size of
        Start -> done;
        Next -> Itr#iterator{pos = Next}
    end.

itr_pop(0, Itr) -> {[], Itr};
itr_pop(_, done) -> {[], done};
itr_pop(N, Itr) ->
    {Rest, Last} = itr_pop(N - 1, itr_next(Itr)),
    {[itr_value(Itr) | Rest], Last}.

itr_next_while(_Pred, done) -> done;
itr_next_while(Pred, Itr) ->
    case Pred(itr_value(Itr)) of
        true -> itr_next_while(Pred, itr_next(Itr));
        false -> Itr
    end.

at(Pos, #chashbin{owners = Bin, nodes = Nodes}) ->
    Skip = Pos * ?WIDTH,
    <<_:Skip/binary, Index:160, Id:16, _/binary>> = Bin,
    {Index, element(Id, Nodes)}.
