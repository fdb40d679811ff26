%% @doc Runs on a node of the bench's cluster: what a decision costs beside a bare call of the
%% engine. Sent there by node_bench.
-module(node_probe).

-export([decision/1]).

%% Microseconds of a bare `primaries' of the NIF and of the whole decision as the object route takes
%% it, per key, over the same keys in the same order. Bucket properties are left out of both: they
%% are Riak's to look up.
decision(Rounds) ->
    Keys = [{<<"bucket">>, integer_to_binary(K)} || K <- lists:seq(1, 1000)],
    {ok, {ringtail_ring, nif, Handle, _}, _} = ringtail_ring:ring(),
    Bare = fun({Bucket, Key}) ->
                   {ok, _} = ringtail_nif:primaries(Handle, <<"default">>, Bucket, Key, std, 3) end,
    Whole = fun({Bucket, Key}) ->
                    {ok, _, _, IsUp} = Here = ringtail_ring:here(),
                    {ok, Primaries} = ringtail_key_owners:primaries(Bucket, Key, 3, std, Here),
                    case ringtail_decide:is_here(Primaries, node(), IsUp) of
                        true -> serve;
                        false ->
                            ringtail_decide:decide(Primaries, node(), ringtail_ring:up(), proxy, 1)
                    end
            end,
    Times = [{time(Bare, Keys), time(Whole, Keys)} || _ <- lists:seq(1, Rounds)],
    {lists:min([B || {B, _} <- Times]) / length(Keys),
     lists:min([W || {_, W} <- Times]) / length(Keys)}.

time(Fun, Keys) ->
    element(1, timer:tc(fun() -> lists:foreach(Fun, Keys) end)).
