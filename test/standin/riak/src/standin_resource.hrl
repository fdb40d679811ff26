%% Test support: what Riak's listing resources have in common. The context is
%% #res{}; each resource says of itself only what differs.
-record(res, {api_version, bucket_type, bucket, client, prefix, riak, timeout,
              security, method, props, allow_props_param, extra}).

init(Props) ->
    [V, P, R, T, A] = [proplists:get_value(K, Props)
                       || K <- [api_version, prefix, riak, bucket_type, allow_props_param]],
    {ok, #res{api_version = V, prefix = P, riak = R, bucket_type = T, allow_props_param = A}}.

service_available(RD, Ctx0) ->
    Ctx = riak_kv_wm_utils:ensure_bucket_type(RD, Ctx0, #res.bucket_type),
    case riak_kv_wm_utils:get_riak_client(Ctx#res.riak, riak_kv_wm_utils:get_client_id(RD)) of
        {ok, Client} ->
            {true, RD, Ctx#res{client = Client, method = wrq:method(RD),
                               bucket = riak_kv_wm_utils:path_binary(bucket, RD)}};
        Error ->
            RD1 = wrq:set_resp_header("Content-Type", "text/plain", RD),
            Text = io_lib:format("Unable to connect to Riak: ~p~n", [Error]),
            {false, wrq:set_resp_body(Text, RD1), Ctx}
    end.

is_authorized(RD, Ctx) ->
    riak_kv_wm_utils:is_authorized(RD, Ctx, fun(S) -> Ctx#res{security = S} end).

encodings_provided(RD, Ctx) -> {riak_kv_wm_utils:default_encodings(), RD, Ctx}.

resource_exists(RD, Ctx) -> {riak_kv_wm_utils:bucket_type_exists(Ctx#res.bucket_type), RD, Ctx}.

-compile({nowarn_unused_function, [{allowed, 5}, {plain_refusal, 3}, {with_timeout, 2}]}).

%% forbidden/2 for a job class and a permission.
allowed(Class, Permission, Bucket, RD, Ctx) ->
    case riak_kv_wm_utils:is_forbidden(RD, Class, Ctx) of
        {false, _, _} ->
            case riak_kv_wm_utils:permit({Permission, Bucket}, Ctx#res.security, RD, Ctx) of
                ok -> {false, RD, Ctx};
                Denied -> Denied
            end;
        Refused -> Refused
    end.

plain_refusal(Text, RD, Ctx) ->
    RD1 = wrq:set_resp_header("Content-Type", "text/plain", RD),
    {true, wrq:append_to_resp_body(iolist_to_binary(Text), RD1), Ctx}.

%% malformed_request/2 where only the timeout can be.
with_timeout(RD, Ctx) ->
    case riak_kv_wm_utils:timeout(RD) of
        none -> {false, RD, Ctx};
        {ok, Ms} -> {false, RD, Ctx#res{timeout = Ms}};
        {error, Text} -> plain_refusal(Text, RD, Ctx)
    end.
