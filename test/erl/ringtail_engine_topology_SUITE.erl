%% @doc Topologies and hashes through the engine.
-module(ringtail_engine_topology_SUITE).

-include_lib("common_test/include/ct.hrl").
-include_lib("stdlib/include/assert.hrl").

-export([all/0, hash_calls_agree_with_key_calls/1, token_is_the_digest_of_the_canonical_form/1,
         document_says_what_the_ring_says/1, difference_tells_only_what_changed/1,
         another_ring_size_gets_the_whole_document/1, wrong_arguments_are_named/1,
         documents_without_the_engine_are_the_engines/1]).

all() ->
    [hash_calls_agree_with_key_calls, token_is_the_digest_of_the_canonical_form,
     document_says_what_the_ring_says,
     difference_tells_only_what_changed, another_ring_size_gets_the_whole_document,
     wrong_arguments_are_named, documents_without_the_engine_are_the_engines].

hash_calls_agree_with_key_calls(Config) ->
    Ring = ring(Config, "live4_my"),
    Up = ['dev1@127.0.0.1', 'dev3@127.0.0.1'],
    lists:foreach(
      fun(N) ->
              Key = <<N:32>>,
              {ok, Hash} = ringtail_engine:chash(<<"t">>, <<"b">>, Key, std),
              ?assertEqual(ringtail_engine:primaries(Ring, <<"t">>, <<"b">>, Key, std, 3),
                           ringtail_engine:primaries_of_hash(Ring, Hash, 3)),
              ?assertEqual(ringtail_engine:preflist(Ring, <<"t">>, <<"b">>, Key, std, 3, Up),
                           ringtail_engine:preflist_of_hash(Ring, Hash, 3, Up))
      end, lists:seq(1, 200)).

token_is_the_digest_of_the_canonical_form(Config) ->
    {ok, Token, ClusterUuid, Canonical} = ringtail_engine:topology(ring(Config, "live4_my")),
    <<Digest:8/binary, _/binary>> = crypto:hash(sha, Canonical),
    ?assertEqual(iolist_to_binary(["4-",
                                   [io_lib:format("~2.16.0b", [Byte]) || <<Byte>> <= Digest]]),
                                   Token),
    [<<"ringtail-topology 1">>, <<"cluster ", ClusterUuid:36/binary, " ", _/binary>> | _] =
        binary:split(Canonical, <<"\n">>, [global]).

document_says_what_the_ring_says(Config) ->
    Ring = ring(Config, "live4_my"),
    {ok, Token, ClusterUuid, Canonical} = ringtail_engine:topology(Ring),
    {ok, Json} = ringtail_engine:topology_document(Token, Canonical,
                                                   [<<"dev2@127.0.0.1">>,
                                                    <<"stranger@127.0.0.1">>]),
    Document = json(Json),
    {ok, Dev2} = ringtail_engine:node_uuid(ClusterUuid, <<"dev2@127.0.0.1">>),
    ?assertEqual(true, get(<<"full">>, Document)),
    ?assertEqual(Token, get(<<"token">>, Document)),
    ?assertEqual([Dev2], get(<<"up">>, Document)),
    {ok, Owners} = ringtail_engine:owners(Ring),
    Expected = [{integer_to_binary(Index), uuid(ClusterUuid, Node)} || {Index, Node} <- Owners],
    {struct, Told} = get(<<"owners">>, Document),
    ?assertEqual(Expected, Told).

documents_without_the_engine_are_the_engines(Config) ->
    lists:foreach(
      fun(Name) ->
              {ok, Token, _, Canonical} = ringtail_engine:topology(ring(Config, Name)),
              same_document(Token, Canonical, [<<"dev2@127.0.0.1">>, <<"riak1@10.0.0.1">>, <<"n">>])
      end, ringtail_test_util:ring_names()),
    %% What no recorded ring has: a cluster and a node whose names are escaped, endpoints, a resize.
    Uuid = <<"6ba7b810-9dad-51d1-80b4-00c04fd430c8">>,
    Odd = <<"ringtail-topology 1\ncluster ", Uuid/binary, " a%20%25%c3%a9\nring 2 resizing\n",
            "member ", Uuid/binary,
            " leaving %20@h http 10.0.0.1 8098 https fe80::1 443 pb a%20b 1\n"
            "owners 0 0\n">>,
    same_document(<<"3-9f3ac21b77d0e1aa">>, Odd, [<<" @h">>]).

same_document(Token, Canonical, Up) ->
    {ok, Expected} = ringtail_engine:topology_document(Token, Canonical, Up),
    ?assertEqual(json(Expected), json(ringtail_topology_text:document(Token, Canonical, Up))).

difference_tells_only_what_changed(Config) ->
    {ok, FromToken, Cluster, From} = ringtail_engine:topology(ring(Config, "live4_my")),
    %% One node starts to leave: one status in the canonical form.
    {ok, Dev4} = ringtail_engine:node_uuid(Cluster, <<"dev4@127.0.0.1">>),
    To = binary:replace(From, <<"member ", Dev4/binary, " valid">>,
                        <<"member ", Dev4/binary, " leaving">>),
    ?assertNotEqual(From, To),
    {ok, Json} = ringtail_engine:topology_difference(FromToken, From, <<"5-0123456789abcdef">>, To,
                                                     []),
    Difference = json(Json),
    ?assertEqual(false, get(<<"full">>, Difference)),
    ?assertEqual(FromToken, get(<<"from">>, Difference)),
    ?assertEqual(<<"5-0123456789abcdef">>, get(<<"token">>, Difference)),
    ?assertEqual([], get(<<"joined">>, Difference)),
    ?assertEqual([], get(<<"left">>, Difference)),
    ?assertEqual({struct, []}, get(<<"owners">>, Difference)),
    [Changed] = get(<<"changed">>, Difference),
    ?assertEqual({Dev4, <<"leaving">>}, {get(<<"uuid">>, Changed), get(<<"status">>, Changed)}).

another_ring_size_gets_the_whole_document(Config) ->
    {ok, FromToken, _, From} = ringtail_engine:topology(ring(Config, "single8")),
    {ok, Token, _, To} = ringtail_engine:topology(ring(Config, "single64")),
    {ok, Json} = ringtail_engine:topology_difference(FromToken, From, Token, To, []),
    ?assertEqual(true, get(<<"full">>, json(Json))),
    ?assertEqual(64, get(<<"ring_size">>, json(Json))).

wrong_arguments_are_named(Config) ->
    Ring = ring(Config, "single8"),
    {ok, Token, Cluster, Canonical} = ringtail_engine:topology(Ring),
    Code = fun({error, {Code, Detail}}) when is_binary(Detail) -> Code end,
    ?assertEqual(foreign_ring, Code(ringtail_engine:topology(no_ring))),
    ?assertEqual(bad_token, Code(ringtail_engine:topology_document(<<"4">>, Canonical, []))),
    ?assertEqual(bad_canonical,
                 Code(ringtail_engine:topology_document(Token, <<"ringtail-topology 1\n">>, []))),
    ?assertEqual(bad_argument,
                 Code(ringtail_engine:topology_document(Token, Canonical, [an_atom]))),
    ?assertEqual(bad_argument,
                 Code(ringtail_engine:topology_document(Token, Canonical, [<<"a">> | <<"b">>]))),
    ?assertEqual(bad_argument, Code(ringtail_engine:topology_document(Token, <<255>>, []))),
    ?assertEqual(bad_argument, Code(ringtail_engine:node_uuid(<<"x">>, <<"n">>))),
    ?assertEqual(bad_argument, Code(ringtail_engine:node_uuid(Cluster, n))),
    ?assertEqual(bad_argument, Code(ringtail_engine:primaries_of_hash(Ring, <<1, 2>>, 1))),
    ?assertEqual(n_val_too_large, Code(ringtail_engine:primaries_of_hash(Ring, <<0:160>>, 9))),
    ?assertEqual(bad_argument, Code(ringtail_engine:preflist_of_hash(Ring, <<0:160>>, 1, up))).

%% ---- Helpers ----

ring(_, Name) ->
    Bytes = ringtail_test_util:ring_bytes(Name),
    %% The names of a cluster's nodes are atoms on its nodes; here they must become so first.
    _ = binary_to_term(Bytes),
    {ok, Ring} = ringtail_engine:load_ring(Bytes),
    Ring.

uuid(ClusterUuid, Node) ->
    {ok, Uuid} = ringtail_engine:node_uuid(ClusterUuid, atom_to_binary(Node, utf8)),
    Uuid.

json(Text) ->
    mochijson2:decode(Text).

get(Name, {struct, Members}) ->
    proplists:get_value(Name, Members).
