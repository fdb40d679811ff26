%% @doc Test support: finds the route of a request.
%%
%% Routes: `{Path, Module, Args}', `{Path, Guard, Module, Args}', or
%% `{HostSpec, [those]}' with HostSpec `[HostToken]' or `{[HostToken], Port}'.
%% A string stands for itself, an atom binds one token (or the port), and '*'
%% takes the rest of the path, of the host's front, or any port. Tokens are
%% compared as they are on the wire, without percent-decoding.
-module(webmachine_dispatcher).

-export([dispatch/3, dispatch/4]).
-export_type([route/0, result/0]).

-type path_spec() :: [string() | atom()].
-type guard() :: fun((wrq:t()) -> boolean()) | {module(), atom()}.
-type route() :: {path_spec(), module(), term()}
               | {path_spec(), guard(), module(), term()}.
-type result() ::
        {Module :: module(), Args :: term(), HostTokens :: [string()],
         Port :: integer(), PathTokens :: [string()],
         Bindings :: [{atom(), string() | integer()}],
         AppRoot :: string(), DispPath :: string()}
      | {no_dispatch_match, {[string()], integer()}, [string()]}.

dispatch(Path, Routes, RD) ->
    dispatch("", Path, Routes, RD).

-spec dispatch(string(), string(), [route() | tuple()], wrq:t()) -> result().
dispatch(HostHeader, Path, Routes, RD) ->
    Tokens = string:tokens(Path, "/"),
    %% "/a/b/" is one level deeper than "/a/b" to a relative link.
    Depth = case lists:suffix("/", Path) of
                true -> 1;
                false -> 0
            end,
    {Host, Port} = split_host(HostHeader, wrq:scheme(RD)),
    first_host(Routes, {Host, Port, Tokens, Depth, RD}).

first_host([], {Host, Port, Tokens, _, _}) ->
    {no_dispatch_match, {Host, Port}, Tokens};
first_host([Entry | Rest], {Host, Port, _, _, _} = Request) ->
    {HostSpec, PortSpec, Paths} = normal_form(Entry),
    Found = case bind_port(PortSpec, Port) of
                {ok, Bound} ->
                    case bind_host(HostSpec, Host, Bound) of
                        {ok, HostRest, Bound1} -> first_path(Paths, HostRest, Bound1, Request);
                        fail -> none
                    end;
                fail ->
                    none
            end,
    case Found of
        none -> first_host(Rest, Request);
        _ -> Found
    end.

normal_form({{Host, Port}, Paths}) -> {Host, Port, Paths};
normal_form({Host, Paths}) -> {Host, '*', Paths};
normal_form(Path) -> {['*'], '*', [Path]}.

first_path([], _HostRest, _Bound, _Request) ->
    none;
first_path([Route | Routes], HostRest, Bound, {_, Port, Tokens, Extra, RD} = Request) ->
    {Spec, Guard, Module, Args} = case Route of
                                      {S, M, A} -> {S, none, M, A};
                                      {S, G, M, A} -> {S, G, M, A}
                                  end,
    case bind(Spec, Tokens, Bound, 0) of
        {ok, Rest, Bindings, Depth} ->
            AppRoot = app_root(Depth + Extra),
            DispPath = string:join(Rest, "/"),
            case Guard =:= none
                orelse guard(Guard, wrq:load_dispatch_data(
                                      orddict:from_list(Bindings), HostRest, Port,
                                      Rest, AppRoot, DispPath, RD)) of
                true -> {Module, Args, HostRest, Port, Rest, Bindings, AppRoot, DispPath};
                false -> first_path(Routes, HostRest, Bound, Request)
            end;
        fail ->
            first_path(Routes, HostRest, Bound, Request)
    end.

%% A guard that fails is an error of the request (500), not a "no".
guard(Guard, RD) ->
    try
        case Guard of
            {Module, Fun} -> Module:Fun(RD) =:= true;
            _ when is_function(Guard, 1) -> Guard(RD) =:= true
        end
    catch
        _:Reason -> throw({error_running_guard, Guard, Reason})
    end.

bind([], [], Bound, Depth) ->
    {ok, [], Bound, Depth};
bind(['*'], Rest, Bound, Depth) ->
    {ok, Rest, Bound, Depth + length(Rest)};
bind([Token | Spec], [Token | Rest], Bound, Depth) ->
    bind(Spec, Rest, Bound, Depth + 1);
bind([Name | Spec], [Token | Rest], Bound, Depth) when is_atom(Name) ->
    bind(Spec, Rest, [{Name, Token} | Bound], Depth + 1);
bind(_, _, _, _) ->
    fail.

%% In a host '*' stands in front, so hosts are matched from their end.
bind_host(Spec, Host, Bound) ->
    case bind(lists:reverse(Spec), lists:reverse(Host), Bound, 0) of
        {ok, Rest, Bound1, _Depth} -> {ok, lists:reverse(Rest), Bound1};
        fail -> fail
    end.

bind_port(Port, Port) -> {ok, []};
bind_port('*', _Port) -> {ok, []};
bind_port(Name, Port) when is_atom(Name) -> {ok, [{Name, Port}]};
bind_port(_, _) -> fail.

app_root(Depth) when Depth =< 1 -> ".";
app_root(Depth) -> string:join(lists:duplicate(Depth, ".."), "/").

%% An IPv6 literal is one host token in brackets; one that came without
%% brackets cannot be told from its port and is taken as all address.
split_host("", Scheme) ->
    {[], default_port(Scheme)};
split_host("[" ++ _ = Header, Scheme) ->
    {Address, Rest} = lists:splitwith(fun(C) -> C =/= $] end, Header),
    case Rest of
        "]:" ++ Port -> {[Address ++ "]"], list_to_integer(Port)};
        _ -> {[Address ++ "]"], default_port(Scheme)}
    end;
split_host(Header, Scheme) ->
    case string:split(Header, ":", all) of
        [Name] -> {string:tokens(Name, "."), default_port(Scheme)};
        [Name, ""] -> {string:tokens(Name, "."), default_port(Scheme)};
        [Name, Port] -> {string:tokens(Name, "."), list_to_integer(Port)};
        _ -> {["[" ++ Header ++ "]"], default_port(Scheme)}
    end.

default_port(http) -> 80;
default_port(https) -> 443.
