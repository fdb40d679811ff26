%% @doc The preflist of one key from the nodes that are really up: fallbacks are shown as what
%% they are. Of another cluster's key it is told by one of its nodes, which see who is up.
-module(ringtail_wm_key_preflist).

-export([init/1, content_types_provided/2, resource_exists/2, to_json/2]).

-record(key, {origin :: ringtail_source:origin(),
              security :: term(),
              json :: undefined | binary()}).

-define(ORIGIN(Context), Context#key.origin).
-define(OWN_PERMISSION, true).
-include("ringtail_wm_read.hrl").

init(Args) ->
    {ok, #key{origin = ringtail_wm:origin(Args)}}.

is_authorized(RD, #key{origin = Origin} = Context) ->
    {{Answer, Told, _}, Security} = Origin:is_authorized(RD, Context),
    {Answer, Told, Context#key{security = Security}}.

%% Who may read the key may ask where it is; besides there is the permission that the protocol
%% buffers call for the same needs, which early 2.x does not know.
forbidden(RD, #key{origin = Origin, security = Security} = Context) ->
    Bucket = {Origin:path_bytes(bucket_type, RD), Origin:path_bytes(bucket, RD)},
    Wanted = [{"riak_kv.get_preflist", Bucket}, {"riak_kv.get", Bucket}],
    case Origin:permitted(RD, Wanted, Security) of
        true -> {false, RD, Context};
        {false, Told} -> {true, Told, Context}
    end.

content_types_provided(RD, Context) ->
    ringtail_wm_read:provided("application/json", to_json, RD, Context).

resource_exists(RD, #key{origin = Origin} = Context) ->
    case ringtail_source:key_preflist(ringtail_wm:source(Origin, RD), RD) of
        {document, Json} ->
            {true, RD, Context#key{json = Json}};
        {refuse, Status, Code, Detail} ->
            ringtail_reply:refuse(Status, Code, Detail, RD, Context);
        {halt, Status, Told} ->
            {ringtail_reply:ending(Status), Told, Context}
    end.

to_json(RD, #key{json = Json} = Context) ->
    ringtail_wm_read:answer("application/json", Json, RD, Context).
