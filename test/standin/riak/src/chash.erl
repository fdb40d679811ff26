%% Test support: the consistent hash ring, {Size, [{Index, Node}]}, with
%% riak_core's names and arithmetic.
-module(chash).

-export([key_of/1, fresh/2, ring_increment/1, size/1, nodes/1, members/1,
         contains_name/2, lookup/2, update/3, next_index/2,
         successors/2, successors/3, predecessors/2, predecessors/3]).

-define(RINGTOP, (1 bsl 160)).

key_of(Term) -> crypto:hash(sha, term_to_binary(Term)).

ring_increment(Size) -> ?RINGTOP div Size.

%% A size that does not divide the key space leaves one partition more than
%% was asked for, as in riak_core.
fresh(Size, Node) ->
    {Size, [{I, Node} || I <- lists:seq(0, ?RINGTOP - 1, ring_increment(Size))]}.

size({_, Entries}) -> length(Entries).

nodes({_, Entries}) -> Entries.

members({_, Entries}) -> lists:usort([N || {_, N} <- Entries]).

contains_name(Node, {_, Entries}) -> lists:keymember(Node, 2, Entries).

lookup(Index, {_, Entries}) ->
    {Index, Node} = lists:keyfind(Index, 1, Entries),
    Node.

update(Index, Node, {Size, Entries}) ->
    {Size, lists:keyreplace(Index, 1, Entries, {Index, Node})}.

next_index(Hash, {Size, _}) ->
    Inc = ring_increment(Size),
    ((Hash div Inc + 1) rem Size) * Inc.

successors(Index, {Size, _} = Ring) -> successors(Index, Ring, Size).

successors(Index, {Size, _} = Ring, N) ->
    lists:sublist(from(Index, Ring), min(N, Size)).

predecessors(Index, {Size, _} = Ring) -> predecessors(Index, Ring, Size).

predecessors(Index, Ring, N) when is_integer(Index) ->
    predecessors(<<Index:160>>, Ring, N);
predecessors(Index, {Size, _} = Ring, N) ->
    lists:sublist(lists:reverse(from(Index, Ring)), min(N, Size)).

%% All partitions, starting with the one after that holding the hash.
from(<<Hash:160>>, {Size, Entries}) ->
    {Before, After} = lists:split(Hash div ring_increment(Size) + 1, Entries),
    After ++ Before.
