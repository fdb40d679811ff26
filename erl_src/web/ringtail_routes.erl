%% @doc Puts the routes into the node's dispatch list once Riak KV is up and the engine agrees
%% with it (in a VM without Riak: once there is a dispatch list), sees that they stay there, and
%% takes exactly them out again.
%%
%% The list belongs to webmachine's supervisor and is lost with it; a router that is merely
%% restarted keeps it. Either way the routes are compared with the list when the router comes
%% back, and now and then.
-module(ringtail_routes).

-behaviour(gen_server).

-export([start_link/1, state/0, part/2, installed/0, remove_all/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3]).
-export_type([condition/0]).

-type condition() :: starting
                   | waiting_for_riak_kv
                   | waiting_for_webmachine
                   | waiting_for_dispatch_list
                   | {engine_refused, Code :: atom(), Detail :: binary()}
                   | serving.

%% While waiting for Riak KV, for the engine, or for a router that died; and between looks when
%% all is well. In ms.
-define(SOON_MS, 250).
-define(LATER_MS, 5000).

%% What any process may ask without a message.
-define(TABLE, ?MODULE).
%% After so many looks that found the same to wait for, a minute, it is said.
-define(LONG, 240).

-record(state, {origin :: ringtail_source:origin(),
                condition = starting :: condition(),
                looks = 0 :: non_neg_integer(),     % since that is the condition
                checked = false :: boolean(),       % the engine agreed
                router = none :: none | reference(),
                routes = [] :: [ringtail_route_table:route()]}).

%% @doc With where the answers come from.
start_link(Origin) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Origin, []).

%% @doc What the application does at present.
-spec state() -> condition() | not_running.
state() ->
    case ringtail_table:find(?TABLE, condition) of
        {condition, Condition} -> Condition;
        none -> not_running
    end.

%% @doc What the origin of the answers brings under this name; the default where nothing runs.
-spec part(report | console, module()) -> module().
part(Name, Default) ->
    case ringtail_table:find(?TABLE, parts) of
        {parts, Parts} -> proplists:get_value(Name, Parts, Default);
        none -> Default
    end.

%% @doc Those of our routes that are in the node's dispatch list.
-spec installed() -> [term()].
installed() ->
    [Route || Route <- in_list(), is_ours(Route)].

%% @doc Takes out every route of ours, whoever put it in. Of a node that shuts down they stay: its
%% listeners serve longer than this application, and without them Riak's own routes would take a
%% path of ours for one of theirs. Our resources answer 503 by themselves.
-spec remove_all() -> ok.
remove_all() ->
    remove_unless_shutdown(installed()).

remove_unless_shutdown(Routes) ->
    case init:get_status() of
        {stopping, _} -> ok;
        _ -> remove(Routes)
    end.

%% ---- gen_server ----

init(Origin) ->
    process_flag(trap_exit, true),
    ?TABLE = ets:new(?TABLE, [named_table, protected, {read_concurrency, true}]),
    State = #state{origin = Origin},
    true = ets:insert(?TABLE, [{condition, State#state.condition}, {parts, Origin:parts()}]),
    self() ! look,
    {ok, State}.

handle_call(_, _, State) ->
    {reply, {error, unknown_call}, State}.

handle_cast(_, State) ->
    {noreply, State}.

handle_info(look, State) ->
    Looked = look(State),
    _ = erlang:send_after(pause(Looked), self(), look),
    {noreply, Looked};
handle_info({'DOWN', Monitor, process, _, _}, #state{router = Monitor} = State) ->
    {noreply, again(State#state{router = none})};
handle_info(router, State) ->
    {noreply, again(State)};
handle_info(_, State) ->
    {noreply, State}.

terminate(_, #state{routes = Routes}) ->
    remove_unless_shutdown(Routes).

code_change(_, State, _) ->
    {ok, State}.

%% ---- Inside ----

look(#state{condition = Before, looks = Looks} = State) ->
    Now = look_closer(State),
    case Now#state.condition of
        Before ->
            _ = [say_long(Before) || Looks =:= ?LONG],
            Now#state{looks = Looks + 1};
        Condition ->
            true = ets:insert(?TABLE, {condition, Condition}),
            say(Condition, length(Now#state.routes)),
            Now#state{looks = 0}
    end.

%% What serves goes on while it waits: Riak's own routes do so too.
look_closer(#state{origin = Origin, checked = Checked, condition = Before} = State) ->
    case Origin:may_serve(Checked) of
        {ok, Now} ->
            add(State#state{checked = Now});
        {wait, _} when Before =:= serving ->
            add(State);
        {wait, For} ->
            State#state{condition = For};
        {error, {Code, Detail}} ->
            remove(State#state.routes),
            State#state{condition = {engine_refused, Code, Detail}, routes = []}
    end.

%% Newest first in the list, so they are added in reverse to stand there in our order.
add(State) ->
    case whereis(webmachine_router) of
        undefined when State#state.condition =:= serving ->
            State;
        undefined ->
            State#state{condition = waiting_for_webmachine};
        Router ->
            watch(Router, add_missing(dispatch_list(), State))
    end.

%% A router that was given no list at all dies of each route that is added.
add_missing(Present, State) when is_list(Present) ->
    Routes = ours(State),
    _ = [ok = webmachine_router:add_route(Route)
         || Route <- lists:reverse(ringtail_route_table:missing(Routes, Present))],
    State#state{condition = serving, routes = Routes};
add_missing(_, State) ->
    State#state{condition = waiting_for_dispatch_list}.

ours(#state{routes = [], origin = Origin}) ->
    ringtail_route_table:routes(ringtail_config:prefixes(), Origin, Origin:parts(),
                                Origin:object_args());
ours(#state{routes = Routes}) ->
    Routes.

watch(Router, #state{router = none} = State) ->
    State#state{router = erlang:monitor(process, Router)};
watch(_, State) ->
    State.

%% The router is being restarted: it is looked for soon, besides the looks that go on anyway.
again(State) ->
    case whereis(webmachine_router) of
        undefined -> _ = erlang:send_after(?SOON_MS, self(), router), State;
        _ -> look(State)
    end.

pause(#state{condition = serving, checked = true}) -> ?LATER_MS;
pause(#state{condition = {engine_refused, _, _}}) -> ?LATER_MS;
pause(#state{}) -> ?SOON_MS.

remove(Routes) ->
    _ = [catch webmachine_router:remove_route(Route) || is_list(dispatch_list()), Route <- Routes],
    ok.

in_list() ->
    case dispatch_list() of
        Routes when is_list(Routes) -> Routes;
        _ -> []
    end.

%% `undefined' where a listener was started without any.
dispatch_list() ->
    try
        webmachine_router:get_routes()
    catch
        error:_ -> []       % no webmachine, or its table is gone
    end.

is_ours(Route) when is_tuple(Route), tuple_size(Route) >= 3 ->
    case element(tuple_size(Route) - 1, Route) of
        Module when is_atom(Module) -> lists:prefix("ringtail_wm_", atom_to_list(Module));
        _ -> false
    end;
is_ours(_) ->
    false.

%% One line when it begins to serve, and when it cannot. What is waited for as a node boots is no
%% news.
say(serving, Routes) ->
    error_logger:info_msg("ringtail ~s: serving ~b routes, engine ~s~n",
                          [ringtail_config:version(), Routes, ringtail_engine:name()]);
say({engine_refused, Code, Detail}, _) ->
    error_logger:error_msg("ringtail ~s: cannot serve, ~s: ~ts~s; it is tried again every ~b s~n",
                           [ringtail_config:version(), Code, Detail, fix(Code),
                            ?LATER_MS div 1000]);
say(_, _) ->
    ok.

fix(disagrees) -> "; install a build for this Riak";
fix(_) -> "".

say_long(waiting_for_riak_kv) ->
    cannot_yet("riak_kv is not up on this node: see `riak admin services'");
say_long(waiting_for_webmachine) ->
    cannot_yet("there is no webmachine_router in this VM: start webmachine");
say_long(waiting_for_dispatch_list) ->
    cannot_yet("webmachine has no list of routes: start its listener with {dispatch, []}");
say_long(_) ->
    ok.

cannot_yet(Why) ->
    error_logger:warning_msg("ringtail ~s: cannot serve yet, ~s; it will once that is done~n",
                             [ringtail_config:version(), Why]).
