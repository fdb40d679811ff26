%% Riak's security on: our routes refuse as Riak's own do, and pass credentials on over https.
-module(ringtail_security_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all, {no_auto_import, [nodes/1]}]).

-import(ringtail_test_object, [c/1, nodes/1, served/3]).

suite() -> [{timetrap, {minutes, 5}}].

all() ->
    [http_is_refused_as_riak_does, no_or_wrong_credentials, wrong_permission,
     permitted_is_served_and_proxied_over_https,
     redirect_stays_on_https, refusals_read_no_object,
     the_node_that_was_asked_judges].

init_per_suite(Config) ->
    Users = [{"both", "pw1", [{any, ["riak_kv.get", "riak_kv.put", "riak_kv.delete"]}]},
             {"reader", "pw2", [{"t1", ["riak_kv.get"]}]},
             {"writer", "pw3", [{any, ["riak_kv.put"]}]}],
    [{cluster,
      ringtail_test_cluster:start(#{nodes => 3, ring_size => 8, https => true, security => Users,
                                    types => [{<<"t1">>, [{n_val, 1}, {allow_mult, false}]}]})}
                                        | Config].

end_per_suite(Config) ->
    standin:stop_cluster(c(Config)).

-define(OBJECT, "/riak/primary/clusters/default/types/t1/buckets/b/keys/k").
-define(PREFLIST, "/explore/clusters/default/preflist").
-define(KEY_PREFLIST, "/explore/clusters/default/bucket_types/t1/buckets/b/keys/k/preflist").
-define(TOPOLOGY, "/explore/clusters/default/topology").

http_is_refused_as_riak_does(Config) ->
    {426, _, Native} = ringtail_test_http:request(get, url(Config, http)
                                                  ++ "/types/t1/buckets/b/keys/k"),
    [begin
         {426, _, Body} = Answer = ringtail_test_http:request(get, Url ++ Path, as("both", "pw1")),
         headers_are_there(Answer),
         case Path of
             ?OBJECT -> ?assertEqual(Native, Body);
             _ -> ?assertMatch(#{<<"error">> := <<"insecure">>}, ringtail_test_http:json(Answer))
         end
     end || Url <- urls(Config, http), Path <- [?OBJECT, ?PREFLIST, ?KEY_PREFLIST, ?TOPOLOGY]].

no_or_wrong_credentials(Config) ->
    [begin
         {401, _, _} = Answer = ringtail_test_http:request(get, Url ++ Path, Credentials),
         ?assertEqual("Basic realm=\"Riak\"",
                      ringtail_test_http:header("www-authenticate", Answer)),
         headers_are_there(Answer)
     end || Url <- urls(Config, https), Path <- [?OBJECT, ?PREFLIST, ?KEY_PREFLIST, ?TOPOLOGY],
            Credentials <- [[], as("both", "wrong"), as("nobody", "pw1")]].

%% On every node, whether it is a primary or not; and nothing is written.
wrong_permission(Config) ->
    [begin
         {403, _, _} = Put = ringtail_test_http:request(put, Url ++ ?OBJECT ++ Route,
                                                        as("reader", "pw2"), {"text/plain",
                                                                              <<"no">>}),
         headers_are_there(Put),
         {403, _, _} = ringtail_test_http:request(delete, Url ++ ?OBJECT ++ Route,
                                                  as("reader", "pw2")),
         {403, _, _} = ringtail_test_http:request(get, Url ++ ?KEY_PREFLIST, as("writer", "pw3")),
         {200, _, _} = ringtail_test_http:request(get, Url ++ ?KEY_PREFLIST, as("reader", "pw2")),
         {200, _, _} = ringtail_test_http:request(get, Url ++ ?PREFLIST, as("reader", "pw2"))
     end || Url <- urls(Config, https), Route <- ["", "?route=local", "?route=redirect"]],
    ?assertMatch({404, _, _}, ringtail_test_http:request(get, url(Config, https) ++ ?OBJECT,
                                                         as("reader", "pw2"))).

permitted_is_served_and_proxied_over_https(Config) ->
    [begin
         Value = integer_to_binary(erlang:phash2(Url)),
         {204, _, _} = ringtail_test_http:request(put, Url ++ ?OBJECT, as("both", "pw1"),
                                                  {"text/plain", Value}),
         [?assertMatch({200, _, Value},
                       ringtail_test_http:request(get, Other ++ ?OBJECT, as("reader", "pw2")))
          || Other <- urls(Config, https)]
     end || Url <- urls(Config, https)],
    ?assertMatch({204, _, _}, ringtail_test_http:request(delete, url(Config, https) ++ ?OBJECT,
                                                         as("both", "pw1"))).

redirect_stays_on_https(Config) ->
    Answers =
        [ringtail_test_http:request(get, Url ++ ?OBJECT ++ "?route=redirect", as("both", "pw1"))
         || Url <- urls(Config, https)],
    Locations = [ringtail_test_http:header("location", Answer) || {307, _, _} = Answer <- Answers],
    ?assertEqual(2, length(Locations)),
    Uuid = ringtail_test_http:header("x-ringtail-cluster", hd(Answers)),
    Object = re:replace(?OBJECT, "/default/", "/" ++ Uuid ++ "/", [{return, list}]),
    Wanted = [Url ++ Object ++ "?route=redirect" || Url <- urls(Config, https)],
    ?assertEqual([], lists:usort(Locations) -- Wanted).

%% A refusal on a node that is no primary must not fetch the object from one.
refusals_read_no_object(Config) ->
    C = c(Config),
    [Primary] = standin:rpc(C, hd(nodes(C)), ringtail_test_probe, primary_nodes,
                            [{<<"t1">>, <<"b">>}, <<"k">>]),
    Value = binary:copy(<<"v">>, 1048576),
    {204, _, _} = ringtail_test_http:request(put, standin:url(C, Primary, https) ++ ?OBJECT,
                                             as("both", "pw1"), {"text/plain", Value}),
    Others = nodes(C) -- [Primary],
    ok = standin:reset_traffic(C),
    [begin
         Url = standin:url(C, Node, https) ++ ?OBJECT,
         {401, _, _} = ringtail_test_http:request(get, Url),
         {421, _, _} = ringtail_test_http:request(get, Url ++ "?route=local", as("both", "pw1")),
         {307, _, _} = ringtail_test_http:request(get, Url ++ "?route=redirect", as("both", "pw1")),
         {400, _, _} = ringtail_test_http:request(get, Url ++ "?r=nonsense", as("both", "pw1")),
         {426, _, _} = ringtail_test_http:request(get, standin:url(C, Node) ++ ?OBJECT)
     end || Node <- Others],
    #{total := Bytes} = standin:traffic(C),
    ?assert(Bytes < byte_size(Value)).

%% A write is judged before it goes to its primary, a read where Riak's resource reads it.
the_node_that_was_asked_judges(Config) ->
    C = c(Config),
    [Primary] = standin:rpc(C, hd(nodes(C)), ringtail_test_probe, primary_nodes,
                            [{<<"t1">>, <<"b">>}, <<"k">>]),
    [Url | _] = [standin:url(C, Node, https) ++ ?OBJECT || Node <- nodes(C) -- [Primary]],
    Put = fun(As) -> ringtail_test_http:request(put, Url, As, {"text/plain", <<"v">>}) end,
    Get = fun(As) -> ringtail_test_http:request(get, Url, As) end,
    Asked = fun(Fun, User, Password) ->
                    served(C, Primary, fun() -> Fun(as(User, Password)) end)
            end,
    ?assertMatch({{204, _, _}, 1}, Asked(Put, "both", "pw1")),
    ?assertMatch({{200, _, <<"v">>}, 0}, Asked(Get, "both", "pw1")),
    ?assertMatch({{403, _, _}, 0}, Asked(Put, "reader", "pw2")),
    ?assertMatch({{403, _, _}, 0}, Asked(Get, "writer", "pw3")).

%% ---- Inside ----

urls(Config, Scheme) -> [standin:url(c(Config), Node, Scheme) || Node <- nodes(c(Config))].

url(Config, Scheme) -> hd(urls(Config, Scheme)).

as(User, Password) ->
    [{"Authorization", "Basic " ++ base64:encode_to_string(User ++ ":" ++ Password)}].

headers_are_there(Answer) ->
    [?assertMatch([_ | _], ringtail_test_http:header(Name, Answer))
     || Name <- ["x-ringtail-topology", "x-ringtail-node", "x-ringtail-cluster"]].
