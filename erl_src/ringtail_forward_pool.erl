%% @doc The connections to other nodes, kept alive between requests.
%%
%% A caller takes a *slot*: the right to have one connection to a target, with
%% an idle one in it if there is any. It connects itself if not (the pool never
%% waits for the network), and gives the slot back. Bounded per target: slots,
%% idle connections, and callers waiting for a slot; in time: how long one
%% waits, how long a slot is held, how long a connection idles.
%%
%% The pool is told of a connection as soon as it is open and monitors the
%% caller, so that one killed at any point leaves neither slot nor connection
%% behind. Idle connections belong to the pool and are watched: one that the
%% other side closes is gone before anybody could use it.
-module(ringtail_forward_pool).
-behaviour(gen_server).

-export([start_link/0, checkout/3, opened/2, checkin/2, release/1,
         release_all/1]).
-export([close_node/1, count/1, stats/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2,
         code_change/3]).

-export_type([key/0, slot/0]).

-type key() :: {Node :: term(), http | https, string(), inet:port_number()}.
-type slot() :: reference().
-type conn() :: ringtail_forward_conn:conn().

-record(slot, {key :: key(),
               holder :: pid(),
               conn :: undefined | conn(),
               lease :: reference(),
               keep = true :: boolean()}).

-record(waiter, {from, timer, lease}).

-record(target, {used = 0 :: non_neg_integer(),
                 idle = [] :: [{conn(), reference()}],
                 waiting = [] :: [{slot(), #waiter{}}]}).

-record(st, {targets = dict:new(),        % key() -> #target{}
             slots = dict:new(),          % slot() -> #slot{}
             counters = orddict:new(),
             warned = false :: boolean()}).

%% ---------------------------------------------------------------------

-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc A slot for `Key', after waiting for at most `Wait' ms. `none': the
%% caller is to connect. After `Lease' ms the pool takes the slot back and cuts
%% the connection.
-spec checkout(key(), pos_integer(), pos_integer()) ->
                      {ok, slot(), conn() | none} |
                      {error, busy | node_down | stopping | not_running}.
checkout(Key, Wait, Lease) ->
    %% Without a timeout of its own: the answer to a call given up would come
    %% later, as a message the caller does not know. The pool times the wait.
    try gen_server:call(?MODULE, {checkout, Key, Wait, Lease}, infinity)
    catch exit:_ -> {error, not_running}
    end.

%% @doc The caller has opened a connection in its slot. `gone': it has the slot
%% no more, and the pool, which may be stopping, would know nothing of it.
-spec opened(slot(), conn()) -> ok | gone.
opened(Slot, Conn) ->
    try gen_server:call(?MODULE, {opened, Slot, Conn}, infinity)
    catch exit:_ -> gone
    end.

%% @doc Gives the slot back with a connection fit for another request. Called
%% by the connection's owner.
-spec checkin(slot(), conn()) -> ok.
checkin(Slot, Conn) ->
    Pool = whereis(?MODULE),
    case is_pid(Pool) andalso ringtail_forward_conn:give(Conn, Pool) of
        ok ->
            gen_server:cast(Pool, {checkin, Slot, Conn});
        _ ->
            ringtail_forward_conn:close(Conn),
            release(Slot)
    end.

%% @doc Gives the slot back; the caller has closed its connection, if any.
-spec release(slot()) -> ok.
release(Slot) -> gen_server:cast(?MODULE, {release, Slot}).

%% @doc Takes back whatever `Holder' holds and cuts the connections.
-spec release_all(pid()) -> ok.
release_all(Holder) -> gen_server:cast(?MODULE, {release_all, Holder}).

%% @doc The node went down: its idle connections are closed, waiting callers
%% are told, and connections in use are not used again. Requests under way are
%% left to end by themselves: a node that is stopping still answers them.
-spec close_node(term()) -> ok.
close_node(Node) -> gen_server:cast(?MODULE, {close_node, Node}).

%% @doc Counts an event under its name; the names are this application's own.
-spec count(atom()) -> ok.
count(What) -> gen_server:cast(?MODULE, {count, What}).

%% @doc `in_use', `idle' and `waiting' now; the counts of events since start;
%% `targets' the same per target.
-spec stats() -> [{atom(), term()}].
stats() ->
    try gen_server:call(?MODULE, stats)
    catch exit:_ -> []
    end.

%% ---------------------------------------------------------------------

init([]) ->
    process_flag(trap_exit, true),
    {ok, #st{}}.

handle_call({checkout, Key, Wait, Lease}, {Pid, _} = From, St0) ->
    St = warn_once(Key, St0),
    T = target(Key, St),
    Slot = erlang:monitor(process, Pid),
    case has_room(T) of
        true ->
            {noreply, grant(Key, Slot, From, Lease, St)};
        false ->
            case length(T#target.waiting) < limit(max_waiting) of
                true ->
                    Timer = erlang:start_timer(Wait, self(), {wait, Key, Slot}),
                    W = #waiter{from = From, timer = Timer, lease = Lease},
                    {noreply, store(Key, T#target{waiting = T#target.waiting
                                                      ++ [{Slot, W}]}, St)};
                false ->
                    erlang:demonitor(Slot, [flush]),
                    {reply, {error, busy}, add(busy, St)}
            end
    end;
handle_call({opened, Slot, Conn}, _From, St) ->
    case dict:find(Slot, St#st.slots) of
        {ok, S} ->
            {reply, ok, add(opened, put_slot(Slot, S#slot{conn = Conn}, St))};
        error ->
            {reply, gone, St}
    end;
handle_call(stats, _From, St) ->
    {reply, make_stats(St), St};
handle_call(_, _From, St) ->
    {reply, {error, unknown_call}, St}.

handle_cast({checkin, Slot, Conn}, St) ->
    case dict:find(Slot, St#st.slots) of
        {ok, #slot{key = Key, keep = true}} ->
            {noreply, serve_waiting(Key, keep_idle(Key, Conn,
                                                   free(Slot, St)))};
        {ok, #slot{key = Key}} ->
            ringtail_forward_conn:close(Conn),
            {noreply, serve_waiting(Key, free(Slot, St))};
        error ->
            ringtail_forward_conn:close(Conn),
            {noreply, St}
    end;
handle_cast({release, Slot}, St) ->
    {noreply, drop(Slot, St)};
handle_cast({release_all, Holder}, St) ->
    Held = [Slot || {Slot, #slot{holder = H}} <- dict:to_list(St#st.slots),
                    H =:= Holder],
    {noreply, lists:foldl(fun drop/2, St, Held)};
handle_cast({close_node, Node}, St) ->
    Keys = [K || K <- dict:fetch_keys(St#st.targets), element(1, K) =:= Node],
    Slots = dict:map(fun(_, #slot{key = K} = S) ->
                             S#slot{keep = S#slot.keep
                                        andalso not lists:member(K, Keys)}
                     end, St#st.slots),
    {noreply, lists:foldl(fun(K, Acc) -> empty(K, node_down, Acc) end,
                          St#st{slots = Slots}, Keys)};
handle_cast({count, What}, St) ->
    {noreply, add(What, St)};
handle_cast(_, St) ->
    {noreply, St}.

handle_info({'DOWN', Slot, process, _, _}, St) ->
    %% A holder or a waiter; the slot's name is its monitor.
    {noreply, drop(Slot, unwait(Slot, St))};
handle_info({timeout, _, {lease, Slot}}, St) ->
    case dict:is_key(Slot, St#st.slots) of
        true -> {noreply, add(expired, drop(Slot, St))};
        false -> {noreply, St}
    end;
handle_info({timeout, Timer, {wait, Key, Slot}}, St) ->
    T = target(Key, St),
    case lists:keyfind(Slot, 1, T#target.waiting) of
        {Slot, #waiter{timer = Timer, from = From}} ->
            erlang:demonitor(Slot, [flush]),
            gen_server:reply(From, {error, busy}),
            {noreply, add(busy, unwait(Slot, St))};
        _ ->
            {noreply, St}
    end;
handle_info({timeout, Timer, {idle, Key}}, St) ->
    T = target(Key, St),
    {Expired, Idle} = lists:partition(fun({_, R}) -> R =:= Timer end,
                                      T#target.idle),
    [ringtail_forward_conn:close(C) || {C, _} <- Expired],
    {noreply, store(Key, T#target{idle = Idle}, St)};
handle_info({tcp_closed, Socket}, St) -> {noreply, lost(Socket, St)};
handle_info({tcp_error, Socket, _}, St) -> {noreply, lost(Socket, St)};
handle_info({tcp, Socket, _}, St) -> {noreply, lost(Socket, St)};
%% Sockets of ssl are not equal across its messages in every release.
handle_info({ssl_closed, _}, St) -> {noreply, lost_tls(St)};
handle_info({ssl_error, _, _}, St) -> {noreply, lost_tls(St)};
handle_info({ssl, _, _}, St) -> {noreply, lost_tls(St)};
handle_info(_, St) ->
    {noreply, St}.

terminate(_Reason, St) ->
    St1 = lists:foldl(fun(K, Acc) -> empty(K, stopping, Acc) end, St,
                      dict:fetch_keys(St#st.targets)),
    dict:fold(fun(_, #slot{conn = undefined}, _) -> ok;
                 (_, #slot{conn = Conn}, _) -> ringtail_forward_conn:close(Conn)
              end, ok, St1#st.slots).

code_change(_, St, _) -> {ok, St}.

%% ---------------------------------------------------------------------
%% Slots
%% ---------------------------------------------------------------------

%% An idle connection has its place already; a new one needs one.
has_room(#target{idle = [_ | _]}) -> true;
has_room(#target{used = Used}) -> Used < limit(max_connections).

grant(Key, Slot, {Pid, _} = From, Lease, St0) ->
    T0 = target(Key, St0),
    {Conn, Idle} = take_idle(T0#target.idle, Pid),
    Timer = erlang:start_timer(Lease, self(), {lease, Slot}),
    St1 = store(Key, T0#target{used = T0#target.used + 1, idle = Idle}, St0),
    St2 = put_slot(Slot, #slot{key = Key, holder = Pid, conn = Conn,
                               lease = Timer}, St1),
    case Conn of
        undefined ->
            gen_server:reply(From, {ok, Slot, none}),
            St2;
        _ ->
            gen_server:reply(From, {ok, Slot, Conn}),
            add(reused, St2)
    end.

%% The most recently used one is the least likely to be stale.
take_idle([], _) ->
    {undefined, []};
take_idle([{Conn, Timer} | Idle], Pid) ->
    _ = erlang:cancel_timer(Timer),
    case ringtail_forward_conn:end_silence(Conn) of
        ok ->
            case ringtail_forward_conn:give(Conn, Pid) of
                ok -> {Conn, Idle};
                {error, _} -> discard(Conn, Idle, Pid)
            end;
        {error, _} ->
            discard(Conn, Idle, Pid)
    end.

discard(Conn, Idle, Pid) ->
    ringtail_forward_conn:close(Conn),
    take_idle(Idle, Pid).

keep_idle(Key, Conn, St) ->
    T = target(Key, St),
    case length(T#target.idle) < limit(max_idle)
        orelse T#target.waiting =/= [] of
        true ->
            case ringtail_forward_conn:expect_silence(Conn) of
                ok ->
                    Timer = erlang:start_timer(limit(idle_timeout), self(),
                                               {idle, Key}),
                    store(Key, T#target{idle = [{Conn, Timer}
                                                | T#target.idle]}, St);
                {error, _} ->
                    ringtail_forward_conn:close(Conn),
                    St
            end;
        false ->
            ringtail_forward_conn:close(Conn),
            St
    end.

serve_waiting(Key, St) ->
    T = target(Key, St),
    case T#target.waiting of
        [{Slot, #waiter{from = From, timer = Timer, lease = Lease}} | Rest] ->
            case has_room(T) of
                true ->
                    _ = erlang:cancel_timer(Timer),
                    grant(Key, Slot, From, Lease,
                          store(Key, T#target{waiting = Rest}, St));
                false ->
                    St
            end;
        [] ->
            St
    end.

%% Takes a slot back and cuts the connection in it.
drop(Slot, St) ->
    case dict:find(Slot, St#st.slots) of
        {ok, #slot{key = Key, conn = Conn}} ->
            _ = [ringtail_forward_conn:close(Conn) || Conn =/= undefined],
            serve_waiting(Key, free(Slot, St));
        error ->
            St
    end.

free(Slot, St) ->
    #slot{key = Key, lease = Lease} = dict:fetch(Slot, St#st.slots),
    _ = erlang:cancel_timer(Lease),
    erlang:demonitor(Slot, [flush]),
    T = target(Key, St),
    store(Key, T#target{used = T#target.used - 1},
          St#st{slots = dict:erase(Slot, St#st.slots)}).

unwait(Slot, St) ->
    Without = fun(Key, #target{waiting = Waiting} = T, Acc) ->
                      case lists:keytake(Slot, 1, Waiting) of
                          {value, {_, #waiter{timer = Timer}}, Rest} ->
                              _ = erlang:cancel_timer(Timer),
                              store(Key, T#target{waiting = Rest}, Acc);
                          false ->
                              Acc
                      end
              end,
    case dict:is_key(Slot, St#st.slots) of
        true -> St;
        false -> dict:fold(Without, St, St#st.targets)
    end.

%% ---------------------------------------------------------------------
%% Targets
%% ---------------------------------------------------------------------

empty(Key, Reason, St) ->
    T = target(Key, St),
    _ = [begin
             _ = erlang:cancel_timer(Timer),
             ringtail_forward_conn:close(Conn)
         end || {Conn, Timer} <- T#target.idle],
    _ = [begin
             _ = erlang:cancel_timer(Timer),
             erlang:demonitor(Slot, [flush]),
             gen_server:reply(From, {error, Reason})
         end || {Slot, #waiter{from = From, timer = Timer}} <- T#target.waiting],
    store(Key, T#target{idle = [], waiting = []}, St).

lost(Socket, St) ->
    lose(fun(Conn) -> ringtail_forward_conn:key(Conn) =:= Socket end, St).

lost_tls(St) ->
    lose(fun({ssl, _} = Conn) ->
                 ringtail_forward_conn:expect_silence(Conn) =/= ok;
            (_) ->
                 false
         end, St).

lose(Gone, St) ->
    dict:fold(
      fun(Key, #target{idle = Idle} = T, Acc) ->
              case lists:partition(fun({Conn, _}) -> Gone(Conn) end, Idle) of
                  {[], _} ->
                      Acc;
                  {Lost, Kept} ->
                      _ = [begin
                               _ = erlang:cancel_timer(Timer),
                               ringtail_forward_conn:close(Conn)
                           end || {Conn, Timer} <- Lost],
                      add(closed_by_peer, store(Key, T#target{idle = Kept},
                                                Acc))
              end
      end, St, St#st.targets).

target(Key, St) ->
    case dict:find(Key, St#st.targets) of
        {ok, T} -> T;
        error -> #target{}
    end.

%% Targets come and go with the cluster's addresses: none is kept for nothing.
store(Key, #target{used = 0, idle = [], waiting = []}, St) ->
    St#st{targets = dict:erase(Key, St#st.targets)};
store(Key, T, St) ->
    St#st{targets = dict:store(Key, T, St#st.targets)}.

put_slot(Slot, S, St) -> St#st{slots = dict:store(Slot, S, St#st.slots)}.

add(What, St) ->
    St#st{counters = orddict:update_counter(What, 1, St#st.counters)}.

make_stats(St) ->
    Targets = [{Key, [{in_use, T#target.used},
                      {idle, length(T#target.idle)},
                      {waiting, length(T#target.waiting)}]}
               || {Key, T} <- dict:to_list(St#st.targets)],
    Sum = fun(What) ->
                  lists:sum([proplists:get_value(What, P) || {_, P} <- Targets])
          end,
    [{in_use, Sum(in_use)}, {idle, Sum(idle)}, {waiting, Sum(waiting)}]
        ++ St#st.counters ++ [{targets, Targets}].

%% @private `{ringtail, [{forward, Limits}]}', read when needed so that a
%% change takes effect at once.
limit(What) ->
    Configured = case application:get_env(ringtail, forward) of
                     {ok, L} when is_list(L) -> L;
                     _ -> []
                 end,
    case proplists:get_value(What, Configured) of
        N when is_integer(N), N >= 0 -> N;
        _ -> default(What)
    end.

default(max_connections) -> 64;
default(max_idle) -> 16;
default(max_waiting) -> 1024;
%% Far below the 300 s after which mochiweb closes an idle connection, so that
%% ours goes first.
default(idle_timeout) -> 30000.

warn_once({_, https, _, _}, #st{warned = false} = St) ->
    Options = ringtail_forward_conn:ssl_options(),
    case ringtail_forward_conn:verification(Options) of
        verified ->
            ok;
        encrypted_only ->
            error_logger:warning_msg(
              "ringtail: requests forwarded by https are encrypted, but the "
              "other node is not verified: set ssl.cacertfile in riak.conf, or "
              "{ringtail, [{forward_ssl, [{cacertfile, File}, "
              "{verify, verify_peer}]}]}~n")
    end,
    St#st{warned = true};
warn_once(_, St) ->
    St.
