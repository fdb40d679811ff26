%% @doc The query string of a request, to which something is added before Riak reads it.
-module(ringtail_query).

-export([element/0, with/3]).
-compile({no_auto_import, [element/2]}).

%% @doc Which element of this webmachine's reqdata holds the parsed query string. There is no setter
%% for it, and the record differs between versions: a request with a known query string shows it.
-spec element() -> pos_integer().
element() ->
    Known = [{"ringtail", "query"}],
    RD = wrq:create('GET', {1, 1}, "/?ringtail=query", mochiweb_headers:empty()),
    [Element] = [N || N <- lists:seq(1, tuple_size(RD)), erlang:element(N, RD) =:= Known],
    Element.

%% @doc Adds to the query string what the client did not give.
-spec with([{string(), string()}], Element :: pos_integer(), ringtail_reply:reqdata()) ->
          ringtail_reply:reqdata().
with(Defaults, Element, RD) ->
    Given = wrq:req_qs(RD),
    case [Default || {Name, _} = Default <- Defaults, not lists:keymember(Name, 1, Given)] of
        [] -> RD;
        Added -> setelement(Element, RD, Given ++ Added)
    end.
