%% Runs inside a stand-in node: what a suite wants to know of it.
-module(ringtail_test_probe).

-export([facts/0, compare/1, apl/2, primary_nodes/2, connected_to/1, heap_of/1, room_made/0]).
-export([reloaded/0, late_answers/0, replaced/2, left_at/1, running/1, carried/1]).
%% For riak_core_ring_manager:ring_trans/2
-export([mark/2, own/2, add_member/2, remove_member/2]).

%% What the application must leave as it was. Riak starts vnodes as keys need them, whoever asks,
%% and a process that is being started has no name yet.
facts() ->
    #{routes => webmachine_router:get_routes(),
      registered => lists:sort(registered()),
      tables => lists:sort([Name
                            || Table <- ets:all(), Name <- [ets:info(Table, name)],
                               Name =/= riak_kv_vnode]),
      handlers => [gen_event:which_handlers(Manager)
                   || Manager <- [riak_core_ring_events, riak_core_node_watcher_events]],
      processes => lists:sort([Call
                               || {_, Call} <- [{P, proc_lib:translate_initial_call(P)}
                                                || P <- processes()],
                                       not lists:member(Call, [{erlang, apply, 2},
                                                               {proc_lib, init_p,
                                                                5}, {riak_kv_vnode, init, 1}])]),
      ports => lists:sort([Name
                           || {name, Name} <- [erlang:port_info(Port, name)
                                               || Port <- erlang:ports()]]),
      applications => lists:sort([App || {App, _, _} <- application:which_applications()])}.

%% The engine's primaries against riak_core's for this many random keys, while the ring may
%% change: what was computed while it did is not counted. -> {ok, number of different rings} |
%% {differs, ...}
compare(Count) ->
    compare(Count, []).

compare(Left, Rings) when Left =< 0 ->
    {ok, length(lists:usort(Rings))};
compare(Left, Rings) ->
    Id = riak_core_ring_manager:get_ring_id(),
    ok = ringtail_ring_follower:refresh(5000),
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    Results = [both(random_bkey(), Ring) || _ <- lists:seq(1, 100)],
    case {riak_core_ring_manager:get_ring_id(),
          [Result || {Ours, Theirs, _} = Result <- Results, Ours =/= Theirs]} of
        {Id, []} -> compare(Left - 100, [erlang:phash2(riak_core_ring:all_owners(Ring)) | Rings]);
        {Id, [Different | _]} -> {differs, Different};
        _ -> compare(Left, Rings)
    end.

both({Bucket, Key} = BKey, Ring) ->
    {ok, Ours} = ringtail_key_owners:primaries(Bucket, Key),
    N = proplists:get_value(n_val, riak_core_bucket:get_bucket(Bucket)),
    Theirs = riak_core_ring:preflist(riak_core_util:chash_key(BKey), Ring),
    {Ours, lists:sublist(Theirs, N), BKey}.

random_bkey() ->
    Types = [<<"default">>, <<"t1">>, <<"t3">>, <<"t5">>, <<"tb">>, <<"tc">>],
    Type = lists:nth(rand:uniform(length(Types)), Types),
    Name = rand:bytes(rand:uniform(20)),
    Key = rand:bytes(rand:uniform(60)),
    case Type of
        <<"default">> -> {Name, Key};
        _ -> {{Type, Name}, Key}
    end.

%% Riak's own annotated preflist.
apl(Bucket, Key) ->
    N = proplists:get_value(n_val, riak_core_bucket:get_bucket(Bucket)),
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    riak_core_apl:get_apl_ann(riak_core_util:chash_key({Bucket, Key}), N, Ring,
                              riak_core_node_watcher:nodes(riak_kv)).

%% Riak's own primaries, up or not, each once.
primary_nodes(Bucket, Key) ->
    N = proplists:get_value(n_val, riak_core_bucket:get_bucket(Bucket)),
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    All = riak_core_ring:preflist(riak_core_util:chash_key({Bucket, Key}), Ring),
    lists:usort([Node || {_, Node} <- lists:sublist(All, N)]).

%% Sockets of this node that are connected to this port.
connected_to(Port) ->
    [Socket || Socket <- erlang:ports(), erlang:port_info(Socket, name) =:= {name, "tcp_inet"},
               {ok, {_, Peer}} <- [inet:peername(Socket)], Peer =:= Port].

%% The least heap of the process that serves the connection from this port, and what it keeps
%% besides.
heap_of(Port) ->
    [Socket] = connected_to(Port),
    {connected, Pid} = erlang:port_info(Socket, connected),
    [{garbage_collection, Settings}, {dictionary, Dictionary}] =
        process_info(Pid, [garbage_collection, dictionary]),
    {proplists:get_value(min_heap_size, Settings),
     lists:keymember(ringtail_wm_object, 1, Dictionary)}.

%% What waits for the process that serves the connection from this port, and what it watches.
left_at(Port) ->
    [Socket] = connected_to(Port),
    {connected, Pid} = erlang:port_info(Socket, connected),
    [{messages, Messages}, {monitors, Monitors}] = process_info(Pid, [messages, monitors]),
    {Messages, Monitors}.

%% Processes that are in a function of this module.
running(Module) ->
    [Pid || Pid <- processes(),
            {_, Stack} <- [process_info(Pid, current_stacktrace)],
            lists:keymember(Module, 1, Stack)].

%% Bytes sent to and received from another node, by the connection to it.
carried(Node) ->
    {Node, Port} = lists:keyfind(Node, 1, erlang:system_info(dist_ctrl)),
    {ok, [{send_oct, Sent}, {recv_oct, Received}]} = inet:getstat(Port, [send_oct, recv_oct]),
    {Sent, Received}.

%% The least heap before, during and after a request, and after one that follows one that broke off.
room_made() ->
    Least = fun() -> {_, Settings} = process_info(self(), garbage_collection),
                proplists:get_value(min_heap_size, Settings) end,
    Begin =
        fun() -> {ok, _} = ringtail_wm_object:init([{origin, ringtail_node_source},
                                                    {query_element, 1}]), Least() end,
    RD = wrq:set_response_code(200, wrq:create('GET', {1, 1}, "/", mochiweb_headers:empty())),
    End = fun() -> {true, RD, context} = ringtail_wm_object:finish_request(RD, context),
              Least() end,
    Before = Least(),
    Whole = [Begin(), End()],
    BrokenOff = [Begin(), Begin(), End()],
    {Before, Whole, BrokenOff, End()}.

%% What the ring's process did when it was asked to load the ring anew, in order: what it inserted
%% as one, and its answer.
reloaded() ->
    {ok, Ring, _} = ringtail_ring:ring(),
    Server = whereis(ringtail_ring_follower),
    1 = erlang:trace(Server, true, [call, send]),
    _ = erlang:trace_pattern({ets, insert, 2}, true, []),
    Answer = ringtail_ring_follower:reload(Ring, 20000),
    _ = erlang:trace_pattern({ets, insert, 2}, false, []),
    1 = erlang:trace(Server, false, [call, send]),
    Delivered = erlang:trace_delivered(Server),
    receive {trace_delivered, Server, Delivered} -> ok end,
    {Answer, done(Server)}.

done(Server) ->
    receive
        {trace, Server, call, {ets, insert, [ringtail_ring_snapshot, Objects]}}
          when is_list(Objects) ->
            [{inserted, lists:sort([element(1, Object) || Object <- Objects])} | done(Server)];
        {trace, Server, send, {_, ok}, _} ->
            [answered | done(Server)];
        {trace, Server, _, _} ->
            done(Server);
        {trace, Server, _, _, _} ->
            done(Server)
    after 0 ->
        []
    end.

%% What is left in the mailbox of one whose call to a slow server ran out of time.
late_answers() ->
    Answer = fun(Request, After) ->
                     receive
                         {'$gen_call', From, Request} ->
                             timer:sleep(After),
                             gen_server:reply(From, Request)
                     end
             end,
    Server = spawn(fun() -> Answer(early, 500), Answer(last, 0) end),
    GivenUp = ringtail_call:ask(Server, early, 10),
    Last = ringtail_call:ask(Server, last, 20000),
    Gone = ringtail_call:ask(Server, any, 1000),
    {GivenUp, Last, Gone, element(2, process_info(self(), messages))}.

%% Puts this into the snapshot, by its owner's hand, and gives what was there.
replaced(Key, Value) ->
    [{Key, Before}] = ets:lookup(ringtail_ring_snapshot, Key),
    _ = sys:replace_state(ringtail_ring_follower,
                          fun(State) ->
                                  ets:insert(ringtail_ring_snapshot, {Key, Value}), State end),
    {ok, Before}.

%% ---- Changes of the ring ----

mark(Ring, Value) -> {new_ring, riak_core_ring:update_meta(ringtail_test, Value, Ring)}.
own(Ring, {Index, Owner}) -> {new_ring, riak_core_ring:transfer_node(Index, Owner, Ring)}.
add_member(Ring, Name) ->
    {new_ring, riak_core_ring:add_member(node(), Ring, binary_to_atom(Name, utf8))}.
remove_member(Ring, Name) ->
    {new_ring, riak_core_ring:remove_member(node(), Ring, binary_to_atom(Name, utf8))}.
