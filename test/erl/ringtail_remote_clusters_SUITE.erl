%% @doc The pure halves of the standalone mode: its settings, and what is known of a cluster over
%% time.
-module(ringtail_remote_clusters_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [settings_in_every_form, what_makes_no_sense_is_named_and_the_rest_works,
     passwords_stay_out_of_messages,
     a_password_is_for_https_alone, any_term_is_a_setting_or_a_problem, knowledge_ages,
     failures_are_retried_sooner_and_then_later].

%% ---- Settings ----

settings_in_every_form(_) ->
    Url = <<"http://10.0.0.1:8098">>,
    ?assertEqual({[{"prod", [Url], [], undefined}], []}, read([{prod, [binary_to_list(Url)]}])),
    ?assertEqual({[{"prod", [Url], [], undefined}], []}, read([{"prod", [Url]}])),
    ?assertEqual({[{"a b", [<<"https://a">>, <<"https://b">>],
                    [{cacertfile, <<"/ca.pem">>}, {password, <<"p">>}, {user, <<"u">>}], redirect},
                   {"lab", [Url], [], undefined}], []},
                 read([{<<"a b">>, [{seeds, ["https://a", "https://b"]}, {user, "u"},
                                    {password, "p"}, {cacertfile, "/ca.pem"},
                                    {route, redirect}]},
                       {lab, [{seeds, [Url]}]}])),
    ?assertEqual({[], []}, read([])).

what_makes_no_sense_is_named_and_the_rest_works(_) ->
    Good = {good, ["http://h:1"]},
    [begin
         {Clusters, Problems} = read([Bad, Good]),
         ?assertEqual({Bad, ["good"]}, {Bad, [Name || {Name, _, _, _} <- Clusters]}),
         ?assertMatch({Bad, [_]}, {Bad, Problems}),
         ?assertNotEqual({Bad, nomatch}, {Bad, re:run(Problems, Says)})
     end || {Bad, Says} <- [{{prod, []}, "no seeds"}, {{prod, [{seeds, []}]}, "no seeds"},
                            {{prod, ["10.0.0.1:8098"]}, "seed"},
                            {{prod, ["http://a", 7]}, "URL"}, {{"a/b", ["http://a"]}, "name"},
                            {{"", ["http://a"]}, "name"},
                            {{{x}, ["http://a"]}, "name"}, {prod, "is not"},
                            {{prod, "http://a:1"}, "setting"},
                            {{prod, [{seeds, ["http://a"]}, {rout, proxy}]}, "rout"},
                            {{prod, [{seeds, ["http://a"]}, {route, there}]}, "route"},
                            {{prod, [{seeds, ["http://a"]}, {user, "u"}]}, "without the other"},
                            {{prod, [{seeds, ["http://a"]}, {keyfile, "k"}]}, "without the other"},
                            {{prod, ["http://a" | b]}, "seed"}]],
    ?assertMatch({[{"a", _, _, _}], [_]}, read([{a, ["http://a"]}, {"a", ["http://b"]}])),
    ?assertMatch({[], [_]}, read(prod)).

passwords_stay_out_of_messages(_) ->
    [begin
         {_, [Problem]} = read([Entry]),
         ?assertEqual({Problem, nomatch}, {Problem, re:run(Problem, "geheim|103,101,104")})
     end || Entry <- [{prod, [{seeds, []}, {user, "u"}, {password, "geheim"}]},
                      {prod, [{seeds, []}, {user, "u"}, {passwort, "geheim"}]},
                      {prod, [{seeds, []}, {user, "u"}, {password, <<"geheim">>, more}]},
                      {prod, ["https://u:geheim@h", 7]},
                      {prod, [{seeds, ["https://u:geheim@h"]}, {rout, proxy}]},
                      {prod, ["http://u:geheim@h"]}]].

%% Whoever has taken an address reads what is sent there in clear.
a_password_is_for_https_alone(_) ->
    [begin
         {[{"prod", Seeds, Options, undefined}], [Problem]} = read([{prod, Settings}]),
         ?assertEqual({[<<"http://h:1">>], [{cacertfile, <<"c">>}]}, {lists:usort(Seeds), Options}),
         ?assertNotEqual({Problem, nomatch}, {Problem, re:run(Problem, "https://")})
     end || Settings <- [[{seeds, ["http://h:1"]}, {user, "u"}, {password, "p"}, {cacertfile, "c"}],
                         [{seeds, ["http://h:1", <<"http://u:p@h:1">>]}, {cacertfile, "c"}]]],
    Secure = [{seeds, ["https://u:p@h:1"]}],
    ?assertEqual({[{"prod", [<<"https://u:p@h:1">>], [], undefined}], []}, read([{prod, Secure}])),
    ?assertEqual([<<"https://h:1">>, <<"https://h:1">>, <<"h:1@">>],
                 [ringtail_config_clusters:shown(Seed)
                  || Seed <- [<<"https://h:1">>, <<"https://u:p@q@h:1">>, <<"h:1@">>]]).

any_term_is_a_setting_or_a_problem(_) ->
    [begin
         {Clusters, Problems} = read(Term),
         ?assertEqual({Term, true}, {Term, Clusters =/= [] orelse Problems =/= []
                                     orelse Term =:= []})
     end || Term <- [1, a, "abc", <<"x">>, {a, b}, [[]], [{}], [{a}], [{a, [b | c]}], [{a, [[0]]}],
                     [a | b], [{a, [{seeds, "http://"}]}],
                     [{a, [{seeds, [[$h | t]]}]}], [{[$a | b], ["http://a"]}], []]].

read(Setting) -> ringtail_config_clusters:read(Setting).

%% ---- What is known ----

knowledge_ages(_) ->
    S = ringtail_remote_cluster_state,
    New = S:new(),
    ?assertMatch({never, {not_asked_yet, _}}, S:freshness(0, New)),
    Failed = S:failed({unreachable, <<"why">>}, New),
    ?assertEqual({never, {unreachable, <<"why">>}}, S:freshness(0, Failed)),
    Reached = S:reached(<<"1-a">>, 1000, Failed),
    ?assertEqual({current, 0}, S:freshness(1000, Reached)),
    ?assertEqual({current, 9000}, S:freshness(10000, Reached)),
    ?assertEqual({stale, 60000}, S:freshness(61000, Reached),
                 "nobody has heard of it for a long time"),
    Lost = S:failed({unreachable, <<"why">>}, Reached),
    ?assertEqual({stale, 500}, S:freshness(1500, Lost)),
    ?assertEqual(<<"1-a">>, S:token(Lost)),
    Back = S:reached(<<"2-b">>, 2000, Lost),
    ?assertEqual({{current, 0}, none}, {S:freshness(2000, Back), S:failure(Back)}),
    ?assertEqual({current, 0}, S:freshness(1000, Back), "a clock that went back").

failures_are_retried_sooner_and_then_later(_) ->
    S = ringtail_remote_cluster_state,
    ?assertEqual([8000, 10000, 12000], [S:pause(Chance, S:new()) || Chance <- [0.0, 0.5, 1.0]]),
    Pauses = [S:pause(0.5, State) || State <- failures(40)],
    ?assertEqual([500, 1000, 2000, 4000, 8000, 10000, 10000], lists:sublist(Pauses, 7)),
    ?assertEqual(10000, lists:last(Pauses)).

failures(Count) ->
    tl(lists:reverse(lists:foldl(fun(_, [Last | _] = All) ->
                                         [ringtail_remote_cluster_state:failed({a, <<>>}, Last)
                                          | All] end,
                                 [ringtail_remote_cluster_state:new()], lists:seq(1, Count)))).
