%% Test support: GET /ping.
-module(riak_kv_wm_ping).

-export([init/1, is_authorized/2, to_html/2]).

-include("webmachine.hrl").

init([]) -> {ok, undefined}.

is_authorized(RD, Ctx) -> riak_kv_wm_utils:is_authorized(RD, Ctx, fun(_) -> Ctx end).

to_html(RD, Ctx) -> {"OK", RD, Ctx}.
