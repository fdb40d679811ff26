%% @doc Relayed requests that run whole on their primary, and those that may not.
-module(ringtail_relay_work_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

-import(ringtail_test_object, [c/1, rpc/5, route/4, fetch/5, put/6, places/3, served/3]).

-define(WORK, ringtail_relay_work).
-define(MIB, 1048576).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [where_the_code_is_the_same_it_runs_there, what_may_not_ask_runs_here,
     a_body_crosses_once, a_node_with_other_code_is_sent_nothing,
     a_node_that_changes_its_code_refuses, a_node_without_the_module_refuses,
     a_node_that_stopped_refuses, a_node_is_asked_again_later,
     what_is_killed_there_is_not_said_to_be_done].

init_per_suite(Config) ->
    [{cluster, ringtail_test_object:cluster()} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

where_the_code_is_the_same_it_runs_there(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"there">>),
    ?assertMatch({{204, _, _}, 1},
                 served(C, Primary, fun() -> put(C, Other, "t1", <<"there">>, "", <<"v">>) end)),
    ?assertMatch({{200, _, <<"v">>}, 1},
                 served(C, Primary, fun() -> fetch(C, Other, "t1", <<"there">>, "") end)),
    ?assertMatch({{204, _, _}, 1},
                 served(C, Primary, fun() -> delete(C, Other, <<"there">>) end)),
    ?assertMatch({{404, _, <<"not found\n">>}, 1},
                 served(C, Primary, fun() -> fetch(C, Other, "t1", <<"there">>, "") end)).

%% A write reads where it is conditional, and gets its object back where it wants it. Both are as
%% when it runs there.
what_may_not_ask_runs_here(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"here">>),
    Put = fun(Query, Headers, Value) ->
                  ringtail_test_http:request(put, route(C, Other, "t1", <<"here">>) ++ Query,
                                             Headers, {"text/plain", Value})
          end,
    ?assertMatch({{200, _, <<"v">>}, 0},
                 served(C, Primary, fun() -> Put("?returnbody=true", [], <<"v">>) end)),
    ?assertMatch({{412, _, _}, 0},
                 served(C, Primary, fun() -> Put("", [{"if-none-match", "*"}], <<"w">>) end)),
    ?assertMatch({{204, _, _}, 1}, served(C, Primary, fun() -> Put("", [], <<"w">>) end)).

%% By what the connection between the two nodes has carried.
a_body_crosses_once(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"big">>),
    Size = 8 * ?MIB,
    Value = crypto:strong_rand_bytes(Size),
    Put = fun() -> {204, _, _} = put(C, Other, "t1", <<"big">>, "", Value) end,
    Get = fun() -> {200, _, Value} = fetch(C, Other, "t1", <<"big">>, "") end,
    {Sent, Back} = carried(C, Other, Primary, Put),
    ?assert(Sent >= Size andalso Sent < Size + ?MIB, Sent),
    ?assert(Back < ?MIB, Back),
    {Asked, Read} = carried(C, Other, Primary, Get),
    ?assert(Asked < ?MIB, Asked),
    ?assert(Read >= Size andalso Read < Size + ?MIB, Read).

a_node_with_other_code_is_sent_nothing(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"sent">>),
    ok = with_code(C, Primary, <<"other">>,
                   fun() ->
                           ok = forget(C, Other, Primary),
                           {Results, 0} = served(C, Primary, all_done(C, Other, <<"sent">>)),
                           ?assertMatch([{204, _, _}, {200, _, <<"v">>}, {204, _, _}], Results)
                   end),
    ok = forget(C, Other, Primary).

%% Of each the first request is refused, the others are not sent.
a_node_that_changes_its_code_refuses(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"changed">>),
    {204, _, _} = put(C, Other, "t1", <<"changed">>, "", <<"v">>),
    ok = with_code(C, Primary, <<"other">>,
                   fun() ->
                           {Results, 1} = served(C, Primary, all_done(C, Other, <<"changed">>)),
                           ?assertMatch([{204, _, _}, {200, _, <<"v">>}, {204, _, _}], Results)
                   end),
    ok = forget(C, Other, Primary).

a_node_without_the_module_refuses(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"module">>),
    {204, _, _} = put(C, Other, "t1", <<"module">>, "", <<"v">>),
    Path = rpc(C, Primary, code, which, [?WORK]),
    true = rpc(C, Primary, code, del_path, [filename:dirname(Path)]),
    true = rpc(C, Primary, code, delete, [?WORK]),
    _ = rpc(C, Primary, code, purge, [?WORK]),
    Results = (all_done(C, Other, <<"module">>))(),
    true = rpc(C, Primary, code, add_patha, [filename:dirname(Path)]),
    ?assertMatch([{204, _, _}, {200, _, <<"v">>}, {204, _, _}], Results),
    ok = forget(C, Other, Primary).

a_node_that_stopped_refuses(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"stopped">>),
    {204, _, _} = put(C, Other, "t1", <<"stopped">>, "", <<"v">>),
    ok = rpc(C, Primary, ringtail, stop, []),
    Results = (all_done(C, Other, <<"stopped">>))(),
    ok = rpc(C, Primary, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(C),
    ?assertMatch([{204, _, _}, {200, _, <<"v">>}, {204, _, _}], Results),
    ok = forget(C, Other, Primary).

a_node_is_asked_again_later(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"again">>),
    Known = fun(Ago) ->
                    Now = rpc(C, Other, ringtail_clock, millis, []),
                    true = rpc(C, Other, ets, insert,
                               [?WORK, {Primary, {other_code, Now - Ago}}]),
                    served(C, Primary, fun() -> fetch(C, Other, "t1", <<"again">>, "") end)
            end,
    ?assertMatch({{404, _, _}, 0}, Known(30000)),
    ?assertMatch({{404, _, _}, 1}, Known(60000)),
    ?assertEqual([{Primary, same}], rpc(C, Other, ets, lookup, [?WORK, Primary])).

%% As when the code there is replaced twice, which kills what still runs the old.
what_is_killed_there_is_not_said_to_be_done(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"killed">>),
    ok = rpc(C, Primary, standin_fault, set_delay, [all, infinity]),
    Self = self(),
    Ask = fun(Fun) -> spawn_link(fun() -> Self ! {self(), Fun()} end) end,
    Get = Ask(fun() -> fetch(C, Other, "t1", <<"killed">>, "") end),
    Put = Ask(fun() -> put(C, Other, "t1", <<"killed">>, "", <<"v">>) end),
    Serving = fun() -> rpc(C, Primary, ringtail_test_probe, running, [?WORK]) end,
    ok = ringtail_test_cluster:wait(fun() -> length(Serving()) =:= 2 end),
    [true = rpc(C, Primary, erlang, exit, [Pid, kill]) || Pid <- Serving()],
    [begin
         {502, _, _} = Answer = receive {Asked, Got} -> Got end,
         #{<<"message">> := Message} = ringtail_test_http:json(Answer),
         ?assertNotEqual(nomatch, binary:match(Message, Known))
     end || {Asked, Known} <- [{Get, <<"nothing was changed">>}, {Put, <<"is not known">>}]],
    ok = rpc(C, Primary, standin_fault, set_delay, [all, 0]).

%% ---- Inside ----

all_done(C, Node, Key) ->
    fun() ->
            [put(C, Node, "t1", Key, "", <<"v">>), fetch(C, Node, "t1", Key, ""),
             delete(C, Node, Key)]
    end.

delete(C, Node, Key) -> ringtail_test_http:request(delete, route(C, Node, "t1", Key)).

%% Bytes that went from `Node' to `Peer' and back.
carried(C, Node, Peer, Fun) ->
    Octets = fun() -> rpc(C, Node, ringtail_test_probe, carried, [Peer]) end,
    {Sent, Received} = Octets(),
    _ = Fun(),
    {SentAfter, ReceivedAfter} = Octets(),
    {SentAfter - Sent, ReceivedAfter - Received}.

forget(C, Node, Peer) ->
    true = rpc(C, Node, ets, delete, [?WORK, Peer]),
    ok.

%% What this gives while the node says that its code is other.
with_code(C, Node, Code, Fun) ->
    [{code, Before}] = rpc(C, Node, ets, lookup, [?WORK, code]),
    true = rpc(C, Node, ets, insert, [?WORK, {code, Code}]),
    try
        Fun(), ok
    after
        true = rpc(C, Node, ets, insert, [?WORK, {code, Before}])
    end.
