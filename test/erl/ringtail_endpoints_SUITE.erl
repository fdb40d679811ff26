%% Listeners, advertised addresses and what member metadata may hold.
-module(ringtail_endpoints_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [several_listeners_are_all_listed, a_wildcard_is_published_under_the_nodes_name, ipv6,
     no_listener_at_all,
     what_is_no_listener_is_left_out, advertise_overrides, a_bad_advertise_is_named_and_not_used,
     old_riak_core_setting,
     meta_round_trip, foreign_meta_is_no_endpoint, urls,
     a_host_that_is_none_is_neither_published_nor_believed, very_many_endpoints_are_cut_off,
     listeners_that_are_nonsense_are_left_out].

init_per_testcase(_, Config) ->
    forget(),
    Config.

end_per_testcase(_, _) ->
    forget().

forget() ->
    [application:unset_env(App, Name)
     || App <- [ringtail, riak_api, riak_core], Name <- [http, https, pb, advertise]],
    ok.

several_listeners_are_all_listed(_) ->
    ?assertEqual([{http, <<"10.0.0.1">>, 8098}, {http, <<"10.1.0.1">>, 8098},
                  {https, <<"10.0.0.1">>, 8443},
                  {pb, <<"10.0.0.1">>, 8087}],
                 from([{http, [{"10.1.0.1", 8098}, {"10.0.0.1", 8098}]},
                       {https, [{"10.0.0.1", 8443}]},
                       {pb, [{{10, 0, 0, 1}, 8087}]}])).

a_wildcard_is_published_under_the_nodes_name(_) ->
    [?assertEqual([{http, <<"host.example">>, 8098}], from([{http, [{Wildcard, 8098}]}]))
     || Wildcard <- ["0.0.0.0", {0, 0, 0, 0}, "::", "::0", {0, 0, 0, 0, 0, 0, 0, 0},
                     <<"0.0.0.0">>]].

ipv6(_) ->
    ?assertEqual([{http, <<"fd00::1">>, 8098}], from([{http, [{"fd00::1", 8098}]}])),
    ?assertEqual([{http, <<"fd00::1">>, 8098}], from([{http, [{"[fd00::1]", 8098}]}])),
    ?assertEqual([{http, <<"::1">>, 8098}], from([{http, [{"::1", 8098}]}])).

no_listener_at_all(_) ->
    ?assertEqual([], from([])),
    ?assertEqual([], ringtail_endpoints:local()).

what_is_no_listener_is_left_out(_) ->
    ?assertEqual([{http, <<"10.0.0.1">>, 8098}],
                 from([{http, [{"10.0.0.1", 0}, {"10.0.0.1", 70000}, {"10.0.0.1", "8098"}, {"", 1},
                               nonsense,
                               {"10.0.0.1", 8098}, {"10.0.0.1", 8098}]}])).

advertise_overrides(_) ->
    application:set_env(riak_api, http, [{"10.0.0.1", 8098}]),
    ?assertEqual([{http, <<"10.0.0.1">>, 8098}], ringtail_endpoints:local()),
    application:set_env(ringtail, advertise,
                        [{https, "riak.example", 443}, {pb, <<"riak.example">>, 8087}]),
    ?assertEqual([{https, <<"riak.example">>, 443}, {pb, <<"riak.example">>, 8087}],
                 ringtail_endpoints:local()).

a_bad_advertise_is_named_and_not_used(_) ->
    application:set_env(riak_api, http, [{"10.0.0.1", 8098}]),
    [begin
         application:set_env(ringtail, advertise, Bad),
         ?assertEqual([{http, <<"10.0.0.1">>, 8098}], ringtail_endpoints:local()),
         ?assertMatch([_], [Problem || Problem <- ringtail_config:problems(),
                            string:str(Problem, "advertise") > 0])
     end || Bad <- [[{ftp, "h", 1}], [{http, "h", 0}], [{http, "", 80}], [{http, [256], 80}],
                    nonsense, [a | b]]].

old_riak_core_setting(_) ->
    application:set_env(riak_core, http, [{"10.0.0.2", 8098}]),
    ?assertEqual([{http, <<"10.0.0.2">>, 8098}], ringtail_endpoints:local()).

meta_round_trip(_) ->
    Endpoints = [{http, <<"::1">>, 8098}, {https, <<"riak.example">>, 443}],
    ?assertEqual(Endpoints, ringtail_endpoints:from_meta(ringtail_endpoints:to_meta(Endpoints))),
    ?assertEqual(ringtail_endpoints:to_meta(Endpoints),
                 ringtail_endpoints:to_meta(lists:reverse(Endpoints))).

%% Recorded rings hold metadata of another format under our key; a later version of ours may too.
foreign_meta_is_no_endpoint(_) ->
    [?assertEqual([], ringtail_endpoints:from_meta(Meta))
     || Meta <- [undefined, [], [{http, "h", 1}], {ringtail, 2, [{http, <<"h">>, 1}]},
                 {ringtail, 1, nonsense},
                 {ringtail, 1, [a | b]}, {ringtail, 1,
                                          [{http, "h", 1}, {http, <<>>, 1}, {http, <<"h">>, 0},
                                           {gopher, <<"h">>, 70}, x]}]].

%% A Latin-1 host in one node's `advertise' became a 500 on every other, and one with a line's end
%% split `Location'.
a_host_that_is_none_is_neither_published_nor_believed(_) ->
    application:set_env(riak_api, http, [{"10.0.0.1", 8098}]),
    [begin
         ?assertEqual({Host, []}, {Host,
                                   ringtail_endpoints:from_meta({ringtail, 1,
                                                                 [{http, Host, 80}]})}),
         ?assertEqual([], from([{http, [{Host, 80}]}])),
         application:set_env(ringtail, advertise, [{http, Host, 80}]),
         ?assertEqual([{http, <<"10.0.0.1">>, 8098}], ringtail_endpoints:local()),
         ?assertMatch([_], [Problem || Problem <- ringtail_config:problems(),
                                       string:str(Problem, "advertise") > 0])
     end || Host <- [<<"h", 246, "st">>, <<"h", 195, 182, "st">>, <<"a\r\nSet-Cookie: b">>,
                     <<"a b">>,
                     <<"h/">>, <<"u@h">>, <<"h:80">>, <<"10.0.0.1:80">>, <<"1::2::3">>,
                     <<"fe80::1%eth0">>,
                     <<"h?">>, <<"h#">>, <<"h%41">>, <<"h\"">>, <<0>>, binary:copy(<<"a">>, 256)]],
    [?assertEqual([{http, Host, 80}],
                  ringtail_endpoints:from_meta({ringtail, 1, [{http, Host, 80}]}))
     || Host <- [<<"riak_1.example">>, <<"10.0.0.1">>, <<"::1">>, <<"fd00::1">>,
                 <<"::ffff:10.0.0.1">>,
                 binary:copy(<<"a">>, 255)]].

very_many_endpoints_are_cut_off(_) ->
    Many = [{http, <<"h">>, Port} || Port <- lists:seq(1, 1000)],
    ?assertEqual(64, length(ringtail_endpoints:from_meta({ringtail, 1, Many}))),
    ?assertEqual(64, length(ringtail_endpoints:from_meta(ringtail_endpoints:to_meta(Many)))),
    ?assertEqual(64, length(from([{http, [{"h", Port} || Port <- lists:seq(1, 1000)]}]))).

%% What another node's configuration holds is asked of it as it is.
listeners_that_are_nonsense_are_left_out(_) ->
    [?assertEqual([], from([{http, Listed}]))
     || Listed <- [nonsense, [a | b], [{[300], 80}], [{[a | b], 80}], [{{1, 2}, 80}],
                   [{undefined, 80}],
                   [{{a, b, c, d}, 80}]]].

urls(_) ->
    ?assertEqual("http://10.0.0.1:8098", ringtail_endpoints:url({http, "10.0.0.1", 8098})),
    ?assertEqual("https://[fd00::1]:443", ringtail_endpoints:url({https, <<"fd00::1">>, 443})).

from(Listeners) ->
    ringtail_endpoints:from_config('riak@host.example', Listeners).
