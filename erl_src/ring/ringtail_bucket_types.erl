%% @doc Which bucket types are known to exist. Riak has no way to remove one or to make it inactive
%% again, so what was there once need not be asked for again: riak_core answers with a copy of all
%% properties of the type, for each request.
-module(ringtail_bucket_types).

-export([new/0, exists/1]).

-define(TABLE, ringtail_bucket_types).

%% @doc Makes the table, owned by the caller: it goes when the application does. It grows by the
%% types that an operator created, and by no others.
-spec new() -> ok.
new() ->
    ?TABLE = ets:new(?TABLE, [named_table, public, {read_concurrency, true}]),
    ok.

%% @doc Whether there is an active bucket type of this name.
-spec exists(Type :: binary()) -> boolean().
exists(Type) ->
    try
        ets:member(?TABLE, Type) orelse (is_active(Type) andalso ets:insert(?TABLE, {Type}))
    catch
        error:badarg -> is_active(Type)     % the application is being stopped
    end.

is_active(Type) ->
    riak_core_bucket_type:get(Type) =/= undefined.
