%% Test support: every capability is at its preferred mode, since all nodes of
%% a stand-in cluster are alike; registered ones are shown in the ring as
%% member metadata, where Riak keeps them.
-module(riak_core_capability).

-export([register/3, register/4, get/1, get/2, all/0]).

-define(KEY, '$riak_capabilities').

register(Capability, Modes, Default) -> register(Capability, Modes, Default, undefined).

register({_, _} = Capability, Modes, _Default, _Legacy) ->
    Change = fun(Ring, _) ->
        Old = case riak_core_ring:get_member_meta(Ring, node(), ?KEY) of
                  undefined -> [];
                  List -> List
              end,
        case orddict:store(Capability, Modes, Old) of
            Old -> ignore;
            New -> {new_ring, riak_core_ring:update_member_meta(node(), Ring, node(), ?KEY, New)}
        end
    end,
    _ = riak_core_ring_manager:ring_trans(Change, []),
    ok.

get(Capability) ->
    case lists:keyfind(Capability, 1, all()) of
        {_, Mode} -> Mode;
        false -> throw({unknown_capability, Capability})
    end.

get(Capability, Default) -> proplists:get_value(Capability, all(), Default).

all() ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    case riak_core_ring:get_member_meta(Ring, node(), ?KEY) of
        undefined -> [];
        List -> [{Capability, hd(Modes)} || {Capability, Modes} <- List]
    end.
