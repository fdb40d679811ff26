%% @doc The status, metrics and page routes: what they say, and that they say it when something is
%% wrong too.
-module(ringtail_status_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [get/1]}]).

-import(ringtail_test_object, [c/1]).

all() ->
    [metrics_are_in_the_text_format, labels_are_escaped,
     page_names_every_partition_and_no_markup_of_others,
     status_over_http, counters_count_decisions, what_runs_elsewhere_is_relayed, metrics_over_http,
     page_over_http, other_methods_are_refused].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) ->
    C = ringtail_test_cluster:bare(#{nodes => 2, ring_size => 8,
                                     types => [{<<"t1">>, [{n_val, 1}]}]}),
    ok = ringtail_test_cluster:begin_all(C),
    [{cluster, C} | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

%% ---- Pure ----

metrics_are_in_the_text_format(_) ->
    Text = ringtail_metrics:text([{"a_total", counter, "Counts a.", [{[], 3}]},
                                  {"b", gauge, "Is b.", [{[{node, 'n@h'}], 1},
                                                         {[{node, 'm@h'}, {x, <<"y">>}], 0}]},
                                  {"c", gauge, "Nothing yet.", []}]),
    ?assertEqual(<<"# HELP a_total Counts a.\n# TYPE a_total counter\na_total 3\n"
                   "# HELP b Is b.\n# TYPE b gauge\nb{node=\"n@h\"} 1\nb{node=\"m@h\",x=\"y\"} 0\n"
                   "# HELP c Nothing yet.\n# TYPE c gauge\n">>, Text).

labels_are_escaped(_) ->
    ?assertEqual(<<"# HELP a h\n# TYPE a gauge\na{n=\"q\\\"b\\\\n\\nz\"} 1\n">>,
                 ringtail_metrics:text([{"a", gauge, "h", [{[{n, "q\"b\\n\nz"}], 1}]}])).

page_names_every_partition_and_no_markup_of_others(_) ->
    Owners = [{I * 1000, lists:nth(1 + I rem 2, ['a@h', 'b@h'])} || I <- lists:seq(0, 7)],
    Members = [{'a@h', <<"ua">>, valid, [{http, <<"h">>, 1}]}, {'b@h', <<"ub">>, leaving, []}],
    Page = ringtail_page:html(<<"<script>&\"">>, <<"1-0">>, 'a@h', Members, ['a@h'], Owners,
                              [<<"<b>">>]),
    ?assertNotEqual(nomatch, binary:match(Page, <<"<p><b>&lt;b&gt;</b></p>">>)),
    [?assertNotEqual(nomatch, binary:match(Page, integer_to_binary(Index)))
     || {Index, _} <- Owners],
    ?assertEqual(nomatch, binary:match(Page, <<"<script">>)),
    ?assertNotEqual(nomatch, binary:match(Page, <<"&lt;script&gt;&amp;&quot;">>)),
    ?assertEqual(4, length(binary:matches(Page, <<"class=\"down\"">>))).

%% ---- In a node ----

status_over_http(Config) ->
    {200, Headers, Body} = get(Config, "/ringtail/status"),
    {struct, Status} = mochijson2:decode(Body),
    ?assertEqual(<<"serving">>, proplists:get_value(<<"state">>, Status)),
    ?assertEqual(<<"ok">>, proplists:get_value(<<"snapshot">>, Status)),
    ?assertEqual(<<"nif">>, proplists:get_value(<<"engine">>, Status)),
    ?assertEqual(8, proplists:get_value(<<"ring_size">>, Status)),
    ?assertEqual(2, length(proplists:get_value(<<"up">>, Status))),
    ?assertEqual(list_to_binary(proplists:get_value("x-ringtail-topology", Headers)),
                 proplists:get_value(<<"token">>, Status)).

counters_count_decisions(Config) ->
    Count = fun() ->
                    {200, _, Body} = get(Config, "/ringtail/status"),
                    {struct, Status} = mochijson2:decode(Body),
                    {struct, Requests} = proplists:get_value(<<"requests">>, Status),
                    [proplists:get_value(Name, Requests)
                     || Name <- [<<"served">>, <<"not_primary">>]]
            end,
    [Served, Refused] = Count(),
    Codes =
        [element(1, get(Config, "/riak/primary/clusters/default/types/t1/buckets/b/keys/"
                        ++ integer_to_list(Key)
                        ++ "?route=local")) || Key <- lists:seq(1, 40)],
    Here = length([Code || Code <- Codes, Code =:= 404]),
    Elsewhere = length([Code || Code <- Codes, Code =:= 421]),
    ?assertEqual(40, Here + Elsewhere),
    ?assert(Here > 0 andalso Elsewhere > 0),
    ?assertEqual([Served + Here, Refused + Elsewhere], Count()).

what_runs_elsewhere_is_relayed(Config) ->
    Relayed = fun() ->
                      Status = ringtail_test_http:json(get(Config, "/ringtail/status")),
                      {200, _, Text} = get(Config, "/ringtail/metrics"),
                      {match, [Count]} =
                          re:run(Text,
                                 "ringtail_object_requests_total{outcome=\"relayed\"} ([0-9]+)",
                                 [{capture, all_but_first, list}]),
                      Requests = maps:get(<<"requests">>, Status),
                      ?assertEqual(list_to_integer(Count), maps:get(<<"relayed">>, Requests)),
                      {maps:get(<<"served">>, Requests), maps:get(<<"relayed">>, Requests)}
              end,
    {ServedBefore, RelayedBefore} = Relayed(),
    Route = "/riak/primary/clusters/default/types/t1/buckets/b/keys/",
    [{404, _, _} = get(Config, Route ++ integer_to_list(Key)) || Key <- lists:seq(1, 40)],
    {Served, Relayed1} = Relayed(),
    ?assertEqual(40, Served - ServedBefore + Relayed1 - RelayedBefore),
    ?assert(Relayed1 > RelayedBefore).

metrics_over_http(Config) ->
    {200, Headers, Body} = get(Config, "/ringtail/metrics"),
    ?assertMatch("text/plain" ++ _, proplists:get_value("content-type", Headers)),
    Lines = binary:split(iolist_to_binary(Body), <<"\n">>, [global]),
    ?assert(lists:member(<<"ringtail_ring_partitions 8">>, Lines)),
    ?assert(lists:member(<<"ringtail_serving 1">>, Lines)),
    ?assertEqual(2, length([Line || <<"ringtail_node_up{", _/binary>> = Line <- Lines])).

page_over_http(Config) ->
    {200, Headers, Body} = get(Config, "/ringtail"),
    ?assertMatch("text/html" ++ _, proplists:get_value("content-type", Headers)),
    [?assertNotEqual(nomatch, binary:match(iolist_to_binary(Body), atom_to_binary(Node, utf8)))
     || {Node, _} <- standin:urls(c(Config))].

other_methods_are_refused(Config) ->
    [?assertMatch({405, _, _}, ringtail_test_http:request(post, url(Config) ++ Path, [],
                                                          {"text/plain", <<"x">>}))
     || Path <- ["/ringtail", "/ringtail/status", "/ringtail/metrics"]].

%% ---- Helpers ----

url(Config) ->
    [{_, Url} | _] = standin:urls(c(Config)),
    Url.

get(Config, Path) ->
    ringtail_test_http:request(get, url(Config) ++ Path, []).
