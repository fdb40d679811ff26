%% @doc The clusters that a VM without Riak serves, by what their nodes told last. Who may ask is
%% for whoever runs the VM to see to, as for the rest of what it serves.
-module(ringtail_remote_source).

-behaviour(ringtail_source).

-export([named/1, headers/1, prepared/1, age/1, is_there/1, identity/1, preflist/1, owners/1,
         info/1, members/1, up/1, history/1, teller/1, problems/1, key_preflist/2]).
-export([is_authorized/2, permitted/3, path_bytes/2, may_serve/1, parts/0, object_args/0]).

named(Name) ->
    case ringtail_remote_clusters:resolve(Name) of
        {ok, Resolved} -> {ok, Resolved};
        unknown -> {unknown, known(ringtail_remote_clusters:names())}
    end.

known([]) -> [];
known(Names) -> ["default" | Names].

headers(Name) -> ringtail_remote_clusters:headers(Name).
prepared(Name) -> ringtail_remote_clusters:prepared_headers(Name).

age(Name) ->
    case ringtail_remote_clusters:freshness(Name) of
        {never, _} -> [];
        {current, Age} -> [age_header(Age)];
        {stale, Age} -> [age_header(Age), {"Warning", "110 - \"Response is Stale\""}]
    end.

age_header(Milliseconds) -> {"Age", integer_to_list(Milliseconds div 1000)}.

is_there(Name) ->
    case ringtail_remote_clusters:identity(Name) of
        {ok, _, _, _} -> true;
        {error, _} = Error -> Error
    end.

identity(Name) -> ringtail_remote_clusters:identity(Name).
preflist(Name) -> ringtail_remote_clusters:preflist(Name).

owners(Name) ->
    {ok, _, Json, _} = ringtail_remote_clusters:preflist(Name),
    {struct, Owners} = mochijson2:decode(Json),
    [{list_to_integer(binary_to_list(Index)), Owner} || {Index, Owner} <- Owners].

info(Name) -> ringtail_remote_clusters:info(Name).
members(Name) -> ringtail_remote_clusters:members(Name).
up(Name) -> ringtail_remote_clusters:up(Name).
history(Name) -> ringtail_remote_clusters:history(Name).

teller(Name) ->
    {ok, _, _, Uuid} = identity(Name),
    hd([Node || {Node, Known, _, _} <- members(Name), Known =:= Uuid] ++ [Uuid]).

problems(_Name) -> [].

key_preflist(Name, RD) -> ringtail_remote_route:key_preflist(Name, RD).

is_authorized(RD, Context) -> {{true, RD, Context}, undefined}.
permitted(_RD, _Wanted, _Security) -> true.
path_bytes(Segment, RD) -> ringtail_remote_route:path_bytes(Segment, RD).

%% There is no Riak to wait for and no engine to compare.
may_serve(_) -> {ok, true}.

parts() ->
    [{objects, ringtail_wm_remote_object}, {report, ringtail_status_remote},
     {console, ringtail_console_remote}].

object_args() -> [].
