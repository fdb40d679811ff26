%% @doc Test support: webmachine's request interface for resources.
%%
%% A request is a tuple that goes in and out of every callback. Paths, path
%% bindings and tokens are as they came on the wire, still percent-encoded;
%% the query string is decoded. There is, as in webmachine, no setter for it.
-module(wrq).

-export([create/4, create/5, load_dispatch_data/7]).
-export([method/1, scheme/1, version/1, peer/1, sock/1, socket/1, disp_path/1,
         path/1, raw_path/1, path_info/1, path_info/2, path_tokens/1,
         host_tokens/1, port/1, app_root/1, base_uri/1]).
-export([req_headers/1, get_req_header/2, req_cookie/1, get_cookie_value/2,
         req_qs/1, get_qs_value/2, get_qs_value/3]).
-export([req_body/1, stream_req_body/2, max_recv_body/1,
         set_max_recv_body/2, set_req_body/2]).
-export([response_code/1, set_response_code/2, resp_redirect/1, do_redirect/2,
         resp_headers/1, get_resp_header/2, set_resp_header/3,
         set_resp_headers/2, fresh_resp_headers/2, merge_resp_headers/2,
         remove_resp_header/2]).
-export([resp_body/1, set_resp_body/2, append_to_resp_body/2,
         append_to_response_body/2, set_resp_range/2]).
-export([set_disp_path/2, set_peer/2, set_sock/2, add_note/3, get_notes/1]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

-type t() :: #wm_reqdata{}.
-export_type([t/0]).

%% Making a request

create(Method, Version, RawPath, Headers) ->
    create(Method, http, Version, RawPath, Headers).

create(Method, Scheme, Version, RawPath, Headers) ->
    {Path, Query, _Fragment} = mochiweb_util:urlsplit_path(RawPath),
    Cookie = case mochiweb_headers:get_value("cookie", Headers) of
                 undefined -> [];
                 Value -> mochiweb_cookies:parse_cookie(Value)
             end,
    #wm_reqdata{method = Method,
                scheme = Scheme,
                version = Version,
                raw_path = RawPath,
                path = Path,
                req_qs = mochiweb_util:parse_qs(Query),
                req_cookie = Cookie,
                req_headers = Headers,
                path_info = orddict:new(),
                resp_headers = mochiweb_headers:empty()}.

load_dispatch_data(PathInfo, HostTokens, Port, PathTokens, AppRoot, DispPath, RD) ->
    RD#wm_reqdata{path_info = PathInfo,
                  host_tokens = HostTokens,
                  port = Port,
                  path_tokens = PathTokens,
                  app_root = AppRoot,
                  disp_path = DispPath}.

%% Where it came from and where it goes

method(#wm_reqdata{method = V}) -> V.
scheme(#wm_reqdata{scheme = V}) -> V.
version(#wm_reqdata{version = V}) -> V.
peer(#wm_reqdata{peer = V}) when is_list(V) -> V.
sock(#wm_reqdata{sock = V}) when is_list(V) -> V.
socket(#wm_reqdata{wm_state = #wm_reqstate{socket = V}}) -> V.
disp_path(#wm_reqdata{disp_path = V}) when is_list(V) -> V.
path(#wm_reqdata{path = V}) when is_list(V) -> V.
raw_path(#wm_reqdata{raw_path = V}) when is_list(V) -> V.
path_tokens(#wm_reqdata{path_tokens = V}) -> V.
host_tokens(#wm_reqdata{host_tokens = V}) -> V.
port(#wm_reqdata{port = V}) -> V.
app_root(#wm_reqdata{app_root = V}) when is_list(V) -> V.
path_info(#wm_reqdata{path_info = V}) -> V.

path_info(Key, #wm_reqdata{path_info = Info}) when is_atom(Key) ->
    case orddict:find(Key, Info) of
        {ok, Value} when is_list(Value); is_integer(Value) -> Value;
        error -> undefined
    end.

base_uri(#wm_reqdata{scheme = Scheme, host_tokens = Host, port = Port}) ->
    Suffix = case {Scheme, Port} of
                 {http, 80} -> "";
                 {https, 443} -> "";
                 _ -> ":" ++ integer_to_list(Port)
             end,
    atom_to_list(Scheme) ++ "://" ++ string:join(Host, ".") ++ Suffix.

set_disp_path(P, RD) when is_list(P) -> RD#wm_reqdata{disp_path = P}.
set_peer(P, RD) when is_list(P) -> RD#wm_reqdata{peer = P}.
set_sock(S, RD) when is_list(S) -> RD#wm_reqdata{sock = S}.

%% Headers and query of the request

req_headers(#wm_reqdata{req_headers = V}) -> V.

get_req_header(Name, #wm_reqdata{req_headers = Headers}) ->
    mochiweb_headers:get_value(Name, Headers).

req_cookie(#wm_reqdata{req_cookie = V}) when is_list(V) -> V.

get_cookie_value(Key, RD) when is_list(Key) ->
    lookup(Key, undefined, req_cookie(RD)).

req_qs(#wm_reqdata{req_qs = V}) when is_list(V) -> V.

get_qs_value(Key, RD) -> get_qs_value(Key, undefined, RD).

get_qs_value(Key, Default, RD) when is_list(Key) ->
    lookup(Key, Default, req_qs(RD)).

lookup(Key, Default, List) ->
    case lists:keyfind(Key, 1, List) of
        {Key, Value} -> Value;
        false -> Default
    end.

%% Body of the request

%% Whole body; reading it again gives the same: in a later callback from the
%% request, in this one from the process dictionary. Too large a body, or one
%% that was already streamed, ends the callback, which makes a 500.
req_body(#wm_reqdata{wm_state = #wm_reqstate{bodyfetch = standard} = State}) ->
    whole(State#wm_reqstate.reqbody);
req_body(#wm_reqdata{wm_state = #wm_reqstate{bodyfetch = stream}}) ->
    conflict();
req_body(#wm_reqdata{wm_state = #wm_reqstate{} = State, max_recv_body = Max} = RD) ->
    Read = case get(req_body) of
               undefined -> webmachine_body:read(State, Max, RD#wm_reqdata.max_recv_hunk);
               Cached -> Cached
           end,
    put(req_body, Read),
    put(tmp_reqstate, State#wm_reqstate{bodyfetch = standard, reqbody = Read}),
    whole(Read).

whole({error, req_body_too_large}) -> exit("request body too large");
whole(Body) -> Body.

%% Body in hunks of at most MaxHunk bytes: {Hunk, done} | {Hunk, Next}, where
%% Next() gives the following one.
stream_req_body(#wm_reqdata{wm_state = #wm_reqstate{bodyfetch = standard}}, _MaxHunk) ->
    conflict();
stream_req_body(#wm_reqdata{wm_state = #wm_reqstate{} = State}, MaxHunk) ->
    Hunk = webmachine_body:stream(State, MaxHunk),
    put(tmp_reqstate, State#wm_reqstate{bodyfetch = stream}),
    Hunk.

conflict() -> exit("wrq:req_body and wrq:stream_req_body conflict").

max_recv_body(#wm_reqdata{max_recv_body = V}) when is_integer(V) -> V.
set_max_recv_body(V, RD) when is_integer(V) -> RD#wm_reqdata{max_recv_body = V}.

%% Kept in the tuple only: req_body/1 does not look at it, as in webmachine.
set_req_body(Body, RD) -> RD#wm_reqdata{req_body = Body}.

%% The response

response_code(#wm_reqdata{response_code = {Code, _Phrase}}) -> Code;
response_code(#wm_reqdata{response_code = Code}) when is_integer(Code) -> Code.

set_response_code({Code, _Phrase} = V, RD) when is_integer(Code) ->
    RD#wm_reqdata{response_code = V};
set_response_code(Code, RD) when is_integer(Code) ->
    RD#wm_reqdata{response_code = Code}.

resp_redirect(#wm_reqdata{resp_redirect = V}) when is_boolean(V) -> V.
do_redirect(V, RD) when is_boolean(V) -> RD#wm_reqdata{resp_redirect = V}.

resp_headers(#wm_reqdata{resp_headers = V}) -> V.

get_resp_header(Name, #wm_reqdata{resp_headers = Headers}) ->
    mochiweb_headers:get_value(Name, Headers).

%% Strings only: a binary here is a crash on a real node, so it is one here.
set_resp_header(K, V, #wm_reqdata{resp_headers = H} = RD)
  when is_list(K), is_list(V) ->
    RD#wm_reqdata{resp_headers = mochiweb_headers:enter(K, V, H)}.

set_resp_headers(List, #wm_reqdata{resp_headers = H} = RD) ->
    RD#wm_reqdata{resp_headers = mochiweb_headers:enter_from_list(List, H)}.

fresh_resp_headers(List, RD) ->
    set_resp_headers(List, RD#wm_reqdata{resp_headers = mochiweb_headers:empty()}).

merge_resp_headers(List, #wm_reqdata{resp_headers = H} = RD) ->
    Insert = fun({K, V}, Acc) -> mochiweb_headers:insert(K, V, Acc) end,
    RD#wm_reqdata{resp_headers = lists:foldl(Insert, H, List)}.

%% Only a header that is written just so.
remove_resp_header(K, #wm_reqdata{resp_headers = H} = RD) when is_list(K) ->
    Kept = [Header || {Name, _} = Header <- mochiweb_headers:to_list(H), Name =/= K],
    RD#wm_reqdata{resp_headers = mochiweb_headers:make(Kept)}.

resp_body(#wm_reqdata{resp_body = Body}) ->
    case Body of
        undefined -> undefined;
        {stream, _} -> Body;
        {stream, _, _} -> Body;
        {known_length_stream, _, _} -> Body;
        {writer, _} -> Body;
        _ when is_binary(Body) -> Body;
        _ -> iolist_to_binary(Body)
    end.

set_resp_body(Body, RD) -> RD#wm_reqdata{resp_body = Body}.

append_to_resp_body(Data, RD) -> append_to_response_body(Data, RD).

append_to_response_body(Data, #wm_reqdata{resp_body = Body} = RD)
  when is_binary(Data) ->
    RD#wm_reqdata{resp_body = <<Body/binary, Data/binary>>};
append_to_response_body(Data, RD) ->
    append_to_response_body(iolist_to_binary(Data), RD).

%% ignore_request: answer the whole entity whatever the Range header asks for.
set_resp_range(V, RD) when V =:= follow_request; V =:= ignore_request ->
    RD#wm_reqdata{resp_range = V}.

add_note(K, V, #wm_reqdata{notes = Notes} = RD) ->
    RD#wm_reqdata{notes = [{K, V} | Notes]}.

get_notes(#wm_reqdata{notes = V}) -> V.
