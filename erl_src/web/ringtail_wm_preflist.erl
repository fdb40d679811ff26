%% @doc The cluster preflist: index of each partition, in ring order, to its owner's name.
%% Everything is ready in the snapshot; a request costs what webmachine costs.
%%
%% With `format=full' the map comes with the ring's size, the token and the nodes. That answer
%% tells who is up, which the token does not, so its ETag is not the token alone.
-module(ringtail_wm_preflist).

-export([init/1, malformed_request/2, content_types_provided/2, encodings_provided/2,
         resource_exists/2, generate_etag/2, to_json/2]).

-record(preflist, {origin :: ringtail_source:origin(),
                   etag :: undefined | string(),
                   json :: undefined | binary(),
                   gzipped :: undefined | binary()}).

-define(ORIGIN(Context), Context#preflist.origin).
-include("ringtail_wm_read.hrl").

init(Args) ->
    {ok, #preflist{origin = ringtail_wm:origin(Args)}}.

malformed_request(RD, Context) ->
    case wrq:get_qs_value("format", RD) of
        undefined -> {false, RD, Context};
        "full" -> {false, RD, Context};
        "map" -> {false, RD, Context};
        _ ->
            Message = "format must be 'map' (as without it) or 'full'",
            ringtail_reply:refuse(400, bad_format, Message, RD, Context)
    end.

content_types_provided(RD, Context) ->
    ringtail_wm_read:provided("application/json", to_json, RD, Context).

%% The snapshot holds the compressed map too. webmachine asks for the encoders anew when it has
%% the body, and by then resource_exists has found it.
encodings_provided(RD, #preflist{gzipped = Gzipped} = Context) ->
    Gzip = case Gzipped of
               undefined -> fun zlib:gzip/1;
               _ -> fun(_) -> Gzipped end
           end,
    {[{"identity", fun(Body) -> Body end}, {"gzip", Gzip}], RD, Context}.

resource_exists(RD, #preflist{origin = Origin} = Context) ->
    Source = ringtail_wm:source(Origin, RD),
    case ringtail_source:preflist(Source) of
        {ok, Etag, Json, Gzipped} ->
            Found = Context#preflist{etag = Etag, json = Json, gzipped = Gzipped},
            case wrq:get_qs_value("format", RD) of
                "full" -> {true, RD, full(Source, Found)};
                _ -> {true, RD, Found}
            end;
        {error, {Code, Detail}} ->
            ringtail_reply:refuse(503, Code, Detail, RD, Context)
    end.

generate_etag(RD, #preflist{etag = Etag} = Context) ->
    {Etag, RD, Context}.

to_json(RD, #preflist{json = Json} = Context) ->
    ringtail_wm_read:answer("application/json", Json, RD, Context).

full(Source, #preflist{etag = Token, json = Map} = Context) ->
    Up = ringtail_source:up(Source),
    {ok, _, ClusterUuid, _} = ringtail_source:identity(Source),
    Info = ringtail_source:info(Source),
    Json = ringtail_json:object(
             [{cluster, ClusterUuid}, {token, list_to_binary(Token)},
              {ring_size, proplists:get_value(ring_size, Info)},
              {resizing, proplists:get_value(resizing, Info)},
              {nodes, ringtail_member_json:nodes(ringtail_source:members(Source), Up)},
              {preflist, {json, Map}}]),
    Etag = Token ++ "-" ++ integer_to_list(erlang:phash2(Up), 16),
    Context#preflist{etag = Etag, json = Json, gzipped = undefined}.
