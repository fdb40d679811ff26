%% @doc Requests that run on another node: one that is slow, dies, does not run Ringtail or has many
%% at once.
-module(ringtail_relay_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1]}]).

-import(ringtail_test_object, [c/1, nodes/1, rpc/5, route/4, fetch/5, put/6]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [the_client_is_found, a_slow_primary_is_given_up_by_riak, a_primary_that_dies_ends_its_requests,
     a_failure_of_a_primary_that_is_gone,
     a_read_goes_on_to_the_next_primary, a_write_is_done_once, many_at_once,
     nodes_that_published_nothing, a_node_without_ringtail, nothing_is_left_of_a_request,
     without_a_client_to_point_the_request_is_redirected].

init_per_suite(Config) ->
    Types = [{<<"t1">>, [{n_val, 1}, {allow_mult, false}]},
             {<<"tm">>, [{n_val, 1}, {allow_mult, true}]},
             {<<"t3">>, [{n_val, 3}, {allow_mult, false}]}],
    [{cluster, ringtail_test_cluster:start(#{nodes => 4, ring_size => 8, persist => true,
                                             types => Types})} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

the_client_is_found(Config) ->
    C = c(Config),
    [?assertMatch({ok, _}, rpc(C, Node, ringtail_relay, client_element, [])) || Node <- nodes(C)],
    ?assertEqual([], rpc(C, hd(nodes(C)), ringtail_relay, problems, [])),
    Client = {riak_client, [node(), undefined]},
    ?assertEqual({ok, 3}, ringtail_relay:client_in({ctx, a, Client, [Client]})),
    [?assertMatch({error, [_ | _]}, ringtail_relay:client_in(Context))
     || Context <- [{ctx, a}, {ctx, Client, Client}, {ctx, {riak_client, [other@host, undefined]}},
                    {ctx, {riak_client, node()}}]].

%% As natively, by Riak's own measure.
a_slow_primary_is_given_up_by_riak(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"slow">>),
    {204, _, _} = put(C, Other, "t1", <<"slow">>, "", <<"v">>),
    ok = standin:slow_node(C, Primary, 8000),
    Answer = fetch(C, Other, "t1", <<"slow">>, "?timeout=100"),
    ok = standin:slow_node(C, Primary, 0),
    ?assertMatch({503, _, _}, Answer),
    ?assertMatch([_ | _], ringtail_test_http:header("x-ringtail-topology", Answer)).

a_primary_that_dies_ends_its_requests(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"dies">>),
    ok = hold(C, Primary),
    Results = during(fun() -> kill_holding(3, C, Primary) end,
                     [fun() -> fetch(C, Other, "t1", <<"dies">>, "") end,
                      fun() -> put(C, Other, "t1", <<"dies">>, "", <<"v">>) end,
                      fun() -> delete(C, Other, "t1", <<"dies">>) end]),
    [begin
         ?assertMatch({502, _, _}, Answer),
         #{<<"error">> := <<"bad_gateway">>, <<"message">> := Message} =
             ringtail_test_http:json(Answer),
         ?assertNotEqual(nomatch, binary:match(Message, Known)),
         ?assertMatch([_ | _], ringtail_test_http:header("x-ringtail-topology", Answer))
     end || {Answer, Known} <- lists:zip(Results, [<<"nothing was changed">>, <<"is not known">>,
                                                   <<"is not known">>])],
    restart(C, Primary).

%% Riak's client looks things up there first, and Riak's resource makes a 500 of it that the node
%% went down. Here the resource is one that says so as soon as the node is gone. No other node has
%% its code.
a_failure_of_a_primary_that_is_gone(Config) ->
    C = c(Config),
    [Other, Primary, Next | _] = nodes(C),
    Fake = fake(["forbidden(RD, {Client}) ->",
                 "  {riak_client, [Node, _]} = Client,",
                 "  case Node =:= '", atom_to_list(Primary), "' of",
                 "    false -> {served, RD, {Client}};",
                 "    true ->",
                 "      {monitored_by, [Caller]} = process_info(self(), monitored_by),",
                 "      true = erlang:suspend_process(Caller),",
                 "      _ = erlang:disconnect_node(Node),",
                 "      (fun Wait() -> case lists:member(Node, nodes()) of",
                 "                         true -> timer:sleep(1), Wait();",
                 "                         false -> ok end end)(),",
                 "      {{halt, 500}, RD, {Client}}",
                 "  end."]),
    Client = {riak_client, [Other, undefined]},
    Call = fun(Method, Nodes) ->
                   pong = rpc(C, Other, net_adm, ping, [Primary]),
                   Relay = ringtail_relay:new({Client}, 1, Nodes, Method, 60000),
                   rpc(C, Other, ringtail_relay, call, [forbidden, rd, Relay])
           end,
    {module, _} = rpc(C, Other, code, load_binary, [riak_kv_wm_object, "fake", Fake]),
    Known = {other_code, rpc(C, Other, ringtail_clock, millis, [])},
    Both = [{Node, Known} || Node <- [Primary, Next]],
    true = rpc(C, Other, ets, insert, [ringtail_relay_work, Both]),
    ?assertEqual({lost, down, Primary}, Call('GET', [Primary])),
    ?assertEqual({lost, down, Primary}, Call('DELETE', [Primary, Next])),
    ?assertMatch({answer, served, rd, _}, Call('GET', [Primary, Next])),
    ok = standin:kill(C, Other),
    restart(C, Other).

fake(Text) ->
    Whole = lists:append(["-module(riak_kv_wm_object).\n-export([forbidden/2]).\n" | Text]),
    {ok, Tokens, _} = erl_scan:string(Whole),
    Forms = [begin {ok, Form} = erl_parse:parse_form(F), Form end || F <- forms(Tokens)],
    {ok, riak_kv_wm_object, Beam} = compile:forms(Forms),
    Beam.

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    [Form ++ [Dot] | forms(Rest)].

a_read_goes_on_to_the_next_primary(Config) ->
    C = c(Config),
    Key = <<"three">>,
    [Primary | _] = Primaries = primaries(C, "t3", Key),
    [Other | _] = nodes(C) -- Primaries,
    {204, _, _} = put(C, Other, "t3", Key, "?w=3", <<"v">>),
    ok = hold(C, Primary),
    Results = during(fun() -> kill_holding(1, C, Primary) end,
                     [fun() -> fetch(C, Other, "t3", Key, "") end || _ <- lists:seq(1, 24)]),
    [?assertMatch({200, _, <<"v">>}, Answer) || Answer <- Results],
    restart(C, Primary).

%% Siblings would tell of a second one.
a_write_is_done_once(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "tm", <<"once">>),
    ok = standin:slow_node(C, Primary, #{put => 2000}),
    {503, _, _} = put(C, Other, "tm", <<"once">>, "?timeout=1", <<"v">>),
    ok = standin:slow_node(C, Primary, 0),
    Read = fun() -> fetch(C, Other, "tm", <<"once">>, "") end,
    ok = ringtail_test_cluster:wait(fun() -> element(1, Read()) =:= 200 end),
    {204, _, _} = put(C, Other, "tm", <<"once">>, "", <<"second">>),
    {300, _, Listed} = Read(),
    ?assertEqual(3, length(binary:split(Listed, <<"\n">>, [global, trim_all]))).

many_at_once(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"many">>),
    Value = crypto:strong_rand_bytes(1048576),
    {204, _, _} = put(C, Primary, "t1", <<"many">>, "", Value),
    Answers = during(fun() -> ok end,
                     [fun() -> fetch(C, Other, "t1", <<"many">>, "") end
                      || _ <- lists:seq(1, 100)]),
    ?assertEqual([], [Status || {Status, _, Body} <- Answers, {Status, Body} =/= {200, Value}]),
    ?assertEqual(100, length(Answers)).

nodes_that_published_nothing(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"unpublished">>),
    [ok = rpc(C, Node, application, set_env, [ringtail, publish, false]) || Node <- nodes(C)],
    Publish = [fun ringtail_endpoints:publish/2, gone],
    {ok, _} = {ok, rpc(C, Primary, riak_core_ring_manager, ring_trans, Publish)},
    Published = fun() -> rpc(C, Other, ringtail_ring, endpoints, [Primary]) end,
    ok = ringtail_test_cluster:wait(fun() -> Published() =:= [] end),
    ?assertMatch({204, _, _}, put(C, Other, "t1", <<"unpublished">>, "", <<"v">>)),
    ?assertMatch({200, _, <<"v">>}, fetch(C, Other, "t1", <<"unpublished">>, "")),
    {307, _, _} = Answer = fetch(C, Other, "t1", <<"unpublished">>, "?route=redirect"),
    ?assertMatch({200, _, <<"v">>},
                 ringtail_test_http:request(get, ringtail_test_http:header("location", Answer))),
    [ok = rpc(C, Node, application, unset_env, [ringtail, publish]) || Node <- nodes(C)],
    ok = ringtail_test_cluster:wait(fun() -> Published() =/= [] end).

a_node_without_ringtail(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"without">>),
    ok = rpc(C, Primary, ringtail, stop, []),
    ?assertMatch({204, _, _}, put(C, Other, "t1", <<"without">>, "", <<"v">>)),
    ?assertMatch({200, _, <<"v">>}, fetch(C, Other, "t1", <<"without">>, "")),
    ?assertMatch({204, _, _}, delete(C, Other, "t1", <<"without">>)),
    ok = rpc(C, Primary, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(C),
    ?assertMatch({404, _, _}, fetch(C, Other, "t1", <<"without">>, "")).

%% The process that serves the connection is mochiweb's: it must not hear of the node again.
nothing_is_left_of_a_request(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"left">>),
    #{host := Host, port := Port} = uri_string:parse(standin:url(C, Other)),
    {ok, Socket} = gen_tcp:connect(Host, Port, [binary, {active, false}]),
    {ok, Mine} = inet:port(Socket),
    Path = "/riak/primary/clusters/default/types/t1/buckets/b/keys/left",
    Ask = fun() ->
                  ok = gen_tcp:send(Socket, ["GET ", Path, " HTTP/1.1\r\nHost: h\r\n\r\n"]),
                  answered(Socket)
          end,
    [?assertEqual(404, Ask()) || _ <- lists:seq(1, 3)],
    Left = fun() -> rpc(C, Other, ringtail_test_probe, left_at, [Mine]) end,
    %% For a moment after its answer the process still talks to its socket.
    Nothing = fun() -> Left() =:= {[], []} end,
    ok = ringtail_test_cluster:wait(Nothing),
    ok = standin:kill(C, Primary),
    ok = ringtail_test_cluster:wait(
           fun() -> not lists:member(Primary, rpc(C, Other, ringtail_ring, up, [])) end),
    ok = ringtail_test_cluster:wait(Nothing),
    ?assertEqual(503, Ask()),
    gen_tcp:close(Socket),
    restart(C, Primary).

%% The status of an answer, which is read to its end.
answered(Socket) ->
    ok = inet:setopts(Socket, [{packet, http_bin}]),
    {ok, {http_response, _, Status, _}} = gen_tcp:recv(Socket, 0, 30000),
    Length = body_length(gen_tcp:recv(Socket, 0, 30000), Socket, 0),
    ok = inet:setopts(Socket, [{packet, raw}]),
    {ok, _} = gen_tcp:recv(Socket, Length, 30000),
    Status.

body_length({ok, http_eoh}, _, Length) -> Length;
body_length({ok, {http_header, _, 'Content-Length', _, Value}}, Socket, _) ->
    body_length(gen_tcp:recv(Socket, 0, 30000), Socket, binary_to_integer(Value));
body_length({ok, _}, Socket, Length) ->
    body_length(gen_tcp:recv(Socket, 0, 30000), Socket, Length).

without_a_client_to_point_the_request_is_redirected(Config) ->
    C = c(Config),
    {Primary, Other} = places(C, "t1", <<"pointless">>),
    Element = rpc(C, Other, ringtail_query, element, []),
    Path = ["pointless", bucket_type, "buckets", bucket, "keys", key, "of", cluster],
    Args = [{origin, ringtail_node_source}, {query_element, Element}, {client, {error, "none"}}],
    Route = {Path, ringtail_wm_object, Args},
    ok = rpc(C, Other, webmachine_router, add_route, [Route]),
    Url = standin:url(C, Other) ++ "/pointless/t1/buckets/b/keys/pointless/of/default",
    {307, _, _} = Answer = ringtail_test_http:request(get, Url),
    ok = rpc(C, Other, webmachine_router, remove_route, [Route]),
    Location = ringtail_test_http:header("location", Answer),
    ?assertEqual(0, string:str(Location, standin:url(C, Primary)) - 1).

%% ---- Inside ----

%% The results of these, run at once, while this is done.
during(Fun, Requests) ->
    Self = self(),
    Pids = [spawn_link(fun() -> Self ! {self(), Request()} end) || Request <- Requests],
    Fun(),
    [receive {Pid, Result} -> Result end || Pid <- Pids].

%% Whatever begins there waits.
hold(C, Node) -> rpc(C, Node, standin_fault, set_delay, [all, infinity]).

kill_holding(Count, C, Node) ->
    ok = ringtail_test_cluster:wait(
           fun() -> length(rpc(C, Node, standin_fault, held, [])) >= Count end),
    ok = standin:kill(C, Node).

restart(C, Node) ->
    ok = standin:restart(C, Node),
    ok = rpc(C, Node, ringtail, start, []),
    ok = ringtail_test_cluster:all_serving(C).

delete(C, Node, Type, Key) -> ringtail_test_http:request(delete, route(C, Node, Type, Key)).

primaries(C, Type, Key) ->
    Bucket = {list_to_binary(Type), <<"b">>},
    rpc(C, hd(nodes(C)), ringtail_test_probe, primary_nodes, [Bucket, Key]).

places(C, Type, Key) ->
    [Primary] = primaries(C, Type, Key),
    {Primary, hd(nodes(C) -- [Primary])}.
