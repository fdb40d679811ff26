%% @doc Settings that make no sense, or are none: the default is used, and what is wrong is said.
-module(ringtail_config_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [defaults, values_are_used, nonsense_is_named_and_not_used, numbers_are_bounded,
     long_texts_and_lists_are_refused, a_name_that_is_no_setting_was_not_told,
     a_setting_that_is_gone_says_why, what_otp_puts_there_is_no_problem, a_password_is_not_told,
     every_setting_is_read_here].

init_per_testcase(_, Config) ->
    Before = application:get_all_env(ringtail),
    [application:unset_env(ringtail, Name) || {Name, _} <- Before],
    [{before, Before} | Config].

end_per_testcase(_, Config) ->
    [application:unset_env(ringtail, Name) || {Name, _} <- application:get_all_env(ringtail)],
    [application:set_env(ringtail, Name, Value)
     || {Name, Value} <- proplists:get_value(before, Config)],
    ok.

settings() ->
    [{route, proxy}, {prefixes, ["/explore", "/admin/explore"]}, {cluster_alias, undefined},
     {max_body, 67108864}, {client_pause, 30000}, {advertise, undefined}, {publish, true},
     {engine, auto},
     {nif_path, undefined}, {companion, undefined}, {port_timeout, 5000},
     {port_hang_timeout, 10000}, {port_max_requests, 1024}].

defaults(_) ->
    [?assertEqual({Name, Default}, {Name, ringtail_config:Name()})
     || {Name, Default} <- settings()],
    ?assertEqual([], told("is not")).

values_are_used(_) ->
    [begin
         application:set_env(ringtail, Name, Value),
         ?assertEqual({Name, Value}, {Name, ringtail_config:Name()})
     end || {Name, Value} <- [{route, local}, {prefixes, ["/x", ""]}, {prefixes, []},
                              {cluster_alias, "my photos"}, {max_body, 1}, {publish, false},
                              {engine, port}, {nif_path, "/a/b.so"}, {companion, "/a/b"},
                              {port_timeout, 1}, {port_hang_timeout, 500}, {port_max_requests, 5},
                              {advertise, [{http, <<"h">>, 1}]}]],
    application:set_env(ringtail, nif_path, <<"/a/b.so">>),
    ?assertEqual("/a/b.so", ringtail_config:nif_path()),
    ?assertEqual([], told("is not")).

nonsense_is_named_and_not_used(_) ->
    [begin
         application:set_env(ringtail, Name, Nonsense),
         ?assertEqual({Name, Nonsense, Default}, {Name, Nonsense, ringtail_config:Name()}),
         Told = told("{ringtail, " ++ atom_to_list(Name) ++ "}"),
         ?assertMatch({Name, Nonsense, [_]}, {Name, Nonsense, Told}),
         application:unset_env(ringtail, Name)
     end || {Name, Default} <- settings(),
            Nonsense <- [x, {a, b}, [a | b], [[0]], -1, 0, 1.5, self(), <<0, 255>>,
                         [{max_idle, -1}]]],
    ?assertEqual([], told("is not")).

%% A number of milliseconds beyond 2^32 crashes a timer.
numbers_are_bounded(_) ->
    [begin
         application:set_env(ringtail, Name, 1 bsl Bits),
         ?assertEqual({Name, Default}, {Name, ringtail_config:Name()}),
         ?assertMatch([_], told(atom_to_list(Name)))
     end || {Name, Default} <- settings(), is_integer(Default), Bits <- [41, 64, 4096]].

long_texts_and_lists_are_refused(_) ->
    [begin
         application:set_env(ringtail, Name, Value),
         ?assertEqual(proplists:get_value(Name, settings()), ringtail_config:Name()),
         [Problem] = told(atom_to_list(Name)),
         ?assert(length(Problem) < 2000)
     end || {Name, Value} <- [{cluster_alias, lists:duplicate(256, $a)}, {cluster_alias, "a\r\nb"},
                              {prefixes, ["/" ++ lists:duplicate(256, $a)]},
                              {prefixes, lists:duplicate(100000, "/a")},
                              {advertise, lists:duplicate(100000, {http, "h", 1})}]].

a_name_that_is_no_setting_was_not_told(_) ->
    [begin
         application:set_env(ringtail, Wrong, x),
         [Problem] = told("is no setting"),
         ?assertEqual({Wrong, true}, {Wrong,
                                      lists:suffix("did you mean " ++ Meant ++ "?", Problem)}),
         application:unset_env(ringtail, Wrong)
     end || {Wrong, Meant} <- [{roote, "route"}, {'Route', "route"}, {prefix, "prefixes"},
                               {publis, "publish"}, {maxbody, "max_body"},
                               {advertize, "advertise"}, {cluster, "clusters"},
                               {port_timeouts, "port_timeout"}]],
    application:set_env(ringtail, max_idle, -1),
    ?assertMatch([_], told("max_idle} is no setting; there are clusters, route, ")).

a_setting_that_is_gone_says_why(_) ->
    application:set_env(ringtail, forward, [{max_idle, 1}]),
    ?assertMatch([_], told("{ringtail, forward} is no setting any more")).

%% Releases before 19 keep included_applications there.
what_otp_puts_there_is_no_problem(_) ->
    application:set_env(ringtail, included_applications, []),
    ?assertEqual([], told("is no setting")).

a_password_is_not_told(_) ->
    application:set_env(ringtail, clusterss, [{a, [{password, "hunter2"}]}]),
    application:set_env(ringtail, clusters, [{a, [{password, "hunter2"}, {nonsense, "x"}]}]),
    ?assertMatch([_ | _], ringtail_config:problems()),
    ?assertEqual([], told("hunter2")).

%% A module that reads the environment by itself trusts what it finds there.
every_setting_is_read_here(_) ->
    Sources = ringtail_test_util:sources(),
    ?assert(length(Sources) > 10),
    Reading = [filename:basename(Source)
               || Source <- Sources, {ok, Text} <- [file:read_file(Source)],
                  nomatch =/= binary:match(Text, <<"application:get_env(ringtail,">>)],
    Known = ["ringtail_config.erl", "ringtail_engine.erl"],
    ?assertEqual([], Reading -- Known).

%% ---- Helpers ----

told(What) ->
    [Problem || Problem <- ringtail_config:problems(), string:str(Problem, What) > 0].
