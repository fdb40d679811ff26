%% Every exchange recorded from a real node, played to the stand-in: status,
%% reason, headers and body must be those of the recording. What differs from
%% one run to the next is checked for its form and then taken for equal: dates,
%% vtags, vclocks, the Server header, boundaries, keys named by the server, and
%% the name of the node that created a bucket type.
-module(standin_replay_tests).

-include_lib("eunit/include/eunit.hrl").

-define(TYPES, [{<<"t_n1">>, [{n_val, 1}]}, {<<"t_mult">>, []},
                {<<"t_bko">>, [{chash_keyfun, {riak_core_util, chash_bucketonly_keyfun}}]}]).
-define(A, "/types/t_n1/buckets/rec/keys/a").

replay_test_() ->
    Files = filelib:wildcard(filename:join([os:getenv("STANDIN_VECTORS"), "http", "*.json"])),
    ?assert(length(Files) >= 39),
    {setup,
     fun() ->
         {ok, C} = standin:start_cluster(#{nodes => 4, ring_size => 64, types => ?TYPES}),
         C
     end,
     fun standin:stop_cluster/1,
     fun(C) ->
         [{filename:basename(F, ".json"), {timeout, 60, fun() -> replay(C, F) end}} || F <- Files]
     end}.

replay(C, File) ->
    {ok, Bin} = file:read_file(File),
    {struct, Case} = mochijson2:decode(Bin),
    Name = binary_to_list(get(<<"name">>, Case)),
    ok = standin:wipe(C),
    Known = prepare(Name, C),
    {struct, Request} = get(<<"request">>, Case),
    {Method, Path, Headers, Body} = adapt(Name, Request, Known),
    Got = send(C, Method, Path, Headers, Body),
    {struct, Recorded} = get(<<"response">>, Case),
    Want = {get(<<"status">>, Recorded), get(<<"reason">>, Recorded),
            [{K, V} || [K, V] <- get(<<"headers">>, Recorded)], bytes(get(<<"body">>, Recorded))},
    ?assertEqual(comparable(Name, named(Want, C)), comparable(Name, Got)).

get(Key, Props) -> proplists:get_value(Key, Props).

%% Bytes were recorded as characters of the same numbers.
bytes(Text) -> list_to_binary(unicode:characters_to_list(Text)).

%% --- what was there when the exchange was recorded ---

prepare(Name, C) when Name =:= "get"; Name =:= "head"; Name =:= "get_if_none_match";
                      Name =:= "get_if_modified_since"; Name =:= "get_accept_unacceptable";
                      Name =:= "get_pr_too_high"; Name =:= "get_r_bad"; Name =:= "delete";
                      Name =:= "put_if_match_stale"; Name =:= "put_if_none_match_star";
                      Name =:= "put_returnbody" ->
    store(C, ?A, <<"hello">>);
prepare("get_deleted", C) ->
    store(C, ?A, <<"hello">>),
    {204, _, _, _} = send(C, "DELETE", ?A, [], <<>>),
    #{};
prepare("get_binary", C) ->
    store(C, "/types/t_n1/buckets/rec/keys/b", list_to_binary(lists:seq(0, 255)),
          "application/octet-stream");
prepare(Name, C) when Name =:= "get_plus_key"; Name =:= "get_space_slash_key" ->
    store(C, "/types/t_n1/buckets/a%2Fb/keys/c%20d%2Be%2Ff", <<"odd">>);
prepare("get_sibling" ++ _, C) ->
    #{etag := Vtag} = store(C, "/types/t_mult/buckets/rec/keys/s", <<"one">>),
    store(C, "/types/t_mult/buckets/rec/keys/s", <<"two">>),
    #{vtag => string:trim(Vtag, both, "\"")};
prepare("keys_" ++ _, C) ->
    [store(C, "/types/t_n1/buckets/rec/keys/" ++ K, <<"x">>)
     || K <- ["a", "b", "Ay1wJOcU9sciZzjqEfSaFWn5tVy"]],
    #{};
prepare(_, _) -> #{}.

store(C, Path, Body) -> store(C, Path, Body, "text/plain").

store(C, Path, Body, CType) ->
    {204, _, _, _} = send(C, "PUT", Path, [{"Content-Type", CType}], Body),
    {_, _, Headers, _} = send(C, "GET", Path, [], <<>>),
    #{etag => header("etag", Headers), modified => header("last-modified", Headers),
      vclock => header("x-riak-vclock", Headers)}.

header(Name, Headers) ->
    case [V || {K, V} <- Headers, lower(K) =:= Name] of
        [Value | _] -> binary_to_list(Value);
        [] -> undefined
    end.

%% --- the request, with the etags and clocks of this run ---

adapt(Name, Request, Known) ->
    {struct, Headers0} = get(<<"headers">>, Request),
    Headers = [{binary_to_list(K), value(binary_to_list(K), V, Known)} || {K, V} <- Headers0],
    Path0 = binary_to_list(get(<<"path">>, Request)),
    Path = case Name of
               "get_sibling_vtag" -> hd(string:split(Path0, "=")) ++ "=" ++ maps:get(vtag, Known);
               _ -> Path0
           end,
    {binary_to_list(get(<<"method">>, Request)), Path, Headers, bytes(get(<<"body">>, Request))}.

value("If-None-Match", <<"*">>, _) -> "*";
value("If-None-Match", _, #{etag := Etag}) -> Etag;
value("If-Modified-Since", _, #{modified := Date}) -> Date;
value("X-Riak-Vclock", _, #{vclock := Clock}) -> Clock;
value(_, Value, _) -> binary_to_list(Value).

send(C, Method, Path, Headers, Body) ->
    [{_, Url} | _] = standin:urls(C),
    #{port := Port} = uri_string:parse(Url),
    Payload = case Body of <<>> when Method =/= "PUT", Method =/= "POST" -> none; _ -> Body end,
    {Code, Reason, Answer, Got} = standin_wm_client:once(Port, Method, Path, Headers, Payload),
    {Code, bin(Reason), [{bin(K), bin(V)} || {K, V} <- Answer], iolist_to_binary(Got)}.

bin(Text) when is_binary(Text) -> Text;
bin(Text) when is_atom(Text) -> atom_to_binary(Text, utf8);
bin(Text) -> list_to_binary(Text).

lower(Name) -> string:lowercase(binary_to_list(Name)).

%% --- what is compared ---

%% The recorded claimant under the name it has here.
named({Code, Reason, Headers, Body}, C) ->
    [First | _] = standin:nodes(C),
    Renamed = binary:replace(Body, <<"dev1@127.0.0.1">>, atom_to_binary(First, utf8)),
    case Renamed of
        Body -> {Code, Reason, Headers, Body};
        _ ->
            Sized = [case lower(K) of
                         "content-length" -> {K, integer_to_binary(byte_size(Renamed))};
                         _ -> {K, V}
                     end || {K, V} <- Headers],
            {Code, Reason, Sized, Renamed}
    end.

comparable(Name, {Code, Reason, Headers0, Body0}) ->
    Boundary = boundary(header("content-type", Headers0)),
    Headers = [{lower(K), form(lower(K), V, Boundary)} || {K, V} <- Headers0,
               not lists:member(lower(K), ["date", "server"])],
    Body = body(Name, Body0, Boundary),
    Length = proplists:get_value("content-length", Headers),
    Kept = case Body of
               Body0 -> Headers;
               %% A body with parts that vary: its length was right for itself.
               _ when Length =:= undefined -> Headers;
               _ ->
                   ?assertEqual(integer_to_binary(byte_size(Body0)), Length),
                   lists:keydelete("content-length", 1, Headers)
           end,
    {Code, Reason, lists:sort(Kept), Body}.

boundary("multipart/mixed; boundary=" ++ Boundary) -> list_to_binary(Boundary);
boundary(_) -> none.

form("etag", V, _) -> matched(V, "^\"[0-9A-Za-z]{16,23}\"$", vtag);
form("x-riak-vclock", V, _) -> matched(V, "^[0-9A-Za-z+/]{8,}=*$", vclock);
form("last-modified", V, _) ->
    matched(V, "^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$", date);
form("location", V, _) ->
    [Dir, Key] = [filename:dirname(V), filename:basename(V)],
    {Dir, matched(Key, "^[0-9A-Za-z]{24,28}$", key)};
form("content-type", V, Boundary) when Boundary =/= none ->
    binary:replace(V, matched(Boundary, "^[0-9A-Za-z]{24,28}$", Boundary), <<"B">>);
form(_, V, _) -> V.

matched(Text, Pattern, Name) ->
    case re:run(Text, Pattern) of
        {match, _} -> Name;
        nomatch -> {no, Name, Text}
    end.

%% Vtags that follow "Siblings:", parts of a multipart body; keys in any order,
%% and the chunks of a stream, of which there is one a partition and a last one.
body("get_siblings", Body, _) -> replaced(Body, "\n[0-9A-Za-z]{16,23}(?=\n)", "\nVTAG");
body("get_siblings_multipart", Body, Boundary) ->
    B1 = binary:replace(Body, Boundary, <<"B">>, [global]),
    B2 = replaced(B1, "Etag: [0-9A-Za-z]{16,23}\r", "Etag: VTAG\r"),
    replaced(B2, "Last-Modified: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT",
             "Last-Modified: DATE");
body("keys_list", Body, _) ->
    {struct, [{<<"keys">>, Keys}]} = mochijson2:decode(Body),
    ?assertEqual(iolist_to_binary(mochijson2:encode({struct, [{<<"keys">>, Keys}]})), Body),
    term_to_binary(lists:sort(Keys));
body("keys_stream", Body, _) ->
    Parts = re:split(Body, "(?<=})(?={)"),
    ?assertEqual(<<"{\"keys\":[]}">>, lists:last(Parts)),
    iolist_to_binary(lists:sort(Parts));
body(_, Body, _) -> Body.

replaced(Body, Pattern, By) -> re:replace(Body, Pattern, By, [global, {return, binary}]).
