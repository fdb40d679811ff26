%% Test support: gets, puts and deletes over the preference list, with r, w,
%% pr, pw, dw and node_confirms checked in Riak's order and with its errors.
-module(standin_quorum).

-compile({no_auto_import, [put/2]}).

-include("standin_md.hrl").

-export([get/3, put/2, delete/4, coordinate/4]).

-define(TIMEOUT, 60000).
-define(TOMB_PAUSE, 100).

%% --- get ---

get(Bucket, Key, Options) ->
    case riak_core_bucket:get_bucket(Bucket) of
        {error, _} = Error -> Error;
        Props -> get({Bucket, Key}, Options, Props, n_val(Options, Props))
    end.

get(_BKey, _Options, _Props, {error, _} = Error) -> Error;
get(BKey, Options, Props, N) ->
    Preflist = preflist(BKey, Options, Props, N),
    [R, PR, NC] = [quorum(K, Options, Props, N) || K <- [r, pr, node_confirms]],
    Checks = [{R =:= error, {r_val_violation, option(r, Options)}},
              {R > N, {n_val_violation, N}},
              {PR =:= error, {pr_val_violation, option(pr, Options)}},
              {PR > N, {n_val_violation, N}},
              {NC > N, {n_val_violation, N}},
              {PR > primaries(Preflist), {pr_val_unsatisfied, PR, primaries(Preflist)}},
              {R > length(Preflist), {insufficient_vnodes, length(Preflist), need, R}}],
    case lists:keyfind(true, 1, Checks) of
        {true, Why} -> {error, Why};
        false ->
            Ref = make_ref(),
            [riak_kv_vnode:ask(I, Node, Ref, {get, BKey}) || {{I, Node}, _} <- Preflist],
            Notfound = riak_kv_util:expand_value(notfound_ok, option(notfound_ok, Options), Props),
            Basic = riak_kv_util:expand_value(basic_quorum, option(basic_quorum, Options), Props),
            Need = max(R, PR),
            Fail = case Basic of
                       true -> min(N div 2 + 1, N - Need + 1);
                       _ -> N - Need + 1
                   end,
            Goal = #{r => R, pr => PR, n => length(Preflist), notfound_ok => Notfound, fail => Fail,
                     preflist => Preflist, deleted => proplists:get_bool(deletedvclock, Options),
                     allow_mult => proplists:get_value(allow_mult, Props), bkey => BKey},
            gather(Ref, Goal, [], deadline(Options))
    end.

gather(Ref, Goal = #{n := N}, Answers, Deadline) ->
    case verdict(Goal, Answers) of
        wait when length(Answers) < N ->
            receive
                {Ref, Id, Answer} -> gather(Ref, Goal, [{Id, Answer} | Answers], Deadline)
            after left(Deadline) -> {error, timeout}
            end;
        wait -> unmet(Goal, Answers);
        Verdict ->
            repair(Goal, Answers),
            Verdict
    end.

verdict(#{r := R, pr := PR, fail := Fail, notfound_ok := NotfoundOk} = Goal, Answers) ->
    Ok = [Id || {Id, A} <- Answers, is_ok(A, NotfoundOk)],
    Primary = length([Id || Id <- Ok, lists:member({Id, primary}, maps:get(preflist, Goal))]),
    Failed = length(Answers) - length(Ok),
    if length(Ok) >= R, Primary >= PR, Answers =/= [] -> merged(Goal, Answers);
       Failed >= Fail -> unmet(Goal, Answers);
       true -> wait
    end.

is_ok({ok, _}, _) -> true;
is_ok({error, notfound}, NotfoundOk) -> NotfoundOk =:= true;
is_ok(_, _) -> false.

merged(#{allow_mult := AllowMult, deleted := Deleted}, Answers) ->
    case [Obj || {_, {ok, Obj}} <- lists:reverse(Answers)] of
        [] -> {error, notfound};
        Objects ->
            Obj = riak_object:reconcile(Objects, AllowMult),
            case riak_object:is_deleted(Obj) of
                false -> {ok, Obj};
                true when Deleted -> {error, {deleted, riak_object:vclock(Obj)}};
                true -> {error, notfound}
            end
    end.

%% Quorum out of reach: what there is, is nothing; or too few have it.
unmet(#{r := R, pr := PR, preflist := Preflist}, Answers) ->
    Ok = [Id || {Id, {ok, _}} <- Answers],
    Primary = length([Id || Id <- Ok, lists:member({Id, primary}, Preflist)]),
    if Ok =:= [] -> {error, notfound};
       PR > 0, Primary < PR, PR >= R orelse length(Ok) >= R ->
           {error, {pr_val_unsatisfied, PR, Primary}};
       true -> {error, {r_val_unsatisfied, R, length(Ok)}}
    end.

%% Copies that lag behind are brought up to date after the answer.
repair(#{n := N, allow_mult := AllowMult, bkey := BKey}, Answers) when N > 1 ->
    Objects = [Obj || {_, {ok, Obj}} <- Answers],
    Obj = Objects =/= [] andalso riak_object:reconcile(Objects, AllowMult),
    Stale = [Id || {Id, A} <- Answers, Obj =/= false, A =/= {ok, Obj}],
    [riak_kv_vnode:tell(I, Node, {self(), ignored}, {put, BKey, Obj, AllowMult})
     || {I, Node} <- Stale],
    ok;
repair(_, _) -> ok.

%% --- put ---

put(Obj0, Options) ->
    case riak_core_bucket:get_bucket(riak_object:bucket(Obj0)) of
        {error, _} = Error -> Error;
        Props -> put(Obj0, Options, Props, n_val(Options, Props))
    end.

put(_Obj, _Options, _Props, {error, _} = Error) -> Error;
put(Obj0, Options, Props, N) ->
    BKey = {riak_object:bucket(Obj0), riak_object:key(Obj0)},
    Preflist = preflist(BKey, Options, Props, N),
    [PW, NC, W, DW0] = Quorums = [quorum(K, Options, Props, N) || K <- [pw, node_confirms, w, dw]],
    Named =
        lists:zip([pw_val_violation, node_confirms_val_violation, w_val_violation,
                   dw_val_violation], Quorums),
    DW = case DW0 of error -> error; _ -> max(DW0, 1) end,
    Need = lists:max([1 | [Q || Q <- [W, DW, PW], is_integer(Q)]]),
    Checks = [{Q =:= error, {Name, bad}} || {Name, Q} <- Named]
        ++ [{lists:any(fun(Q) -> Q > N end, [W, DW, PW, NC]), {n_val_violation, N}},
            {PW > primaries(Preflist), {pw_val_unsatisfied, PW, primaries(Preflist)}},
            {length(Preflist) < Need, {insufficient_vnodes, length(Preflist), need, Need}}],
    case {lists:keyfind(true, 1, Checks), Preflist} of
        {{true, Why}, _} -> {error, Why};
        {false, []} -> {error, all_nodes_down};
        {false, _} ->
            Obj = riak_object:apply_updates(stamped(Obj0, Options)),
            Goal = #{w => W, pw => PW, dw => DW, node_confirms => NC, preflist => Preflist,
                     allow_mult => proplists:get_value(allow_mult, Props), bkey => BKey,
                     returnbody => proplists:get_bool(returnbody, Options)},
            where(Obj, Goal, Options)
    end.

stamped(Obj, Options) ->
    case proplists:get_value(update_last_modified, Options, true) of
        true -> riak_object:update_last_modified(Obj);
        false -> Obj
    end.

%% A node of the preference list coordinates; another one sends the object
%% there once and gets back the outcome only.
where(Obj, Goal = #{preflist := Preflist}, Options) ->
    Deadline = deadline(Options),
    case [Id || {{_, Node} = Id, _} <- Preflist, Node =:= node()] of
        [Id | _] -> coordinate(Id, Obj, Goal, left(Deadline));
        [] ->
            [{{_, Node} = Id, _} | _] = Preflist,
            try erpc:call(Node, ?MODULE, coordinate, [Id, Obj, Goal, left(Deadline)],
                          left(Deadline))
            catch error:{erpc, _} -> {error, timeout}
            end
    end.

coordinate({Index, Node} = Id, Obj, Goal, Timeout) ->
    #{preflist := Preflist, bkey := BKey, allow_mult := AllowMult} = Goal,
    Ref = make_ref(),
    Deadline = erlang:monotonic_time(millisecond) + Timeout,
    riak_kv_vnode:ask(Index, Node, Ref, {coordinate, BKey, Obj, AllowMult}),
    receive
        {Ref, Id, {dw, Written}} ->
            [riak_kv_vnode:ask(I, N, Ref, {put, BKey, Written, AllowMult})
             || {{I, N} = Other, _} <- Preflist, Other =/= Id],
            confirm(Ref, Goal, [{Id, Written}], Deadline)
    after left(Deadline) -> {error, timeout}
    end.

confirm(Ref, Goal, Done, Deadline) ->
    #{w := W, dw := DW, pw := PW, node_confirms := NC, preflist := Preflist} = Goal,
    Ids = [Id || {Id, _} <- Done],
    Primary = length([Id || Id <- Ids, lists:member({Id, primary}, Preflist)]),
    Nodes = length(lists:usort([N || {_, N} <- Ids])),
    Enough = length(Ids) >= max(W, DW) andalso Primary >= PW andalso Nodes >= NC,
    All = length(Ids) =:= length(Preflist),
    if Enough -> returned(Goal, [Obj || {_, Obj} <- lists:reverse(Done)]);
       All, Primary < PW -> {error, {pw_val_unsatisfied, PW, Primary}};
       All, Nodes < NC -> {error, {node_confirms_val_unsatisfied, NC, Nodes}};
       All -> {error, {dw_val_unsatisfied, DW, length(Ids)}};
       true ->
            receive
                {Ref, Id, {dw, Obj}} -> confirm(Ref, Goal, [{Id, Obj} | Done], Deadline)
            after left(Deadline) -> {error, timeout}
            end
    end.

returned(#{returnbody := true, allow_mult := AllowMult}, Objects) ->
    {ok, riak_object:reconcile(Objects, AllowMult)};
returned(_, _) -> ok.

%% --- delete ---

%% A tombstone that has seen what it deletes, reaped where every primary has it.
%% Its get and put are requests of this node's own, as in Riak: a time-out that
%% cannot be waited for ends the delete without an answer.
delete(Bucket, Key, VClock, Options) ->
    Here = riak_client:new(node(), undefined),
    case VClock of
        undefined ->
            case riak_client:get(Bucket, Key, as(r, [rw, w], Options), Here) of
                {ok, Obj} -> bury(Bucket, Key, riak_object:vclock(Obj), Options, Here);
                Error -> Error
            end;
        _ -> bury(Bucket, Key, VClock, Options, Here)
    end.

as(Name, Others, Options) ->
    case proplists:is_defined(Name, Options) of
        true -> Options;
        false ->
            case [V || O <- Others, V <- [proplists:get_value(O, Options)], V =/= undefined] of
                [Value | _] -> [{Name, Value} | Options];
                [] -> Options
            end
    end.

bury(Bucket, Key, VClock, Options, Here) ->
    Tomb = riak_object:new(Bucket, Key, <<>>, dict:from_list([{?MD_DELETED, "true"}])),
    Result = riak_client:put(riak_object:set_vclock(Tomb, VClock), as(w, [rw], Options), Here),
    _ = Result =:= ok andalso spawn(fun() -> reap({Bucket, Key}) end),
    Result.

reap({Bucket, _} = BKey) ->
    timer:sleep(?TOMB_PAUSE),
    Props = riak_core_bucket:get_bucket(Bucket),
    N = proplists:get_value(n_val, Props),
    Ids = [Id || {Id, primary} <- preflist(BKey, [], Props, N)],
    Ref = make_ref(),
    [riak_kv_vnode:ask(I, Node, Ref, {get, BKey}) || {I, Node} <- Ids],
    Found = [receive {Ref, Id, {ok, Obj}} -> Obj; {Ref, Id, _} -> none after 5000 -> none end
             || Id <- Ids],
    Tombs = [Obj || Obj <- Found, Obj =/= none, riak_object:is_deleted(Obj)],
    _ = length(Tombs) =:= N andalso
        [riak_kv_vnode:ask(I, Node, Ref, {reap, BKey, riak_object:vclock(Obj)})
         || {{I, Node}, Obj} <- lists:zip(Ids, Tombs)],
    ok.

%% --- common ---

n_val(Options, Props) ->
    N = proplists:get_value(n_val, Props),
    case proplists:get_value(n_val, Options) of
        undefined -> N;
        Own when is_integer(Own), Own > 0, Own =< N -> Own;
        Bad -> {error, {n_val_violation, Bad}}
    end.

preflist(BKey, Options, Props, N) ->
    Hash = riak_core_util:chash_key(BKey, Props),
    case proplists:get_value(sloppy_quorum, Options, true) of
        false -> riak_core_apl:get_primary_apl(Hash, N, riak_kv);
        true -> riak_core_apl:get_apl_ann(Hash, N, riak_core_node_watcher:nodes(riak_kv))
    end.

primaries(Preflist) -> length([x || {_, primary} <- Preflist]).

quorum(Name, Options, Props, N) ->
    riak_kv_util:expand_rw_value(Name, option(Name, Options), Props, N).

option(Name, Options) -> proplists:get_value(Name, Options, default).

deadline(Options) ->
    Timeout = case proplists:get_value(timeout, Options, ?TIMEOUT) of
                  T when is_integer(T), T >= 0 -> T;
                  _ -> ?TIMEOUT
              end,
    erlang:monotonic_time(millisecond) + Timeout.

left(Deadline) -> max(0, Deadline - erlang:monotonic_time(millisecond)).
