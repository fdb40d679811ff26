%% @doc The indices of partitions as literals, for rings of up to 4096 partitions whose number is a
%% power of two.
%%
%% An index is an integer of 160 bits. The NIF interface cannot make one, and copying three of them
%% was a third of a call for a key; a literal costs nothing, since all that have it share it. Rings
%% of such sizes divide the circle at places of one grid: partition P of a ring of 64 lies where
%% partition 64 * P of one of 4096 does. So the library says places, and this module the indices.
%% They depend on no ring, hence nothing here changes when a ring does.
-module(ringtail_nif_indices).

-export([primaries/1, preflist/1]).
-compile({inline, [index/1]}).
-export_type([primaries/0, preflist/0]).

-type place() :: 0..4095.
-type three() :: {place(), node(), place(), node(), place(), node()}.
%% Three primaries, or any number of them with the last first: `[Node, Place, ...]'.
-type primaries() :: three() | [place() | node()].
%% The same, each of the three a primary: `[primary | fallback, Node, Place, ...]'.
-type preflist() :: three() | [place() | node() | primary | fallback].

%% @doc The answer with indices. One that has them already, or is an error, stays as it is.
-spec primaries(primaries() | Answer) -> {ok, [ringtail_nif:entry()]} | Answer
          when Answer :: {ok | error, term()}.
primaries({Place1, Node1, Place2, Node2, Place3, Node3}) ->
    {ok, [{index(Place1), Node1}, {index(Place2), Node2}, {index(Place3), Node3}]};
primaries(Places) when is_list(Places) ->
    {ok, pairs(Places, [])};
primaries(Answer) ->
    Answer.

pairs([Node, Place | Places], Pairs) ->
    pairs(Places, [{index(Place), Node} | Pairs]);
pairs([], Pairs) ->
    Pairs.

%% @doc The same for an annotated preflist.
-spec preflist(preflist() | Answer) -> {ok, [ringtail_nif:annotated()]} | Answer
          when Answer :: {ok | error, term()}.
preflist({Place1, Node1, Place2, Node2, Place3, Node3}) ->
    {ok, [{{index(Place1), Node1}, primary},
          {{index(Place2), Node2}, primary},
          {{index(Place3), Node3}, primary}]};
preflist(Places) when is_list(Places) ->
    {ok, annotated(Places, [])};
preflist(Answer) ->
    Answer.

annotated([Kind, Node, Place | Places], Entries) ->
    annotated(Places, [{{index(Place), Node}, Kind} | Entries]);
annotated([], Entries) ->
    Entries.

%% A ring of up to 512 partitions has all of its indices in row 0. One tuple of all would take the
%% compiler seconds.
index(Place) ->
    element(Place div 8 + 1, row(Place band 7)).

-define(INDEX(Place), (Place) * (1 bsl 148)).
-define(FOUR(Place), ?INDEX(Place), ?INDEX(Place + 8), ?INDEX(Place + 16), ?INDEX(Place + 24)).
-define(SIXTEEN(Place), ?FOUR(Place), ?FOUR(Place + 32), ?FOUR(Place + 64), ?FOUR(Place + 96)).
-define(SIXTY_FOUR(Place), ?SIXTEEN(Place), ?SIXTEEN(Place + 128), ?SIXTEEN(Place + 256),
                           ?SIXTEEN(Place + 384)).
-define(HALF_ROW(Place), ?SIXTY_FOUR(Place), ?SIXTY_FOUR(Place + 512), ?SIXTY_FOUR(Place + 1024),
                         ?SIXTY_FOUR(Place + 1536)).
-define(ROW(First), {?HALF_ROW(First), ?HALF_ROW(First + 2048)}).

row(0) -> ?ROW(0);
row(1) -> ?ROW(1);
row(2) -> ?ROW(2);
row(3) -> ?ROW(3);
row(4) -> ?ROW(4);
row(5) -> ?ROW(5);
row(6) -> ?ROW(6);
row(7) -> ?ROW(7).
