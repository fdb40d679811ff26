%% Listeners: ports, TLS, the hook for new connections, failures at the edges.
-module(standin_wm_listener_tests).

-include_lib("eunit/include/eunit.hrl").

-import(standin_wm_client, [connect/1, close/1, send/2, request/5, recv/2, get/2, get/3, header/2]).
-export([count/1, render_error/3]).

listener_test_() ->
    {foreach,
     fun() ->
             {ok, Apps} = application:ensure_all_started(webmachine),
             standin_wm_resource:route(["who"], [{to_html, fun who/2}]),
             Apps
     end,
     fun(Apps) -> [application:stop(App) || App <- lists:reverse(Apps)] end,
     [fun free_ports/0, fun stop_and_start_again/0, fun port_in_use/0, fun groups/0,
      fun connection_hook/0, fun https/0, fun forwarded_for/0, fun forwarded_host/0,
      fun no_route/0, fun failing_guard/0, fun failing_init/0, fun malformed_host/0,
      fun malformed_request/0, fun error_handler/0, fun headers_of_every_answer/0,
      fun node_lives_through_crashes/0, fun routes_change_between_requests/0]}.

who(RD, S) ->
    Said = [wrq:peer(RD), atom_to_list(wrq:scheme(RD)), string:join(wrq:host_tokens(RD), "."),
            integer_to_list(wrq:port(RD))],
    {string:join(Said, " "), RD, S}.

start() -> start([]).

start(Options) ->
    {ok,
     Pid} = webmachine_mochiweb:start([{name, "listener"}, {ip, "127.0.0.1"}, {port, 0}
                                      | Options ++ [{dispatch, []}
                                                 || not lists:keymember(dispatch, 1, Options)]]),
    {Pid, mochiweb_socket_server:get(Pid, port)}.

with(Fun) -> with([], Fun).

with(Options, Fun) ->
    {Pid, Port} = start(Options),
    try Fun(Port) after webmachine_mochiweb:stop(Pid) end.

free_ports() ->
    {A, PortA} = start(),
    {ok, B} = webmachine_mochiweb:start([{name, other}, {ip, "127.0.0.1"}, {port, 0},
                                         {dispatch, []}]),
    PortB = mochiweb_socket_server:get(B, port),
    ?assert(PortA > 0 andalso PortB > 0 andalso PortA =/= PortB),
    [?assertMatch({200, _, _, _}, get(Port, "/who")) || Port <- [PortA, PortB]],
    [webmachine_mochiweb:stop(L) || L <- [A, B]].

stop_and_start_again() ->
    {Pid, Port} = start(),
    {200, _, _, _} = get(Port, "/who"),
    ok = webmachine_mochiweb:stop(Pid),
    ?assertEqual({error, econnrefused}, gen_tcp:connect({127, 0, 0, 1}, Port, [])),
    {Again, Port} = start([{port, Port} | []]),
    ?assertMatch({200, _, _, _}, get(Port, "/who")),
    webmachine_mochiweb:stop(Again).

port_in_use() ->
    process_flag(trap_exit, true),
    with(fun(Port) ->
                 ?assertEqual({error, eaddrinuse},
                              webmachine_mochiweb:start([{name, second}, {ip, "127.0.0.1"},
                                                         {port, Port}, {dispatch, []}]))
         end).

groups() ->
    with([{dispatch_group, mine}, {dispatch,
                                   [{["own"], standin_wm_resource:new([{to_html, "own"}]), []}]}],
         fun(Port) ->
                 ?assertMatch({200, _, _, <<"own">>}, get(Port, "/own")),
                 ?assertMatch({404, _, _, _}, get(Port, "/who"))
         end).

count(Socket) ->
    {ok, {_, Port}} = inet:peername(Socket),
    hook_owner ! {accepted, Port}.

connection_hook() ->
    register(hook_owner, self()),
    application:set_env(webmachine, connection_hook, {?MODULE, count}),
    try
        with(fun(Port) ->
                     S = connect(Port),
                     {ok, Mine} = inet:port(S),
                     %% Before anything is sent, and once for all its requests.
                     receive {accepted, Mine} -> ok after 5000 -> error(no_hook) end,
                     {200, _, _, _} = request(S, "GET", "/who", [], none),
                     {200, _, _, _} = request(S, "GET", "/who", [], none),
                     receive {accepted, Mine} -> error(called_again) after 50 -> ok end,
                     close(S)
             end)
    after
        application:unset_env(webmachine, connection_hook),
        unregister(hook_owner)
    end.

https() ->
    Key = [{digest, sha256}, {key, {namedCurve, secp256r1}}],
    Chain = #{root => Key, intermediates => [], peer => Key},
    #{server_config := Config} =
        public_key:pkix_test_data(#{server_chain => Chain, client_chain => Chain}),
    Config1 = [{K, V} || {K, V} <- Config, lists:member(K, [cert, key])],
    with([{ssl, true}, {ssl_opts, Config1}],
         fun(Port) ->
                 S = standin_wm_client:connect_tls(Port),
                 ?assertMatch({200, _, _, <<"127.0.0.1 https localhost 443">>},
                              request(S, "GET", "/who", [], none)),
                 Echo = [{allowed_methods, ['PUT']},
                         {content_types_accepted, [{"application/octet-stream", accept}]},
                         {accept, fun(RD, X) ->
                                          {true, wrq:set_resp_body(wrq:req_body(RD), RD), X} end}],
                 standin_wm_resource:route(["echo"], Echo),
                 Body = crypto:strong_rand_bytes(3000000),
                 ?assertMatch({200, _, _, Body}, request(S, "PUT", "/echo", [], Body)),
                 ?assertMatch({200, _, _, Body}, request(S, "PUT", "/echo", [], {chunked, [Body]})),
                 ?assertMatch({200, _, _, _}, request(S, "GET", "/who", [], none)),
                 close(S)
         end).

%% As seen on the webmachine of Riak 3.2.
forwarded_for() ->
    with(fun(Port) ->
        Peer = fun(Headers) ->
            {200, _, _, Body} = get(Port, "/who", Headers),
            hd(binary:split(Body, <<" ">>))
        end,
        X = "X-Forwarded-For", F = "Forwarded",
        [?assertEqual({Said, Headers}, {Peer(Headers), Headers})
         || {Said, Headers} <-
                [{<<"1.2.3.4">>, [{X, "1.2.3.4, 5.6.7.8"}]},
                 {<<"18.4.5.6">>, [{X, "10.0.0.3, 18.4.5.6, 192.168.0.5"}]},
                 {<<"127.0.0.1">>, [{X, "10.0.0.3"}]},
                 {<<"unknown">>, [{X, "unknown"}]},
                 {<<"9.9.9.9">>, [{F, "for=9.9.9.9;by=1.1.1.1"}, {X, "1.2.3.4"}]},
                 {<<"8.8.8.8">>, [{F, "for=10.1.1.1, for=8.8.8.8"}, {X, "1.2.3.4"}]},
                 {<<"1.2.3.4">>, [{F, "for=172.16.0.1"}, {X, "1.2.3.4"}]},
                 {<<"172.32.0.1">>, [{F, "for=172.32.0.1"}]},
                 {<<"2001:db8::1">>, [{F, "for=\"[2001:db8::1]:99\""}]}]],
        %% No answer at all to what it cannot take apart.
        [begin
             S = connect(Port),
             send(S, ["GET /who HTTP/1.1\r\nHost: a\r\nForwarded: ", Junk, "\r\n\r\n"]),
             ?assert(standin_wm_client:closed(S))
         end || Junk <- ["proto=https", "For=9.9.9.9"]]
    end).

forwarded_host() ->
    with(fun(Port) ->
                 ?assertMatch({200, _, _, <<"127.0.0.1 http front.org 81">>},
                              get(Port, "/who", [{"X-Forwarded-Host", "front.org:81, inner"}]))
         end).

no_route() ->
    with(fun(Port) ->
                 {404, <<"Object Not Found">>, H, Page} = get(Port, "/nowhere"),
                 ?assertEqual(<<"text/html">>, header("content-type", H)),
                 ?assertMatch({match, _}, re:run(Page, "404 Not Found"))
         end).

failing_guard() ->
    webmachine_router:add_route({["guarded"], fun(_) -> error(bad_guard) end, none, []}),
    with(fun(Port) ->
                 {500, _, _, Page} = get(Port, "/guarded"),
                 ?assertMatch({match, _}, re:run(Page, "bad_guard")),
                 ?assertMatch({200, _, _, _}, get(Port, "/who"))
         end).

failing_init() ->
    webmachine_router:add_route({["absent"], no_such_module, []}),
    with(fun(Port) -> ?assertMatch({500, _, _, _}, get(Port, "/absent")) end).

malformed_host() ->
    with(fun(Port) -> ?assertMatch({500, _, _, _}, get(Port, "/who", [{"Host", "a:b"}])) end).

malformed_request() ->
    Fields = [["H", integer_to_list(N), ": v\r\n"] || N <- lists:seq(1, 1000)],
    Get = "GET /who HTTP/1.1\r\nHost: a\r\n",
    with(fun(Port) ->
        [begin
             S = connect(Port),
             send(S, Junk),
             {ok, Answer} = gen_tcp:recv(S, 0, 5000),
             ?assertEqual(Code, binary:part(Answer, 9, 3)),
             close(S)
         end || {Code, Junk} <- [{<<"400">>, ["GET /", x(8300), " HTTP/1.1\r\n\r\n"]},
                                 {<<"400">>, [Get, Fields, "\r\n"]},
                                 {<<"431">>, [Get, "X-L: ", x(8200), "\r\n\r\n"]},
                                 {<<"200">>, [Get, "X-L: ", x(8100), "\r\n\r\n"]},
                                 {<<"200">>, ["GET /who?", x(8100), " HTTP/1.1\r\n\r\n"]}]],
        ?assertMatch({200, _, _, _}, get(Port, "/who"))
    end).

x(Length) -> binary:copy(<<"x">>, Length).

render_error(Code, Req, _Reason) ->
    {<<"custom ", (integer_to_binary(Code))/binary>>, Req}.

error_handler() ->
    application:set_env(webmachine, error_handler, ?MODULE),
    with([],
         fun(Port) -> ?assertMatch({404, _, _, <<"custom 404">>}, get(Port, "/nowhere")) end),
    application:set_env(webmachine, error_handler, webmachine_error_handler).

headers_of_every_answer() ->
    standin_wm_resource:route(["dated"],
                              [{to_html, fun(RD, S) ->
                                                 {"x", wrq:set_resp_header("Date", "mine", RD),
                                                  S} end}]),
    with(fun(Port) ->
                 [begin
                      {_, _, H, _} = get(Port, Path),
                      ?assertMatch(<<"MochiWeb/", _/binary>>, header("server", H)),
                      ?assertEqual(29, byte_size(header("date", H)))
                  end || Path <- ["/who", "/nowhere"]],
                 {200, _, Dated, _} = get(Port, "/dated"),
                 ?assertEqual(<<"mine">>, header("date", Dated))
         end).

node_lives_through_crashes() ->
    Crash = fun(RD, _) -> exit({shutdown, RD}) end,
    standin_wm_resource:route(["crash"], [{to_html, Crash}, {finish_request, Crash}]),
    with(fun(Port) ->
                 [?assertMatch({500, _, _, _}, get(Port, "/crash")) || _ <- lists:seq(1, 50)],
                 ?assertMatch({200, _, _, _}, get(Port, "/who"))
         end).

routes_change_between_requests() ->
    with(fun(Port) ->
                 S = connect(Port),
                 Route = {["new"], standin_wm_resource:new([{to_html, "new"}]), []},
                 {404, _, _, _} = request(S, "GET", "/new", [], none),
                 webmachine_router:add_route(Route),
                 {200, _, _, _} = request(S, "GET", "/new", [], none),
                 webmachine_router:remove_route(Route),
                 {404, _, _, _} = request(S, "GET", "/new", [], none),
                 close(S)
         end).
