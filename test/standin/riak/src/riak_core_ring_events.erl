%% Test support: gen_event of the same name in riak_core.
-module(riak_core_ring_events).
-behaviour(gen_event).

-export([start_link/0, add_handler/2, add_sup_handler/2, add_guarded_handler/2,
         add_callback/1, add_sup_callback/1, add_guarded_callback/1]).
-export([ring_update/1, force_update/0, ring_sync_update/1, force_sync_update/0]).
-export([init/1, handle_event/2, handle_call/2, handle_info/2]).

start_link() -> gen_event:start_link({local, ?MODULE}).

add_handler(Handler, Args) -> gen_event:add_handler(?MODULE, Handler, Args).

add_sup_handler(Handler, Args) -> gen_event:add_sup_handler(?MODULE, Handler, Args).

%% Guarded: a handler that crashes is put back.
add_guarded_handler(Handler, Args) ->
    riak_core:add_guarded_event_handler(?MODULE, Handler, Args).

add_callback(Fun) when is_function(Fun) ->
    add_handler({?MODULE, make_ref()}, [Fun]).

add_sup_callback(Fun) when is_function(Fun) ->
    add_sup_handler({?MODULE, make_ref()}, [Fun]).

add_guarded_callback(Fun) when is_function(Fun) ->
    add_guarded_handler({?MODULE, make_ref()}, [Fun]).

ring_update(Ring) -> gen_event:notify(?MODULE, {ring_update, Ring}).

ring_sync_update(Ring) -> gen_event:sync_notify(?MODULE, {ring_update, Ring}).

force_update() ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    ring_update(Ring).

force_sync_update() ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    ring_sync_update(Ring).

%% A new callback is told the present ring at once; where there is none yet,
%% adding it fails.
init([Fun]) ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    Fun(Ring),
    {ok, Fun}.

handle_event({ring_update, What}, Fun) ->
    Fun(What),
    {ok, Fun}.

handle_call(_Request, Fun) -> {ok, ok, Fun}.

handle_info(_Info, Fun) -> {ok, Fun}.
