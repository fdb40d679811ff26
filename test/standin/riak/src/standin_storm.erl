%% Test support: a ring that does not rest. Kinds: meta (cluster metadata),
%% member (this node's metadata), owners (a partition moves to another node,
%% data first).
-module(standin_storm).
-export([start/3, stop/0, count/0]).

%% Rate: changes a second; for Milliseconds, or until stopped (infinity).
start(Kind, Rate, Milliseconds) ->
    stop(),
    Caller = self(),
    Pid = spawn(fun() ->
        register(?MODULE, self()),
        Caller ! {self(), started},
        Start = now_ms(),
        Until = case Milliseconds of infinity -> infinity; _ -> Start + Milliseconds end,
        storm(Kind, Rate, Start, Until, 0)
    end),
    receive {Pid, started} -> ok end.

stop() ->
    case whereis(?MODULE) of
        undefined -> ok;
        Pid ->
            Ref = monitor(process, Pid),
            Pid ! stop,
            receive {'DOWN', Ref, _, _, _} -> ok end
    end.

%% Changes made since the node started.
count() -> application:get_env(standin, storm_changes, 0).

storm(Kind, Rate, Start, Until, N) ->
    Due = Start + N * 1000 div Rate,
    receive stop -> ok
    after max(0, Due - now_ms()) ->
        case now_ms() >= Until of
            true -> ok;
            false ->
                change(Kind, N),
                application:set_env(standin, storm_changes, count() + 1),
                storm(Kind, Rate, Start, Until, N + 1)
        end
    end.

change(meta, N) ->
    trans(fun(R) -> riak_core_ring:update_meta({standin, storm}, {N, node()}, R) end);
change(member, N) ->
    trans(fun(R) -> riak_core_ring:update_member_meta(node(), R, node(), standin_storm, N) end);
change(owners, _) ->
    {ok, Ring} = riak_core_ring_manager:get_raw_ring(),
    Up = riak_core_node_watcher:nodes(riak_kv),
    Movable = [{I, O} || {I, O} <- riak_core_ring:all_owners(Ring), lists:member(O, Up)],
    {Index, Owner} = pick(Movable),
    case [N || N <- riak_core_ring:members(Ring, [valid]), N =/= Owner, lists:member(N, Up)] of
        [] -> ok;
        %% A node that dies meanwhile ends this change, not the storm.
        Others -> catch standin_membership:transfer(Index, pick(Others), #{})
    end.

trans(Fun) -> riak_core_ring_manager:ring_trans(fun(R, _) -> {new_ring, Fun(R)} end, []).

pick(List) -> lists:nth(rand:uniform(length(List)), List).

now_ms() -> erlang:monotonic_time(millisecond).
