%% Test support: users, sources, grants. Off by default. Names are Riak's, as
%% are the messages; only what the HTTP interface meets is here (no groups).
-module(riak_core_security).

-export([is_enabled/0, enable/0, disable/0, status/0, authenticate/3,
         add_user/2, alter_user/2, del_user/1, add_source/4, del_source/2,
         add_grant/3, add_revoke/3, check_permission/2, check_permissions/2,
         get_username/1, is_this_transport_allowed/1]).

-record(context, {username, grants}).

-define(USERS, {<<"security">>, <<"users">>}).
-define(SOURCES, {<<"security">>, <<"sources">>}).
-define(GRANTS, {<<"security">>, <<"usergrants">>}).
-define(CONFIG, {<<"security">>, <<"config">>}).
-define(ITERATIONS, 1000).

is_enabled() -> true =:= (catch riak_core_metadata:get(?CONFIG, enabled, [{default, false}])).

enable() -> riak_core_metadata:put(?CONFIG, enabled, true).
disable() -> riak_core_metadata:put(?CONFIG, enabled, false).

status() ->
    case is_enabled() of
        true -> enabled;
        false -> disabled
    end.

%% Credentials travel by https only.
is_this_transport_allowed(Scheme) -> Scheme =:= https.

get_username(#context{username = Name}) -> Name.

%% --- users and sources ---

add_user(Name0, Options) ->
    Name = bin(Name0),
    Reserved = [<<"all">>, <<"on">>, <<"to">>, <<"from">>, <<"any">>],
    case {lists:member(Name, Reserved), user(Name)} of
        {true, _} -> {error, reserved_name};
        {false, undefined} -> riak_core_metadata:put(?USERS, Name, options(Options));
        _ -> {error, role_exists}
    end.

alter_user(Name0, Options) ->
    Name = bin(Name0),
    case user(Name) of
        undefined -> {error, {unknown_user, Name}};
        Old ->
            riak_core_metadata:put(?USERS, Name,
                                   lists:ukeymerge(1, options(Options), lists:ukeysort(1, Old)))
    end.

del_user(Name0) ->
    Name = bin(Name0),
    case user(Name) of
        undefined -> {error, {unknown_user, Name}};
        _ ->
            [riak_core_metadata:delete(?GRANTS, Key)
             || {{N, _} = Key, _} <- riak_core_metadata:to_list(?GRANTS), N =:= Name],
            [riak_core_metadata:delete(?SOURCES, Key)
             || {{N, _} = Key, _} <- riak_core_metadata:to_list(?SOURCES), N =:= Name],
            riak_core_metadata:delete(?USERS, Name)
    end.

options(Options) -> lists:ukeysort(1, [hidden(Option) || Option <- Options]).

hidden({"password", Plain}) ->
    Salt = crypto:strong_rand_bytes(16),
    {"password", [{salt, Salt}, {hash_pass, hash(Plain, Salt)}]};
hidden(Other) -> Other.

hash(Plain, Salt) -> crypto:pbkdf2_hmac(sha, bin(Plain), Salt, ?ITERATIONS, 20).

user(Name) -> riak_core_metadata:get(?USERS, Name).

%% CIDR = {Address, Bits}; Source = trust | password | certificate.
add_source(all, CIDR, Source, Options) ->
    riak_core_metadata:put(?SOURCES, {all, CIDR}, {Source, Options});
add_source(Users, CIDR, Source, Options) ->
    case [bin(U) || U <- Users, user(bin(U)) =:= undefined] of
        [] ->
            [riak_core_metadata:put(?SOURCES, {bin(U), CIDR}, {Source, Options}) || U <- Users], ok;
        Unknown -> {error, {unknown_users, Unknown}}
    end.

del_source(all, CIDR) -> riak_core_metadata:delete(?SOURCES, {all, CIDR});
del_source(Users, CIDR) -> [riak_core_metadata:delete(?SOURCES, {bin(U), CIDR}) || U <- Users], ok.

authenticate(Name, Password, Connection) ->
    case user(Name) of
        undefined -> {error, unknown_user};
        Data ->
            Peer = proplists:get_value(ip, Connection),
            case source(Name, Peer) of
                trust -> {ok, context(Name)};
                password -> password(Name, Password, proplists:get_value("password", Data));
                none -> {error, no_matching_sources};
                _ -> {error, unknown_source}
            end
    end.

password(_Name, _Given, undefined) -> {error, missing_password};
password(Name, Given, Stored) ->
    Salt = proplists:get_value(salt, Stored),
    case hash(Given, Salt) =:= proplists:get_value(hash_pass, Stored) of
        true -> {ok, context(Name)};
        false -> {error, bad_password}
    end.

%% The narrowest source wins, a user's own before everyone's.
source(Name, Peer) ->
    Matching = [{-Bits, Who =:= all, Source}
                || {{Who, {Address, Bits}}, {Source, _}} <- riak_core_metadata:to_list(?SOURCES),
                   Who =:= Name orelse Who =:= all, within(Peer, Address, Bits)],
    case lists:sort(Matching) of
        [{_, _, Source} | _] -> Source;
        [] -> none
    end.

within(Peer, Address, Bits) when tuple_size(Peer) =:= tuple_size(Address) ->
    Unit = case tuple_size(Peer) of 4 -> 8; 8 -> 16 end,
    Prefix = fun(A) ->
                 All = << <<Part:Unit>> || Part <- tuple_to_list(A) >>,
                 <<Head:Bits/bitstring, _/bitstring>> = All,
                 Head
             end,
    Prefix(Peer) =:= Prefix(Address);
within(_, _, _) -> false.

%% --- grants ---

%% Bucket = any | Type | {Type, Bucket} (strings or binaries).
add_grant(Who, Bucket, Permissions) ->
    change(Who, Bucket, Permissions, fun(Old) -> lists:usort(Old ++ Permissions) end).

add_revoke(Who, Bucket, Permissions) ->
    change(Who, Bucket, Permissions, fun(Old) -> Old -- Permissions end).

change(Who, Bucket, Permissions, Edit) ->
    Names = case Who of all -> [all]; _ -> [bin(W) || W <- Who] end,
    Unknown = [N || N <- Names, N =/= all, user(N) =:= undefined],
    case {Unknown, [P || P <- Permissions, not known(P)]} of
        {[], []} ->
            [begin
                 Key = {Name, bucket(Bucket)},
                 Old = riak_core_metadata:get(?GRANTS, Key, [{default, []}]),
                 riak_core_metadata:put(?GRANTS, Key, Edit(Old))
             end || Name <- Names],
            ok;
        {[], [Bad | _]} -> {error, {unknown_permission, Bad}};
        {_, _} -> {error, {unknown_roles, Unknown}}
    end.

known(Permission) ->
    case string:split(Permission, ".") of
        [App, Name] ->
            Known = app_helper:get_env(riak_core, permissions, []),
            lists:any(fun({A, Names}) ->
                          atom_to_list(A) =:= App andalso
                              lists:any(fun(N) -> atom_to_list(N) =:= Name end, Names)
                      end, Known);
        _ -> false
    end.

check_permission({Permission}, Context) -> check(Permission, any, Context);
check_permission({Permission, Bucket}, Context) -> check(Permission, Bucket, Context).

check_permissions(Permission, Context) when is_tuple(Permission) ->
    check_permission(Permission, Context);
check_permissions([], Context) -> {true, Context};
check_permissions([Permission | Rest], Context) ->
    case check_permission(Permission, Context) of
        {true, Context1} -> check_permissions(Rest, Context1);
        Denied -> Denied
    end.

%% Grants are read afresh, so that a change holds for requests under way.
check(Permission, Bucket, #context{username = Name}) ->
    Context = #context{grants = Grants} = context(Name),
    Applies = [any | case Bucket of
                         any -> [];
                         {Type, _} -> [Type, Bucket];
                         Type -> [Type]
                     end],
    Granted = lists:append([P || {B, P} <- Grants, lists:member(B, Applies)]),
    case lists:member(Permission, Granted) of
        true -> {true, Context};
        false ->
            Message = ["Permission denied: User '", Name, "' does not have '",
                       Permission, "' on ", printed(Bucket)],
            {false, unicode:characters_to_binary(Message, utf8, utf8), Context}
    end.

context(Name) ->
    Grants = [{B, P} || {{N, B}, P} <- riak_core_metadata:to_list(?GRANTS), N =:= Name
              orelse N =:= all],
    #context{username = Name, grants = Grants}.

printed(any) -> "any";
printed({Type, Bucket}) -> [Type, "/", Bucket];
printed(Type) -> Type.

bucket(any) -> any;
bucket({Type, Bucket}) -> {bin(Type), bin(Bucket)};
bucket(Type) -> bin(Type).

bin(Name) when is_binary(Name) -> Name;
bin(Name) -> unicode:characters_to_binary(Name, utf8, utf8).
