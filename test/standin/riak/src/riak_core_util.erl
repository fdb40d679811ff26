%% Test support: those helpers of riak_core_util that others call.
-module(riak_core_util).
-compile({no_auto_import, [integer_to_list/2]}).

-export([chash_key/1, chash_key/2, chash_std_keyfun/1, chash_bucketonly_keyfun/1,
         unique_id_62/0, integer_to_list/2, moment/0, sha/1, md5/1, mkclientid/1,
         safe_rpc/4, safe_rpc/5, rpc_every_member/4, multi_rpc/4, multi_rpc/5,
         job_class_enabled/1, job_class_disabled_message/2, str_to_node/1]).

chash_key({Bucket, _} = BKey) -> chash_key(BKey, riak_core_bucket:get_bucket(Bucket)).

chash_key({Bucket, Key}, Props) ->
    {_, {Module, Function}} = lists:keyfind(chash_keyfun, 1, Props),
    Module:Function({Bucket, Key}).

chash_std_keyfun({Bucket, Key}) -> chash:key_of({Bucket, Key}).

chash_bucketonly_keyfun({Bucket, _Key}) -> chash:key_of(Bucket).

unique_id_62() ->
    <<Int:160>> = sha(term_to_binary({make_ref(), os:timestamp(), node()})),
    integer_to_list(Int, 62).

%% Digits, capitals, small letters, in that order.
integer_to_list(Int, Base) when Base =< 36 -> erlang:integer_to_list(Int, Base);
integer_to_list(0, _Base) -> "0";
integer_to_list(Int, Base) when Int > 0 -> digits(Int, Base, []).

digits(0, _Base, Acc) -> Acc;
digits(Int, Base, Acc) -> digits(Int div Base, Base, [digit(Int rem Base) | Acc]).

digit(D) when D < 10 -> $0 + D;
digit(D) when D < 36 -> $A + D - 10;
digit(D) -> $a + D - 36.

moment() -> calendar:datetime_to_gregorian_seconds(erlang:universaltime()).

sha(Data) -> crypto:hash(sha, Data).
md5(Data) -> crypto:hash(md5, Data).

mkclientid(_Node) -> crypto:strong_rand_bytes(4).

safe_rpc(Node, M, F, A) -> safe_rpc(Node, M, F, A, infinity).

safe_rpc(Node, M, F, A, Timeout) ->
    try rpc:call(Node, M, F, A, Timeout)
    catch exit:{noproc, _} -> {badrpc, rpc_process_down}
    end.

rpc_every_member(M, F, A, Timeout) ->
    {ok, Ring} = riak_core_ring_manager:get_my_ring(),
    multi_rpc(riak_core_ring:all_members(Ring), M, F, A, Timeout).

multi_rpc(Nodes, M, F, A) -> multi_rpc(Nodes, M, F, A, infinity).
multi_rpc(Nodes, M, F, A, Timeout) -> rpc:multicall(Nodes, M, F, A, Timeout).

job_class_enabled(Class) ->
    case application:get_env(riak_core, job_accept_class) of
        undefined -> true;
        {ok, Classes} -> is_list(Classes) andalso lists:member(Class, Classes)
    end.

job_class_disabled_message(binary, Class) ->
    list_to_binary(job_class_disabled_message(text, Class));
job_class_disabled_message(text, Class) ->
    lists:flatten(io_lib:format("Operation '~p' is not enabled", [Class])).

str_to_node(Node) when is_atom(Node) -> Node;
str_to_node(Name) ->
    case string:tokens(Name, "@") of
        [Short] ->
            [_, Host] = string:tokens(atom_to_list(node()), "@"),
            list_to_atom(Short ++ "@" ++ Host);
        _ -> list_to_atom(Name)
    end.
