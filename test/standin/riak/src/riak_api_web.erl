%% Test support: a node's listeners, from {riak_api, [{http, ...}, {https, ...},
%% {pb, ...}]}. A port of 0 takes a free one; the environment then says which.
%% The protocol buffers listener is a bound port and nothing more.
-module(riak_api_web).

-export([get_listeners/0, listen/1, start_listener/2]).

get_listeners() ->
    lists:usort([{Scheme, Binding} || Scheme <- [http, https],
                                      Binding <- app_helper:get_env(riak_api, Scheme, [])]).

listen(Sup) ->
    lists:foreach(fun(Scheme) ->
        case app_helper:get_env(riak_api, Scheme, []) of
            [] -> ok;
            Bindings ->
                application:set_env(riak_api, Scheme, [listener(Scheme, B, Sup) || B <- Bindings])
        end
    end, [http, https, pb]).

%% A listener that is started again after a crash must keep its port, so the
%% port is settled before the child is known to the supervisor.
listener(Scheme, {Ip, 0}, Sup) -> listener(Scheme, {Ip, free_port(Ip)}, Sup);
listener(Scheme, {Ip, Port}, Sup) ->
    Id = name(Scheme, Ip, Port),
    {ok, _} = supervisor:start_child(Sup,
                                     #{id => Id, start => {?MODULE, start_listener,
                                                           [Scheme, {Ip, Port}]},
                                       shutdown => 5000}),
    {Ip, Port}.

free_port(Ip) ->
    {ok, Socket} = gen_tcp:listen(0, [address(Ip)]),
    {ok, Port} = inet:port(Socket),
    ok = gen_tcp:close(Socket),
    Port.

start_listener(pb, {Ip, Port}) ->
    Parent = self(),
    Pid = spawn_link(fun() ->
        Result = gen_tcp:listen(Port, [address(Ip), {reuseaddr, true}]),
        Parent ! {self(), Result},
        receive stop -> ok end
    end),
    receive
        {Pid, {ok, _}} -> {ok, Pid};
        {Pid, Error} -> Error
    end;
start_listener(Scheme, {Ip, Port}) ->
    Tls = case Scheme of
              https -> [{ssl, true}, {ssl_opts, app_helper:get_env(riak_api, standin_tls, [])}];
              http -> []
          end,
    webmachine_mochiweb:start([{name, name(Scheme, Ip, Port)}, {ip, Ip}, {port, Port},
                               {nodelay, true},
                               {backlog, 512}, {dispatch, [{[], riak_api_wm_urlmap, []}]} | Tls]).

name(Scheme, Ip, Port) ->
    Host = case lists:member($:, Ip) of
               true -> "[" ++ Ip ++ "]";
               false -> Ip
           end,
    lists:flatten(io_lib:format("~s://~s:~b", [Scheme, Host, Port])).

address(Ip) ->
    {ok, Address} = inet:parse_address(Ip),
    {ip, Address}.
