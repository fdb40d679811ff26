%% Test support: gen_event of the same name in riak_core.
-module(riak_core_node_watcher_events).
-behaviour(gen_event).

-export([start_link/0, add_handler/2, add_sup_handler/2, add_guarded_handler/2,
         add_callback/1, add_sup_callback/1, add_guarded_callback/1]).
-export([service_update/1]).
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

service_update(Services) -> gen_event:notify(?MODULE, {service_update, Services}).

init([Fun]) ->
    Fun(riak_core_node_watcher:services()),
    {ok, Fun}.

handle_event({service_update, What}, Fun) ->
    Fun(What),
    {ok, Fun}.

handle_call(_Request, Fun) -> {ok, ok, Fun}.

handle_info(_Info, Fun) -> {ok, Fun}.
