%% Test support: bucket types: created, ready as soon as every member is known
%% to have it, active when activated.
-module(riak_core_bucket_type).

-export([defaults/0, defaults/1, create/2, status/1, activate/1, update/2,
         get/1, reset/1, fold/2, all_n/0]).

-define(PREFIX, {core, bucket_types}).

defaults() -> [{node_confirms, 0}, {dvv_enabled, true}, {allow_mult, true} | common()].

defaults(default_type) ->
    [{node_confirms, 0}, {dvv_enabled, false}, {allow_mult, false} | common()].

common() ->
    [{linkfun, {modfun, riak_kv_wm_link_walker, mapreduce_linkfun}},
     {old_vclock, 86400}, {young_vclock, 20}, {big_vclock, 50}, {small_vclock, 50},
     {pr, 0}, {r, quorum}, {w, quorum}, {pw, 0}, {dw, quorum}, {rw, quorum},
     {sync_on_write, backend}, {basic_quorum, false}, {notfound_ok, true},
     {n_val, 3}, {last_write_wins, false}, {precommit, []}, {postcommit, []},
     {chash_keyfun, {riak_core_util, chash_std_keyfun}}].

create(<<"default">>, _Props) -> {error, default_type};
create(Type, Props) when is_binary(Type) ->
    case stored(Type) of
        undefined ->
            store(create, Type, [], riak_core_bucket_props:merge(Props, defaults()), false);
        Old ->
            case proplists:get_value(active, Old) of
                true -> {error, already_active};
                false ->
                    store(create, Type, [], riak_core_bucket_props:merge(Props, defaults()), false)
            end
    end.

status(<<"default">>) -> active;
status(Type) ->
    case stored(Type) of
        undefined -> undefined;
        Props ->
            case proplists:get_value(active, Props) of
                true -> active;
                false -> ready
            end
    end.

activate(<<"default">>) -> ok;
activate(Type) ->
    case stored(Type) of
        undefined -> {error, undefined};
        Props ->
            riak_core_metadata:put(?PREFIX, Type, lists:keystore(active, 1, Props, {active, true}))
    end.

update(<<"default">>, _Props) -> {error, no_default_update};
update(Type, Props) ->
    case stored(Type) of
        undefined -> {error, {not_active, Type}};
        Old ->
            Active = proplists:get_value(active, Old),
            store(update, Type, Old, Props, Active)
    end.

%% Kept as Riak keeps it: properties from the last name to the first, then
%% whether it is active and who created it.
store(Phase, Type, Old, Props, Active) ->
    case riak_core_bucket_props:validate(Phase, Type, Old, Props) of
        {ok, Valid} ->
            Merged = riak_core_bucket_props:merge(Valid, Old),
            Own = [P || {K, _} = P <- Merged, K =/= active, K =/= claimant],
            {ok, Ring} = riak_core_ring_manager:get_my_ring(),
            Claimant = proplists:get_value(claimant, Old, riak_core_ring:claimant(Ring)),
            riak_core_metadata:put(?PREFIX, Type, lists:reverse(Own)
                                   ++ [{active, Active}, {claimant, Claimant}]);
        Error -> Error
    end.

get(<<"default">>) -> riak_core_bucket_props:defaults();
get(Type) ->
    case stored(Type) of
        undefined -> undefined;
        Props ->
            case lists:keyfind(active, 1, Props) of
                {active, true} -> Props;
                _ -> undefined
            end
    end.

reset(Type) -> update(Type, defaults()).

fold(Fun, Acc) -> riak_core_metadata:fold(Fun, Acc, ?PREFIX).

all_n() ->
    lists:usort([proplists:get_value(n_val, P) || {_, P} <- riak_core_metadata:to_list(?PREFIX)]).

stored(Type) -> riak_core_metadata:get(?PREFIX, Type).
