%% @doc Has `ringtail_ring_follower' told when Riak's ring or its view of who is up changes.
%%
%% Riak's event processes run a callback that sends one small message and nothing more. The
%% handlers are supervised ones: riak_core drops them when the process that added them ends, and
%% that process is told when one of them is dropped. Their callbacks are external funs on purpose:
%% a local fun would tie riak_core's event process to this version of the code, and purging the
%% code would kill it.
-module(ringtail_ring_events).

-export([hear/1, ring_event/1, up_event/1]).

%% @doc Adds a handler for the calling process. That calls it at once, with the present ring;
%% before there is one it fails, and is to be tried again.
-spec hear(ring | up) -> {ok, Manager :: pid()} | not_yet.
hear(What) ->
    try added(What) of
        {ok, Manager} when is_pid(Manager) -> {ok, Manager};
        _ -> not_yet
    catch
        exit:_ -> not_yet;      % Riak is starting, or the event process is being restarted
        error:undef -> not_yet  % there is no Riak in this VM
    end.

added(ring) ->
    {riak_core_ring_events:add_sup_callback(fun ?MODULE:ring_event/1),
     whereis(riak_core_ring_events)};
added(up) ->
    {riak_core_node_watcher_events:add_sup_callback(fun ?MODULE:up_event/1),
     whereis(riak_core_node_watcher_events)}.

%% @doc Runs in riak_core's event process.
-spec ring_event(term()) -> ok.
ring_event(_Ring) -> tell(ring_changed).

%% @doc Runs in riak_core's event process.
-spec up_event(term()) -> ok.
up_event(_Services) -> tell(up_changed).

tell(Message) ->
    case whereis(ringtail_ring_follower) of
        undefined -> ok;
        Pid -> Pid ! Message, ok
    end.
