%% Test support: index queries: .../index/FIELD/VALUE or .../index/FIELD/FROM/TO,
%% with max_results, continuation and return_terms. (No streaming, no regex.)
-module(riak_kv_wm_index).


-export([init/1, service_available/2, is_authorized/2, forbidden/2, malformed_request/2,
         content_types_provided/2, encodings_provided/2, resource_exists/2,
         produce_index_results/2]).

-include("webmachine.hrl").

-include("standin_resource.hrl").

forbidden(RD, Ctx = #res{bucket_type = Type, bucket = Bucket}) ->
    allowed({riak_kv, secondary_index}, "riak_kv.index", {Type, Bucket}, RD, Ctx).

malformed_request(RD, Ctx) ->
    Field = riak_index:normalize_index_field(riak_kv_wm_utils:path_binary(field, RD)),
    Terms = [list_to_binary(riak_kv_wm_utils:maybe_decode_uri(RD, T)) || T <- wrq:path_tokens(RD)],
    case {range(Field, Terms), max_results(RD), terms(RD), with_timeout(RD, Ctx)} of
        {{error, Why}, _, _, _} ->
            plain_refusal(io_lib:format("Invalid query: ~p~n", [Why]), RD, Ctx);
        {_, {error, Bad}, _, _} ->
            plain_refusal(io_lib:format("Invalid ~p. ~p is not a positive integer",
                                        ["max_results", Bad]), RD, Ctx);
        {_, _, {error, Bad}, _} ->
            plain_refusal(io_lib:format("Invalid ~p. ~p is not a boolean", ["return_terms", Bad]),
                          RD, Ctx);
        {{ok, Start, End}, {ok, Max}, {ok, WithTerms}, {false, RD1, Ctx1}} ->
            Extra = #{query => {Field, after_last(RD, Start), End}, max => Max,
                      terms => WithTerms andalso length(Terms) =:= 2
                          andalso binary:first(Field) =/= $$},
            {false, RD1, Ctx1#res{extra = Extra}};
        {_, _, _, Refused} -> Refused
    end.

range(<<"$bucket">>, _) -> {ok, <<>>, <<>>};
range(Field, [Value]) -> range(Field, [Value, Value]);
range(Field, [From, To]) ->
    case {riak_index:parse_field(Field, From), riak_index:parse_field(Field, To)} of
        {{ok, Start}, {ok, End}} -> {ok, Start, End};
        {{error, Why}, _} -> {error, Why};
        {_, {error, Why}} -> {error, Why}
    end;
range(_, Terms) -> {error, {wrong_number_of_terms, length(Terms)}}.

max_results(RD) ->
    case wrq:get_qs_value("max_results", RD) of
        undefined -> {ok, all};
        Text ->
            try list_to_integer(Text) of
                Max when Max > 0 -> {ok, Max};
                Bad -> {error, Bad}
            catch error:badarg -> {error, Text}
            end
    end.

terms(RD) ->
    case string:to_lower(wrq:get_qs_value("return_terms", "false", RD)) of
        "true" -> {ok, true};
        "false" -> {ok, false};
        _ -> {error, wrq:get_qs_value("return_terms", RD)}
    end.

%% A continuation is the last {Value, Key} that has been given.
after_last(RD, Start) ->
    case wrq:get_qs_value("continuation", RD) of
        undefined -> {Start, none};
        Text -> {Start, binary_to_term(base64:decode(Text), [safe])}
    end.

content_types_provided(RD, Ctx) -> {[{"application/json", produce_index_results}], RD, Ctx}.

produce_index_results(RD, Ctx = #res{client = Client, extra = Extra, timeout = Timeout}) ->
    #{query := {Field, {Start, Last}, End}, max := Max, terms := WithTerms} = Extra,
    Bucket = riak_kv_wm_utils:maybe_bucket_type(Ctx#res.bucket_type, Ctx#res.bucket),
    From = case Last of
               none -> Start;
               {Value, _} when Field =/= <<"$bucket">> -> max(Start, Value);
               _ -> Start
           end,
    case riak_client:get_index(Bucket, {Field, From, End}, [{timeout, Timeout}], Client) of
        {ok, All} ->
            Left = [Row || Row <- All, Last =:= none orelse Row > Last],
            Page = case Max of all -> Left; _ -> lists:sublist(Left, Max) end,
            Body = rows(WithTerms, Page) ++ continuation(Page, Max),
            {mochijson2:encode({struct, Body}), RD, Ctx};
        {error, timeout} ->
            RD1 = wrq:set_resp_header("Content-Type", "text/plain", RD),
            {{halt, 503}, wrq:append_to_response_body("request timed out\n", RD1), Ctx};
        {error, Reason} -> {{error, Reason}, RD, Ctx}
    end.

rows(true, Page) -> [{<<"results">>, [{struct, [{term(V), K}]} || {V, K} <- Page]}];
rows(false, Page) -> [{<<"keys">>, [K || {_, K} <- Page]}].

term(V) when is_integer(V) -> integer_to_binary(V);
term(V) -> V.

continuation([_ | _] = Page, Max) when length(Page) =:= Max ->
    [{<<"continuation">>, base64:encode(term_to_binary(lists:last(Page)))}];
continuation(_, _) -> [].
