%% Test support: one cluster of stand-in nodes: keeps their processes, ports
%% and directories. The interface is in the module standin.
-module(standin_cluster).
-behaviour(gen_server).

-export([start/1, call/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(node, {name, dir, port, status = down, ports = #{}, waiting = []}).
-record(state, {options, cookie, dir, nodes = #{}}).

-define(BOOT_MS, 60000).
-define(STOP_MS, 10000).

start(Options) -> gen_server:start(?MODULE, Options, []).

call(Cluster, Request) ->
    case gen_server:call(Cluster, Request, infinity) of
        {error, {standin, Reason}} -> error({standin, Reason});
        Answer -> Answer
    end.

init(Options) ->
    process_flag(trap_exit, true),
    Dir = maps:get(dir, Options, temp_dir()),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Tls = case maps:get(https, Options, false) of
              true -> standin_tls:files(Dir);
              false -> #{}
          end,
    Cookie = maps:get(cookie, Options, list_to_atom("standin" ++ unique())),
    {ok, #state{options = Options#{tls => Tls}, cookie = Cookie, dir = Dir}}.

temp_dir() -> filename:join(os:getenv("TMPDIR", "/tmp"), "standin-" ++ unique()).

unique() -> os:getpid() ++ "x" ++ integer_to_list(erlang:phash2(make_ref(), 1 bsl 24)).

handle_call({start_node, Name, Extra}, From, State = #state{nodes = Nodes}) ->
    case maps:find(Name, Nodes) of
        {ok, #node{status = S}} when S =/= down ->
            {reply, {error, {standin, {running, Name}}}, State};
        Known ->
            Old = case Known of
                      {ok, N} -> N;
                      error ->
                          #node{name = Name, dir = filename:join(State#state.dir,
                                                                 atom_to_list(Name))}
                  end,
            _ = maps:get(fresh, Extra, false)
                andalso file:del_dir_r(filename:join(Old#node.dir, "data")),
            Port = standin_os:start(spec(Old, Extra, State)),
            erlang:send_after(?BOOT_MS, self(), {too_late, Name, From}),
            New = Old#node{port = Port, status = booting,
                           waiting = [{From, maps:get(until, Extra, ready)}]},
            {noreply, State#state{nodes = Nodes#{Name => New}}}
    end;
handle_call({stop_node, Name, How}, From, State) ->
    with_running(Name, State, fun(Node) ->
        case How of
            kill -> standin_os:kill(Node#node.port);
            stop ->
                spawn(fun() -> rpc:call(Name, init, stop, []) end),
                erlang:send_after(?STOP_MS, self(), {too_late, Name, From})
        end,
        Node#node{waiting = [{From, down} | Node#node.waiting]}
    end);
handle_call(info, _From, State = #state{nodes = Nodes, cookie = Cookie, dir = Dir,
                                        options = Options}) ->
    List = [{Name, N#node.status, N#node.ports, N#node.dir}
            || {Name, N} <- lists:sort(maps:to_list(Nodes))],
    {reply, #{nodes => List, cookie => Cookie, dir => Dir, tls => maps:get(tls, Options)}, State};
handle_call(stop, _From, State) ->
    {stop, normal, ok, State}.

handle_cast(_, State) -> {noreply, State}.

%% What a node prints, and its end.
handle_info({Port, {data, {_, Line}}}, State) ->
    update(Port, State, fun(Node) -> said(Line, Node) end);
handle_info({Port, {exit_status, Status}}, State) ->
    update(Port, State, fun(Node) -> ended(Status, Node) end);
handle_info({too_late, Name, From}, State = #state{nodes = Nodes}) ->
    Node = maps:get(Name, Nodes),
    case lists:keymember(From, 1, Node#node.waiting) of
        true -> standin_os:kill(Node#node.port);
        false -> ok
    end,
    {noreply, State};
handle_info(_, State) -> {noreply, State}.

update(Port, State = #state{nodes = Nodes}, Fun) ->
    case [N || N = #node{port = P} <- maps:values(Nodes), P =:= Port] of
        [Node] -> {noreply, State#state{nodes = Nodes#{Node#node.name => Fun(Node)}}};
        [] -> {noreply, State}
    end.

said("standin: listening " ++ Text, Node) ->
    {ok, Tokens, _} = erl_scan:string(Text ++ "."),
    {ok, Ports} = erl_parse:parse_term(Tokens),
    answer(listening, Node#node{ports = maps:from_list(Ports)});
said("standin: ready" ++ _, Node) -> answer(ready, answer(listening, Node#node{status = up}));
said(Line, Node) ->
    ok = file:write_file(filename:join(Node#node.dir, "console.log"), [Line, $\n], [append]),
    Node.

ended(_Status, Node = #node{waiting = Waiting}) ->
    [gen_server:reply(From, case Until of
                                down -> ok;
                                _ -> {error, {standin,
                                              {not_started, Node#node.name, console(Node)}}}
                            end) || {From, Until} <- Waiting],
    Node#node{status = down, port = undefined, waiting = []}.

console(#node{dir = Dir}) ->
    case file:read_file(filename:join(Dir, "console.log")) of
        {ok, Text} -> Text;
        _ -> <<>>
    end.

answer(Event, Node = #node{waiting = Waiting}) ->
    {Now, Later} = lists:partition(fun({_, Until}) -> Until =:= Event end, Waiting),
    [gen_server:reply(From, ok) || {From, _} <- Now],
    Node#node{waiting = Later}.

with_running(Name, State = #state{nodes = Nodes}, Fun) ->
    case maps:find(Name, Nodes) of
        {ok, #node{status = down}} -> {reply, ok, State};
        {ok, Node} -> {noreply, State#state{nodes = Nodes#{Name => Fun(Node)}}};
        error -> {reply, {error, {standin, {unknown_node, Name}}}, State}
    end.

terminate(_Reason, State = #state{nodes = Nodes, dir = Dir, options = Options}) ->
    Running = [P || #node{port = P} <- maps:values(Nodes), P =/= undefined],
    Pids = [standin_os:os_pid(P) || P <- Running],
    [standin_os:kill(P) || P <- Running],
    [receive {P, {exit_status, _}} -> ok after 5000 -> error({standin, {still_there, P, Pids}}) end
     || P <- Running],
    _ = maps:get(keep, Options, false) orelse maps:is_key(dir, Options) orelse file:del_dir_r(Dir),
    State.

%% --- what a node is started with ---

spec(#node{name = Name, dir = Dir, ports = Ports}, Extra,
     #state{options = Options, cookie = Cookie}) ->
    Path = maps:get(patches, Options, []) ++ ebin(),
    Env = maps:get(env, Options, []) ++ maps:get(env, Extra, []),
    #{name => Name, cookie => Cookie, dir => Dir, path => Path, args => maps:get(args, Options, []),
      config => #{env => env(Dir, wanted_ports(Ports, Extra), Options) ++ Env,
                  boot_delay => maps:get(boot_delay, Extra, maps:get(boot_delay, Options, 0))}}.

%% The stand-in's own code and, where it lies elsewhere, mochiweb.
ebin() ->
    lists:usort([filename:dirname(code:which(M)) || M <- [?MODULE, wrq]])
        ++ [filename:dirname(W) || W <- [code:which(mochiweb)], is_list(W)].

wanted_ports(_Old, #{ports := Given}) when is_map(Given) -> Given;
wanted_ports(_Old, #{ports := new}) -> #{};
wanted_ports(Old, _) -> Old.

env(Dir, Ports, Options) ->
    Ip = maps:get(listen, Options, "127.0.0.1"),
    Listener = fun(Scheme) -> [{Scheme, [{Ip, maps:get(Scheme, Ports, 0)}]}] end,
    Tls = maps:get(tls, Options),
    Files = [{K, V} || {K, V} <- maps:to_list(Tls), K =/= cacertfile],
    Data = case maps:get(persist, Options, true) of
               true -> [{platform_data_dir, filename:join(Dir, "data")},
                        {ring_state_dir, filename:join([Dir, "data", "ring"])}];
               false -> []
           end,
    [{riak_core, [{ring_creation_size, maps:get(ring_size, Options, 64)} | Data]},
     {riak_kv, [{storage_backend, maps:get(backend, Options, riak_kv_bitcask_backend)}]},
     {riak_api, Listener(http) ++ Listener(pb)
          ++ case map_size(Tls) of 0 -> []; _ -> Listener(https) ++ [{standin_tls, Files}] end}].
