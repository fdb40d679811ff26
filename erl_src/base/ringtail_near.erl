%% @doc Which of several names somebody meant who wrote another. Pure.
-module(ringtail_near).

-export([nearest/2]).

%% Longer ones are nobody's slip, and the comparison takes the product of the lengths.
-define(LONGEST, 64).

%% @doc The name that the fewest changed, added or left out letters lead to, if it is few.
-spec nearest(term(), [atom()]) -> {ok, atom()} | none.
nearest(Name, Names) when is_atom(Name) ->
    Written = atom_to_list(Name),
    Near = lists:sort([{distance(Written, atom_to_list(Other)), Other}
                       || length(Written) =< ?LONGEST, Other <- Names]),
    case Near of
        [{Distance, Nearest} | _] when Distance =< 2; 3 * Distance =< length(Written) ->
            {ok, Nearest};
        _ ->
            none
    end;
nearest(_, _) ->
    none.

%% Levenshtein's, row by row.
distance(A, B) ->
    First = lists:seq(0, length(B)),
    lists:last(lists:foldl(fun(Letter, Row) -> row(Letter, B, Row) end, First, A)).

row(Letter, B, [Corner | Above]) ->
    Next = fun({Other, Up}, {[Left | _] = Done, Diagonal}) ->
                   Change = case Other of
                                Letter -> Diagonal;
                                _ -> Diagonal + 1
                            end,
                   {[lists:min([Up + 1, Left + 1, Change]) | Done], Up}
           end,
    {Row, _} = lists:foldl(Next, {[Corner + 1], Corner}, lists:zip(B, Above)),
    lists:reverse(Row).
