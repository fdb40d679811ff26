%% @doc Test support: HTTP listeners on mochiweb.
%%
%% Options are mochiweb's (name, ip, port, ssl, ssl_opts, nodelay, ...) and
%% dispatch, dispatch_group. As on a real node the group's routes are `undefined'
%% where none are given, and an error_handler here stands back behind the one
%% that the application's environment always has. Where that environment has
%% `{connection_hook, {Module, Fun}}', `Module:Fun(Socket)' is called for each
%% new connection before its first request; the socket is a port or
%% `{ssl, SslSocket}', owned by the calling process. `{request_hook, {Module,
%% Fun}}' is called likewise after each request, while the socket is still open.
-module(webmachine_mochiweb).

-export([start/1, stop/0, stop/1]).
-export([connection/3, loop/2]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

%% The listener is linked to the caller, as supervisors need it.
-spec start([proplists:property()]) -> {ok, pid()} | {error, term()}.
start(Options) ->
    Group = proplists:get_value(dispatch_group, Options, default),
    webmachine_router:init_routes(Group, proplists:get_value(dispatch, Options)),
    {ok, _} = application:ensure_all_started(mochiweb),
    case mochiweb_clock:start() of
        {ok, _} -> ok;
        {error, {already_started, _}} -> ok
    end,
    Name = name(proplists:get_value(name, Options, webmachine)),
    Body = {?MODULE, loop, [Group]},
    Server = lists:foldl(fun proplists:delete/2, Options,
                         [name, loop, dispatch, dispatch_group, error_handler,
                          log_dir, rewrite_module, resource_module_option]),
    mochiweb_socket_server:start(
      [{name, Name}, {loop, {?MODULE, connection, [Body]}}
      | mochilists:set_defaults([{port, 8000}, {nodelay, true}], Server)]).

%% mochiweb registers a listener under a name, so each has an atom.
name(Name) when is_list(Name) -> list_to_atom(Name ++ "_mochiweb");
name(Name) when is_atom(Name) -> name(atom_to_list(Name)).

stop() -> stop(webmachine_mochiweb).

stop(Listener) -> mochiweb_socket_server:stop(Listener).

connection(Socket, Options, Body) ->
    hook(connection_hook, Socket),
    webmachine_connection:serve(Socket, Options, Body).

hook(Name, Socket) ->
    case application:get_env(webmachine, Name) of
        {ok, {Module, Fun}} -> Module:Fun(Socket);
        _ -> ok
    end.

%% One request.
loop(MochiReq, Group) ->
    webmachine_body:start(),
    Req = new_request(MochiReq),
    try
        handle(Req, Group)
    catch
        Class:Reason:Stack ->
            failed({Class, Reason, Stack}, Req)
    end,
    hook(request_hook, Req#wm_reqstate.socket).

handle(#wm_reqstate{reqdata = RD} = Req, Group) ->
    case webmachine_dispatcher:dispatch(host(RD), wrq:path(RD),
                                        webmachine_router:get_routes(Group), RD) of
        {no_dispatch_match, _Host, _Tokens} ->
            error_page(404, {none, none, []}, Req);
        {Module, Args, Host, Port, Tokens, Bindings, AppRoot, DispPath} ->
            RD1 = wrq:load_dispatch_data(orddict:from_list(Bindings), Host, Port,
                                         Tokens, AppRoot, DispPath, RD),
            Meta = orddict:store(resource_module, Module, Req#wm_reqstate.metadata),
            {ok, Resource} = webmachine_resource:wrap(Module, Args),
            webmachine_decision_core:handle_request(
              Resource, Req#wm_reqstate{reqdata = RD1, metadata = Meta})
    end.

%% A failure outside any callback: in a guard, in init, in reading the Host.
failed(Error, Req) ->
    case get(webmachine_head_sent) of
        true ->
            put(mochiweb_request_force_close, true),
            logger:warning("request failed after its answer: ~p", [Error]);
        undefined ->
            error_page(500, Error, Req)
    end,
    ok.

error_page(Code, Reason, Req) ->
    {ok, Handler} = application:get_env(webmachine, error_handler),
    {Page, #wm_reqstate{reqdata = RD} = Req1} = Handler:render_error(Code, Req, Reason),
    RD1 = wrq:set_response_code(Code, wrq:set_resp_body(Page, RD)),
    webmachine_response:send(Req1#wm_reqstate{reqdata = RD1}).

new_request({mochiweb_request, _} = MochiReq) ->
    Get = fun(Key) -> mochiweb_request:get(Key, MochiReq) end,
    Socket = Get(socket),
    RD = wrq:create(Get(method), Get(scheme), Get(version), Get(raw_path), Get(headers)),
    Peer = webmachine_peer:public(first, mochiweb_socket:peername(Socket), RD),
    Sock = webmachine_peer:public(last, sockname(Socket), RD),
    #wm_reqstate{socket = Socket, reqdata = wrq:set_sock(Sock, wrq:set_peer(Peer, RD))}.

sockname({ssl, Socket}) -> ssl:sockname(Socket);
sockname(Socket) -> inet:sockname(Socket).

%% The host that routes are matched against; a proxy's word goes first.
host(RD) ->
    Named = [Value || Name <- ["x-forwarded-host", "x-forwarded-server", "host"],
                      Value <- [wrq:get_req_header(Name, RD)], Value =/= undefined],
    case Named of
        [] -> "";
        [First | _] -> string:trim(hd(string:split(First, ",")))
    end.
