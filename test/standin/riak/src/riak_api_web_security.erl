%% Test support: whether the credentials of a request are good.
-module(riak_api_web_security).
-export([is_authorized/1]).

%% {true, Context} (undefined while security is off) | false | insecure
is_authorized(RD) ->
    case riak_core_security:is_enabled() of
        false -> {true, undefined};
        true ->
            case riak_core_security:is_this_transport_allowed(wrq:scheme(RD)) of
                true -> basic(wrq:get_req_header("Authorization", RD), wrq:peer(RD));
                false -> insecure
            end
    end.

basic("Basic " ++ Encoded, Peer) ->
    try
        [User, Password] = string:split(base64:decode_to_string(Encoded), ":"),
        {ok, Address} = inet:parse_address(Peer),
        {ok, Context} = riak_core_security:authenticate(list_to_binary(User),
                                                        list_to_binary(Password), [{ip, Address}]),
        {true, Context}
    catch error:_ -> false
    end;
basic(_, _) -> false.
