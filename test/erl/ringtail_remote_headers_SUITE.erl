%% @doc Which header fields go on to another cluster, and in how many lines.
-module(ringtail_remote_headers_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [what_is_said_of_the_way_to_this_vm_ends_here, a_condition_cannot_be_named_away,
     an_authorization_goes_over_https_alone, long_fields_go_in_lines_that_join_to_the_same,
     any_value_survives, an_answer_keeps_what_it_bears].

what_is_said_of_the_way_to_this_vm_ends_here(_) ->
    Kept = [{"X-Riak-Vclock", "abc"}, {'If-None-Match', "*"}, {"Content-MD5", "x"},
            {"X-Riak-Meta-Referer", "kept"}, {'Accept', "*/*"}],
    Dropped = [{'Referer', "http://elsewhere/page"}, {"Origin", "http://elsewhere"},
               {"Forwarded", "for=10.0.0.9"}, {'X-Forwarded-For', "10.0.0.9"},
               {"X-FORWARDED-HOST", "h"}, {"X-Real-Ip", "10.0.0.9"}, {'Host', "here"},
               {'Cookie', "session=1"}, {"X-Ringtail-Route", "proxy"},
               {"X-Ringtail-Forwarded", "1"}, {"Expect", "100-continue"}, {'Connection', "close"},
               {'Content-Length', "5"}, {'Transfer-Encoding', "chunked"}, {"TE", "trailers"},
               {"Trailer", "x"}, {'Upgrade', "h2c"}, {"Keep-Alive", "5"},
               {'Proxy-Authorization', "Basic eA=="}, {"Proxy-Connection", "close"}],
    ?assertEqual([<<"X-Riak-Vclock">>, <<"If-None-Match">>, <<"Content-MD5">>,
                  <<"X-Riak-Meta-Referer">>, <<"Accept">>],
                 [Name || {Name, _} <- fields(Kept ++ Dropped)]).

%% A node takes no notice of what Connection names; a proxy that does would make a condition void.
a_condition_cannot_be_named_away(_) ->
    ?assertEqual([{<<"If-None-Match">>, <<"*">>}, {<<"X-Riak-Vclock">>, <<"v">>}],
                 fields([{'Connection', "if-none-match, X-Riak-Vclock"}, {'If-None-Match', "*"},
                         {"X-Riak-Vclock", "v"}])).

an_authorization_goes_over_https_alone(_) ->
    Given = [{'Authorization', "Basic eA=="}],
    ?assertEqual([], ringtail_remote_headers:request_fields(Given, http)),
    ?assertEqual([{<<"Authorization">>, <<"Basic eA==">>}],
                 ringtail_remote_headers:request_fields(Given, https)).

long_fields_go_in_lines_that_join_to_the_same(_) ->
    Values = [lists:duplicate(100, $a + N rem 26) || N <- lists:seq(1, 1000)],
    Fields = fields([{"X-Riak-Index-a_bin", joined(Values)}]),
    Lines = [binary_to_list(Line) || {<<"X-Riak-Index-a_bin">>, Line} <- Fields],
    ?assert(length(Lines) < 30),
    ?assert(lists:all(fun(Line) -> length(Line) =< 4096 end, Lines)),
    ?assertEqual(joined(Values), joined(Lines)),
    %% A list of some length is one line still.
    ?assertMatch([_], fields([{"Link", joined(lists:sublist(Values, 30))}])).

%% mochiweb joins them again, and its lines lose the blanks around them.
any_value_survives(_) ->
    Long = lists:duplicate(5000, $x),
    Pieces = ["", ", ", ",", " ", "\t", "a", "b, c", Long, ",  ", " ,", ", , "],
    Any = fun() -> lists:nth(rand:uniform(length(Pieces)), Pieces) end,
    [begin
         Value = lists:append([Any() || _ <- lists:seq(1, 30)]),
         Lines = [binary_to_list(Line) || {_, Line} <- fields([{"X", Value}])],
         ?assertEqual(Value, joined(Lines)),
         [?assertEqual({Value, Line}, {Value, string:trim(Line)})
          || [_ | [_ | _] = Others] <- [Lines], Line <- lists:droplast(Others)]
     end || _ <- lists:seq(1, 2000)].

joined(Values) -> lists:flatten(lists:join(", ", Values)).

fields(Given) -> ringtail_remote_headers:request_fields(Given, http).

an_answer_keeps_what_it_bears(_) ->
    Fields = [{<<"Content-Type">>, <<"a/b">>}, {<<"X-Riak-Meta-my name">>, <<1, 255>>},
              {<<"Link">>, <<"a">>}, {<<"Link">>, <<"b">>}, {<<"X-Ringtail-Node">>, <<"n">>}],
    Hop = [{<<"Connection">>, <<"close">>}, {<<"CONTENT-LENGTH">>, <<"5">>},
           {<<"Transfer-Encoding">>, <<"chunked">>}],
    ?assertEqual(Fields, ringtail_remote_headers:answer_fields(Hop ++ Fields)),
    ?assert(ringtail_remote_headers:has_field("x-ringtail-node", [{"X-Ringtail-Node", "n"}])),
    ?assertNot(ringtail_remote_headers:has_field("x-ringtail-node", [{"X-Ringtail-Nodes", "n"}])).
