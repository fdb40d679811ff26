%% @doc Paths that begin as one of the object route and go on as none. Without this Riak's link
%% walker takes them, whose answers say nothing of what was meant.
-module(ringtail_wm_lost).

-export([init/1, ping/2, service_available/2, finish_request/2]).

init(Args) ->
    {ok, ringtail_wm:origin(Args)}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

service_available(RD, Origin) ->
    case ringtail_wm:ready(Origin, RD, Origin) of
        {true, Told, _} -> well_framed(ringtail_body:framing(Told), Told, Origin);
        Refused -> Refused
    end.

well_framed({ok, _}, RD, Context) ->
    ringtail_body:unread(RD),
    Message = "there is no such path: an object is at /riak/primary/clusters/CLUSTER/types/TYPE/"
        "buckets/BUCKET/keys/KEY; write a slash inside of a name as %2F",
    ringtail_reply:refuse(404, bad_path, Message, RD, Context);
well_framed({error, Why}, RD, Context) ->
    ringtail_body:refuse_framing(Why, RD, Context).

finish_request(RD, Context) ->
    ringtail_wm_read:finish(RD, Context).
