%% Test support: spreads the ring. A change is pushed to every other member at
%% once (changes within 20 ms travel as one); once a second each node compares
%% a fingerprint with one other, which repairs whatever a push did not reach.
%% Fingerprints are small on purpose: bytes between nodes are measured.
-module(riak_core_gossip).
-behaviour(gen_server).

-export([start_link/0, distribute_ring/1, send_ring/1, gossip_version/0,
         random_recursive_gossip/1, recursive_gossip/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-record(state, {ring = none, timer = none}).

-define(PUSH_MS, 20).
-define(COMPARE_MS, 1000).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

gossip_version() -> 2.

distribute_ring(Ring) -> gen_server:cast(?MODULE, {push, Ring}).

recursive_gossip(Ring) -> distribute_ring(Ring).
random_recursive_gossip(Ring) -> distribute_ring(Ring).

send_ring(Node) ->
    {ok, Ring} = riak_core_ring_manager:get_raw_ring(),
    to(Node, {ring, node(), Ring}).

init([]) ->
    erlang:send_after(?COMPARE_MS, self(), compare),
    {ok, #state{}}.

handle_call(sync, _From, State) -> {reply, ok, push(State)}.

handle_cast({push, Ring}, State = #state{timer = none}) ->
    {noreply, State#state{ring = Ring, timer = erlang:send_after(?PUSH_MS, self(), push)}};
handle_cast({push, Ring}, State) ->
    {noreply, State#state{ring = Ring}};
handle_cast({ring, From, Theirs}, State) ->
    receive_ring(From, Theirs),
    {noreply, State};
handle_cast({fingerprint, From, Print}, State) ->
    {ok, Ring} = riak_core_ring_manager:get_raw_ring(),
    _ = fingerprint(Ring) =:= Print orelse to(From, {ring, node(), Ring}),
    {noreply, State}.

handle_info(push, State) -> {noreply, push(State)};
handle_info(compare, State) ->
    erlang:send_after(?COMPARE_MS, self(), compare),
    {ok, Ring} = riak_core_ring_manager:get_raw_ring(),
    case [N || N <- others(Ring), lists:member(N, nodes())] of
        [] -> ok;
        Up -> to(lists:nth(rand:uniform(length(Up)), Up), {fingerprint, node(), fingerprint(Ring)})
    end,
    {noreply, State}.

push(State = #state{ring = none}) -> State#state{timer = none};
push(#state{ring = Ring}) ->
    [to(N, {ring, node(), Ring}) || N <- others(Ring)],
    #state{}.

receive_ring(From, Theirs) -> is_on() andalso reconcile(From, Theirs).

reconcile(From, Theirs) ->
    Merge = fun(Mine, _) -> merge(Theirs, Mine) end,
    case riak_core_ring_manager:ring_trans(Merge, []) of
        {ok, Mine} ->
            %% What came out is news to the sender if it is more than it sent.
            case vclock:descends(vc(Theirs), vc(Mine)) of
                true -> ok;
                false -> distribute_ring(Mine)
            end;
        {not_changed, newer} -> send_ring(From);
        _ -> ok
    end.

%% A ring of another cluster is none of ours, and a node that has been removed
%% has nothing to say.
merge(Theirs, Mine) ->
    Known = riak_core_ring:cluster_name(Theirs) =:= riak_core_ring:cluster_name(Mine),
    case Known andalso riak_core_ring:reconcile(Theirs, Mine) of
        false -> {ignore, other_cluster};
        {new_ring, Ring} -> {set_new(Ring, Mine), Ring};
        {no_change, _} ->
            case vclock:descends(vc(Theirs), vc(Mine)) of
                true -> ignore;
                false -> {ignore, newer}
            end
    end.

%% Only clocks and who has seen the ring changed: no one is told.
set_new(New, Old) ->
    Bare = fun(R) -> setelement(3, setelement(10, R, []), []) end,
    case Bare(New) =:= Bare(Old) of
        true -> set_only;
        false -> adopted
    end.

vc(Ring) -> element(3, Ring).

fingerprint(Ring) ->
    Sorted = [{N, lists:sort(VC)} || {N, VC} <- lists:sort(element(10, Ring))],
    erlang:phash2({lists:sort(vc(Ring)), Sorted, riak_core_ring:cluster_name(Ring)}, 1 bsl 32).

others(Ring) -> lists:delete(node(), riak_core_ring:active_members(Ring)).

%% Never waits for a node that is away.
to(Node, Message) ->
    is_on() andalso
        erlang:send({?MODULE, Node}, {'$gen_cast', Message}, [noconnect, nosuspend]).

%% Off: a node that neither tells nor hears, for two nodes with different rings.
is_on() -> application:get_env(standin, gossip, on) =:= on.
