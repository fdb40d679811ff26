%% @doc A node whose companion is lost while it serves: every route goes on, with what riak_core
%% itself says, and status, metrics and page say so.
-module(ringtail_lost_engine_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [get/1]}]).

-import(ringtail_test_object, [c/1]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [riak_core_says_what_the_engine_says, requests_failed_while_the_companion_was_killed,
     a_companion_lost_while_serving_was_not_told, a_hanging_companion_held_every_request].

init_per_suite(Config) ->
    Types = [{<<"t1">>, [{n_val, 1}]}, {<<"t3">>, [{n_val, 3}]}, {<<"t5">>, [{n_val, 5}]},
             {<<"tb">>, [{n_val, 2}, {chash_keyfun, {riak_core_util, chash_bucketonly_keyfun}}]},
             {<<"tc">>, [{n_val, 2}, {chash_keyfun, {ringtail_test_keyfun, by_prefix}}]}],
    C = ringtail_test_cluster:bare(#{nodes => 3, ring_size => 8, types => Types}),
    %% One that can be taken away.
    {ok, Built} = ringtail_companion:executable(),
    Companion = filename:join(proplists:get_value(priv_dir, Config), "ringtail"),
    {ok, _} = file:copy(Built, Companion),
    ok = file:change_mode(Companion, 8#755),
    [ok = standin:rpc(C, Node, application, set_env, [ringtail, Key, Value])
     || Node <- standin:up_nodes(C), {Key, Value} <- [{engine, port}, {companion, Companion}]],
    ok = ringtail_test_cluster:begin_all(C),
    [{cluster, C}, {companion, Companion} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

%% ---- Cases ----

riak_core_says_what_the_engine_says(Config) ->
    {module, _} = rpc(Config, code, load_file, [?MODULE]),
    Different = rpc(Config, ?MODULE, differences, []),
    ?assertEqual([], Different),
    {ok, Owners} = rpc(Config, ringtail_key_owners, owners, []),
    ?assertEqual({ok, Owners}, rpc(Config, ringtail_ring_of_riak, owners, [])).

%% On the node. More copies than there are partitions are as many as there are.
differences() ->
    {ok, Ring, Size, IsUp} = ringtail_ring:here(),
    Here = {ok, Ring, Size, IsUp},
    Up = ringtail_ring:up(),
    Custom = {custom, ringtail_test_keyfun, by_prefix},
    Buckets = [{<<"plain">>, std}, {{<<"default">>, <<"plain">>}, std}, {{<<"t3">>, <<"b">>}, std},
               {{<<"tb">>, <<"b">>}, bucketonly}, {{<<"tc">>, <<"b">>}, Custom}],
    Asked = [{Bucket, <<(I rem 7), I:16>>, Keyfun, N}
             || {Bucket, Keyfun} <- Buckets, I <- lists:seq(1, 60), N <- [1, 3, 8, 20]],
    [Wrong || {Bucket, Key, Keyfun, N} = Wrong <- Asked,
              ringtail_key_owners:primaries(Bucket, Key, N, Keyfun, Here)
                  =/= ringtail_ring_of_riak:primaries(Bucket, Key, Keyfun, N)]
        ++ [{Wrong, Some}
            || {Bucket, Key, Keyfun, N} = Wrong <- Asked, N =< Size, Keyfun =:= std,
               Some <- [Up, tl(Up), []],
               ringtail_engine:preflist(Ring, typed(Bucket), name(Bucket), Key, std, N, Some)
                   =/= ringtail_ring_of_riak:preflist(Bucket, Key, Keyfun, N, Some)].

typed({Type, _}) -> Type;
typed(_) -> <<"default">>.

name({_, Name}) -> Name;
name(Name) -> Name.

%% Seventy kills; before, some of the requests meanwhile were 503, and the page a 500.
requests_failed_while_the_companion_was_killed(Config) ->
    Paths = paths(Config),
    Asker = fun(Path) -> spawn_monitor(fun() -> exit(statuses(Config, Path, [])) end) end,
    Askers = [Asker(Path) || Path <- Paths ++ Paths],
    Killed = killed(Config, 70, 0),
    [Pid ! enough || {Pid, _} <- Askers],
    Statuses = [receive {'DOWN', Monitor, process, Pid, Given} -> Given end
                || {Pid, Monitor} <- Askers],
    Counted = [{Path, lists:usort(Given), length(Given)}
               || {Path, Given} <- lists:zip(Paths ++ Paths, Statuses)],
    ct:log("~w kills:~n~s", [Killed, [io_lib:format("~w ~w ~s~n", [Count, Given, Path])
                                      || {Path, Given, Count} <- Counted]]),
    [?assertEqual({Path, []}, {Path, [Status || Status <- Given, Status >= 500]})
     || {Path, Given, _} <- Counted],
    [?assert(Count > 5) || {_, _, Count} <- Counted].

statuses(Config, Path, Given) ->
    {Status, _, _} = get(Config, Path),
    receive enough -> [Status | Given]
    after 0 -> statuses(Config, Path, [Status | Given])
    end.

killed(_, Count, Count) ->
    Count;
killed(Config, Most, Count) ->
    case companion(Config) of
        OsPid when is_integer(OsPid) ->
            _ = kill("KILL", OsPid),
            timer:sleep(140),
            killed(Config, Most, Count + 1);
        _ ->
            timer:sleep(5),
            killed(Config, Most, Count)
    end.

a_companion_lost_while_serving_was_not_told(Config) ->
    Companion = proplists:get_value(companion, Config),
    ok = wait(fun() -> said(Config, <<"engine_up">>) =:= true end),
    Before = [{Path, get(Config, Path)}
              || Path <- paths(Config), string:find(Path, "/topology?") =:= nomatch],
    ok = file:change_mode(Companion, 8#644),
    _ = kill("KILL", os_pid(Config)),
    ok = wait(fun() -> said(Config, <<"engine_up">>) =:= false end),
    ok = wait(fun() -> match(said(Config, <<"engine_problem">>), "may not execute it") end),
    ?assertEqual(<<"port">>, said(Config, <<"engine">>)),
    ?assert(lists:member(<<"ringtail_engine_up 0">>, metrics(Config))),
    {200, _, Page} = get(Config, "/ringtail"),
    ?assert(match(Page, "riak_core answers in its place")),
    %% Everything is as it was.
    [?assertEqual({Path, Status, content(Path, Body)}, {Path, StatusNow, content(Path, BodyNow)})
     || {Path, {Status, _, Body}} <- Before, {StatusNow, _, BodyNow} <- [get(Config, Path)]],
    [?assertMatch({200, _, _}, get(Config, Path))
     || Path <- paths(Config), string:find(Path, "topology") =/= nomatch],
    %% A ring that changes meanwhile: riak_core's own is the one to go by.
    {ok, Owners} = rpc(Config, ringtail_key_owners, owners, []),
    ?assertEqual({ok, Owners}, rpc(Config, ringtail_ring_of_riak, owners, [])),
    ok = file:change_mode(Companion, 8#755),
    ok = wait(fun() -> said(Config, <<"engine_up">>) =:= true end),
    ?assertEqual(undefined, said(Config, <<"engine_problem">>)),
    ?assert(lists:member(<<"ringtail_engine_up 1">>, metrics(Config))).

metrics(Config) ->
    {200, _, Metrics} = get(Config, "/ringtail/metrics"),
    binary:split(Metrics, <<"\n">>, [global]).

%% The page says of the engine what is to be seen above.
content("/ringtail" ++ _, _) -> page;
content(_, Body) ->
    try mochijson2:decode(Body) of
        Json -> Json
    catch
        _:_ -> Body
    end.

a_hanging_companion_held_every_request(Config) ->
    ok = wait(fun() -> said(Config, <<"engine_up">>) =:= true end),
    OsPid = os_pid(Config),
    _ = kill("STOP", OsPid),
    %% The first who ask find out; who asks then does not wait.
    Path = hd(paths(Config)),
    ?assertMatch({200, _, _}, get(Config, Path)),
    ?assertEqual(false, said(Config, <<"engine_up">>)),
    [?assert(lists:member(element(1, get(Config, Each)), [200, 404, 421]))
     || Each <- paths(Config)],
    _ = kill("CONT", OsPid),
    ok = wait(fun() -> said(Config, <<"engine_up">>) =:= true end).

%% ---- Helpers ----

%% Every kind of route, and keys of every kind of bucket type.
paths(Config) ->
    Cluster = "/explore/clusters/default",
    Token = ringtail_test_http:header("x-ringtail-topology", get(Config, Cluster ++ "/preflist")),
    ?assert(is_list(Token)),
    [Cluster ++ "/bucket_types/" ++ Type ++ "/buckets/b/keys/k" ++ integer_to_list(I) ++ "/preflist"
     || Type <- ["t3", "tb", "tc", "t1", "default"], I <- [1, 2]]
        ++ ["/riak/primary/clusters/default/types/" ++ Type ++ "/buckets/b/keys/none?route=local"
            || Type <- ["t1", "t3", "tc"]]
        ++ [Cluster ++ "/topology", Cluster ++ "/topology?from=" ++ Token,
            Cluster ++ "/topology?from=1-0000000000000000", Cluster ++ "/preflist",
            Cluster ++ "/preflist?format=full", "/ringtail", "/ringtail/metrics"].

said(Config, Key) ->
    {200, _, Body} = get(Config, "/ringtail/status"),
    {struct, Status} = mochijson2:decode(Body),
    proplists:get_value(Key, Status).

match(undefined, _) -> false;
match(Text, Part) -> string:find(Text, Part) =/= nomatch.

os_pid(Config) ->
    ok = wait(fun() -> is_integer(companion(Config)) end),
    companion(Config).

companion(Config) -> proplists:get_value(os_pid, rpc(Config, ringtail_companion, status, [])).

kill(Signal, OsPid) -> os:cmd("kill -" ++ Signal ++ " " ++ integer_to_list(OsPid)).

wait(Condition) -> ringtail_test_cluster:wait(Condition).

node_of(Config) -> hd(standin:up_nodes(c(Config))).

rpc(Config, Module, Function, Args) ->
    standin:rpc(c(Config), node_of(Config), Module, Function, Args).

get(Config, Path) ->
    ringtail_test_http:request(get, standin:url(c(Config), node_of(Config)) ++ Path).
