%% @doc Which headers a hop passes on.
-module(ringtail_http_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, headers_that_end_at_the_hop/1, headers_that_cannot_be_named_away/1,
         repeated_headers_keep_order_and_case/1]).

all() ->
    [headers_that_end_at_the_hop, headers_that_cannot_be_named_away,
     repeated_headers_keep_order_and_case].

headers_that_end_at_the_hop(_) ->
    Names = [<<"Connection">>, <<"keep-alive">>, <<"Proxy-Authenticate">>, <<"Proxy-Authorization">>,
             <<"Proxy-Connection">>, <<"TE">>, <<"Trailer">>, <<"Transfer-Encoding">>, <<"Upgrade">>,
             <<"Content-length">>],
    Kept = [{<<"X-A">>, <<"1">>}, {<<"Vary">>, <<"Accept">>}],
    ?assertEqual(Kept, ringtail_http:end_to_end([{Name, <<"x">>} || Name <- Names] ++ Kept)),
    ?assertEqual(Kept, ringtail_http:end_to_end(
                         [{<<"connection">>, <<"Keep-Alive,\tx-b , ">>}, {<<"X-B">>, <<"2">>} | Kept])).

%% Else an answer could hide whose it is.
headers_that_cannot_be_named_away(_) ->
    Kept = [{<<"X-Ringtail-Node">>, <<"uuid">>}],
    ?assertEqual(Kept, ringtail_http:end_to_end([{<<"Connection">>, <<"x-ringtail-node">>} | Kept])).

repeated_headers_keep_order_and_case(_) ->
    Given = [{<<"X-Riak-Meta-A">>, <<"1">>}, {<<"x-riak-meta-B">>, <<"2">>}, {<<"Link">>, <<"a">>},
             {<<"X-Riak-Meta-A">>, <<"3">>}, {<<"Link">>, <<"b">>}],
    ?assertEqual(Given, ringtail_http:end_to_end(Given)).
