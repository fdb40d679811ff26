%% @doc Publishes this node's endpoints in the ring. That is a ring transaction, which gossips: it
%% is done only when the ring says something else, at most every few seconds, and never by a process
%% that others wait for.
-module(ringtail_endpoint_publisher).

-behaviour(gen_server).

-export([start_link/0, ring_changed/0, take_back/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3]).

%% How often the configuration is compared with the ring, in ms. A listener is changed by hand, so
%% seldom.
-define(COMPARE_MS, 10000).
-define(PUBLISH_PAUSE_MS, 2000).
-define(TAKE_BACK_MS, 5000).

-record(state, {publisher = none :: none | pid(),
                resting = false :: boolean(),
                again = false :: boolean()}).

start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc There is a new snapshot.
-spec ring_changed() -> ok.
ring_changed() ->
    gen_server:cast(?MODULE, compare).

%% @doc Takes out of the ring what this node published. For when the application does not run any
%% more: while it runs it says what is configured. A ring manager that is busy does it later.
-spec take_back() -> ok.
take_back() ->
    {Taker, Monitor} = spawn_monitor(fun() -> publish(ringtail_endpoints:to_meta([])) end),
    receive
        {'DOWN', Monitor, process, Taker, _} -> ok
    after ?TAKE_BACK_MS ->
        erlang:demonitor(Monitor, [flush]),
        ok
    end.

%% ---- gen_server ----

init([]) ->
    process_flag(trap_exit, true),
    self() ! tick,
    {ok, #state{}}.

handle_call(_, _, State) ->
    {reply, {error, unknown_call}, State}.

handle_cast(compare, State) ->
    {noreply, compare(State)};
handle_cast(_, State) ->
    {noreply, State}.

handle_info(tick, State) ->
    _ = erlang:send_after(?COMPARE_MS, self(), tick),
    {noreply, compare(State)};
handle_info(rested, #state{again = Again} = State) ->
    Rested = State#state{resting = false, again = false},
    {noreply, case Again of
                  true -> compare(Rested);
                  false -> Rested
              end};
handle_info({'EXIT', Publisher, _}, #state{publisher = Publisher} = State) ->
    _ = erlang:send_after(?PUBLISH_PAUSE_MS, self(), rested),
    {noreply, State#state{publisher = none}};
handle_info(_, State) ->
    {noreply, State}.

%% A transaction that was begun is the ring manager's: nothing to undo here.
terminate(_, _) ->
    ok.

code_change(_, State, _) ->
    {ok, State}.

%% ---- Inside ----

compare(#state{resting = true} = State) ->
    State#state{again = true};
compare(State) ->
    case differs() of
        {true, Meta} ->
            Publisher = spawn_link(fun() -> publish(Meta) end),
            State#state{publisher = Publisher, resting = true};
        false ->
            State
    end.

publish(Meta) ->
    riak_core_ring_manager:ring_trans(fun ringtail_endpoints:publish/2, Meta).

%% What the ring shall say of this node, where it says something else. A node that publishes no
%% more takes back what it had published.
differs() ->
    Wanted = ringtail_endpoints:to_meta([Endpoint || ringtail_config:publish(),
                                                     Endpoint <- ringtail_endpoints:local()]),
    Nothing = ringtail_endpoints:to_meta([]),
    case ringtail_ring:published() of
        Wanted -> false;
        undefined when Wanted =:= Nothing -> false;
        _ -> ringtail_ring:is_member(node()) andalso {true, Wanted}
    end.
