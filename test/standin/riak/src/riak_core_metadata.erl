%% Test support: the cluster's metadata (bucket types, bucket properties, users
%% and grants), held by every node and told to the others on change; a node
%% that comes back is told everything. The later write wins.
-module(riak_core_metadata).
-behaviour(gen_server).

-export([start_link/0, get/2, get/3, put/3, put/4, delete/2, fold/3, fold/4, to_list/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-define(GONE, '$deleted').

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

get(Prefix, Key) -> get(Prefix, Key, []).

get(Prefix, Key, Options) ->
    case ets:lookup(?MODULE, {Prefix, Key}) of
        [{_, _, Value}] when Value =/= ?GONE -> Value;
        _ -> proplists:get_value(default, Options)
    end.

put(Prefix, Key, Value) -> put(Prefix, Key, Value, []).

put(Prefix, Key, Fun, Options) when is_function(Fun, 1) ->
    put(Prefix, Key, Fun([get(Prefix, Key)]), Options);
put(Prefix, Key, Value, _Options) -> gen_server:call(?MODULE, {put, {Prefix, Key}, Value}).

delete(Prefix, Key) -> put(Prefix, Key, ?GONE).

fold(Fun, Acc, Prefix) -> fold(Fun, Acc, Prefix, []).

fold(Fun, Acc, Prefix, _Options) -> lists:foldl(Fun, Acc, to_list(Prefix)).

to_list(Prefix) ->
    [{Key, Value}
     || {Key, Value} <- ets:select(?MODULE, [{{{Prefix, '$1'}, '_', '$2'}, [], [{{'$1', '$2'}}]}]),
                     Value =/= ?GONE].

init([]) ->
    ?MODULE = ets:new(?MODULE, [named_table, protected, ordered_set, {read_concurrency, true}]),
    case file() =/= undefined andalso file:read_file(file()) of
        {ok, Bin} -> ets:insert(?MODULE, binary_to_term(Bin));
        _ -> ok
    end,
    ok = net_kernel:monitor_nodes(true),
    Self = self(),
    ok = riak_core_ring_events:add_sup_callback(fun(_Ring) -> Self ! ring_update end),
    {ok, []}.

handle_call({put, Key, Value}, _From, State) ->
    Last = case ets:lookup(?MODULE, Key) of
               [{_, {Time, _}, _}] -> Time;
               [] -> 0
           end,
    Row = {Key, {max(erlang:system_time(microsecond), Last + 1), node()}, Value},
    ets:insert(?MODULE, Row),
    save(),
    Told = [Node || Node <- nodes(), tell(Node, [Row])],
    await(Told, erlang:monotonic_time(millisecond) + 1000),
    {reply, ok, State}.

handle_cast({rows, From, Rows}, State) ->
    merge(From, Rows),
    {noreply, State}.

%% A node has everything told when it is both a member and in touch, whichever
%% comes last. The state: those who have been told.
handle_info({nodeup, Node}, Told) -> {noreply, tell_all(lists:delete(Node, Told))};
handle_info({nodedown, Node}, Told) -> {noreply, lists:delete(Node, Told)};
handle_info(ring_update, Told) -> {noreply, tell_all(Told)};
handle_info(_, State) -> {noreply, State}.

tell_all(Told) -> Told ++ [Node || Node <- nodes() -- Told, tell(Node, ets:tab2list(?MODULE))].

merge(From, Rows) ->
    Newer = [Row || {Key, Stamp, _} = Row <- Rows, is_newer(Key, Stamp)],
    ets:insert(?MODULE, Newer),
    _ = Newer =:= [] orelse save(),
    erlang:send({?MODULE, From}, {told, node()}, [noconnect, nosuspend]).

is_newer(Key, Stamp) ->
    case ets:lookup(?MODULE, Key) of
        [{_, Old, _}] -> Stamp > Old;
        [] -> true
    end.

%% A change is on all connected members when put/3 returns (or a second has
%% passed): tests create a type and use it at once, through any node.
await([], _Until) -> ok;
await(Nodes, Until) ->
    receive
        {told, Node} -> await(lists:delete(Node, Nodes), Until);
        %% Another node may be waiting for our answer meanwhile.
        {'$gen_cast', {rows, From, Rows}} -> merge(From, Rows), await(Nodes, Until);
        {nodedown, Node} -> await(lists:delete(Node, Nodes), Until)
    after max(0, Until - erlang:monotonic_time(millisecond)) -> ok
    end.

%% Only to members of this cluster: other nodes may be in touch for tests.
tell(Node, Rows) ->
    Member = case riak_core_ring_manager:get_my_ring() of
                 {ok, Ring} -> lists:member(Node, riak_core_ring:all_members(Ring));
                 {error, no_ring} -> false
             end,
    Member andalso ok =:= erlang:send({?MODULE, Node}, {'$gen_cast', {rows, node(), Rows}},
                                      [noconnect, nosuspend]).

save() ->
    case file() of
        undefined -> ok;
        File ->
            ok = filelib:ensure_dir(File),
            ok = file:write_file(File, term_to_binary(ets:tab2list(?MODULE)))
    end.

file() ->
    case application:get_env(riak_core, platform_data_dir) of
        {ok, Dir} -> filename:join(Dir, "cluster_meta");
        undefined -> undefined
    end.
