%% @doc The headers that every answer bears. They are prepared once for each ring, for putting them
%% into an answer one by one costs several times what the decision of the object route does.
-module(ringtail_reply_headers).

-export([prepared/1, set/2, unset/2]).
-export_type([prepared/0, headers/0]).

-type headers() :: [{string(), string()}].
-opaque prepared() :: {Element :: pos_integer(), None :: term(), Headers :: term()}.

%% What an answer bears from us.
-define(OURS, ["X-Ringtail-Topology", "X-Ringtail-Node", "X-Ringtail-Cluster", "Age", "Warning"]).

%% @doc Into an answer, where they are prepared and it has none yet.
-spec set(prepared() | none, ringtail_reply:reqdata()) -> {ok, ringtail_reply:reqdata()} | unfit.
set({Element, None, Prepared}, RD) when element(Element, RD) =:= None ->
    {ok, setelement(Element, RD, Prepared)};
set(_, _) ->
    unfit.

%% @doc Out of an answer that speaks for itself.
-spec unset(prepared() | none, ringtail_reply:reqdata()) -> ringtail_reply:reqdata().
unset({Element, None, _}, RD) -> setelement(Element, RD, None);
unset(none, RD) -> lists:foldl(fun wrq:remove_resp_header/2, RD, ?OURS).

%% @doc These headers as set/2 puts them into an answer that has none yet. There is no setter for
%% all at once, and the record differs between versions: setting them shows where they are. Should
%% one keep them in more places than one, there is nothing to prepare. They are set in ascending
%% order: in the tree that mochiweb keeps them in, whatever Riak sets after them, all of which comes
%% before them, then meets the least of ours and not each.
-spec prepared(headers()) -> prepared() | none.
prepared(Headers) ->
    Without = wrq:create('GET', {1, 1}, "/", mochiweb_headers:empty()),
    With = wrq:set_resp_headers(lists:sort(Headers), Without),
    case [N || N <- lists:seq(1, tuple_size(With)), element(N, With) =/= element(N, Without)] of
        [Element] ->
            Texts = lists:append([[Name, Value] || {Name, Value} <- Headers]),
            {Element, element(Element, Without), in_binaries(Texts, element(Element, With))};
        _ ->
            none
    end.

%% These texts as binaries wherever tuples hold them. A string takes two words for each character,
%% and this is copied from a table for each request, and by each garbage collection during it.
in_binaries(Texts, Term) when is_tuple(Term) ->
    list_to_tuple([in_binaries(Texts, Element) || Element <- tuple_to_list(Term)]);
in_binaries(Texts, Term) ->
    case lists:member(Term, Texts) of
        true -> list_to_binary(Term);
        false -> Term
    end.

