%% @doc Counters of what the routes did since the start, for the status and metrics routes.
%% Counting costs no message.
-module(ringtail_count).

-export([new/0, add/1, all/0]).
-export_type([counter/0]).

-type counter() :: served | relayed | redirected | not_primary | no_primary.

-define(TABLE, ringtail_count).
-define(COUNTERS, [served, relayed, redirected, not_primary, no_primary]).

%% @doc Makes the table, owned by the caller: it goes when the application does.
-spec new() -> ok.
new() ->
    ?TABLE = ets:new(?TABLE, [named_table, public, {write_concurrency, true}]),
    true = ets:insert(?TABLE, [{Counter, 0} || Counter <- ?COUNTERS]),
    ok.

%% @doc Counts a decision of the object route.
-spec add(ringtail_decide:outcome()) -> ok.
add(Outcome) ->
    try ets:update_counter(?TABLE, counter(Outcome), 1) of
        _ -> ok
    catch
        error:badarg -> ok      % the application is being stopped
    end.

-spec counter(ringtail_decide:outcome()) -> counter().
counter(serve) -> served;
counter({proxy, _}) -> relayed;
counter({redirect, _}) -> redirected;
counter({refuse, Why}) -> Why.

%% @doc Every counter, in a fixed order; none where the application does not run.
-spec all() -> [{counter(), non_neg_integer()}].
all() ->
    try
        [{Counter, ets:lookup_element(?TABLE, Counter, 2)} || Counter <- ?COUNTERS]
    catch
        error:badarg -> []
    end.
