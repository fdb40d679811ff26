%% @doc The hop by https: who is believed, and the same care as by http.
-module(ringtail_forward_tls_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, init_per_suite/1, end_per_suite/1, init_per_testcase/2, end_per_testcase/2]).
-compile([export_all, nowarn_export_all]).

-import(ringtail_test_server, [ok/1, ok/2, requests/1, accepted/1, bodies/1]).
-import(ringtail_forward_case, [refusal/0, https/3, file/2, sget/2, sput/3, hashed/2, body/1, repeated_hash/2,
         pieces/1, endless/1, piece/0, watched/2, measured/1, stats/1, wait_until/1]).

-define(MIB, 1048576).

all() ->
    [https_encrypted_only, https_verified, https_wrong_ca_is_not_opened, https_large_both_ways,
     https_stale_connection, https_target_that_does_not_read_times_out, https_early_answer].

init_per_suite(Config) -> ringtail_forward_case:init_per_suite(Config).
end_per_suite(Config) -> ringtail_forward_case:end_per_suite(Config).
init_per_testcase(Case, Config) -> ringtail_forward_case:init_per_testcase(Case, Config).
end_per_testcase(Case, Config) -> ringtail_forward_case:end_per_testcase(Case, Config).

%% ---- https ----

https_encrypted_only(Config) ->
    S = https(Config, "node", fun(#{n := N}) -> [read_body, {send, ok(integer_to_list(N))}] end),
    ?assertMatch({ok, 200, [], <<"0">>}, sput(S, <<"v">>, [])),
    ?assertMatch({ok, 200, [], <<"1">>}, sput(S, {length, 3, pieces([<<"a">>, <<"bc">>])}, [])),
    ?assertEqual(1, accepted(S)),
    ?assertEqual([body(<<"v">>), body(<<"abc">>)], bodies(S)),
    ?assertEqual({messages, []}, process_info(self(), messages)).

%% By Riak's own setting; the certificate's name is of a node, not of 127.0.0.1.
https_verified(Config) ->
    application:set_env(riak_core, ssl, [{cacertfile, file(Config, "ca.pem")}]),
    ?assertEqual(verified, ringtail_forward_conn:verification(ringtail_forward_conn:ssl_options())),
    S = https(Config, "node", fun(_) -> [{send, ok("x")}] end),
    ?assertMatch({ok, 200, [], <<"x">>}, sget(S, [])).

https_wrong_ca_is_not_opened(Config) ->
    S = https(Config, "node", fun(_) -> [{send, ok("x")}] end),
    application:set_env(riak_core, ssl, [{cacertfile, file(Config, "other.pem")}]),
    ?assertMatch({error, {not_opened, {tls_alert, _}}}, sget(S, [])),
    application:set_env(ringtail, forward_ssl, [{verify, verify_none}]),
    ?assertMatch({ok, 200, [], <<"x">>}, sget(S, [])),
    ?assertEqual(1, requests(S)).

https_large_both_ways(Config) ->
    Piece = crypto:strong_rand_bytes(?MIB),
    S = https(Config, "node", fun(_) -> [read_body, {send, "HTTP/1.1 200 OK\r\nContent-Length: 20971520\r\n\r\n"}, {send_many, 20, Piece}] end),
    {Size, Hash, Peak} = measured(fun(Watch) ->
                                          {ok, 200, [], {stream, _, Next}} = sput(S, {length, 20 * ?MIB, endless(20 * ?MIB)}, []),
                                          hashed(Next, Watch)
                                  end),
    ?assertEqual({20 * ?MIB, repeated_hash(20, Piece)}, {Size, Hash}),
    ?assertEqual([{20 * ?MIB, repeated_hash(320, piece())}], bodies(S)),
    ?assert(Peak < 8 * ?MIB),
    ?assertEqual([1, 0], stats([idle, in_use])).

https_stale_connection(Config) ->
    S = https(Config, "node", fun(_) -> [read_body, {send, ok("x")}, close] end),
    [begin
         ?assertMatch({ok, 200, [], <<"x">>}, sput(S, <<"v">>, [])),
         wait_until(fun() -> stats([idle]) =:= [0] end)
     end || _ <- lists:seq(1, 5)],
    ?assertEqual(5, requests(S)).

https_target_that_does_not_read_times_out(Config) ->
    S = https(Config, "node", fun(_) -> [hang] end),
    ?assertMatch({error, {_, maybe_sent}}, sput(S, {length, 50 * ?MIB, endless(50 * ?MIB)}, [{timeout, 500}])),
    ?assertEqual([0, 0], stats([idle, in_use])).

https_early_answer(Config) ->
    S = https(Config, "node", fun(_) -> [{read, 1000}, {send, refusal()}, {read, 300000}, close] end),
    Slow = watched(endless(10 * ?MIB), fun() -> timer:sleep(10) end),
    ?assertMatch({ok, 413, [], <<"big">>}, sput(S, {length, 10 * ?MIB, Slow}, [])).
