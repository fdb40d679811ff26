%% Test support: default properties, merging, and the checks of a change.
-module(riak_core_bucket_props).

-export([merge/2, validate/4, defaults/0, append_defaults/1, resolve/2]).

%% Those given first, in order of name; they override.
merge(Overriding, Other) ->
    lists:ukeymerge(1, lists:ukeysort(1, Overriding), lists:ukeysort(1, Other)).

defaults() -> app_helper:get_env(riak_core, default_bucket_props, []).

append_defaults(Props) ->
    application:set_env(riak_core, default_bucket_props, merge(Props, defaults())).

resolve(A, B) -> merge(A, B).

-spec validate(create | update, term(), term(), list()) -> {ok, list()} | {error, list()}.
validate(_Phase, _Bucket, _Existing, Props) ->
    case [{Key, Why} || {Key, Value} <- Props, Why <- [check(Key, Value)], Why =/= ok] of
        [] -> {ok, [{Key, normal(Key, Value)} || {Key, Value} <- Props]};
        Errors -> {error, Errors}
    end.

-define(QUORUM(K), K =:= r; K =:= w; K =:= dw; K =:= rw).
-define(PRIMARY(K), K =:= pr; K =:= pw; K =:= node_confirms).

check(n_val, N) when is_integer(N), N > 0 -> ok;
check(n_val, _) -> <<"must be an integer greater than zero">>;
check(K, V) when ?QUORUM(K) -> quorum(V, 1, <<"must be a valid value">>);
check(K, V) when ?PRIMARY(K) -> quorum(V, 0, <<"must be a valid value">>);
check(K, V) when K =:= allow_mult; K =:= last_write_wins; K =:= basic_quorum;
                 K =:= notfound_ok; K =:= dvv_enabled ->
    case normal(K, V) of
        B when is_boolean(B) -> ok;
        _ -> <<"not a boolean">>
    end;
check(_, _) -> ok.

quorum(N, Min, _) when is_integer(N), N >= Min -> ok;
quorum(V, _, Why) ->
    Word = if is_binary(V) -> binary_to_list(V); is_atom(V) -> atom_to_list(V); true -> "" end,
    case lists:member(Word, ["one", "quorum", "all"]) of
        true -> ok;
        false -> Why
    end.

normal(K, <<"one">>) when ?QUORUM(K); ?PRIMARY(K) -> one;
normal(K, <<"quorum">>) when ?QUORUM(K); ?PRIMARY(K) -> quorum;
normal(K, <<"all">>) when ?QUORUM(K); ?PRIMARY(K) -> all;
normal(_, <<"true">>) -> true;
normal(_, <<"false">>) -> false;
normal(_, V) -> V.
