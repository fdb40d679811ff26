%% @doc Which headers go on and which end at this hop, where a request or an answer is passed on.
%% Pure.
-module(ringtail_http).

-export([end_to_end/1]).
-export_type([headers/0]).

-type headers() :: [{Name :: binary(), Value :: binary()}].

%% @doc The headers that go on, in their order and number. Content-Length is not among them: how
%% long the body is goes on beside it, since whoever sends the body frames it.
-spec end_to_end(headers()) -> headers().
end_to_end(Headers) ->
    Named = [lower(Value) || Value <- values(<<"connection">>, Headers)],
    [Header || {Name, _} = Header <- Headers, is_end_to_end(lower(Name), Named)].

is_end_to_end(<<"content-length">>, _) -> false;
is_end_to_end(<<"connection">>, _) -> false;
is_end_to_end(<<"keep-alive">>, _) -> false;
is_end_to_end(<<"proxy-authenticate">>, _) -> false;
is_end_to_end(<<"proxy-authorization">>, _) -> false;
is_end_to_end(<<"proxy-connection">>, _) -> false;
is_end_to_end(<<"te">>, _) -> false;
is_end_to_end(<<"trailer">>, _) -> false;
is_end_to_end(<<"transfer-encoding">>, _) -> false;
is_end_to_end(<<"upgrade">>, _) -> false;
%% Nobody names away what says whose answer it is.
is_end_to_end(<<"x-ringtail-", _/binary>>, _) -> true;
is_end_to_end(Name, Named) -> not lists:member(Name, Named).

%% The elements of a header given as one or more comma-separated lists; `Name' in lower case.
values(Name, Headers) ->
    [Element || {Given, Value} <- Headers, byte_size(Given) =:= byte_size(Name),
                lower(Given) =:= Name, Element <- elements(Value)].

elements(Value) ->
    [Element || Part <- binary:split(Value, <<",">>, [global]),
                Element <- [trim(Part)], Element =/= <<>>].

trim(<<C, Rest/binary>>) when C =:= $\s; C =:= $\t -> trim(Rest);
trim(Bytes) -> trim_right(Bytes, byte_size(Bytes)).

trim_right(_, 0) -> <<>>;
trim_right(Bytes, Size) ->
    case binary:at(Bytes, Size - 1) of
        C when C =:= $\s; C =:= $\t -> trim_right(Bytes, Size - 1);
        _ -> binary:part(Bytes, 0, Size)
    end.

lower(Bytes) -> << <<(lower_char(C))>> || <<C>> <= Bytes >>.

lower_char(C) when C >= $A, C =< $Z -> C + 32;
lower_char(C) -> C.
