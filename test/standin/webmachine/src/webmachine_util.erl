%% @doc Test support: content negotiation, dates and quoting.
-module(webmachine_util).

-export([choose_media_type/2, format_content_type/1, media_type_to_detail/1,
         choose_charset/2, choose_encoding/2]).
-export([convert_request_date/1, compare_ims_dates/2, rfc1123_date/1]).
-export([quoted_string/1, split_quoted_strings/1, guess_mime/1]).

%% Media types

%% The provided type that suits an Accept header best, or `none'. Where the
%% client likes two equally, the one that it names later wins, as on a real
%% node (types are sorted by quality and the list is turned round).
choose_media_type(Provided, Accept) ->
    Types = [with_params(Type) || Type <- Provided],
    first_match(accepted_types(Accept), Types).

first_match([], _Provided) ->
    none;
first_match([{_Quality, Type, Params} | Rest], Provided) ->
    case [P || {T, Ps} = P <- Provided, type_matches(Type, T),
               (Type =:= "*/*" andalso Params =:= []) orelse
                   lists:sort(Params) =:= lists:sort(Ps)] of
        [Best | _] -> format_content_type(Best);
        [] -> first_match(Rest, Provided)
    end.

accepted_types(Accept) ->
    try
        Types = [quality(media_type_to_detail(string:trim(T)))
                 || T <- string:tokens(Accept, ",")],
        lists:reverse(lists:keysort(1, Types))
    catch
        error:_ -> []
    end.

quality({Type, Params}) ->
    case lists:keytake("q", 1, Params) of
        {value, {_, Q}, Rest} -> {number(Q), Type, Rest};
        false -> {1.0, Type, Params}
    end.

type_matches("*", _) -> true;
type_matches("*/*", _) -> true;
type_matches(Type, Type) -> true;
%% A pattern of slashes alone fails, as on a real node.
type_matches(Pattern, Type) ->
    [Main | Rest] = string:tokens(Pattern, "/"),
    Rest =:= ["*"] andalso lists:prefix(Main ++ "/", Type).

with_params({Type, Params}) ->
    {Type, [{to_list(K), V} || {K, V} <- Params]};
with_params(Type) ->
    {Type, []}.

format_content_type({Type, Params}) ->
    Type ++ lists:append(["; " ++ to_list(K) ++ "=" ++ V || {K, V} <- Params]);
format_content_type(Type) ->
    Type.

media_type_to_detail(Type) ->
    mochiweb_util:parse_header(Type).

%% Charsets and encodings

choose_charset(Provided, Accept) -> choose(Provided, Accept, "ISO-8859-1").

choose_encoding(Provided, Accept) -> choose(Provided, Accept, "identity").

%% The provided name that the client likes best. "*" stands for any; the
%% default is acceptable unless the client says otherwise.
choose(Provided, Header, Default) ->
    Accepted = lists:reverse(lists:sort([weighted(T) || T <- string:tokens(Header, ",")])),
    Refused = [Name || {Q, Name} <- Accepted, Q == 0.0],
    Wanted = [Name || {Q, Name} <- Accepted, Q > 0.0],
    Left = [P || P <- Provided, not member_nocase(P, Refused)],
    case [P || Name <- Wanted, P <- Left, same_nocase(P, Name)] of
        [Best | _] ->
            Best;
        [] ->
            case lists:member("*", Wanted) of
                true when Left =/= [] ->
                    hd(Left);
                _ ->
                    DefaultOk = not lists:member("*", Refused)
                        andalso lists:member(Default, Left),
                    case DefaultOk of
                        true -> Default;
                        false -> none
                    end
            end
    end.

weighted(Token) ->
    case [string:trim(Part) || Part <- string:tokens(Token, ";")] of
        [Name, "q=" ++ Q] -> {number(Q), Name};
        [Name | _] -> {1.0, Name};
        [] -> {0.0, ""}
    end.

member_nocase(Name, Names) -> lists:any(fun(N) -> same_nocase(Name, N) end, Names).

same_nocase(A, B) -> string:to_lower(A) =:= string:to_lower(B).

number("." ++ _ = Fraction) -> number("0" ++ Fraction);
number(Text) ->
    case string:to_float(Text) of
        {Float, ""} -> Float;
        {error, no_float} -> float(list_to_integer(string:trim(Text, trailing, ".")))
    end.

%% Dates

convert_request_date(Text) ->
    try
        httpd_util:convert_request_date(Text)
    catch
        error:_ -> bad_date
    end.

compare_ims_dates(A, B) -> A > B.

rfc1123_date({{Year, Month, Day}, {Hour, Minute, Second}}) ->
    Weekday = calendar:day_of_the_week(Year, Month, Day),
    lists:flatten(
      io_lib:format("~s, ~2..0w ~s ~4..0w ~2..0w:~2..0w:~2..0w GMT",
                    [httpd_util:day(Weekday), Day, httpd_util:month(Month), Year,
                     Hour, Minute, Second])).

%% Quoting

quoted_string([$" | _] = Quoted) -> Quoted;
quoted_string(Text) -> [$" | escape(Text)].

escape([]) -> [$"];
escape([$\\, C | Rest]) -> [$\\, C | escape(Rest)];
escape([$" | Rest]) -> [$\\, $" | escape(Rest)];
escape([C | Rest]) -> [C | escape(Rest)].

%% Every quoted string in a list of them, without quotes; what stands between
%% (a weak validator's W/ too) is skipped.
split_quoted_strings([]) -> [];
split_quoted_strings([$" | Rest]) ->
    {Text, Rest1} = unescape(Rest, []),
    [Text | split_quoted_strings(Rest1)];
split_quoted_strings([_ | Rest]) -> split_quoted_strings(Rest).

unescape([], Acc) -> {lists:reverse(Acc), []};
unescape([$\\, C | Rest], Acc) -> unescape(Rest, [C | Acc]);
unescape([$" | Rest], Acc) -> {lists:reverse(Acc), Rest};
unescape([C | Rest], Acc) -> unescape(Rest, [C | Acc]).

guess_mime(File) -> mochiweb_util:guess_mime(File).

to_list(A) when is_atom(A) -> atom_to_list(A);
to_list(L) -> L.
