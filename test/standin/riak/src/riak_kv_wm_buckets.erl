%% Test support: buckets of a type: ?buckets=true at once, ?buckets=stream.
-module(riak_kv_wm_buckets).


-export([init/1, service_available/2, is_authorized/2, forbidden/2, malformed_request/2,
         content_types_provided/2, encodings_provided/2, resource_exists/2, produce_bucket_list/2]).

-include("webmachine.hrl").

-include("standin_resource.hrl").

forbidden(RD, Ctx = #res{bucket_type = Type}) ->
    Class = case wrq:get_qs_value("buckets", RD) of
                "stream" -> {riak_kv, stream_list_buckets};
                _ -> {riak_kv, list_buckets}
            end,
    allowed(Class, "riak_kv.list_buckets", Type, RD, Ctx).

malformed_request(RD, Ctx) -> with_timeout(RD, Ctx).

content_types_provided(RD, Ctx) -> {[{"application/json", produce_bucket_list}], RD, Ctx}.

produce_bucket_list(RD, Ctx = #res{client = Client, bucket_type = Type, timeout = Timeout}) ->
    case wrq:get_qs_value("buckets", RD) of
        "true" ->
            {ok, Buckets} = riak_client:list_buckets(none, Timeout, Type, Client),
            {json(Buckets), RD, Ctx};
        "stream" ->
            Start = fun() ->
                        {ok, ReqId} = riak_client:stream_list_buckets(none, Timeout, Type, Client),
                        next(ReqId, [])
                    end,
            {{stream, {[], Start}}, RD, Ctx};
        _ -> {json([]), RD, Ctx}
    end.

%% A bucket is told once, whichever partition it is found in first.
next(ReqId, Told) ->
    receive
        {ReqId, {buckets_stream, Found}} ->
            {json(Found -- Told), fun() -> next(ReqId, lists:usort(Found ++ Told)) end};
        {ReqId, done} -> {json([]), done};
        {ReqId, {error, Reason}} -> {mochijson2:encode({struct, [{error, Reason}]}), done}
    end.

json(Buckets) -> mochijson2:encode({struct, [{<<"buckets">>, Buckets}]}).
