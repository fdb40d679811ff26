%% @doc The preflist of one key from the nodes that are really up: fallbacks are shown as what
%% they are. Of another cluster's key it is told by one of its nodes, which see who is up.
-module(ringtail_wm_key_preflist).

-export([init/1, ping/2, service_available/2, known_methods/2, allowed_methods/2, is_authorized/2,
         forbidden/2, content_types_provided/2, resource_exists/2, to_json/2, finish_request/2]).

-record(key, {security :: term(), json :: undefined | binary()}).

init(_Args) ->
    {ok, #key{}}.

ping(RD, Context) ->
    ringtail_wm:ping(RD, Context).

service_available(RD, Context) ->
    ringtail_wm_read:well_framed(ringtail_wm:ready(RD, Context)).

known_methods(RD, Context) ->
    {[wrq:method(RD)], RD, Context}.

allowed_methods(RD, Context) ->
    ringtail_wm:methods(['GET', 'HEAD'], RD, Context).

is_authorized(RD, Context) ->
    {{Answer, Told, _}, Security} = ringtail_wm:is_authorized(RD, Context),
    {Answer, Told, Context#key{security = Security}}.

%% Who may read the key may ask where it is; besides there is the permission that the protocol
%% buffers call for the same needs, which early 2.x does not know.
forbidden(RD, #key{security = Security} = Context) ->
    Bucket = {ringtail_wm:path_bytes(bucket_type, RD), ringtail_wm:path_bytes(bucket, RD)},
    Wanted = [{"riak_kv.get_preflist", Bucket}, {"riak_kv.get", Bucket}],
    case ringtail_wm:permitted(RD, Wanted, Security) of
        true -> {false, RD, Context};
        {false, Told} -> {true, Told, Context}
    end.

content_types_provided(RD, Context) ->
    ringtail_wm_read:provided("application/json", to_json, RD, Context).

resource_exists(RD, Context) ->
    case ringtail_wm:source(RD) of
        local -> here(RD, Context);
        {far, Name} -> ringtail_far_hop:key_preflist(Name, RD, Context)
    end.

here(RD, Context) ->
    case ringtail_place:preflist(ringtail_wm:bucket(RD), ringtail_wm:path_bytes(key, RD)) of
        {ok, Entries} -> {true, RD, Context#key{json = document(Entries)}};
        {error, {no_type, Detail}} -> ringtail_wm:refuse(404, no_type, Detail, RD, Context);
        {error, {Code, Detail}} -> ringtail_wm:refuse(503, Code, Detail, RD, Context)
    end.

to_json(RD, #key{json = Json} = Context) ->
    ringtail_wm_read:answer("application/json", Json, RD, Context).

finish_request(RD, Context) ->
    ringtail_wm_read:finish(RD, Context).

document(Entries) ->
    {ok, _, Size} = ringtail_ring:ring(),
    Up = ringtail_ring:up(),
    ringtail_json:object([{preflist, [entry(Entry, Size, Up) || Entry <- Entries]}]).

entry({{Index, Node}, Kind}, Size, Up) ->
    {struct, [{node, ringtail_json:name(Node)}, {partition, position(Index, Size)},
              {index, list_to_binary(integer_to_list(Index))}, {primary, Kind =:= primary},
              {up, lists:member(Node, Up)}]}.

position(Index, Size) ->
    Index div ((1 bsl 160) div Size).
