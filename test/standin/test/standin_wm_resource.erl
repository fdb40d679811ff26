%% @doc Test support: resources made to order.
%%
%% Which callbacks a resource exports matters to the decision flow, so each
%% test gets a module of its own with exactly those that it names. A callback
%% is its answer, or `fun(RD, State) -> {Reply, RD, State}'. ping/2 is there
%% unless `{ping, none}' is given.
-module(standin_wm_resource).

-export([new/1, route/2, call/4]).

%% A loaded resource module with these callbacks.
-spec new([{atom(), term()}]) -> module().
new(Callbacks0) ->
    Named = maps:from_list(lists:reverse(Callbacks0)),
    Callbacks = case maps:to_list(maps:merge(#{ping => pong}, Named)) of
                    All when map_get(ping, Named) =:= none -> lists:keydelete(ping, 1, All);
                    All -> All
                end,
    Module = list_to_atom("standin_wm_resource_" ++
                              integer_to_list(erlang:unique_integer([positive]))),
    persistent_term:put({?MODULE, Module}, maps:from_list(Callbacks)),
    Names = [Name || {Name, _} <- Callbacks],
    Forms = [{attribute, 1, module, Module},
             {attribute, 1, export, [{init, 1} | [{N, 2} || N <- Names]]},
             {function, 1, init, 1,
              [{clause, 1, [{var, 1, 'Args'}], [],
                [{tuple, 1, [{atom, 1, ok}, {var, 1, 'Args'}]}]}]}
            | [callback(Module, N) || N <- Names]],
    {ok, Module, Beam} = compile:forms(Forms, []),
    {module, Module} = code:load_binary(Module, "standin_wm_resource", Beam),
    Module.

%% Adds a route to such a resource.
route(PathSpec, Callbacks) ->
    Module = new(Callbacks),
    ok = webmachine_router:add_route({PathSpec, Module, []}),
    Module.

call(Module, Name, RD, State) ->
    case maps:get(Name, persistent_term:get({?MODULE, Module})) of
        Fun when is_function(Fun, 2) -> Fun(RD, State);
        Reply -> {Reply, RD, State}
    end.

%% Name(RD, S) -> standin_wm_resource:call(Module, Name, RD, S).
callback(Module, Name) ->
    Vars = [{var, 1, 'RD'}, {var, 1, 'S'}],
    {function, 1, Name, 2,
     [{clause, 1, Vars, [],
       [{call, 1, {remote, 1, {atom, 1, ?MODULE}, {atom, 1, call}},
         [{atom, 1, Module}, {atom, 1, Name} | Vars]}]}]}.
