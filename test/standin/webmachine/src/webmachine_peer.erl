%% @doc Test support: who is at the other end. A peer on a private network is
%% taken for a proxy and believed when it names the client: the first address
%% of `Forwarded' that is not private, else that of `X-Forwarded-For' (for this
%% end, the last). As in the webmachine of Riak 3.2; 2.x knows the latter header
%% only and takes its last address.
-module(webmachine_peer).

-export([public/3]).

public(End, {ok, {Address, _Port}}, RD) ->
    Text = inet:ntoa(Address),
    case is_local(Text) andalso named(End, RD) of
        false -> Text;
        none -> Text;
        Named -> Named
    end;
public(_End, {error, _}, _RD) ->
    exit({shutdown, closed}).

named(End, RD) ->
    case choose(End, "forwarded", fun is_local_for/1, RD) of
        none -> choose(End, "x-forwarded-for", fun is_local/1, RD);
        Element -> address(string:split(Element, "for="))
    end.

choose(End, Header, IsLocal, RD) ->
    case wrq:get_req_header(Header, RD) of
        undefined -> none;
        Value ->
            All = string:tokens(Value, ", "),
            Ordered = case End of first -> All; last -> lists:reverse(All) end,
            case lists:dropwhile(IsLocal, Ordered) of
                [] -> none;
                [Found | _] -> Found
            end
    end.

%% An element without `for=' ends the connection, as on a real node.
address([_, "\"[" ++ Rest]) -> hd(string:split(Rest, "]"));
address([_, Rest]) -> hd(string:tokens(Rest, ":;")).

is_local_for(Element) ->
    case string:split(Element, "for=") of
        [_, "\"[" ++ V6] -> is_local(V6);
        [_, V4] -> is_local(V4);
        [_] -> false
    end.

is_local("127.0.0.1") -> true;
is_local("10." ++ _) -> true;
is_local("192.168." ++ _) -> true;
is_local("172." ++ Rest) ->
    try list_to_integer(hd(string:tokens(Rest, "."))) of
        N -> N > 15 andalso N < 32
    catch
        error:_ -> false
    end;
is_local("::1") -> true;
is_local("fc00:" ++ _) -> true;
is_local("fe80:" ++ _) -> true;
is_local(_) -> false.
