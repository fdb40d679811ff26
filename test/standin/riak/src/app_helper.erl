%% Test support: application environment look-ups under Riak's names.
-module(app_helper).

-export([get_env/1, get_env/2, get_env/3, get_prop_or_env/3, get_prop_or_env/4,
         try_envs/1, try_envs/2]).

get_env(App) -> application:get_all_env(App).

get_env(App, Key) -> get_env(App, Key, undefined).

get_env(App, Key, Default) ->
    case application:get_env(App, Key) of
        {ok, Value} -> Value;
        undefined -> Default
    end.

get_prop_or_env(Key, Props, App) -> get_prop_or_env(Key, Props, App, undefined).

get_prop_or_env(Key, Props, App, Default) ->
    case proplists:get_value(Key, Props) of
        undefined -> get_env(App, Key, Default);
        Value -> Value
    end.

try_envs(Pairs) -> try_envs(Pairs, undefined).

try_envs([], Default) -> {default, Default};
try_envs([{App, Key} | Rest], Default) ->
    case application:get_env(App, Key) of
        {ok, Value} -> {App, Key, Value};
        undefined -> try_envs(Rest, Default)
    end.
