%% @doc What the standalone mode does with odd input: each case is something that lost data, did
%% harm to others or was told wrongly. "Native" is Riak's own route on a node of the same cluster.
-module(ringtail_standalone_odd_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).
-import(ringtail_test_standalone,
        [vm/1, rpc/4, companion/1, object/2, object/3, native/2, native/3, path/1, stored/2,
         raw/4, connect/2, is_error/2, by_protocol_buffers/3, head/1]).

-define(HTTP, ringtail_test_http).
-define(MIB, 1048576).

all() ->
    [a_length_that_is_none_leaves_the_object_alone, a_timeout_beyond_all_timers_harms_nobody,
     numbers_of_any_size_in_a_request_harm_nobody, a_page_of_another_site_is_no_reason_to_refuse,
     a_condition_named_by_connection_holds, many_headers_of_one_name_are_stored,
     control_characters_are_stored_as_natively, metadata_of_protocol_buffers_is_read,
     a_head_above_64_kib_is_read, what_a_node_refuses_unseen_was_not_done,
     long_keys_and_queries_as_native, links_of_the_default_type,
     paths_of_another_shape_are_told_so, what_is_accepted_with_parameters_is_served,
     what_webmachine_refuses_is_told_in_json].

suite() -> [{timetrap, {minutes, 5}}].

init_per_suite(Config) -> ringtail_test_standalone:start(Config).

end_per_suite(Config) -> ringtail_test_standalone:stop(Config).

%% ---- Framing ----

a_length_that_is_none_leaves_the_object_alone(Config) ->
    Url = object(Config, "framed"),
    {204, _, _} = stored(Url, <<"precious">>),
    Stored = ?HTTP:request(get, native(Config, "framed")),
    [begin
         Answer = raw(Url, "PUT", ["Content-Type: text/plain" | Lines], "01234"),
         ?assertMatch({Lines, {400, _, _}}, {Lines, Answer}),
         is_error(Answer, <<"bad_framing">>),
         Now = ?HTTP:request(get, native(Config, "framed")),
         ?assertEqual({Lines, <<"precious">>, ?HTTP:header("X-Riak-Vclock", Stored)},
                      {Lines, element(3, Now), ?HTTP:header("X-Riak-Vclock", Now)})
     end || Lines <- [["Content-Length: 5, 5"], ["Content-Length: abc"], ["Content-Length: 0x5"],
                      ["Content-Length: -1"], ["Content-Length: 5 5"], ["Content-Length: +5"],
                      ["Content-Length:"], ["Content-Length: 5", "Content-Length: 5"],
                      ["Content-Length: 99999999999999999999999999"],
                      ["Content-Length: 5", "Transfer-Encoding: chunked"],
                      ["Transfer-Encoding: gzip"], ["Transfer-Encoding: gzip, chunked"],
                      ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
                      ["Content-Length: 5", "X-Riak-Meta-a: b\r\n folded"],
                      ["Content-Length: 5\r\n 5"]]].

%% ---- Numbers ----

a_timeout_beyond_all_timers_harms_nobody(Config) ->
    Vm = vm(Config),
    Url = object(Config, "timed"),
    {204, _, _} = stored(Url, crypto:strong_rand_bytes(8 * ?MIB)),
    Reader = connect(Url, [{recbuf, 65536}]),
    ok = gen_tcp:send(Reader, ["GET ", path(Url), " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                               "\r\n"]),
    {ok, Begun} = gen_tcp:recv(Reader, 0),
    Before = {rpc(Vm, erlang, whereis, [ringtail_companion]), companion(Vm)},
    [begin
         Query = "?timeout=" ++ Timeout,
         Answer = {Status, _, _} = ?HTTP:request(get, Url ++ Query),
         {Native, _, _} = ?HTTP:request(get, native(Config, "timed") ++ Query),
         ?assertEqual({Timeout, Native div 100}, {Timeout, Status div 100}),
         _ = [is_error(Answer, <<"bad_timeout">>) || Status =/= 200],
         {Local, _, _} = ?HTTP:request(get, Url ++ Query ++ "&route=local"),
         ?assertEqual({Timeout, Status =:= 200}, {Timeout, Local =:= 421})
     end || Timeout <- ["99999999999999999999", "4294967294", "4294967295", "18446744073709551616",
                        "-1", "abc", "", "1e3", "60000", "4294967293"]],
    ?assertEqual(Before, {rpc(Vm, erlang, whereis, [ringtail_companion]), companion(Vm)}),
    ?assert(drained(Reader, byte_size(Begun)) > 8 * ?MIB).

drained(Socket, Got) ->
    case gen_tcp:recv(Socket, 0, 60000) of
        {ok, More} -> drained(Socket, Got + byte_size(More));
        {error, closed} -> Got
    end.

numbers_of_any_size_in_a_request_harm_nobody(Config) ->
    Vm = vm(Config),
    Before = {rpc(Vm, erlang, whereis, [ringtail_companion]), companion(Vm)},
    Url = object(Config, "numbers"),
    {204, _, _} = stored(Url, <<"x">>),
    [begin
         {Status, _, _} = ?HTTP:request(get, Url ++ Query),
         {Native, _, _} = ?HTTP:request(get, native(Config, "numbers") ++ Query),
         ?assertEqual({Query, Native div 100}, {Query, Status div 100})
     end || Number <- ["0", "-1", "99999999999999999999", "1.5", ""],
            Query <- ["?r=" ++ Number, "?pr=" ++ Number, "?vtag=" ++ Number]],
    ?assertEqual(Before, {rpc(Vm, erlang, whereis, [ringtail_companion]), companion(Vm)}).

%% ---- Headers ----

a_page_of_another_site_is_no_reason_to_refuse(Config) ->
    Url = object(Config, "referred"),
    [begin
         {204, _, _} = ?HTTP:request(put, Url, Headers, {"text/plain", <<"x">>}),
         ?assertMatch({200, _, <<"x">>}, ?HTTP:request(get, Url, Headers)),
         KeyPreflist = standin_bare:url(vm(Config))
             ++ "/explore/clusters/prod/bucket_types/one/buckets/b/keys/k/preflist",
         ?assertMatch({200, _, _}, ?HTTP:request(get, KeyPreflist, Headers))
     end || Headers <- [[{"Referer", "http://explorer/page"}], [{"Origin", "http://explorer"}],
                        [{"Referer", "http://explorer:9000/"}, {"Origin", "null"}],
                        [{"X-Forwarded-For", "10.9.9.9"}, {"Forwarded", "for=10.9.9.9"}],
                        [{"X-Forwarded-Host", "elsewhere"}]]].

a_condition_named_by_connection_holds(Config) ->
    Url = object(Config, "conditional"),
    {204, _, _} = stored(Url, <<"first">>),
    Socket = connect(Url, []),
    ok = gen_tcp:send(Socket, ["PUT ", path(Url), " HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\n"
                               "Connection: if-none-match\r\nIf-None-Match: *\r\n"
                               "Content-Length: 1\r\n\r\nx"]),
    ?assertMatch({ok, <<"HTTP/1.1 412", _/binary>>}, gen_tcp:recv(Socket, 0, 30000)),
    gen_tcp:close(Socket),
    ?assertMatch({200, _, <<"first">>}, ?HTTP:request(get, Url)).

many_headers_of_one_name_are_stored(Config) ->
    Values = [lists:duplicate(100, $a + N rem 26) ++ integer_to_list(N) || N <- lists:seq(1, 100)],
    Tag = lists:duplicate(80, $t),
    Links = [lists:flatten(io_lib:format("</buckets/b/keys/k~w>; riaktag=\"~s\"", [N, Tag]))
             || N <- lists:seq(1, 100)],
    Headers = [{"X-Riak-Index-a_bin", Value} || Value <- Values]
        ++ [{"X-Riak-Meta-m" ++ integer_to_list(N), lists:nth(N, Values)}
            || N <- lists:seq(1, 100)],
    same_as_native(Config, "one", "headers", Headers),
    same_as_native(Config, "default", "links", [{"Link", Link} || Link <- Links]).

same_as_native(Config, Type, Key, Headers) ->
    Ours = object(Config, Type, Key),
    Theirs = native(Config, Type, Key ++ "2"),
    [{204, _, _} = ?HTTP:request(put, Url, Headers, {"text/plain", <<"x">>})
     || Url <- [Ours, Theirs]],
    Stored = borne(?HTTP:request(get, native(Config, Type, Key))),
    ?assertEqual(borne(?HTTP:request(get, Theirs)), Stored),
    ?assertEqual(Stored, borne(?HTTP:request(get, Ours))).

borne({200, Headers, Body}) ->
    {lists:sort([{Name, lists:sort(string:split(Value, ", ", all))}
                 || {Name, Value} <- Headers, is_borne(Name)]), Body}.

is_borne("x-riak-index-" ++ _) -> true;
is_borne("x-riak-meta-" ++ _) -> true;
is_borne(Name) -> Name =:= "link".

control_characters_are_stored_as_natively(Config) ->
    [begin
         Header = {"X-Riak-Meta-a", Value},
         [{204, _, _} = ?HTTP:request(put, Url, [Header], {"text/plain", <<"x">>})
          || Url <- [object(Config, "control1"), native(Config, "control2")]],
         Expected = metadata(head(native(Config, "control2"))),
         ?assertMatch({Value, [_]}, {Value, Expected}),
         ?assertEqual(Expected, metadata(head(native(Config, "control1")))),
         ?assertEqual(Expected, metadata(head(object(Config, "control1"))))
     end || Value <- ["a\1b", "\d", "a\tb", "a\eb", [195, 169], [255], "a\0b"]].

metadata(Lines) -> [Line || <<"X-Riak-Meta-", _/binary>> = Line <- Lines].

metadata_of_protocol_buffers_is_read(Config) ->
    [begin
         ok = by_protocol_buffers(Config, <<"pb">>, [{<<"X-Riak-Meta-", Name/binary>>, Value}]),
         Native = head(native(Config, "pb")),
         ?assertMatch({_, _, <<"HTTP/1.1 200", _/binary>>}, {Name, Value, hd(Native)}),
         Ours = head(object(Config, "pb")),
         ?assertEqual({Name, Value, metadata(Native)}, {Name, Value, metadata(Ours)})
     end || {Name, Value} <- [{<<"my name">>, <<"a">>}, {<<"gr\303\274n">>, <<"a">>},
                              {<<"plain">>, <<1, 2, 127>>}, {<<"a(b)">>, <<"c">>},
                              {<<"plain">>, <<"\303\251">>}, {<<"plain">>, <<255>>}]].

a_head_above_64_kib_is_read(Config) ->
    Long = lists:duplicate(4000, $v),
    Headers = [{"X-Riak-Meta-" ++ integer_to_list(N), Long} || N <- lists:seq(1, 100)],
    {204, _, _} = ?HTTP:request(put, native(Config, "head"), Headers, {"text/plain", <<"x">>}),
    Native = borne(?HTTP:request(get, native(Config, "head"))),
    ?assertEqual(Native, borne(?HTTP:request(get, object(Config, "head")))),
    ?assertMatch({200, _, <<>>}, ?HTTP:request(head, object(Config, "head"))).

%% A value that no line can hold: this VM takes it where its server takes longer lines than a
%% node's.
what_a_node_refuses_unseen_was_not_done(Config) ->
    Url = object(Config, "unseen"),
    {204, _, _} = stored(Url, <<"first">>),
    Headers = [{"X-Riak-Meta-" ++ integer_to_list(N), "v"} || N <- lists:seq(1, 992)],
    {Status, _, _} = Answer = ?HTTP:request(put, Url, Headers, {"text/plain", <<"second">>}),
    {200, _, Now} = ?HTTP:request(get, Url),
    case Status of
        204 ->
            ?assertEqual(<<"second">>, Now);
        _ ->
            is_error(Answer, <<"refused">>),
            ?assertEqual({<<"first">>, 4}, {Now, Status div 100})
    end.

long_keys_and_queries_as_native(Config) ->
    [begin
         Ours = stored(object(Config, Key) ++ Query, <<"x">>),
         Native = stored(native(Config, Key) ++ Query, <<"x">>),
         ct:pal("key of ~w, query of ~w: ~P, native ~P",
                [length(Key), length(Query), Ours, 30, Native, 30]),
         case {Ours, Native} of
             {{204, _, _}, {204, _, _}} ->
                 ?assertMatch({200, _, <<"x">>}, ?HTTP:request(get, object(Config, Key)));
             {{Status, _, _}, _} ->
                 ?assertEqual(4, Status div 100)
         end
     end || Length <- [7900, 8050, 8100, 8120, 8130, 8150, 9000],
            {Key, Query} <- [{lists:duplicate(Length, $k), ""},
                             {"k", "?x=" ++ lists:duplicate(Length, $q)}]].

links_of_the_default_type(Config) ->
    Link = "</buckets/b/keys/other>; riaktag=\"next\"",
    Url = object(Config, "default", "linked"),
    {204, _, _} = ?HTTP:request(put, Url, [{"Link", Link}], {"text/plain", <<"x">>}),
    {200, _, <<"x">>} = Got = ?HTTP:request(get, Url),
    ?assertNotEqual(nomatch, re:run(?HTTP:header("Link", Got), "keys/other")),
    ?assertMatch({200, _, <<>>}, ?HTTP:request(head, Url)).

%% ---- Errors ----

paths_of_another_shape_are_told_so(Config) ->
    Base = standin_bare:url(vm(Config)),
    [begin
         Answer = {Status, _, _} = ?HTTP:request(Method, Base ++ Path, [], Body),
         ?assertEqual({Method, Path, 404}, {Method, Path, Status}),
         is_error(Answer, Code)
     end || {Tail, Code} <- [{"", <<"bad_path">>}, {"/", <<"bad_path">>}, {"/a/b", <<"bad_path">>}],
            Path <- ["/riak/primary/clusters/prod/types/one/buckets/b/keys" ++ Tail,
                     "/explore/clusters/prod/bucket_types/one/buckets/b/primary" ++ Tail],
            {Method, Body} <- [{get, none}, {put, {"text/plain", <<"x">>}}]].

what_is_accepted_with_parameters_is_served(Config) ->
    Base = standin_bare:url(vm(Config)),
    Key = "/explore/clusters/prod/bucket_types/one/buckets/b/keys/k/preflist",
    Asked = fun(Path, Accept) -> ?HTTP:request(get, Base ++ Path, [{"Accept", Accept}]) end,
    [?assertMatch({Path, {200, _, _}}, {Path, Asked(Path, Accept)})
     || {Path, Accept} <- [{"/ringtail/metrics", "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"},
                           {"/ringtail/metrics", "text/plain;version=0.0.4"},
                           {"/ringtail/status", "application/json;charset=utf-8"},
                           {"/explore/clusters/prod/preflist", "application/json; charset=utf-8"},
                           {"/explore/clusters/prod/topology", "application/json; charset=utf-8"},
                           {Key, "application/json; charset=utf-8"}]].

what_webmachine_refuses_is_told_in_json(Config) ->
    Base = standin_bare:url(vm(Config)),
    [is_told(406, <<"not_acceptable">>,
             ?HTTP:request(get, Base ++ "/explore/clusters/prod/" ++ Document, [Header]))
     || Document <- ["preflist", "topology"],
        Header <- [{"Accept", "image/x-none"}, {"Accept-Encoding", "identity;q=0"}]],
    Url = object(Config, "checked"),
    is_told(400, <<"bad_request">>,
            ?HTTP:request(put, Url, [{"Content-MD5", "AAAA"}], {"text/plain", <<"x">>})),
    is_told(405, <<"method_not_allowed">>, ?HTTP:request(options, Url)),
    %% By a node for us.
    Stored = object(Config, "here"),
    {204, _, _} = stored(Stored, <<"x">>),
    is_told(406, <<"not_acceptable">>, ?HTTP:request(get, Stored, [{"Accept", "image/x-none"}])),
    is_told(412, <<"precondition_failed">>,
            ?HTTP:request(put, Stored, [{"If-None-Match", "*"}], {"text/plain", <<"y">>})),
    ?assertMatch({404, _, _}, ?HTTP:request(get, Url)).

is_told(Status, Code, Answer) ->
    ?assertMatch({Status, _, _}, Answer),
    is_error(Answer, Code).
