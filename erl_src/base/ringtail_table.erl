%% @doc Reading from tables that go when their owner does: a request may outlive the application
%% that answers it.
-module(ringtail_table).

-export([find/2]).

%% @doc The object of this key; none where there is no such object, or no table.
-spec find(Table :: atom(), Key :: term()) -> tuple() | none.
find(Table, Key) ->
    try ets:lookup(Table, Key) of
        [Object] -> Object;
        [] -> none
    catch
        error:badarg -> none
    end.
