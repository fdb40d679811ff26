%% @doc Who waits for which answer of the companion: in the dictionary of the process that owns it.
%% It is read and written for each request, by that process alone, and a table costs several times
%% as much as all the rest that is done there.
-module(ringtail_companion_waiting).

-export([enter/3, find/1, leave/1, all/0]).
-export_type([waiting/0]).

-type waiting() :: {pid(), reference(), Since :: integer(), Heard :: non_neg_integer()}.

%% @doc A process waits from now on. `Heard' is for the owner to know what it had heard by then.
-spec enter(ringtail_companion_codec:id(), {pid(), reference()}, Heard :: non_neg_integer()) -> ok.
enter(Id, {Pid, Ref}, Heard) ->
    undefined = put(Id, {Pid, Ref, ringtail_clock:micros(), Heard}),
    ok.

-spec find(ringtail_companion_codec:id()) -> waiting() | undefined.
find(Id) ->
    get(Id).

%% @doc It waits no longer.
-spec leave(ringtail_companion_codec:id()) -> ok.
leave(Id) ->
    {_, _, _, _} = erase(Id),
    ok.

-spec all() -> [{ringtail_companion_codec:id(), waiting()}].
all() ->
    [Entry || {Id, {_, _, _, _}} = Entry <- get(), is_integer(Id)].
