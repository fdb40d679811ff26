%% @doc What clients rely on over a cluster's life: that every node says the same token, that a
%% change shows on every node within a second and nothing else does, and that a difference leads
%% from any remembered document to any later one.
-module(ringtail_history_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [get/1]}]).

-import(ringtail_test_object, [c/1]).

all() ->
    [document_plus_difference_is_the_later_document, a_node_that_came_and_went_does_not_show,
     what_is_no_topology_changes_no_token, endpoints_change_the_token_everywhere,
     a_leaving_member_shows_everywhere,
     identity_can_be_worked_out_by_anybody].

suite() -> [{timetrap, {minutes, 5}}].

init_per_testcase(_, Config) ->
    C = ringtail_test_cluster:start(#{nodes => 3, ring_size => 16}),
    [{cluster, C} | Config].

end_per_testcase(_, Config) ->
    standin:stop_cluster(c(Config)).

%% A history of owners that move about; then every pair of documents that this node has served.
document_plus_difference_is_the_later_document(Config) ->
    C = c(Config),
    [Node | Others] = nodes_of(C),
    Owners = [Node | Others],
    Documents = [document(C, Node)
                 | [begin
                        {Index, Owner} = {lists:nth(1 + Step * 5 rem 16, indices()),
                                          lists:nth(1 + Step rem 3, Owners)},
                        own(C, Node, Index, Owner),
                        document(C, Node)
                    end || Step <- lists:seq(1, 12)]],
    Known = distinct(Documents),
    ?assert(length(Known) > 5),
    [begin
         Path = ["/explore/clusters/default/topology?from=", token(From), "&to=", token(To)],
         Difference = json(C, Node, binary_to_list(iolist_to_binary(Path))),
         ?assertEqual(false, maps:get(<<"full">>, Difference)),
         ?assertEqual(content(To), content(applied(Difference, From)))
     end || {FromAge, From} <- Known, {ToAge, To} <- Known, FromAge =< ToAge].

a_node_that_came_and_went_does_not_show(Config) ->
    C = c(Config),
    [Node | _] = nodes_of(C),
    Before = document(C, Node),
    Stranger = <<"stranger@127.0.0.1">>,
    change_members(C, Node, fun ringtail_test_probe:add_member/2, Stranger),
    wait_token(C, Node, token(Before)),
    During = document(C, Node),
    ?assertEqual(4, length(maps:get(<<"members">>, During))),
    change_members(C, Node, fun ringtail_test_probe:remove_member/2, Stranger),
    ok = ringtail_test_cluster:wait(fun() -> length(maps:get(<<"members">>,
                                                             document(C, Node))) =:= 3 end),
    After = document(C, Node),
    Difference = json(C, Node, "/explore/clusters/default/topology?from="
                      ++ binary_to_list(token(Before))),
    ?assertEqual(token(After), maps:get(<<"token">>, Difference)),
    ?assertEqual({[], [], []}, {maps:get(<<"joined">>, Difference),
                                maps:get(<<"left">>, Difference),
                                maps:get(<<"changed">>, Difference)}).

%% Bucket properties travel in the ring of a 2.x node and bucket types in metadata; neither is a
%% client's topology.
what_is_no_topology_changes_no_token(Config) ->
    C = c(Config),
    [Node | _] = nodes_of(C),
    Token = token(document(C, Node)),
    ok = standin:rpc(C, Node, riak_core_bucket, set_bucket, [<<"b">>, [{n_val, 2}]]),
    {ok, _} = standin:rpc(C, Node, riak_core_ring_manager, ring_trans,
                          [fun ringtail_test_probe:mark/2, any_value]),
    timer:sleep(1500),
    [?assertEqual({Each, Token}, {Each, token(document(C, Each))}) || Each <- nodes_of(C)].

endpoints_change_the_token_everywhere(Config) ->
    C = c(Config),
    [Node | _] = nodes_of(C),
    Token = token(document(C, Node)),
    ok = standin:rpc(C, Node, application, set_env,
                     [ringtail, advertise, [{http, "198.51.100.7", 80}]]),
    ok = ringtail_test_cluster:wait(
           fun() -> lists:all(fun(Each) ->
                                      told(C, Each, Node) =:= [{<<"http">>, <<"198.51.100.7">>,
                                                                80}] end, nodes_of(C)) end,
           10000),
    [New] = lists:usort([token(document(C, Each)) || Each <- nodes_of(C)]),
    ?assertNotEqual(Token, New).

a_leaving_member_shows_everywhere(Config) ->
    C = c(Config),
    [Node, _, Leaver] = nodes_of(C),
    Before = token(document(C, Node)),
    ok = standin:leave(C, Leaver),
    ok = ringtail_test_cluster:wait(
           fun() -> lists:all(fun(Each) ->
                                      length(maps:get(<<"members">>, document(C, Each))) =:= 2 end,
                                      nodes_of(C) -- [Leaver]) end,
           60000),
    [After] = lists:usort([token(document(C, Each)) || Each <- nodes_of(C) -- [Leaver]]),
    ?assertNotEqual(Before, After),
    Difference = json(C, Node, "/explore/clusters/default/topology?from="
                      ++ binary_to_list(Before)),
    ?assertMatch([_], maps:get(<<"left">>, Difference)).

%% By docs/topology.md alone.
identity_can_be_worked_out_by_anybody(Config) ->
    C = c(Config),
    [Node | _] = nodes_of(C),
    Document = document(C, Node),
    #{<<"uuid">> := Cluster, <<"name">> := Name} = maps:get(<<"cluster">>, Document),
    ?assertEqual(Cluster, uuid5(<<"5b0c77c1-94b9-4c0b-9e3f-2d6ac1f08e57">>, Name)),
    [?assertEqual(Uuid, uuid5(Cluster, Member))
     || #{<<"uuid">> := Uuid, <<"name">> := Member} <- maps:get(<<"members">>, Document)],
    {200, Headers, _} = ringtail_test_http:request(get, standin:url(C, Node)
                                                   ++ "/explore/clusters/default/topology", []),
    ?assertEqual(binary_to_list(Cluster), proplists:get_value("x-ringtail-cluster", Headers)),
    ?assertEqual(binary_to_list(uuid5(Cluster, atom_to_binary(Node, utf8))),
                 proplists:get_value("x-ringtail-node", Headers)).

%% ---- Helpers ----

nodes_of(C) -> [Node || {Node, _} <- standin:urls(C)].

indices() -> [I * ((1 bsl 160) div 16) || I <- lists:seq(0, 15)].

document(C, Node) -> json(C, Node, "/explore/clusters/default/topology").

json(C, Node, Path) ->
    {200, _, Body} = ringtail_test_http:request(get, standin:url(C, Node) ++ Path, []),
    maps_of(mochijson2:decode(Body)).

maps_of({struct, Members}) -> maps:from_list([{Name, maps_of(Value)} || {Name, Value} <- Members]);
maps_of(Values) when is_list(Values) -> [maps_of(Value) || Value <- Values];
maps_of(Value) -> Value.

token(Document) -> maps:get(<<"token">>, Document).

%% What a token stands for: everything but who is up.
content(Document) ->
    maps:with([<<"cluster">>, <<"ring_size">>, <<"resizing">>, <<"members">>, <<"owners">>,
               <<"token">>], Document).

%% The rule of docs/topology.md, step by step.
applied(Difference, Document) ->
    #{<<"left">> := Left, <<"changed">> := Changed, <<"joined">> := Joined,
      <<"owners">> := Owners} = Difference,
    Stay = [Member || #{<<"uuid">> := Uuid} = Member <- maps:get(<<"members">>, Document),
            not lists:member(Uuid, Left)],
    Replaced = [case [New || #{<<"uuid">> := Same} = New <- Changed, Same =:= Uuid] of
                    [New] -> New;
                    [] -> Member
                end || #{<<"uuid">> := Uuid} = Member <- Stay],
    Members = lists:sort(fun(#{<<"name">> := A}, #{<<"name">> := B}) -> A =< B end, Replaced
                         ++ Joined),
    Document#{<<"members">> := Members,
              <<"owners">> := maps:merge(maps:get(<<"owners">>, Document), Owners),
              <<"token">> := token(Difference),
              <<"resizing">> := maps:get(<<"resizing">>, Difference)}.

%% The newest of each token, numbered by age: a token that came back counts where it was last.
distinct(Documents) ->
    Numbered = lists:zip(lists:seq(1, length(Documents)), Documents),
    [{Age, Document} || {Age, Document} <- Numbered,
                        not lists:any(fun({Later, Other}) ->
                                              Later > Age
                                                  andalso token(Other) =:= token(Document) end,
                                                  Numbered)].

own(C, Node, Index, Owner) ->
    Before = token(document(C, Node)),
    {ok, Ring} = standin:rpc(C, Node, riak_core_ring_manager, get_my_ring, []),
    case standin:rpc(C, Node, riak_core_ring, index_owner, [Ring, Index]) of
        Owner -> ok;
        _ ->
            {ok, _} = standin:rpc(C, Node, riak_core_ring_manager, ring_trans,
                                  [fun ringtail_test_probe:own/2, {Index, Owner}]),
            wait_token(C, Node, Before)
    end.

wait_token(C, Node, Before) ->
    ok = ringtail_test_cluster:wait(fun() -> token(document(C, Node)) =/= Before end).

change_members(C, Node, Change, Name) ->
    {ok, _} = standin:rpc(C, Node, riak_core_ring_manager, ring_trans, [Change, Name]).

told(C, Node, About) ->
    Name = atom_to_binary(About, utf8),
    [{maps:get(<<"protocol">>, E), maps:get(<<"host">>, E), maps:get(<<"port">>, E)}
     || #{<<"name">> := Member, <<"endpoints">> := Endpoints} <- maps:get(<<"members">>,
                                                                          document(C,
                                                                                   Node)),
                                                                                   Member =:= Name,
        E <- Endpoints].

%% RFC 4122, 4.3.
uuid5(Namespace, Name) ->
    Bytes = binary:decode_hex(binary:replace(Namespace, <<"-">>, <<>>, [global])),
    <<A:32, B:16, _:4, C:12, _:2, D:14, E:48, _/binary>> = crypto:hash(sha, [Bytes, Name]),
    list_to_binary(io_lib:format("~8.16.0b-~4.16.0b-5~3.16.0b-~4.16.0b-~12.16.0b",
                                 [A, B, C, 2#10 bsl 14 bor D, E])).
