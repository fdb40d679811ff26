%% Tokens, the history of snapshots, and which answer a client's tokens get.
-module(ringtail_topology_history_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [tokens, nothing_yet, without_from_the_document, a_difference, the_same_token_twice,
     an_unknown_from_gets_the_document,
     an_unknown_to_is_an_error, reversed, kept_256, a_snapshot_that_returns_is_the_newest_again].

tokens(_) ->
    [?assert(ringtail_topology_history:is_token(Token))
     || Token <- ["4-9f3ac21b77d0e1aa", "0-0000000000000000",
                                                            "123456789012-ffffffffffffffff"]],
    [?assertNot(ringtail_topology_history:is_token(Token))
     || Token <- ["", "-", "4", "4-", "-9f3ac21b77d0e1aa", "4-9f3ac21b77d0e1a",
                  "4-9f3ac21b77d0e1aaa", "4-9F3AC21B77D0E1AA",
                  "x-9f3ac21b77d0e1aa", "4-9f3ac21b77d0e1ag", "--4-9f3ac21b77d0e1aa",
                  "4--9f3ac21b77d0e1aa",
                  "4-9f3ac21b77d0e1aa-", "-2"]].

nothing_yet(_) ->
    Nothing = ringtail_topology_history:history(),
    ?assertEqual({error, empty}, ringtail_topology_history:asked(none, current, Nothing)).

without_from_the_document(_) ->
    ?assertEqual({document, <<"3">>, <<"c3">>},
                 ringtail_topology_history:asked(none, current, three())),
    ?assertEqual({document, <<"2">>, <<"c2">>},
                 ringtail_topology_history:asked(none, <<"2">>, three())).

a_difference(_) ->
    ?assertEqual({difference, {<<"1">>, <<"c1">>}, {<<"3">>, <<"c3">>}},
                 ringtail_topology_history:asked(<<"1">>, current, three())),
    ?assertEqual({difference, {<<"1">>, <<"c1">>}, {<<"2">>, <<"c2">>}},
                 ringtail_topology_history:asked(<<"1">>, <<"2">>, three())).

the_same_token_twice(_) ->
    ?assertEqual({difference, {<<"3">>, <<"c3">>}, {<<"3">>, <<"c3">>}},
                 ringtail_topology_history:asked(<<"3">>, current, three())).

an_unknown_from_gets_the_document(_) ->
    ?assertEqual({document, <<"3">>, <<"c3">>},
                 ringtail_topology_history:asked(<<"9">>, current, three())).

an_unknown_to_is_an_error(_) ->
    ?assertEqual({error, unknown_to}, ringtail_topology_history:asked(<<"1">>, <<"9">>, three())),
    ?assertEqual({error, unknown_to}, ringtail_topology_history:asked(none, <<"9">>, three())).

reversed(_) ->
    ?assertEqual({error, reversed}, ringtail_topology_history:asked(<<"3">>, <<"1">>, three())).

kept_256(_) ->
    Many = history([integer_to_binary(N) || N <- lists:seq(1, 1000)]),
    ?assertMatch({difference, _, _}, ringtail_topology_history:asked(<<"745">>, current, Many)),
    ?assertMatch({document, <<"1000">>, _},
                 ringtail_topology_history:asked(<<"744">>, current, Many)).

%% Content can go back under an equal ordinal: then the way from the snapshot in between leads to
%% it.
a_snapshot_that_returns_is_the_newest_again(_) ->
    Returned = history([<<"1">>, <<"2">>, <<"1">>]),
    ?assertEqual({difference, {<<"2">>, <<"c2">>}, {<<"1">>, <<"c1">>}},
                 ringtail_topology_history:asked(<<"2">>, current, Returned)).

three() ->
    history([<<"1">>, <<"2">>, <<"3">>, <<"3">>]).

history(Tokens) ->
    lists:foldl(fun(Token, History) ->
                        ringtail_topology_history:remember(Token, <<"c", Token/binary>>,
                                                           History) end,
                ringtail_topology_history:history(), Tokens).
