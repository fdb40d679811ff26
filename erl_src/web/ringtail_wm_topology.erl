%% @doc The topology: everything a client needs to find the nodes, or what changed between two
%% tokens. What changed is computed from the two snapshots' content, so a node that came and went
%% in between does not show.
-module(ringtail_wm_topology).

-export([init/1, malformed_request/2, content_types_provided/2, encodings_provided/2,
         resource_exists/2, generate_etag/2, to_json/2]).

%% `current' stands for the newest snapshot: a parameter that is absent or -1.
-record(topology, {origin :: ringtail_source:origin(),
                   from = none :: none | ringtail_topology_history:token(),
                   to = current :: current | ringtail_topology_history:token(),
                   etag :: undefined | string(),
                   json :: undefined | binary()}).

-define(ORIGIN(Context), Context#topology.origin).
-include("ringtail_wm_read.hrl").

init(Args) ->
    {ok, #topology{origin = ringtail_wm:origin(Args)}}.

malformed_request(RD, Context) ->
    case {token("from", none, RD), token("to", current, RD)} of
        {{ok, From}, {ok, To}} ->
            {false, RD, Context#topology{from = From, to = To}};
        {{error, Name}, _} ->
            malformed(Name, RD, Context);
        {_, {error, Name}} ->
            malformed(Name, RD, Context)
    end.

token(Name, Default, RD) ->
    case wrq:get_qs_value(Name, RD) of
        undefined -> {ok, Default};
        "-1" -> {ok, Default};
        Text ->
            case ringtail_topology_history:is_token(Text) of
                true -> {ok, list_to_binary(Text)};
                false -> {error, Name}
            end
    end.

malformed(Name, RD, Context) ->
    Message = [Name, " must be a token as in X-Ringtail-Topology, such as 4-9f3ac21b77d0e1aa, "
               "or -1"],
    ringtail_reply:refuse(400, bad_token, Message, RD, Context).

content_types_provided(RD, Context) ->
    ringtail_wm_read:provided("application/json", to_json, RD, Context).

encodings_provided(RD, Context) ->
    {[{"identity", fun(Body) -> Body end}, {"gzip", fun zlib:gzip/1}], RD, Context}.

resource_exists(RD, #topology{origin = Origin, from = From, to = To} = Context) ->
    Source = ringtail_wm:source(Origin, RD),
    Up = ringtail_source:up(Source),
    case ringtail_topology_history:asked(From, To, ringtail_source:history(Source)) of
        {document, Token, _} = Asked ->
            found(document(Asked, names(Up)), etag([Token], Up), RD, Context);
        {difference, {FromToken, _}, {ToToken, _}} = Asked ->
            found(document(Asked, names(Up)), etag([FromToken, ToToken], Up), RD, Context);
        {error, reversed} ->
            ringtail_reply:refuse(400, reversed, "from is newer than to; exchange them", RD,
                                  Context);
        {error, unknown_to} ->
            Message = "this node does not know the token given as to; leave it out for the current "
                "topology",
            ringtail_reply:refuse(404, unknown_token, Message, RD, Context);
        {error, empty} ->
            Message = "this node has no ring yet; try again in a moment",
            ringtail_reply:refuse(503, no_ring, Message, RD, Context)
    end.

found(Json, Etag, RD, Context) ->
    {true, RD, Context#topology{json = Json, etag = Etag}}.

%% Where the engine is lost, everything instead of what changed.
document(Asked, Up) ->
    case ringtail_engine:is_there() andalso by_engine(Asked, Up) of
        {ok, Json} -> Json;
        _ -> in_full(Asked, Up)
    end.

by_engine({document, Token, Canonical}, Up) ->
    ringtail_engine:topology_document(Token, Canonical, Up);
by_engine({difference, {FromToken, FromCanonical}, {ToToken, ToCanonical}}, Up) ->
    ringtail_engine:topology_difference(FromToken, FromCanonical, ToToken, ToCanonical, Up).

in_full({document, Token, Canonical}, Up) ->
    ringtail_topology_text:document(Token, Canonical, Up);
in_full({difference, _, {Token, Canonical}}, Up) ->
    ringtail_topology_text:document(Token, Canonical, Up).

generate_etag(RD, #topology{etag = Etag} = Context) ->
    {Etag, RD, Context}.

to_json(RD, #topology{json = Json} = Context) ->
    ringtail_wm_read:answer("application/json", Json, RD, Context).

%% The document says who is up, which a token does not.
etag(Tokens, Up) ->
    Texts = [binary_to_list(Token) || Token <- Tokens],
    string:join(Texts ++ [integer_to_list(erlang:phash2(Up), 16)], "-").

names(Nodes) ->
    [ringtail_json:name(Node) || Node <- Nodes].
