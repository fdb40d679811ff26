%% @doc The setting `{ringtail, [{clusters, [...]}]}' read and checked. Pure. An entry that makes no
%% sense is left out and named, and the others work.
-module(ringtail_config_clusters).

-export([read/1, shown/1]).
-export_type([cluster/0]).

-type cluster() :: {Name :: string(), Seeds :: [binary()], Options :: [{atom(), binary()}],
                    Route :: undefined | ringtail_config:route()}.

-define(TEXTS, [user, password, cacertfile, certfile, keyfile]).

%% @doc `[{Name, [Url]}]' or `[{Name, [{seeds, [Url]}, Option]}]'; a name is an atom or a string.
%% The problems are sentences.
-spec read(term()) -> {[cluster()], Problems :: [string()]}.
read(Entries) when is_list(Entries) ->
    lists:foldl(fun add/2, {[], []}, proper(Entries));
read(Other) ->
    {[], [problem(Other, "is no list of {Name, [Url]}")]}.

add(Entry, {Clusters, Problems}) ->
    case entry(Entry) of
        {ok, {Name, _, _, _} = Cluster, Remarks} ->
            case lists:keymember(Name, 1, Clusters) of
                false ->
                    Remarked = [problem(Entry, Remark) || Remark <- Remarks],
                    {Clusters ++ [Cluster], Problems ++ Remarked};
                true ->
                    Twice = problem(Entry, "names a cluster for the second time; it is left out"),
                    {Clusters, Problems ++ [Twice]}
            end;
        {error, What} ->
            {Clusters, Problems ++ [problem(Entry, [What, "; it is left out"])]}
    end.

entry({Name, Given}) when is_list(Given) ->
    Settings = settings(Given),
    Others = [Other || Other <- Settings, not setting(Other)],
    case {name(Name), lists:keyfind(seeds, 1, Settings), Others} of
        {error, _, _} ->
            {error, "has a name that is no atom or string without '/'"};
        {_, _, [Other | _]} ->
            {error, io_lib:format("has the setting ~P, which is none", [hidden(Other), 10])};
        {_, false, []} ->
            {error, "has no seeds: give the URL of at least one node"};
        {Text, {seeds, Seeds}, []} ->
            seeds(Text, Seeds, lists:keydelete(seeds, 1, Settings))
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
        Texts =:= [] ->
            {error, "has no seeds: give the URL of at least one node"};
        length(Texts) =/= length(Seeds) ->
            {error, "has a seed that is no URL such as \"http://10.0.0.1:8098\""};
        Half ->
            {error, "has one of user and password, or of certfile and keyfile, without the other"};
        true ->
            Options = lists:sort([{Key, text(Value)} || {Key, Value} <- Settings, Key =/= route]),
            trusted({Name, Texts, Options, proplists:get_value(route, Settings)})
    end.

%% Whoever stands at an address that is asked over http reads what it is asked with.
trusted({Name, Seeds, Options, Route} = Cluster) ->
    Bare = [shown(Seed) || Seed <- Seeds],
    Kept = [Option || {Key, _} = Option <- Options, Key =/= user, Key =/= password],
    case lists:any(fun is_plain/1, Seeds) andalso {Name, Bare, Kept, Route} of
        false ->
            {ok, Cluster, []};
        Cluster ->
            {ok, Cluster, []};
        Without ->
            {ok, Without, ["has a user and password that are not sent, for a seed is no https: "
                           "write https:// for each"]}
    end.

is_plain(<<"http://", _/binary>>) -> true;
is_plain(_) -> false.

%% @doc A seed without the user and password that may stand in it.
-spec shown(binary()) -> binary().
shown(Seed) ->
    case {binary:split(Seed, <<"://">>), binary:matches(Seed, <<"@">>)} of
        {[Scheme, _], [_ | _] = At} ->
            {Last, 1} = lists:last(At),
            <<_:Last/binary, "@", Host/binary>> = Seed,
            <<Scheme/binary, "://", Host/binary>>;
        _ ->
            Seed
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
    is_text(Seed) andalso lists:any(fun(Scheme) -> lists:prefix(Scheme, text_list(Seed)) end,
                                    ["http://", "https://"]).

is_text(Text) when is_binary(Text) -> Text =/= <<>>;
is_text([_ | _] = Text) -> lists:all(fun is_character/1, proper(Text));
is_text(_) -> false.

is_character(C) -> is_integer(C) andalso C > 0 andalso C < 256.

text(Text) -> iolist_to_binary(Text).
text_list(Text) -> binary_to_list(text(Text)).

%% An improper list as a list: what is not a list's end is one more element that makes no sense.
proper([Head | Tail]) -> [Head | proper(Tail)];
proper([]) -> [];
proper(Other) -> [Other].

%% A password must not come to stand in a log, be it in a URL or under a misspelt name.
problem(Entry, What) ->
    lists:flatten(io_lib:format("{ringtail, clusters}: ~P ~s", [without_secrets(Entry), 20, What])).

without_secrets({Name, Settings}) when is_list(Settings) -> {hidden(Name), hidden(Settings)};
without_secrets(Other) -> hidden(Other).

hidden({Key, Value}) when Key =:= seeds; Key =:= user; Key =:= route ->
    {Key, hidden(Value)};
hidden(Tuple) when is_tuple(Tuple), tuple_size(Tuple) > 0 ->
    [First | Others] = tuple_to_list(Tuple),
    list_to_tuple([hidden(First) | ['...' || _ <- Others]]);
hidden(Seed) when is_binary(Seed) ->
    shown(Seed);
hidden([_ | _] = List) ->
    case is_text(List) of
        true -> binary_to_list(shown(list_to_binary(List)));
        false -> [hidden(Element) || Element <- proper(List)]
    end;
hidden(Other) ->
    Other.
