%% @doc The setting `{ringtail, [{clusters, [...]}]}' read and checked. Pure. An entry that makes no sense is left out and
%% named, and the others work.
-module(ringtail_clusters_config).

-export([read/1]).
-export_type([cluster/0]).

-type cluster() :: {Name :: string(), Seeds :: [binary()], Options :: [{atom(), binary()}],
                    Route :: undefined | ringtail_config:route()}.

-define(TEXTS, [user, password, cacertfile, certfile, keyfile]).

%% @doc `[{Name, [Url]}]' or `[{Name, [{seeds, [Url]}, Option]}]'; a name is an atom or a string. The problems are sentences.
-spec read(term()) -> {[cluster()], Problems :: [string()]}.
read(Entries) when is_list(Entries) ->
    lists:foldl(fun add/2, {[], []}, proper(Entries));
read(Other) ->
    {[], [problem(Other, "is no list of {Name, [Url]}")]}.

add(Entry, {Clusters, Problems}) ->
    case entry(Entry) of
        {ok, {Name, _, _, _} = Cluster} ->
            case lists:keymember(Name, 1, Clusters) of
                false -> {Clusters ++ [Cluster], Problems};
                true -> {Clusters, Problems ++ [problem(Entry, "names a cluster for the second time; it is left out")]}
            end;
        {error, What} ->
            {Clusters, Problems ++ [problem(Entry, [What, "; it is left out"])]}
    end.

entry({Name, Given}) when is_list(Given) ->
    Settings = settings(Given),
    case {name(Name), lists:keyfind(seeds, 1, Settings), [Other || Other <- Settings, not setting(Other)]} of
        {error, _, _} -> {error, "has a name that is no atom or string without '/'"};
        {_, _, [Other | _]} -> {error, io_lib:format("has the setting ~P, which is none", [Other, 10])};
        {_, false, []} -> {error, "has no seeds: give the URL of at least one node"};
        {Text, {seeds, Seeds}, []} -> seeds(Text, Seeds, lists:keydelete(seeds, 1, Settings))
    end;
entry(_) ->
    {error, "is not {Name, [Url]} or {Name, [{seeds, [Url]}, Option]}"}.

%% A list of URLs stands for seeds alone.
settings(Given) ->
    case proper(Given) of
        [First | _] = Listed when is_list(First); is_binary(First) -> [{seeds, Listed}];
        Listed -> Listed
    end.

setting({seeds, Seeds}) -> is_list(Seeds);
setting({route, Route}) -> lists:member(Route, [proxy, redirect, local]);
setting({Key, Value}) -> lists:member(Key, ?TEXTS) andalso is_text(Value);
setting(_) -> false.

seeds(Name, Seeds, Settings) ->
    Texts = [text(Seed) || Seed <- proper(Seeds), is_url(Seed)],
    Half = lists:keymember(user, 1, Settings) =/= lists:keymember(password, 1, Settings)
        orelse lists:keymember(certfile, 1, Settings) =/= lists:keymember(keyfile, 1, Settings),
    if
        Texts =:= [] -> {error, "has no seeds: give the URL of at least one node"};
        length(Texts) =/= length(Seeds) -> {error, "has a seed that is no URL such as \"http://10.0.0.1:8098\""};
        Half -> {error, "has one of user and password, or of certfile and keyfile, without the other"};
        true ->
            Options = lists:sort([{Key, text(Value)} || {Key, Value} <- Settings, Key =/= route]),
            {ok, {Name, Texts, Options, proplists:get_value(route, Settings)}}
    end.

name(Name) when is_atom(Name) -> name(atom_to_list(Name));
name(Name) when is_binary(Name) -> name(binary_to_list(Name));
name([_ | _] = Name) ->
    case is_text(Name) andalso not lists:member($/, Name) of
        true -> Name;
        false -> error
    end;
name(_) -> error.

is_url(Seed) ->
    is_text(Seed) andalso (lists:prefix("http://", text_list(Seed)) orelse lists:prefix("https://", text_list(Seed))).

is_text(Text) when is_binary(Text) -> Text =/= <<>>;
is_text(Text) -> is_list(Text) andalso Text =/= [] andalso lists:all(fun(C) -> is_integer(C) andalso C > 0 andalso C < 256 end, proper(Text)).

text(Text) -> iolist_to_binary(Text).
text_list(Text) -> binary_to_list(text(Text)).

%% An improper list as a list: what is not a list's end is one more element that makes no sense.
proper([Head | Tail]) -> [Head | proper(Tail)];
proper([]) -> [];
proper(Other) -> [Other].

%% A password must not come to stand in a log.
problem(Entry, What) ->
    lists:flatten(io_lib:format("{ringtail, clusters}: ~P ~s", [hidden(Entry), 20, What])).

hidden({password, _}) -> {password, '...'};
hidden(List) when is_list(List) -> [hidden(Element) || Element <- proper(List)];
hidden(Tuple) when is_tuple(Tuple) -> list_to_tuple(hidden(tuple_to_list(Tuple)));
hidden(Other) -> Other.
