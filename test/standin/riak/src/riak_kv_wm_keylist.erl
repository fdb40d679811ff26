%% Test support: keys of a bucket: ?keys=true at once, ?keys=stream as they come.
-module(riak_kv_wm_keylist).


-export([init/1, service_available/2, is_authorized/2, forbidden/2, malformed_request/2,
         content_types_provided/2, encodings_provided/2, resource_exists/2, produce_bucket_body/2]).

-include("webmachine.hrl").

-include("standin_resource.hrl").

forbidden(RD, Ctx = #res{bucket_type = Type, bucket = Bucket}) ->
    Class = case wrq:get_qs_value("keys", RD) of
                "stream" -> {riak_kv, stream_list_keys};
                _ -> {riak_kv, list_keys}
            end,
    allowed(Class, "riak_kv.list_keys", {Type, Bucket}, RD, Ctx).

malformed_request(RD, Ctx) -> with_timeout(RD, Ctx).

content_types_provided(RD, Ctx) -> {[{"application/json", produce_bucket_body}], RD, Ctx}.

produce_bucket_body(RD, Ctx = #res{client = Client, timeout = Timeout}) ->
    Bucket = riak_kv_wm_utils:maybe_bucket_type(Ctx#res.bucket_type, Ctx#res.bucket),
    Props = [riak_kv_wm_props:get_bucket_props_json(Client, Bucket)
             || Ctx#res.allow_props_param =:= true, wrq:get_qs_value("props", RD) =/= "false"],
    case wrq:get_qs_value("keys", RD) of
        "stream" ->
            First = case Ctx#res.api_version of
                        1 -> mochijson2:encode({struct, Props});
                        _ -> []
                    end,
            Start = fun() ->
                        {ok, ReqId} = riak_client:stream_list_keys(Bucket, Timeout, Client),
                        next(ReqId)
                    end,
            {{stream, {First, Start}}, RD, Ctx};
        "true" ->
            Body = case riak_client:list_keys(Bucket, Timeout, Client) of
                       {ok, Keys} -> Props ++ [{<<"keys">>, Keys}];
                       {error, Reason} -> [{error, Reason}]
                   end,
            {mochijson2:encode({struct, Body}), RD, Ctx};
        _ -> {mochijson2:encode({struct, Props}), RD, Ctx}
    end.

next(ReqId) ->
    receive
        {ReqId, {keys, Keys}} -> {json(<<"keys">>, Keys), fun() -> next(ReqId) end};
        {ReqId, done} -> {json(<<"keys">>, []), done};
        {ReqId, {error, Reason}} -> {json(error, Reason), done}
    end.

json(Name, Value) -> mochijson2:encode({struct, [{Name, Value}]}).
