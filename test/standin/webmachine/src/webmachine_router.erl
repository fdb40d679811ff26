%% @doc Test support: the node's dispatch list.
%%
%% A new route goes to the head of its group's list, and equal terms are kept
%% once, so adding a route again moves it to the front. The table belongs to
%% the supervisor, so that routes outlive a crash of this process; they are
%% lost when the application stops.
-module(webmachine_router).
-behaviour(gen_server).

-export([start_link/0, create_table/0]).
-export([add_route/1, add_route/2, remove_route/1, remove_route/2,
         remove_resource/1, remove_resource/2, get_routes/0, get_routes/1,
         init_routes/1, init_routes/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

add_route(Route) -> add_route(default, Route).

add_route(Group, Route) -> call({add_route, Group, Route}).

remove_route(Route) -> remove_route(default, Route).

remove_route(Group, Route) -> call({remove_route, Group, Route}).

remove_resource(Module) -> remove_resource(default, Module).

%% Removes every route of a resource module, whatever its arguments.
remove_resource(Group, Module) when is_atom(Module) ->
    call({remove_resource, Group, Module}).

get_routes() -> get_routes(default).

get_routes(Group) ->
    case ets:lookup(?MODULE, Group) of
        [{Group, Routes}] -> Routes;
        [] -> []
    end.

init_routes(Routes) -> init_routes(default, Routes).

%% Sets a group's routes unless it has a row yet, be it of no routes.
init_routes(Group, Routes) -> call({init_routes, Group, Routes}).

call(Request) -> gen_server:call(?MODULE, Request, infinity).

%% Called by the supervisor, which so becomes the owner.
create_table() ->
    case ets:info(?MODULE, name) of
        undefined ->
            ?MODULE = ets:new(?MODULE, [named_table, public, {read_concurrency, true}]),
            ok;
        ?MODULE ->
            ok
    end.

start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

init([]) -> {ok, none}.

handle_call({add_route, Group, Route}, _From, State) ->
    {reply, set(Group, [Route | lists:delete(Route, get_routes(Group))]), State};
handle_call({remove_route, Group, Route}, _From, State) ->
    {reply, set(Group, [R || R <- get_routes(Group), R =/= Route]), State};
handle_call({remove_resource, Group, Module}, _From, State) ->
    {reply, set(Group, without(Module, get_routes(Group))), State};
handle_call({init_routes, Group, Routes}, _From, State) ->
    _ = ets:insert_new(?MODULE, {Group, Routes}),
    {reply, ok, State};
handle_call(_Request, _From, State) ->
    {reply, ignore, State}.

handle_cast(_Msg, State) -> {noreply, State}.

handle_info(_Info, State) -> {noreply, State}.

set(Group, Routes) ->
    true = ets:insert(?MODULE, {Group, Routes}),
    ok.

without(Module, Routes) ->
    lists:flatmap(
      fun({_Path, M, _Args}) when M =:= Module -> [];
         ({_Path, _Guard, M, _Args}) when M =:= Module -> [];
         ({Host, Paths}) when is_list(Paths) -> [{Host, without(Module, Paths)}];
         (Other) -> [Other]
      end, Routes).
