%% The standalone mode with two stand-in clusters, one that is not there and one that never answers,
%% for the suites of what it does for those who mean well.
-module(ringtail_test_clusters).

-export([start/1, stop/1, reached/2, get/2, get/3, object/5, requests/1]).

-define(HTTP, ringtail_test_http).

-import(ringtail_test_standalone, [vm/1, rpc/4]).

start(Config) ->
    Types = [{<<"one">>, [{n_val, 1}, {allow_mult, false}]}, {<<"sib">>, [{allow_mult, true}]}],
    Prod = ringtail_test_cluster:start(#{nodes => 2, ring_size => 8, types => Types}),
    Lab = ringtail_test_cluster:start(#{nodes => 1, ring_size => 8}),
    {Tarpit, TarpitPort} = tarpit(),
    Clusters = [{prod, seeds(Prod)}, {lab, [{seeds, seeds(Lab)}, {route, redirect}]},
                {gone, ["http://127.0.0.1:1"]},
                {tarpit, ["http://127.0.0.1:" ++ integer_to_list(TarpitPort)]}],
    {ok, Vm} = standin_bare:start(#{patches => [ringtail_test_cluster:ours()],
                                    env => [{ringtail, [{clusters, Clusters}]}]}),
    ok = rpc(Vm, ringtail, start, []),
    Reached = fun(Name) -> reached(Vm, Name) end,
    ok = ringtail_test_cluster:wait(fun() -> lists:all(Reached, ["prod", "lab"]) end),
    [{vm, Vm}, {prod, Prod}, {lab, Lab}, {tarpit, Tarpit} | Config].

stop(Config) ->
    ok = standin_bare:stop(vm(Config)),
    exit(proplists:get_value(tarpit, Config), kill),
    [standin:stop_cluster(proplists:get_value(Name, Config)) || Name <- [prod, lab]].

seeds(Cluster) -> [Url || {_, Url} <- standin:urls(Cluster)].

reached(Vm, Name) -> element(1, rpc(Vm, ringtail_remote_clusters, freshness, [Name])) =:= current.

%% Takes connections and says nothing.
tarpit() ->
    Suite = self(),
    Pid = spawn(fun() ->
                        {ok, Listener} = gen_tcp:listen(0, [{active, false}, {ip, {127, 0, 0, 1}},
                                                            {backlog, 1024}]),
                        {ok, Port} = inet:port(Listener),
                        Suite ! {self(), Port},
                        swallow(Listener, [])
                end),
    receive {Pid, Port} -> {Pid, Port} end.

swallow(Listener, Held) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} -> swallow(Listener, [Socket | Held]);
        {error, closed} -> ok
    end.

get(Config, Path) -> ?HTTP:request(get, standin_bare:url(vm(Config)) ++ Path).
get(Config, Path, Headers) -> ?HTTP:request(get, standin_bare:url(vm(Config)) ++ Path, Headers).

object(Config, Cluster, Type, Bucket, Key) ->
    lists:append([standin_bare:url(vm(Config)), "/riak/primary/clusters/", Cluster,
                  "/types/", Type, "/buckets/", Bucket, "/keys/", Key]).

requests(Vm) -> proplists:get_value(requests, rpc(Vm, ringtail_companion, status, [])).
