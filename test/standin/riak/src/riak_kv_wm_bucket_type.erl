%% Test support: a bucket type's properties: GET, and PUT {"props":{...}}.
-module(riak_kv_wm_bucket_type).


-export([init/1, service_available/2, is_authorized/2, forbidden/2, allowed_methods/2,
         malformed_request/2, content_types_provided/2, encodings_provided/2,
         content_types_accepted/2, resource_exists/2, produce_body/2, accept_body/2]).

-include("webmachine.hrl").

-include("standin_resource.hrl").

allowed_methods(RD, Ctx) -> {['HEAD', 'GET', 'PUT'], RD, Ctx}.

forbidden(RD, Ctx = #res{method = Method, bucket_type = Type}) ->
    Permission = case Method of 'PUT' -> "riak_core.set_bucket_type"; _ ->
                         "riak_core.get_bucket_type" end,
    allowed({riak_core, bucket_type}, Permission, Type, RD, Ctx).

malformed_request(RD, Ctx) -> riak_kv_wm_props:malformed_request(RD, Ctx).


content_types_provided(RD, Ctx) -> {[{"application/json", produce_body}], RD, Ctx}.
content_types_accepted(RD, Ctx) -> {[{"application/json", accept_body}], RD, Ctx}.

produce_body(RD, Ctx = #res{bucket_type = Type}) ->
    Props = [riak_kv_wm_utils:jsonify_bucket_prop(P) || P <- riak_core_bucket_type:get(Type)],
    {mochijson2:encode({struct, [{<<"props">>, {struct, Props}}]}), RD, Ctx}.

accept_body(RD, Ctx = #res{bucket_type = Type, props = Props}) ->
    case riak_core_bucket_type:update(Type,
                                      [riak_kv_wm_utils:erlify_bucket_prop(P) || P <- Props]) of
        ok -> {true, RD, Ctx};
        {error, Details} ->
            Text = io_lib:format("~p", [Details]),
            {{halt, 400}, wrq:append_to_resp_body(iolist_to_binary(Text), RD), Ctx}
    end.
