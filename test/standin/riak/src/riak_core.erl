%% Test support: the entry points of riak_core that others call.
-module(riak_core).
-compile({no_auto_import, [register/2]}).

-export([wait_for_service/1, wait_for_application/1, register/1, register/2,
         vnode_modules/0, bucket_fixups/0, stop/0, stop/1, leave/0, join/1,
         add_guarded_event_handler/3, add_guarded_event_handler/4,
         delete_guarded_event_handler/3]).

-define(GUARDS, standin_event_guards).

wait_for_service(Service) ->
    case lists:member(Service, riak_core_node_watcher:services(node())) of
        true -> ok;
        false -> timer:sleep(100), wait_for_service(Service)
    end.

wait_for_application(App) ->
    case lists:keymember(App, 1, application:which_applications()) of
        true -> ok;
        false -> timer:sleep(100), wait_for_application(App)
    end.

register(Props) -> register(undefined, Props).
register(_App, _Props) -> ok.

vnode_modules() -> [{riak_kv, riak_kv_vnode}].
bucket_fixups() -> [].

stop() -> stop("riak stop requested").

stop(Reason) ->
    logger:notice("~s", [Reason]),
    init:stop().

join(Node) -> standin_membership:join(riak_core_util:str_to_node(Node)).
leave() -> standin_membership:leave(node(), #{}).

%% The guard puts a handler back that crashed; one that leaves by itself, or is
%% deleted, stays away.
add_guarded_event_handler(Event, Handler, Args) ->
    add_guarded_event_handler(Event, Handler, Args, undefined).

add_guarded_event_handler(Event, Handler, Args, ExitFun) ->
    Caller = self(),
    Ref = make_ref(),
    {Guard,
     Monitor} = spawn_monitor(fun() -> guard(Event, Handler, Args, ExitFun, {Caller, Ref}) end),
    receive
        {Ref, Result} ->
            erlang:demonitor(Monitor, [flush]),
            _ = Result =:= ok andalso ets:insert(?GUARDS, {{Event, Handler}, Guard}),
            Result;
        {'DOWN', Monitor, _, _, Reason} -> {error, Reason}
    end.

delete_guarded_event_handler(Event, Handler, Args) ->
    ets:delete(?GUARDS, {Event, Handler}),
    gen_event:delete_handler(Event, Handler, Args).

guard(Event, Handler, Args, ExitFun, Caller) ->
    Result = gen_event:add_sup_handler(Event, Handler, Args),
    case Caller of
        {Pid, Ref} -> Pid ! {Ref, Result};
        none -> ok
    end,
    _ = Result =:= ok andalso watch(Event, Handler, Args, ExitFun).

watch(Event, Handler, Args, ExitFun) ->
    receive
        {gen_event_EXIT, Handler, Reason} when Reason =:= normal; Reason =:= shutdown -> ok;
        {gen_event_EXIT, Handler, {swapped, _, _}} -> ok;
        {gen_event_EXIT, Handler, Reason} ->
            _ = is_function(ExitFun, 2) andalso ExitFun(Handler, Reason),
            timer:sleep(100),
            guard(Event, Handler, Args, ExitFun, none)
    end.
