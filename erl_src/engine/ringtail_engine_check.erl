%% @doc Compares the engine with riak_core's own chash on a sample of keys: an engine that disagrees
%% must not serve.
-module(ringtail_engine_check).

-export([check/2]).

%% @doc `RingTerm' is the ring that was loaded.
-spec check(ringtail_engine:ring(), RingTerm :: tuple()) -> ok | ringtail_nif:failure().
check(Ring, RingTerm) ->
    case available(chash, successors, 3) andalso available(riak_core_ring, chash, 1) of
        true -> check(Ring, RingTerm, ringtail_engine:ring_size(Ring));
        false -> {error, {no_riak_core, <<"this VM has no riak_core to compare with: run the check "
                                          "on a Riak node">>}}
    end.

check(Ring, RingTerm, {ok, Size}) ->
    compare(Ring, riak_core_ring:chash(RingTerm), min(3, Size), sample());
check(_, _, {error, _} = Error) ->
    Error.

available(Module, Function, Arity) ->
    case code:ensure_loaded(Module) of
        {module, Module} -> erlang:function_exported(Module, Function, Arity);
        {error, _} -> false
    end.

%% The same every time, and spread over the ring and over the shapes of keys.
sample() ->
    [{Type, <<"ringtail-", Bucket:16>>, crypto:hash(sha, <<Bucket:16, Key:16>>)}
     || Type <- [<<"default">>, <<"ringtail">>], Bucket <- lists:seq(1, 8), Key <- lists:seq(1, 8)].

compare(_, _, _, []) ->
    ok;
compare(Ring, CHash, N, [{Type, Bucket, Key} | Keys]) ->
    Name = case Type of
               <<"default">> -> Bucket;
               _ -> {Type, Bucket}
           end,
    Expected = chash:successors(chash:key_of({Name, Key}), CHash, N),
    case ringtail_engine:primaries(Ring, Type, Bucket, Key, std, N) of
        {ok, Expected} -> compare(Ring, CHash, N, Keys);
        {ok, Other} -> {error, {disagrees, disagreement({Name, Key}, Other, Expected)}};
        {error, _} = Error -> Error
    end.

disagreement(Key, Engine, Riak) ->
    iolist_to_binary(io_lib:format("for ~p the engine says ~p and riak_core says ~p: do not serve "
                                   "with this build", [Key, Engine, Riak])).
