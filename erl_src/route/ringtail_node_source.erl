%% @doc This node's own cluster, by the snapshot of its ring.
-module(ringtail_node_source).

-behaviour(ringtail_source).

-export([named/1, headers/1, prepared/1, age/1, is_there/1, identity/1, preflist/1, owners/1,
         info/1, members/1, up/1, history/1, teller/1, problems/1, key_preflist/2]).
-export([is_authorized/2, permitted/3, path_bytes/2, may_serve/1, parts/0, object_args/0]).

named("default") ->
    {ok, here};
named(Name) ->
    case ringtail_ring:identity() of
        {ok, _, Uuid, _} ->
            Alias = ringtail_config:cluster_alias(),
            case string:to_lower(Name) =:= binary_to_list(Uuid) orelse Name =:= Alias of
                true -> {ok, here};
                false -> {unknown, ["default", Uuid] ++ [Alias || Alias =/= undefined]}
            end;
        %% Whatever it is called, the answer is why there is none.
        {error, _} ->
            {ok, here}
    end.

headers(here) -> ringtail_ring:headers().
prepared(here) -> ringtail_ring:prepared_headers().
age(here) -> [].
is_there(here) -> ringtail_ring:is_there().
identity(here) -> ringtail_ring:identity().
preflist(here) -> ringtail_ring:preflist().

owners(here) ->
    {ok, Owners} = ringtail_key_owners:owners(),
    Owners.

info(here) -> ringtail_ring:info().
members(here) -> ringtail_ring:members().
up(here) -> ringtail_ring:up().
history(here) -> ringtail_ring:history().
teller(here) -> node().

problems(here) ->
    [<<"The engine is lost and riak_core answers in its place: ", Why/binary>>
     || {lost, Why} <- [ringtail_engine:condition()]].

%% ---- A key's preflist ----

key_preflist(here, RD) ->
    Bucket = ringtail_riak_path:bucket(RD),
    case ringtail_key_owners:preflist(Bucket, ringtail_riak_path:key(RD)) of
        {ok, Entries} -> {document, document(Entries)};
        {error, {no_type, Detail}} -> {refuse, 404, no_type, Detail};
        {error, {Code, Detail}} -> {refuse, 503, Code, Detail}
    end.

document(Entries) ->
    {ok, _, Size} = ringtail_ring:ring(),
    Up = ringtail_ring:up(),
    ringtail_json:object([{preflist, [entry(Entry, Size, Up) || Entry <- Entries]}]).

entry({{Index, Node}, Kind}, Size, Up) ->
    {struct, [{node, ringtail_json:name(Node)}, {partition, position(Index, Size)},
              {index, list_to_binary(integer_to_list(Index))}, {primary, Kind =:= primary},
              {up, lists:member(Node, Up)}]}.

position(Index, Size) ->
    Index div ((1 bsl 160) div Size).

%% ---- Who asks, and for what ----

is_authorized(RD, Context) -> ringtail_riak_security:is_authorized(RD, Context).
permitted(RD, Wanted, Security) -> ringtail_riak_security:permitted(RD, Wanted, Security).
path_bytes(Name, RD) -> ringtail_riak_path:bytes(Name, RD).

%% ---- Serving ----

%% Riak KV must be up, and the engine must agree with riak_core. Before there is a ring it cannot be
%% compared; the routes answer 503 until then, and the comparison is made up for at the first look
%% with a ring.
may_serve(Checked) ->
    case kv_is_up() of
        true when Checked -> {ok, true};
        true -> check(ringtail_ring_of_riak:mine());
        false -> {wait, waiting_for_riak_kv}
    end.

%% The ring that riak_core is asked about is loaded for this: the snapshot may already be of
%% another one.
check({ok, RingTerm}) ->
    case ringtail_engine:load_ring(RingTerm) of
        {ok, Ring} -> agreed(ringtail_engine_check:check(Ring, RingTerm));
        {error, _} = Error -> Error
    end;
check({error, _}) ->
    {ok, false}.

agreed(ok) -> {ok, true};
agreed({error, _} = Error) -> Error.

kv_is_up() ->
    try
        lists:member(riak_kv, riak_core_node_watcher:services(node()))
    catch
        error:_ -> false    % Riak is starting, or is not there at all
    end.

parts() ->
    [{objects, ringtail_wm_object}, {report, ringtail_status}, {console, ringtail_console_node}].

object_args() ->
    [{query_element, ringtail_query:element()}, {client, ringtail_relay:client_element()}].
