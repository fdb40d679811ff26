%% @doc Round trips through the companion, counted: pure.
%%
%% Kept as counts per power of two, so that a percentile is right within a factor of two and adding
%% one costs nothing.
-module(ringtail_companion_stats).

-export([new/0, add/2, report/1]).
-export_type([stats/0]).

-record(stats, {count = 0, sum = 0, longest = 0, buckets = erlang:make_tuple(32, 0)}).
-opaque stats() :: #stats{}.

%% @doc Nothing measured yet.
-spec new() -> stats().
new() ->
    #stats{}.

%% @doc One more, in microseconds.
-spec add(integer(), stats()) -> stats().
add(Time, #stats{count = Count, sum = Sum, longest = Longest, buckets = Buckets}) ->
    %% A clock that was set back must not spoil the figures.
    Micros = max(Time, 1),
    Bucket = min(bits(Micros, 0), tuple_size(Buckets)),
    #stats{count = Count + 1, sum = Sum + Micros, longest = max(Longest, Micros),
           buckets = setelement(Bucket, Buckets, element(Bucket, Buckets) + 1)}.

bits(0, Bits) -> Bits;
bits(N, Bits) -> bits(N bsr 1, Bits + 1).

%% @doc Figures in microseconds; percentiles are upper bounds.
-spec report(stats()) -> [{answers | mean_us | median_us | p99_us | longest_us, non_neg_integer()}].
report(#stats{count = 0}) ->
    [{answers, 0}];
report(#stats{count = Count, sum = Sum, longest = Longest, buckets = Buckets}) ->
    [{answers, Count}, {mean_us, Sum div Count},
     {median_us, min(Longest, percentile(Count, 50, Buckets))},
     {p99_us, min(Longest, percentile(Count, 99, Buckets))},
     {longest_us, Longest}].

percentile(Count, Percent, Buckets) ->
    upper_bound((Count * Percent + 99) div 100, tuple_to_list(Buckets), 1).

upper_bound(Wanted, [Here | _], Bound) when Here >= Wanted -> 2 * Bound - 1;
upper_bound(Wanted, [Here | Rest], Bound) -> upper_bound(Wanted - Here, Rest, 2 * Bound).
