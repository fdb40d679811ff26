%% A stand-in cluster with the application in it, for the suites.
-module(ringtail_test_cluster).

-export([types/0, start/1, bare/1, begin_all/1, all_serving/1, ours/0, serving/2, each/3, wait/1,
         wait/2, url/3]).

%% Every placement a bucket type can ask for.
types() ->
    [{<<"t1">>, [{n_val, 1}]}, {<<"t3">>, [{n_val, 3}]}, {<<"t5">>, [{n_val, 5}]},
     {<<"tb">>, [{chash_keyfun, {riak_core_util, chash_bucketonly_keyfun}}]},
     {<<"tc">>, [{n_val, 2}, {chash_keyfun, {ringtail_test_keyfun, by_prefix}}]}].

%% The stand-in with our beams as patches, and the application on every node.
start(Options) ->
    C = bare(Options),
    try
        ok = begin_all(C),
        C
    catch Class:Reason:Stack ->
        standin:stop_cluster(C),
        erlang:raise(Class, Reason, Stack)
    end.

%% The same without the application started.
bare(Options) ->
    ok = find_standin(),
    ok = ringtail_test_http:start(),
    {ok,
     C} = standin:start_cluster(Options#{patches => [ours(),
                                                     filename:dirname(code:which(?MODULE))]}),
    C.

begin_all(C) ->
    [ok = standin:rpc(C, Node, ringtail, start, []) || Node <- standin:up_nodes(C)],
    all_serving(C).

all_serving(C) ->
    [ok = serving(C, Node) || Node <- standin:up_nodes(C)],
    ok.

%% Where our beams are; the NIF is found from there.
ours() -> filename:dirname(code:which(ringtail)).

%% Compiled by test/standin/build; a suite may be run from any build directory.
find_standin() ->
    Above = [filename:join(lists:duplicate(N, "..") ++ ["_build", "standin", "ebin"])
             || N <- lists:seq(0, 8)],
    Candidates = [Dir
                  || Dir <- [os:getenv("STANDIN_EBIN", "") | from(ours(), Above)
                             ++ from(element(2, file:get_cwd()), Above)],
                         filelib:is_regular(filename:join(Dir, "standin.beam"))],
    case {code:which(standin), Candidates} of
        {Loaded, _} when is_list(Loaded) -> ok;
        {_, [Dir | _]} -> true = code:add_pathz(Dir), ok;
        {_, []} -> {error, "no stand-in: run test/standin/build"}
    end.

from(Base, Above) -> [filename:join(Base, Dir) || Dir <- Above].

%% Until the node serves, knows every node that is up, and each has published its endpoints. In this
%% order: a node without a snapshot knows no member either that has not published.
serving(C, Node) ->
    Ask = fun(Function, Args) -> standin:rpc(C, Node, ringtail_ring, Function, Args) end,
    ok = wait(fun() -> {standin:rpc(C, Node, ringtail_routes, state, []),
                        Ask(is_there, [])} =:= {serving, true} end),
    wait(fun() ->
                 Unpublished = [Other || Other <- standin:up_nodes(C), Ask(is_member, [Other]),
                                Ask(endpoints, [Other]) =:= []],
                 Unpublished =:= [] orelse {Node, Unpublished}
         end).

wait(Condition) -> wait(Condition, 60000).

wait(Condition, Milliseconds) ->
    wait_until(Condition, erlang:monotonic_time(millisecond) + Milliseconds).

wait_until(Condition, Until) ->
    case {catch Condition(), erlang:monotonic_time(millisecond) > Until} of
        {true, _} -> ok;
        {Other, true} -> {error, {still, Other}};
        _ -> timer:sleep(20), wait_until(Condition, Until)
    end.

each(C, Fun, Nodes) -> [{Node, Fun(standin:url(C, Node))} || Node <- Nodes].

%% The primary object route's address.
url(Base, Type, {Bucket, Key}) ->
    lists:append([Base, "/riak/primary/clusters/default/types/", Type, "/buckets/", Bucket,
                  "/keys/", Key]).
