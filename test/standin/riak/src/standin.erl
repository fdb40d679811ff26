%% @doc Test support: a cluster of stand-in Riak nodes, each an OS process of
%% its own on 127.0.0.1, and what can be done to it. Called from a test suite.
%%
%%   {ok, C} = standin:start_cluster(#{nodes => 4, ring_size => 64,
%%                                     patches => ["/path/to/ebin"]}),
%%   [{Name, Url} | _] = standin:urls(C),
%%   ok = standin:kill(C, Name),
%%   ok = standin:stop_cluster(C).
%%
%% Options of start_cluster/1:
%%   nodes       number, or list of names ("dev1" or 'dev1@127.0.0.1'); default 4
%%   ring_size   default 64
%%   patches     directories first on the code path
%%   https       true: also an https listener, certificates by tls/1
%%   ports       [#{http => P, https => P, pb => P}] a node; default free ones
%%   types       [{<<"type">>, [{n_val, 1}]}] created and activated
%%   security    true, or [{"user", "password", [{Bucket, ["riak_kv.get"]}]}]
%%   env         [{App, [{Key, Value}]}] for every node
%%   boot_delay  milliseconds between listening and having a ring
%%   backend     riak_kv_bitcask_backend (no indexes, default), or e.g.
%%               riak_kv_eleveldb_backend (indexes)
%%   persist     false: a node forgets its data, ring and bucket types at restart
%%   form        false: the nodes are not joined
%%   dir, keep   where files go, whether they stay; cookie; listen (address);
%%               args (more arguments for the emulator)
-module(standin).

-export([start_cluster/1, stop_cluster/1, nodes/1, up_nodes/1, urls/1, url/2, url/3, tls/1, dir/2,
         os_pid/2, cookie/1]).
-export([ensure_distributed/0, rpc/5, kill/2, stop/2, restart/2, restart/3]).
-export([add_node/2, join/2, join/3, leave/2, leave/3, replace/3, replace/4, remove/2, down/2]).
-export([ring/2, set_ring/3, heal/2, await_ring/2, settle/1, ring_storm/3, stop_storm/2,
         transfer/4]).
-export([wipe/1, slow_node/3, held/2, traffic/1, reset_traffic/1, security/2, create_type/3]).

-type cluster() :: pid().

%% --- clusters ---

-spec start_cluster(map()) -> {ok, cluster()}.
start_cluster(Options) ->
    ok = ensure_distributed(),
    {ok, C} = standin_cluster:start(Options),
    try
        Names = names(maps:get(nodes, Options, 4)),
        Ports = maps:get(ports, Options, []),
        each(fun({N, I}) -> start_node(C, N, port_option(I, Ports)) end,
             lists:zip(Names, lists:seq(1, length(Names)))),
        _ = maps:get(form, Options, true) andalso form(C, Names),
        [create_type(C, Type, Props) || {Type, Props} <- maps:get(types, Options, [])],
        security(C, maps:get(security, Options, false)),
        {ok, C}
    catch Class:Reason:Stack ->
        stop_cluster(C),
        erlang:raise(Class, Reason, Stack)
    end.

%% All at once: a node takes a second to start.
each(Fun, List) ->
    Monitors = [spawn_monitor(fun() -> exit({done, Fun(X)}) end) || X <- List],
    [receive {'DOWN', M, _, P, {done, _}} -> ok;
             {'DOWN', M, _, P, Why} -> error({standin, Why})
     end || {P, M} <- Monitors],
    ok.

port_option(I, Ports) when I =< length(Ports) -> #{ports => lists:nth(I, Ports)};
port_option(_, _) -> #{}.

form(_C, [_]) -> ok;
form(C, [First | _] = Names) ->
    ok = rpc(C, First, standin_membership, form, [Names]),
    settle(C).

names(N) when is_integer(N) ->
    Unique = "s" ++ os:getpid() ++ integer_to_list(erlang:unique_integer([positive])) ++ "n",
    [full(Unique ++ integer_to_list(I)) || I <- lists:seq(1, N)];
names(List) -> [full(N) || N <- List].

full(Name) when is_atom(Name) -> Name;
full(Name) -> list_to_atom(Name ++ "@127.0.0.1").

%% The controller is a hidden node: the cluster's nodes do not see it.
ensure_distributed() ->
    case is_alive() of
        true ->
            %% Nodes of short and of long names cannot talk.
            net_kernel:longnames() orelse error({standin, {not_a_long_name, node()}}),
            ok;
        false ->
            %% Starts the port mapper if there is none yet.
            Epmd =
                filename:join([code:root_dir(), "erts-" ++ erlang:system_info(version), "bin",
                               "epmd"]),
            _ = os:cmd(case filelib:is_file(Epmd) of true -> Epmd; false -> "epmd" end
                       ++ " -daemon"),
            Name = list_to_atom("standinctl" ++ os:getpid() ++ "@127.0.0.1"),
            {ok, _} = net_kernel:start(Name, #{name_domain => longnames, hidden => true}),
            ok
    end.

%% Leaves no process behind.
-spec stop_cluster(cluster()) -> ok.
stop_cluster(C) ->
    try standin_cluster:call(C, stop)
    catch exit:{noproc, _} -> ok
    end.

info(C) -> standin_cluster:call(C, info).

nodes(C) -> [Name || {Name, _, _, _} <- maps:get(nodes, info(C))].

up_nodes(C) -> [Name || {Name, up, _, _} <- maps:get(nodes, info(C))].

%% [{Node, "http://127.0.0.1:PORT"}] of nodes that have been started.
urls(C) -> [{Name, as_url(http, Ports)} || {Name, _, Ports, _} <- maps:get(nodes, info(C))].

url(C, Node) -> url(C, Node, http).

url(C, Node, Scheme) ->
    {_, _, Ports, _} = lists:keyfind(Node, 1, maps:get(nodes, info(C))),
    as_url(Scheme, Ports).

as_url(Scheme, Ports) ->
    lists:flatten(io_lib:format("~s://127.0.0.1:~b", [Scheme, maps:get(Scheme, Ports)])).

%% #{certfile, keyfile, cacertfile}; empty without https.
tls(C) -> maps:get(tls, info(C)).

cookie(C) -> maps:get(cookie, info(C)).

dir(C, Node) ->
    {_, _, _, Dir} = lists:keyfind(Node, 1, maps:get(nodes, info(C))),
    Dir.

os_pid(C, Node) -> rpc(C, Node, os, getpid, []).

%% --- nodes ---

%% The value, or the error of the call as an exception.
rpc(C, Node, M, F, A) ->
    erlang:set_cookie(Node, cookie(C)),
    erpc:call(Node, M, F, A).

start_node(C, Node, Extra) ->
    erlang:set_cookie(Node, cookie(C)),
    standin_cluster:call(C, {start_node, Node, Extra}).

%% SIGKILL.
kill(C, Node) -> standin_cluster:call(C, {stop_node, Node, kill}).

%% In order, as an operator would.
stop(C, Node) -> standin_cluster:call(C, {stop_node, Node, stop}).

restart(C, Node) -> restart(C, Node, #{}).

%% Options: ports => same (default) | new | #{http => P}; boot_delay; fresh => true
%% (empty data directory); env; until => ready (default) | listening
restart(C, Node, Options) ->
    ok = standin_cluster:call(C, {stop_node, Node, stop}),
    start_node(C, Node, Options).

%% A running node that is in no cluster yet.
add_node(C, Options) ->
    [Name] = names(case Options of #{name := N} -> [N]; _ -> 1 end),
    ok = start_node(C, Name, Options),
    {ok, Name}.

%% --- membership ---

join(C, Node) -> join(C, Node, #{}).

%% Options: pace => milliseconds a partition, flip => at_once (as Riak was seen
%% to do, default) | each, exit_pace => milliseconds between flip and exit
join(C, Node, Options) ->
    Claimant = claimant(C, [Node]),
    true = rpc(C, Node, standin_membership, join, [Claimant]),
    rpc(C, Claimant, standin_membership, commit, [Options]).

leave(C, Node) -> leave(C, Node, #{}).

%% The node ends itself when it has left; keep_running => true: it goes on as a
%% cluster of its own.
leave(C, Node, Options) ->
    Claimant = other_claimant(C, Node),
    ok = rpc(C, Claimant, standin_membership, leave, [Node, Options]),
    left(C, Node, Options).

replace(C, Old, New) -> replace(C, Old, New, #{}).

%% New (a running node of no cluster) takes the place of Old.
replace(C, Old, New, Options) ->
    Claimant = other_claimant(C, Old),
    true = rpc(C, New, standin_membership, join, [Claimant]),
    ok = rpc(C, Claimant, standin_membership, replace, [Old, New, Options]),
    left(C, Old, Options).

left(C, Node, Options) ->
    ok = rpc(C, Node, riak_core_ring_manager, refresh_my_ring, []),
    case maps:get(keep_running, Options, false) of
        true -> ok;
        false -> stop(C, Node)
    end.

%% A node that is gone for good (kill it first).
remove(C, Node) -> rpc(C, other_claimant(C, Node), standin_membership, remove, [Node]).

%% Marked down by the operator.
down(C, Node) -> rpc(C, other_claimant(C, Node), standin_membership, down, [Node]).

claimant(C, Except) ->
    Members = [N || N <- up_nodes(C), not lists:member(N, Except)],
    Size = fun(N) -> length(riak_core_ring:all_members(ring(C, N))) end,
    {_, Member} = lists:max([{Size(N), N} || N <- Members]),
    Claimant = riak_core_ring:claimant(ring(C, Member)),
    case lists:member(Claimant, Members) of
        true -> Claimant;
        false -> ok = rpc(C, Member, standin_membership, set_claimant, [Member]), Member
    end.

other_claimant(C, Node) -> claimant(C, [Node]).

%% --- the ring ---

ring(C, Node) ->
    {ok, Ring} = rpc(C, Node, riak_core_ring_manager, get_raw_ring, []),
    Ring.

%% On this node only: it neither tells nor hears of rings until heal/2.
set_ring(C, Node, Fun) when is_function(Fun, 1) -> set_ring(C, Node, Fun(ring(C, Node)));
set_ring(C, Node, Ring) ->
    ok = rpc(C, Node, application, set_env, [standin, gossip, off]),
    rpc(C, Node, riak_core_ring_manager, set_my_ring, [riak_core_ring:set_owner(Ring, Node)]).

heal(C, Node) ->
    ok = rpc(C, Node, application, set_env, [standin, gossip, on]),
    rpc(C, Node, riak_core_gossip, distribute_ring, [ring(C, Node)]).

%% Until the condition holds for the ring of every node that is up (5 s).
await_ring(C, Condition) ->
    await(fun() -> lists:all(fun(N) -> Condition(ring(C, N)) end, up_nodes(C)) end).

%% Until all nodes that are up see each other up, and hold rings of one content.
settle(C) ->
    Content = fun(R) -> {riak_core_ring:all_owners(R), riak_core_ring:all_member_status(R),
                         riak_core_ring:pending_changes(R)} end,
    Settled = fun() ->
        Up = up_nodes(C),
        Rings = [ring(C, N) || N <- Up],
        Members = riak_core_ring:all_members(hd(Rings)),
        Want = lists:sort([N || N <- Up, lists:member(N, Members)]),
        length(lists:usort([Content(R) || R <- Rings])) =:= 1 andalso
            lists:all(fun(N) -> rpc(C, N, riak_core_node_watcher, nodes, [riak_kv]) =:= Want end,
                      Want)
    end,
    case await(Settled) of
        true -> ok;
        false ->
            Views = [{N, Content(ring(C, N)), rpc(C, N, riak_core_node_watcher, nodes, [riak_kv])}
                     || N <- up_nodes(C)],
            error({standin, {not_settled, Views}})
    end.

await(Condition) -> await(Condition, erlang:monotonic_time(millisecond) + 10000).

await(Condition, Until) ->
    case Condition() of
        true -> true;
        false ->
            case erlang:monotonic_time(millisecond) > Until of
                true -> false;
                false -> timer:sleep(20), await(Condition, Until)
            end
    end.

%% Options: kind => meta (default) | member | owners, rate => changes a second
%% (default 100), duration => milliseconds (default infinity). Returns at once.
ring_storm(C, Node, Options) ->
    rpc(C, Node, standin_storm, start, [maps:get(kind, Options, meta), maps:get(rate, Options, 100),
                                        maps:get(duration, Options, infinity)]),
    ok.

%% How many changes the node has made in storms.
stop_storm(C, Node) ->
    ok = rpc(C, Node, standin_storm, stop, []),
    rpc(C, Node, standin_storm, count, []).

%% One partition to another member, data first.
transfer(C, Index, New, Options) ->
    rpc(C, claimant(C, []), standin_membership, transfer, [Index, New, Options]).

%% --- faults, counters, users, types ---

%% Forgets all objects, tombstones too.
wipe(C) ->
    [ok = rpc(C, N, riak_kv_vnode_master, wipe, []) || N <- up_nodes(C)],
    ok.

%% Delay of gets, puts and deletes that run on this node: Ms, or a map of get,
%% put, delete, and answer (a get or put that is done); 0: none, infinity: held.
slow_node(C, Node, Ms) when not is_map(Ms) -> slow_node(C, Node, #{all => Ms});
slow_node(C, Node, Delays) ->
    [ok = rpc(C, Node, standin_fault, set_delay, [Op, Ms]) || {Op, Ms} <- maps:to_list(Delays)],
    ok.

%% The operations held on a node: [get, put, ...], one for each.
held(C, Node) -> rpc(C, Node, standin_fault, held, []).

%% Bytes between the nodes that are up since the last reset:
%% #{dist, http, connections (HTTP, from node to node), total}
traffic(C) ->
    Counts = [rpc(C, N, standin_traffic, read, []) || N <- up_nodes(C)],
    Sum = fun(Key) -> lists:sum([maps:get(Key, M) || M <- Counts]) end,
    #{dist => Sum(dist), http => Sum(http), connections => Sum(connections),
      total => Sum(dist) + Sum(http)}.

reset_traffic(C) ->
    [ok = rpc(C, N, standin_traffic, reset, []) || N <- up_nodes(C)],
    ok.

%% false | true | [{User, Password, [{Bucket, Permissions}]}]; Bucket is any,
%% "type" or {"type", "bucket"}. Users are added, then security is on.
security(_C, false) -> ok;
security(C, true) -> security(C, []);
security(C, Users) ->
    [Node | _] = up_nodes(C),
    Call = fun(F, A) -> ok = rpc(C, Node, riak_core_security, F, A) end,
    [begin
         Call(add_user, [User, [{"password", Password}]]),
         [Call(add_grant, [[User], Bucket, Permissions]) || {Bucket, Permissions} <- Grants]
     end || {User, Password, Grants} <- Users],
    Call(add_source, [all, {{127, 0, 0, 1}, 32}, password, []]),
    Call(enable, []).

create_type(C, Type, Props) ->
    [Node | _] = up_nodes(C),
    ok = rpc(C, Node, riak_core_bucket_type, create, [Type, Props]),
    ok = rpc(C, Node, riak_core_bucket_type, activate, [Type]).
