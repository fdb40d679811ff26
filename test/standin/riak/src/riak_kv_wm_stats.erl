%% Test support: GET /stats with those figures that a stand-in has.
-module(riak_kv_wm_stats).

-export([init/1, encodings_provided/2, content_types_provided/2, forbidden/2,
         produce_body/2, pretty_print/2, get_stats/0]).

-include("webmachine.hrl").

init(_) -> {ok, undefined}.

encodings_provided(RD, Ctx) -> {riak_kv_wm_utils:default_encodings(), RD, Ctx}.

content_types_provided(RD, Ctx) ->
    {[{"application/json", produce_body}, {"text/plain", pretty_print}], RD, Ctx}.

forbidden(RD, Ctx) -> {riak_kv_wm_utils:is_forbidden(RD), RD, Ctx}.

produce_body(RD, Ctx) -> {mochijson2:encode({struct, get_stats()}), RD, Ctx}.

pretty_print(RD, Ctx) ->
    Lines = [io_lib:format("    \"~s\": ~s", [K, mochijson2:encode(V)]) || {K, V} <- get_stats()],
    {["{\n", lists:join(",\n", Lines), "\n}\n"], RD, Ctx}.

get_stats() ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    Name = fun(N) -> atom_to_binary(N, utf8) end,
    [{nodename, Name(node())},
     {connected_nodes, [Name(N) || N <- nodes()]},
     {ring_members, [Name(N) || N <- riak_core_ring:all_members(Ring)]},
     {ring_num_partitions, riak_core_ring:num_partitions(Ring)},
     {ring_creation_size, app_helper:get_env(riak_core, ring_creation_size)},
     {storage_backend, app_helper:get_env(riak_kv, storage_backend)},
     {riak_kv_vnodes_running, length(riak_kv_vnode_master:vnodes())},
     {sys_process_count, erlang:system_info(process_count)},
     {memory_total, erlang:memory(total)},
     {riak_kv_version, <<"3.2.3">>}].
