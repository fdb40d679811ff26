%% Test support: owner of this node's ring. Readers take it from a table
%% without a message, as in riak_core: the ring (marked tainted), the raw ring,
%% its packed form, an id that changes with it, and the properties of the
%% buckets it carries. Ring files are written as Riak writes them, but at most
%% five times a second, so that a storm of changes does not become one of files.
-module(riak_core_ring_manager).
-behaviour(gen_server).

-export([start_link/0, get_my_ring/0, get_raw_ring/0, get_raw_ring_chashbin/0,
         get_chash_bin/0, get_ring_id/0, get_bucket_meta/1, set_my_ring/1,
         ring_trans/2, refresh_my_ring/0, force_update/0, set_cluster_name/1,
         write_ringfile/0, read_ringfile/1, find_latest_ringfile/0,
         is_stable_ring/0, stop/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(state, {ring, changed, promote, dirty = false}).

-define(ETS, ets_riak_core_ring_manager).
-define(PROMOTED, {?MODULE, ring}).
-define(PROMOTE_MS, 90000).
-define(WRITE_MS, 200).
-define(KEEP_FILES, 3).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

get_my_ring() ->
    case persistent_term:get(?PROMOTED, ets) of
        ets ->
            case entry(ring) of
                {ok, Ring} -> {ok, Ring};
                none -> {error, no_ring}
            end;
        Ring -> {ok, Ring}
    end.

get_raw_ring() ->
    case entry(raw_ring) of
        {ok, Ring} -> {ok, Ring};
        none -> gen_server:call(?MODULE, get_raw_ring, infinity)
    end.

get_raw_ring_chashbin() ->
    {ok, Ring} = get_raw_ring(),
    {ok, Bin} = get_chash_bin(),
    {ok, Ring, Bin}.

get_chash_bin() ->
    case entry(chashbin) of
        {ok, Bin} -> {ok, Bin};
        none -> {error, no_ring}
    end.

get_ring_id() ->
    case entry(id) of
        {ok, Id} -> Id;
        none -> {0, 0}
    end.

%% Properties of a bucket of the default type live in the ring, all others in
%% the cluster's metadata.
get_bucket_meta({<<"default">>, Name}) -> get_bucket_meta(Name);
get_bucket_meta({_, _} = Bucket) -> riak_core_bucket:get_bucket(Bucket);
get_bucket_meta(Bucket) ->
    case entry({bucket, Bucket}) of
        {ok, Props} -> {ok, Props};
        none -> undefined
    end.

set_my_ring(Ring) -> gen_server:call(?MODULE, {set_my_ring, Ring}, infinity).

%% Fun(Ring, Args) -> {new_ring, R} | {set_only, R} | {reconciled_ring, R}
%%                  | ignore | {ignore, Reason}
ring_trans(Fun, Args) -> gen_server:call(?MODULE, {ring_trans, Fun, Args}, infinity).

refresh_my_ring() -> set_my_ring(riak_core_ring:fresh()).

force_update() ->
    Touch = fun(R, _) ->
                {new_ring, riak_core_ring:update_member_meta(node(), R, node(), unused,
                                                             os:timestamp())}
            end,
    {ok, _} = ring_trans(Touch, []),
    ok.

set_cluster_name(Name) ->
    {ok, Ring} = get_raw_ring(),
    set_my_ring(riak_core_ring:set_cluster_name(Ring, Name)).

write_ringfile() -> gen_server:cast(?MODULE, write).

is_stable_ring() -> gen_server:call(?MODULE, is_stable_ring, infinity).

stop() -> gen_server:stop(?MODULE).

read_ringfile(File) ->
    case file:read_file(File) of
        {ok, Bin} -> binary_to_term(Bin);
        Error -> Error
    end.

find_latest_ringfile() ->
    case lists:reverse(ring_files()) of
        [Latest | _] -> {ok, Latest};
        [] -> {error, not_found}
    end.

%% --- process ---

init([]) ->
    process_flag(trap_exit, true),
    persistent_term:erase(?PROMOTED),
    ?ETS = ets:new(?ETS, [named_table, protected, {read_concurrency, true}]),
    Epoch = persistent_term:get({?MODULE, epoch}, 0) + 1,
    persistent_term:put({?MODULE, epoch}, Epoch),
    ets:insert(?ETS, {id, {Epoch, 0}}),
    Ring0 = case find_latest_ringfile() of
                {ok, File} -> read_ringfile(File);
                {error, not_found} -> riak_core_ring:fresh()
            end,
    Ring = riak_core_ring:update_member_meta(node(), Ring0, node(), participate_in_coverage, true),
    State = publish(Ring, #state{}),
    riak_core_ring_events:ring_update(Ring),
    {ok, State}.

handle_call(get_raw_ring, _From, State) ->
    {reply, {ok, State#state.ring}, State};
handle_call({set_my_ring, Ring}, _From, State) ->
    {reply, ok, install(riak_core_ring:upgrade(Ring), State)};
handle_call({ring_trans, Fun, Args}, _From, State = #state{ring = Ring}) ->
    try Fun(Ring, Args) of
        {new_ring, New} -> changed(New, State);
        {adopted, New} -> {reply, {ok, New}, install(New, State)};
        {reconciled_ring, New} -> changed(New, State);
        {set_only, New} -> {reply, {ok, New}, publish(New, State)};
        ignore -> {reply, not_changed, State};
        {ignore, Reason} -> {reply, {not_changed, Reason}, State};
        Other ->
            logger:error("ring_trans: invalid return value: ~p", [Other]),
            {reply, not_changed, State}
    catch Class:Reason ->
            logger:error("ring_trans: ~p:~p", [Class, Reason]),
            {reply, not_changed, State}
    end;
handle_call(is_stable_ring, _From, State = #state{changed = Then}) ->
    {reply, erlang:monotonic_time(millisecond) - Then >= ?PROMOTE_MS, State}.

handle_cast(write, State) -> {noreply, write(State#state{dirty = true})}.

handle_info(write, State) -> {noreply, write(State)};
%% A ring that has been quiet goes where reading it copies nothing.
handle_info({timeout, Timer, promote}, State = #state{promote = Timer}) ->
    {ok, Ring} = get_my_ring(),
    persistent_term:put(?PROMOTED, Ring),
    {noreply, State};
handle_info(_, State) -> {noreply, State}.

terminate(_Reason, State) ->
    write(State),
    persistent_term:erase(?PROMOTED).

changed(New, State) ->
    State1 = install(New, State),
    riak_core_gossip:distribute_ring(New),
    {reply, {ok, New}, State1}.

install(Ring, State) ->
    State1 = publish(Ring, State),
    riak_core_ring_events:ring_update(Ring),
    State1.

publish(Ring, State) ->
    riak_core_ring:check_tainted(Ring, "Error: Persisting tainted ring"),
    Marked = riak_core_ring:set_tainted(Ring),
    {Epoch, Id} = ets:lookup_element(?ETS, id, 2),
    Buckets = [{{bucket, B}, Props} || B <- riak_core_ring:get_buckets(Ring),
                                       {ok, Props} <- [riak_core_ring:get_meta({bucket, B}, Ring)]],
    Gone = [Key || Key <- ets:select(?ETS, [{{{bucket, '$1'}, '_'}, [], [{{bucket, '$1'}}]}]),
                   not lists:keymember(Key, 1, Buckets)],
    ets:insert(?ETS, [{ring, Marked}, {raw_ring, Ring}, {id, {Epoch, Id + 1}},
                      {chashbin, chashbin:create(riak_core_ring:chash(Ring))} | Buckets]),
    lists:foreach(fun(Key) -> ets:delete(?ETS, Key) end, Gone),
    demote(),
    later_write(State#state{ring = Ring, changed = erlang:monotonic_time(millisecond),
                            promote = restart_timer(State#state.promote)}).

%% Erasing a persistent term costs every process of the node a scan, so only
%% when there is one.
demote() ->
    case persistent_term:get(?PROMOTED, ets) of
        ets -> ok;
        _ -> persistent_term:erase(?PROMOTED)
    end.

restart_timer(Old) ->
    _ = is_reference(Old) andalso erlang:cancel_timer(Old),
    erlang:start_timer(?PROMOTE_MS, self(), promote).

entry(Key) ->
    try ets:lookup(?ETS, Key) of
        [{_, Value}] -> {ok, Value};
        [] -> none
    catch error:badarg -> none
    end.

%% --- ring files ---

later_write(State = #state{dirty = true}) -> State;
later_write(State) ->
    erlang:send_after(?WRITE_MS, self(), write),
    State#state{dirty = true}.

write(State = #state{dirty = false}) -> State;
write(State = #state{ring = Ring}) ->
    case ring_dir() of
        undefined -> ok;
        Dir ->
            File = filename:join(Dir, name() ++ stamp()),
            ok = filelib:ensure_dir(File),
            ok = file:write_file(File ++ ".tmp", term_to_binary(Ring)),
            ok = file:rename(File ++ ".tmp", File),
            Files = lists:reverse(ring_files()),
            [file:delete(F) || F <- lists:nthtail(min(?KEEP_FILES, length(Files)), Files)]
    end,
    State#state{dirty = false}.

ring_files() ->
    case ring_dir() of
        undefined -> [];
        Dir ->
            Pattern = filename:join(Dir, name() ++ lists:duplicate(14, $?)),
            lists:sort(filelib:wildcard(Pattern))
    end.

ring_dir() -> app_helper:get_env(riak_core, ring_state_dir).

name() -> "riak_core_ring." ++ app_helper:get_env(riak_core, cluster_name, "default") ++ ".".

stamp() ->
    {{Y, Mo, D}, {H, Mi, S}} = erlang:universaltime(),
    lists:flatten(io_lib:format("~4..0b~2..0b~2..0b~2..0b~2..0b~2..0b", [Y, Mo, D, H, Mi, S])).
