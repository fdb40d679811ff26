%% Test support: what Riak says to a path below a key. Walking links is not
%% here; a query that would walk is answered as on a typed bucket.
-module(riak_kv_wm_link_walker).


-export([init/1, service_available/2, malformed_request/2, forbidden/2, allowed_methods/2,
         content_types_provided/2, to_multipart_mixed/2, mapreduce_linkfun/3]).

-include("webmachine.hrl").

init(Props) -> {ok, {ctx, proplists:get_value(bucket_type, Props)}}.

service_available(RD, Ctx) -> {true, RD, riak_kv_wm_utils:ensure_bucket_type(RD, Ctx, 2)}.

allowed_methods(RD, Ctx) -> {['GET', 'HEAD', 'POST'], RD, Ctx}.

malformed_request(RD, Ctx) ->
    case lists:all(fun is_step/1, wrq:path_tokens(RD)) of
        true -> {false, RD, Ctx};
        false ->
            Text = "Invalid link walk query submitted. Valid link walk query format is: "
                   "/riak/some_bucket/some_key/<bucket>,<riaktag>,0|1/...",
            {true, wrq:set_resp_body(Text, plain(RD)), Ctx}
    end.

is_step(Token) ->
    case string:tokens(Token, ",") of
        [_, _, Keep] -> lists:member(Keep, ["0", "1", "_"]);
        _ -> false
    end.

forbidden(RD, Ctx) ->
    Text = case riak_core_security:is_enabled() of
               true ->
                   "Link walking is deprecated in Riak 2.0 and is not compatible with security.";
               false -> "Link-walking is not allowed on keys stored in bucket-types."
           end,
    {true, wrq:set_resp_body(Text, plain(RD)), Ctx}.

plain(RD) -> wrq:set_resp_header("Content-Type", "text/plain", RD).

content_types_provided(RD, Ctx) -> {[{"multipart/mixed", to_multipart_mixed}], RD, Ctx}.

to_multipart_mixed(RD, Ctx) -> {<<>>, RD, Ctx}.

%% Named by the properties of every bucket.
mapreduce_linkfun(_Object, _Data, _Arg) -> [].
