%% @doc That nobody who asks the standalone mode harms others: by stalling, by frames, by what
%% stands in reports; and that it leads nobody to another cluster.
-module(ringtail_standalone_harm_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).
-import(ringtail_test_standalone,
        [vm/1, rpc/4, is_reached/1, companion/1, none_left/1, object/2, object/3, native/2,
         native/3, path/1, stored/2, connect/2, is_error/2, until_closed/2]).

-define(HTTP, ringtail_test_http).
-define(MIB, 1048576).
%% More than the companion has workers of any kind.
-define(MANY, 150).

all() ->
    [clients_that_stall_in_a_body_keep_nobody_waiting,
     clients_that_do_not_read_keep_nobody_waiting, a_refused_body_is_no_request,
     a_client_that_pauses_is_told_408,
     a_location_names_the_cluster_by_its_uuid_or_is_not_given,
     no_password_in_reports_of_crashes, frames_of_any_kind_leave_the_companion_alive].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) -> ringtail_test_standalone:start(Config).

end_per_suite(Config) -> ringtail_test_standalone:stop(Config).

%% ---- Clients that stall ----

clients_that_stall_in_a_body_keep_nobody_waiting(Config) ->
    Url = object(Config, "stalled"),
    Small = object(Config, "small"),
    Head = ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: ",
            integer_to_list(2 * ?MIB), "\r\n"],
    Chunked = ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\n"
               "Transfer-Encoding: chunked\r\n\r\n180000\r\n", binary:copy(<<"x">>, 16#180000)],
    Beginnings = [[Head, "\r\n", binary:copy(<<"x">>, ?MIB)],
                  [Head, "Expect: 100-continue\r\n\r\n"], Chunked],
    Stalled = [begin
                   Socket = connect(Url, []),
                   ok = gen_tcp:send(Socket, lists:nth(N rem 3 + 1, Beginnings)),
                   Socket
               end || N <- lists:seq(1, ?MANY)],
    [begin
         {204, _, _} = stored(Small, Body),
         {200, _, Body} = ?HTTP:request(get, Small)
     end || _ <- lists:seq(1, 20), Body <- [<<"x">>, binary:copy(<<"y">>, ?MIB)]],
    ?assertMatch({404, _, _}, ?HTTP:request(get, Url)),
    [gen_tcp:close(Socket) || Socket <- Stalled],
    none_left(Config).

clients_that_do_not_read_keep_nobody_waiting(Config) ->
    Url = object(Config, "unread"),
    Small = object(Config, "small"),
    {204, _, _} = stored(Url, crypto:strong_rand_bytes(8 * ?MIB)),
    {204, _, _} = stored(Small, <<"x">>),
    Sockets = [begin
                   Socket = connect(Url, [{recbuf, 4096}]),
                   ok = gen_tcp:send(Socket, ["GET ", path(Url), " HTTP/1.1\r\nHost: x\r\n\r\n"]),
                   Socket
               end || _ <- lists:seq(1, ?MANY)],
    [begin
         {204, _, _} = stored(Small, <<"x">>),
         {200, _, <<"x">>} = ?HTTP:request(get, Small)
     end || _ <- lists:seq(1, 20)],
    [gen_tcp:close(Socket) || Socket <- Sockets],
    none_left(Config),
    ?assertMatch({200, _, _}, ?HTTP:request(get, Url)).

a_client_that_pauses_is_told_408(Config) ->
    Url = object(Config, "paused"),
    ok = rpc(vm(Config), application, set_env, [ringtail, client_pause, 2000]),
    try
        [begin
             Socket = connect(Url, []),
             ok = gen_tcp:send(Socket, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\n"
                                        "Content-Type: a/b\r\n", Framing, "\r\n\r\n", Sent]),
             Answer = until_closed(Socket, <<>>),
             ?assertMatch({Framing, <<"HTTP/1.1 408", _/binary>>}, {Framing, Answer}),
             ?assertNotEqual(nomatch, binary:match(Answer, <<"client_paused">>)),
             ?assertNotEqual(nomatch, binary:match(Answer, <<"X-Ringtail-Cluster">>)),
             ?assertMatch({404, _, _}, ?HTTP:request(get, native(Config, "paused")))
         end || {Framing, Sent} <- [{"Content-Length: 2097152", ""},
                                    {"Content-Length: 2097152", binary:copy(<<"x">>, 100000)},
                                    {"Content-Length: 2097152", binary:copy(<<"x">>, 2000000)},
                                    {"Transfer-Encoding: chunked", "5\r\nhello\r\n"},
                                    {"Transfer-Encoding: chunked",
                                     ["180000\r\n", binary:copy(<<"x">>, 16#180000), "\r\n"]}]],
        %% One that goes on in time is heard out, however long it takes in all.
        Slow = connect(Url, []),
        ok = gen_tcp:send(Slow, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\n"
                                 "Connection: close\r\nContent-Length: 2097152\r\n\r\n"]),
        [begin
             ok = gen_tcp:send(Slow, binary:copy(<<"x">>, 131072)),
             timer:sleep(50)
         end || _ <- lists:seq(1, 16)],
        ?assertMatch(<<"HTTP/1.1 204", _/binary>>, until_closed(Slow, <<>>))
    after
        ok = rpc(vm(Config), application, unset_env, [ringtail, client_pause])
    end,
    none_left(Config).

a_refused_body_is_no_request(Config) ->
    Vm = vm(Config),
    ok = rpc(Vm, application, set_env, [ringtail, max_body, 100000]),
    [begin
         ok = rpc(Vm, application, set_env, [webmachine, flushes, Flushes]),
         ok = ringtail_test_refused:bodies(object(Config, "refused"), object(Config, "smuggled"))
     end || Flushes <- [true, false]],
    [ok = rpc(Vm, application, unset_env, [App, Key])
     || {App, Key} <- [{ringtail, max_body}, {webmachine, flushes}]].

%% ---- Identity and secrets ----

%% `default' would be taken by whichever cluster has the address by now.
a_location_names_the_cluster_by_its_uuid_or_is_not_given(Config) ->
    Vm = vm(Config),
    Url = object(Config, "moved") ++ "?route=redirect",
    {307, _, _} = Redirect = ?HTTP:request(get, Url),
    {ok, _, Uuid, _} = rpc(Vm, ringtail_remote_clusters, identity, ["prod"]),
    ?assertNotEqual(nomatch, string:find(?HTTP:header("Location", Redirect), Uuid)),
    Forget = "fun(State) -> ets:delete(ringtail_remote_clusters, {\"prod\", identity}), State end.",
    _ = rpc(Vm, sys, replace_state, [ringtail_remote_clusters, evaluated(Vm, Forget)]),
    {503, _, _} = Refused = ?HTTP:request(get, Url),
    ?assertEqual(undefined, ?HTTP:header("Location", Refused)),
    is_error(Refused, <<"not_asked_yet">>),
    ok = rpc(Vm, ringtail_remote_clusters, refresh, ["prod", 20000]),
    ?assertMatch({307, _, _}, ?HTTP:request(get, Url)).

%% A fun of that VM's own, for it has none of this module's code.
evaluated(Vm, Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    {value, Fun, _} = rpc(Vm, erl_eval, exprs, [Exprs, []]),
    Fun.

no_password_in_reports_of_crashes(Config) ->
    Vm = vm(Config),
    File = filename:join(proplists:get_value(priv_dir, Config), "reports"),
    {error, _} = {error, rpc(Vm, ringtail_remote_clusters, failure, ["secret"])},
    ok = rpc(Vm, error_logger, logfile, [{open, File}]),
    State = rpc(Vm, sys, get_state, [ringtail_remote_clusters]),
    ok = rpc(Vm, sys, terminate, [ringtail_remote_clusters, on_purpose]),
    ok = ringtail_test_cluster:wait(fun() -> is_reached(Vm) end),
    ok = rpc(Vm, error_logger, logfile, [close]),
    {ok, Reports} = file:read_file(File),
    ?assertNotEqual(nomatch, binary:match(Reports, <<"on_purpose">>), "the crash was reported"),
    Shown = iolist_to_binary(io_lib:format("~p ~w", [State, State])),
    [?assertEqual(nomatch, re:run(Text, "geheim|103,101,104")) || Text <- [Reports, Shown]],
    Status = element(3, ?HTTP:request(get, standin_bare:url(Vm) ++ "/ringtail/status")),
    ?assertEqual(nomatch, binary:match(Status, <<"geheim">>)).

%% ---- The companion ----

frames_of_any_kind_leave_the_companion_alive(Config) ->
    Vm = vm(Config),
    Before = companion(Vm),
    Handle = crypto:strong_rand_bytes(20),
    Odd = [0, -1, 1 bsl 64, 1 bsl 200, 1.5, atom, <<>>, <<255, 0>>, "text", [], [a | b], {}, {a, b},
           {stream, -1}, {stream, 1 bsl 64}, {stream, 1 bsl 63}, {object, <<>>, <<>>, <<>>},
           {document, <<"\r\n">>}, [{<<>>, <<>>}], [{<<"a">>, <<"\r\n">>}], [{<<255>>, <<"x">>}]],
    Goal = {object, <<"one">>, <<"b">>, <<"k">>},
    Good = [{cluster_open, [Handle, [<<"http://127.0.0.1:1">>], []]},
            {cluster_topology, [Handle, <<>>, 100]},
            {cluster_locate, [Handle, <<"t">>, <<"b">>, <<"k">>, 100]},
            {cluster_request, [Handle, <<"PUT">>, Goal, <<>>, [], <<"x">>, 1000, 1000]}],
    Requests = [{Operation, replaced(N, Term, Arguments)}
                || {Operation, Arguments} <- Good, N <- lists:seq(1, length(Arguments)),
                   Term <- Odd]
        ++ [{Operation, list_to_tuple(lists:duplicate(N, 1))}
            || {Operation, _} <- [{cluster_close, []} | Good], N <- [0, 1, 9, 16]],
    [begin
         Answer = rpc(Vm, ringtail_companion, call, [Operation, Arguments, 20000]),
         ?assert(is_tuple(Answer)),
         ?assertNotMatch({_, _, {error, {internal, _}}}, {Operation, Arguments, Answer}),
         ?assertNotMatch({_, _, {error, {companion_died, _}}}, {Operation, Arguments, Answer})
     end || {Operation, Arguments} <- Requests],
    ?assertEqual(Before, companion(Vm)),
    _ = rpc(Vm, ringtail_companion, call, [cluster_close, {Handle}, 20000]).

replaced(N, Term, List) ->
    list_to_tuple(lists:sublist(List, N - 1) ++ [Term | lists:nthtail(N, List)]).
