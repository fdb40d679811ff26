%% Test support: which nodes offer which service. Every node tells the other
%% members what it offers; a lost connection takes a node off at once.
-module(riak_core_node_watcher).
-behaviour(gen_server).

-export([start_link/0, service_up/2, service_up/3, service_up/4, service_down/1,
         service_down/2, node_up/0, node_down/0, services/0, services/1, nodes/1,
         check_health/1, avsn/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-record(state, {services = #{}, up = true, avsn = 0}).

-define(RECONNECT_MS, 250).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

service_up(Id, Pid) -> gen_server:call(?MODULE, {up, Id, Pid}, infinity).
service_up(Id, Pid, _HealthCheck) -> service_up(Id, Pid).
service_up(Id, Pid, _HealthCheck, _Options) -> service_up(Id, Pid).

service_down(Id) -> gen_server:call(?MODULE, {down, Id}, infinity).
service_down(Id, _Health) -> service_down(Id).

node_up() -> gen_server:call(?MODULE, {node, true}, infinity).
node_down() -> gen_server:call(?MODULE, {node, false}, infinity).

services() -> lists:usort(select({'$1', '_'})).

services(Node) -> lists:sort(select({'$1', Node})).

nodes(Service) -> lists:sort(select({Service, '$1'})).

%% Nothing while this node boots. (Riak's is there before anyone can ask; here a
%% node can be held before it has a ring.)
select(Key) ->
    try ets:select(?MODULE, [{{Key}, [], ['$1']}])
    catch error:badarg -> []
    end.

check_health(_Service) -> ok.

avsn() -> gen_server:call(?MODULE, avsn, infinity).

init([]) ->
    ?MODULE = ets:new(?MODULE, [named_table, protected, ordered_set, {read_concurrency, true}]),
    ok = net_kernel:monitor_nodes(true),
    Self = self(),
    ok = riak_core_ring_events:add_sup_callback(fun(_Ring) -> Self ! ring_update end),
    self() ! reconnect,
    {ok, #state{}}.

handle_call({up, Id, Pid}, _From, State = #state{services = Services}) ->
    Ref = erlang:monitor(process, Pid),
    {reply, ok, publish(State#state{services = Services#{Id => Ref}})};
handle_call({down, Id}, _From, State) ->
    {reply, ok, publish(forget(Id, State))};
handle_call({node, Up}, _From, State) ->
    {reply, ok, publish(State#state{up = Up})};
handle_call(avsn, _From, State) ->
    {reply, State#state.avsn, State}.

handle_cast({services, Node, Services, Answer}, State) ->
    record(Node, Services),
    _ = Answer andalso tell(Node, State, false),
    {noreply, State}.

handle_info({nodeup, Node}, State) ->
    tell(Node, State, true),
    {noreply, State};
handle_info({nodedown, Node}, State) ->
    record(Node, []),
    {noreply, State};
handle_info({'DOWN', Ref, process, _, _}, State = #state{services = Services}) ->
    Ids = [Id || {Id, R} <- maps:to_list(Services), R =:= Ref],
    {noreply, publish(lists:foldl(fun forget/2, State, Ids))};
handle_info(ring_update, State) ->
    %% Members come and go: those gone are no longer of interest.
    Members = members(),
    [record(N, []) || N <- known(), not lists:member(N, Members)],
    [tell(N, State, true) || N <- nodes(), lists:member(N, Members), services(N) =:= []],
    {noreply, State};
handle_info(reconnect, State) ->
    erlang:send_after(?RECONNECT_MS, self(), reconnect),
    Away = [N || N <- members(), N =/= node(), not lists:member(N, nodes())],
    %% A stopped node must not make this process wait.
    [spawn(fun() -> net_kernel:connect_node(N) end) || N <- Away],
    [tell(N, State, true) || N <- nodes(), lists:member(N, members()), services(N) =:= []],
    {noreply, State};
handle_info(_, State) -> {noreply, State}.

forget(Id, State = #state{services = Services}) ->
    case maps:take(Id, Services) of
        {Ref, Rest} -> erlang:demonitor(Ref, [flush]), State#state{services = Rest};
        error -> State
    end.

publish(State = #state{avsn = Avsn}) ->
    record(node(), offered(State)),
    [tell(N, State, false) || N <- members(), N =/= node()],
    State#state{avsn = Avsn + 1}.

offered(#state{up = false}) -> [];
offered(#state{services = Services}) -> lists:sort(maps:keys(Services)).

tell(Node, State, Answer) ->
    Message = {'$gen_cast', {services, node(), offered(State), Answer}},
    erlang:send({?MODULE, Node}, Message, [noconnect, nosuspend]).

record(Node, Services) ->
    Before = services(Node),
    Member = lists:member(Node, members()) orelse Services =:= [],
    case Member andalso lists:sort(Services) =/= Before of
        true ->
            ets:insert(?MODULE, [{{S, Node}} || S <- Services]),
            [ets:delete(?MODULE, {S, Node}) || S <- Before -- Services],
            riak_core_node_watcher_events:service_update(services());
        false -> ok
    end.

known() -> lists:usort(ets:select(?MODULE, [{{{'_', '$1'}}, [], ['$1']}])).

members() ->
    case riak_core_ring_manager:get_my_ring() of
        {ok, Ring} -> riak_core_ring:all_members(Ring);
        {error, no_ring} -> [node()]
    end.
