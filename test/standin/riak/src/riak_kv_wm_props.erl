%% Test support: a bucket's properties: GET, PUT {"props":{...}}, DELETE.
-module(riak_kv_wm_props).


-export([init/1, service_available/2, is_authorized/2, forbidden/2, allowed_methods/2,
         malformed_request/2, content_types_provided/2, encodings_provided/2,
         content_types_accepted/2, resource_exists/2, produce_bucket_body/2,
         accept_bucket_body/2, get_bucket_props_json/2, delete_resource/2]).

-include("webmachine.hrl").

-include("standin_resource.hrl").

allowed_methods(RD, Ctx = #res{api_version = 1}) -> {['HEAD', 'GET', 'PUT'], RD, Ctx};
allowed_methods(RD, Ctx) -> {['HEAD', 'GET', 'PUT', 'DELETE'], RD, Ctx}.

forbidden(RD, Ctx = #res{method = Method, bucket_type = Type, bucket = Bucket}) ->
    Permission = case Method of
                     _ when Method =:= 'GET'; Method =:= 'HEAD' -> "riak_core.get_bucket";
                     _ -> "riak_core.set_bucket"
                 end,
    case riak_kv_wm_utils:is_forbidden(RD) of
        true -> {true, RD, Ctx};
        false ->
            case riak_kv_wm_utils:permit({Permission, {Type, Bucket}}, Ctx#res.security, RD, Ctx) of
                ok -> {false, RD, Ctx};
                Denied -> Denied
            end
    end.

malformed_request(RD, Ctx = #res{method = 'PUT'}) ->
    try
        {struct, Fields} = mochijson2:decode(wrq:req_body(RD)),
        {struct, Props} = proplists:get_value(<<"props">>, Fields),
        {false, RD, Ctx#res{props = Props}}
    catch _:_ ->
        plain_refusal("bucket PUT must be a JSON object of the form:\n"
                      "{\"props\":{...bucket properties...}}", RD, Ctx)
    end;
malformed_request(RD, Ctx) -> {false, RD, Ctx}.

content_types_provided(RD, Ctx) -> {[{"application/json", produce_bucket_body}], RD, Ctx}.

content_types_accepted(RD, Ctx) -> {[{"application/json", accept_bucket_body}], RD, Ctx}.

produce_bucket_body(RD, Ctx = #res{client = Client, bucket_type = Type, bucket = Bucket}) ->
    Name = riak_kv_wm_utils:maybe_bucket_type(Type, Bucket),
    {mochijson2:encode({struct, [get_bucket_props_json(Client, Name)]}), RD, Ctx}.

get_bucket_props_json(Client, Bucket) ->
    Props = riak_client:get_bucket(Bucket, Client),
    {<<"props">>, {struct, [riak_kv_wm_utils:jsonify_bucket_prop(P) || P <- Props]}}.

accept_bucket_body(RD, Ctx = #res{client = Client, bucket_type = Type, bucket = Bucket,
                                  props = Props}) ->
    case riak_client:set_bucket({Type, Bucket},
                                [riak_kv_wm_utils:erlify_bucket_prop(P) || P <- Props], Client) of
        ok -> {true, RD, Ctx};
        {error, Details} ->
            {{halt, 400}, wrq:append_to_resp_body(mochijson2:encode(Details), RD), Ctx}
    end.

delete_resource(RD, Ctx = #res{client = Client, bucket_type = Type, bucket = Bucket}) ->
    _ = riak_client:reset_bucket({Type, Bucket}, Client),
    {true, RD, Ctx}.
