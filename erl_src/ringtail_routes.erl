%% @doc Puts the routes into the node's dispatch list once Riak KV is up and the engine agrees
%% with it (in a VM without Riak: once there is a dispatch list), sees that they stay there, and
%% takes exactly them out again.
%%
%% The list belongs to webmachine's supervisor and is lost with it; a router that is merely
%% restarted keeps it. Either way the routes are compared with the list when the router comes
%% back, and now and then.
-module(ringtail_routes).

-behaviour(gen_server).

-export([start_link/0, state/0, installed/0, remove_all/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3]).
-export_type([condition/0]).

-type condition() :: starting
                   | waiting_for_riak_kv
                   | waiting_for_webmachine
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

-record(state, {mode :: node | standalone,
                condition = starting :: condition(),
                looks = 0 :: non_neg_integer(),     % since that is the condition
                checked = false :: boolean(),       % the engine agreed
                router = none :: none | reference(),
                routes = [] :: [ringtail_route_table:route()]}).

start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc What the application does at present.
-spec state() -> condition() | not_running.
state() ->
    case ringtail_table:find(?TABLE, condition) of
        {condition, Condition} -> Condition;
        none -> not_running
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

init([]) ->
    process_flag(trap_exit, true),
    ?TABLE = ets:new(?TABLE, [named_table, protected, {read_concurrency, true}]),
    State = #state{mode = ringtail_config:mode()},
    true = ets:insert(?TABLE, {condition, State#state.condition}),
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

look_closer(#state{condition = serving} = State) ->
    install(State);
%% There is no Riak to wait for and no engine to compare.
look_closer(#state{mode = standalone} = State) ->
    install(State#state{checked = true});
look_closer(State) ->
    case kv_is_up() of
        false ->
            State#state{condition = waiting_for_riak_kv};
        true ->
            case engine(State) of
                {ok, Checked} -> install(State#state{checked = Checked});
                {error, {Code, Detail}} -> State#state{condition = {engine_refused, Code, Detail}}
            end
    end.

%% Before there is a ring the engine cannot be compared; the routes answer 503 until then, and the
%% comparison is made up for at the first look with a ring.
engine(#state{checked = true}) ->
    {ok, true};
%% The ring that riak_core is asked about is loaded for this: the snapshot may already be of
%% another one.
engine(#state{}) ->
    case my_ring() of
        {ok, RingTerm} ->
            case ringtail_engine:load_ring(RingTerm) of
                {ok, Ring} -> agreed(ringtail_engine_check:check(Ring, RingTerm));
                {error, _} = Error -> Error
            end;
        {error, _} ->
            {ok, false}
    end.

agreed(ok) -> {ok, true};
agreed({error, _} = Error) -> Error.

my_ring() ->
    try
        riak_core_ring_manager:get_my_ring()
    catch
        error:_ -> {error, no_ring}
    end.

kv_is_up() ->
    try
        lists:member(riak_kv, riak_core_node_watcher:services(node()))
    catch
        error:_ -> false    % Riak is starting, or is not there at all
    end.

install(#state{checked = false} = State) ->
    case engine(State) of
        {ok, Checked} ->
            add(State#state{checked = Checked});
        {error, {Code, Detail}} ->
            remove(State#state.routes),
            State#state{condition = {engine_refused, Code, Detail}, routes = []}
    end;
install(State) ->
    add(State).

%% Newest first in the list, so they are added in reverse to stand there in our order.
add(State) ->
    case whereis(webmachine_router) of
        undefined when State#state.condition =:= serving ->
            State;
        undefined ->
            State#state{condition = waiting_for_webmachine};
        Router ->
            Routes = ours(State),
            _ = [ok = webmachine_router:add_route(Route)
                 || Route <- lists:reverse(ringtail_route_table:missing(Routes, in_list()))],
            watch(Router, State#state{condition = serving, routes = Routes})
    end.

ours(#state{routes = [], mode = node}) ->
    Args = [{query_element, ringtail_wm:query_element()},
            {client, ringtail_relay:client_element()}],
    ringtail_route_table:routes(ringtail_config:prefixes(), ringtail_wm_object, Args);
ours(#state{routes = [], mode = standalone}) ->
    ringtail_route_table:routes(ringtail_config:prefixes(), ringtail_wm_far_object, []);
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
    _ = [catch webmachine_router:remove_route(Route) || Route <- Routes],
    ok.

in_list() ->
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
say_long(_) ->
    ok.

cannot_yet(Why) ->
    error_logger:warning_msg("ringtail ~s: cannot serve yet, ~s; it will once that is done~n",
                             [ringtail_config:version(), Why]).
