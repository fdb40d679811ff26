%% @doc Riak's own authorisation, asked once by the node that was asked.
-module(ringtail_riak_security).

-export([is_authorized/2, security/3, permitted/3]).

%% @doc is_authorized exactly as Riak's own resources answer it.
-spec is_authorized(ringtail_reply:reqdata(), Context) ->
          {ringtail_reply:result(Context), Security :: term()}.
is_authorized(RD, Context) ->
    case riak_api_web_security:is_authorized(RD) of
        {true, Security} ->
            {{true, RD, Context}, Security};
        false ->
            Message = "give a user and password that Riak knows",
            Told = ringtail_reply:error_body(unauthorized, Message, [], RD),
            {{"Basic realm=\"Riak\"", Told, Context}, undefined};
        insecure ->
            Message = "security is enabled and Riak takes no credentials over http: use https",
            {ringtail_reply:refuse(426, insecure, Message, RD, Context), undefined}
    end.

%% @doc The security context that Riak's resource keeps in its own context, found by what its
%% is_authorized changed there: asking riak_core to authenticate again would cost a password hash
%% per request.
-spec security(Before :: tuple(), After :: tuple(), ringtail_reply:reqdata()) -> Security :: term().
security(Before, After, RD) ->
    case riak_core_security:is_enabled() of
        false -> undefined;
        true -> changed(Before, After, RD)
    end.

changed(Before, After, RD) ->
    case [New
          || {Old, New} <- lists:zip(tuple_to_list(Before), tuple_to_list(After)), Old =/= New] of
        [Security] ->
            Security;
        _ ->
            {true, Security} = riak_api_web_security:is_authorized(RD),
            Security
    end.

%% @doc Whether Riak would let this user do one of these; what it would say otherwise. `any' is any
%% user.
-spec permitted(ringtail_reply:reqdata(), [{Permission :: string(), Bucket :: term()}] | any,
                Security :: term()) ->
          true | {false, ringtail_reply:reqdata()}.
permitted(RD, Wanted, Security) ->
    case riak_kv_wm_utils:is_forbidden(RD) of
        true ->
            Message = "the request's Origin or Referer is not allowed",
            {false, ringtail_reply:error_body(forbidden, Message, [], RD)};
        false when Security =:= undefined; Wanted =:= any -> true;
        false -> granted(Wanted, Security, RD)
    end.

granted([Wanted | Others], Security, RD) ->
    case riak_core_security:check_permission(Wanted, Security) of
        {true, _} -> true;
        {false, _, _} when Others =/= [] -> granted(Others, Security, RD);
        {false, Why, _} -> {false, ringtail_reply:error_body(forbidden, Why, [], RD)}
    end.
