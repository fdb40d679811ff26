%% @doc Test support: what the decision flow carries from node to node: the
%% resource with its state, and the request with its response so far.
-module(webmachine_flow).

-export([new/2, call/2, req/1, set_req/2, reqdata/1, update/2, method/1,
         is_get_or_head/1, header/2, header/3, date_header/2,
         response_header/2, set_header/3, set_header_unless/5, meta/2,
         set_meta/3, set_code/2]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

-record(s, {resource :: webmachine_resource:t(),
            req :: #wm_reqstate{}}).

new(Resource, #wm_reqstate{} = Req) -> #s{resource = Resource, req = Req}.

call(Callback, #s{resource = Resource, req = Req} = S) ->
    {Reply, Resource1, Req1} = webmachine_resource:call(Callback, Resource, Req),
    {Reply, S#s{resource = Resource1, req = Req1}}.


req(#s{req = Req}) -> Req.

set_req(#wm_reqstate{} = Req, S) -> S#s{req = Req}.

reqdata(#s{req = #wm_reqstate{reqdata = RD}}) -> RD.

update(Fun, #s{req = Req} = S) ->
    S#s{req = Req#wm_reqstate{reqdata = Fun(Req#wm_reqstate.reqdata)}}.

method(S) -> wrq:method(reqdata(S)).

is_get_or_head(S) -> lists:member(method(S), ['GET', 'HEAD']).

header(Name, S) -> wrq:get_req_header(Name, reqdata(S)).

header(Name, Default, S) ->
    case header(Name, S) of
        undefined -> Default;
        Value -> Value
    end.

%% A date that cannot be read counts as none.
date_header(Name, S) ->
    case header(Name, S) of
        undefined -> none;
        Value ->
            case webmachine_util:convert_request_date(Value) of
                bad_date -> none;
                Date -> Date
            end
    end.

response_header(Name, S) -> wrq:get_resp_header(Name, reqdata(S)).

set_header(Name, Value, S) ->
    update(fun(RD) -> wrq:set_resp_header(Name, Value, RD) end, S).

set_header_unless(Value, _Name, Value, _Format, S) -> S;
set_header_unless(_, Name, Value, Format, S) -> set_header(Name, Format(Value), S).

meta(Key, #s{req = #wm_reqstate{metadata = Meta}}) ->
    case orddict:find(Key, Meta) of
        {ok, Value} -> Value;
        error -> undefined
    end.

set_meta(Key, Value, #s{req = #wm_reqstate{metadata = Meta} = Req} = S) ->
    S#s{req = Req#wm_reqstate{metadata = orddict:store(Key, Value, Meta)}}.

set_code(Code, S) -> update(fun(RD) -> wrq:set_response_code(Code, RD) end, S).
