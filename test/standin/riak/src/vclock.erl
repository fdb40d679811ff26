%% Test support: vector clocks in the shape Riak keeps them,
%% [{Actor, {Counter, Timestamp}}], the timestamp in gregorian seconds.
-module(vclock).

-export([fresh/0, fresh/2, increment/2, increment/3, merge/1, descends/2,
         dominates/2, descends_dot/2, equal/2, get_counter/2, get_timestamp/2,
         get_dot/2, all_nodes/1, prune/3, timestamp/0]).

fresh() -> [].

fresh(Actor, Count) -> [{Actor, {Count, timestamp()}}].

increment(Actor, Clock) -> increment(Actor, timestamp(), Clock).

increment(Actor, Time, Clock) ->
    Count = get_counter(Actor, Clock) + 1,
    lists:keystore(Actor, 1, Clock, {Actor, {Count, Time}}).

%% The larger counter of each actor wins; of equal counters the later time.
merge([]) -> [];
merge([One]) -> One;
merge(Clocks) ->
    Merged = lists:foldl(fun join/2, #{}, lists:append(Clocks)),
    lists:keysort(1, maps:to_list(Merged)).

join({Actor, New}, Map) ->
    maps:update_with(Actor, fun(Old) -> max(Old, New) end, New, Map).

%% A descends B when it has seen everything B has.
descends(_A, []) -> true;
descends(A, B) ->
    lists:all(fun({Actor, {Count, _}}) -> get_counter(Actor, A) >= Count end, B).

dominates(A, B) -> descends(A, B) andalso not descends(B, A).

descends_dot(Clock, {Actor, {Count, _}}) -> get_counter(Actor, Clock) >= Count.

%% Riak compares the entries, times included, in any order.
equal(A, B) -> lists:sort(A) =:= lists:sort(B).

get_counter(Actor, Clock) ->
    case lists:keyfind(Actor, 1, Clock) of
        {_, {Count, _}} -> Count;
        false -> 0
    end.

get_timestamp(Actor, Clock) ->
    case lists:keyfind(Actor, 1, Clock) of
        {_, {_, Time}} -> Time;
        false -> undefined
    end.

get_dot(Actor, Clock) ->
    case lists:keyfind(Actor, 1, Clock) of
        false -> undefined;
        Dot -> {ok, Dot}
    end.

all_nodes(Clock) -> [Actor || {Actor, _} <- lists:sort(Clock)].

%% The stand-in's clocks never grow to where Riak starts to prune.
prune(Clock, _Now, _BucketProps) -> Clock.

timestamp() -> calendar:datetime_to_gregorian_seconds(erlang:universaltime()).
