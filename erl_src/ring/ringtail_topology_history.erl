%% @doc What a snapshot says about the cluster, and the history of snapshots. Pure.
-module(ringtail_topology_history).

-export([is_token/1, history/0, remember/3, asked/3]).
-export_type([token/0, history/0, member/0]).

-type token() :: binary().
%% Nodes of another cluster are no atoms here, nor are words that came from there.
-type member() :: {node() | binary(), Uuid :: binary(), Status :: atom() | binary(),
                   [ringtail_endpoints:endpoint()]}.

%% As many as a client may lag behind and still be told the difference only.
-define(KEPT, 256).

%% Newest first. The canonical texts are large binaries, shared and not copied.
-opaque history() :: [{token(), Canonical :: binary()}].

-spec history() -> history().
history() -> [].

%% @doc Adds a snapshot as the newest. One that is seen again (content can go back under an equal
%% ordinal) moves to the front: between it and what came before the difference is computed from
%% content anyway.
-spec remember(token(), Canonical :: binary(), history()) -> history().
remember(Token, _, [{Token, _} | _] = History) ->
    History;
remember(Token, Canonical, History) ->
    lists:sublist([{Token, Canonical} | lists:keydelete(Token, 1, History)], ?KEPT).

%% @doc Whether this is a token in form: `ORDINAL-DIGEST'.
-spec is_token(string()) -> boolean().
is_token(Text) ->
    case string:tokens(Text, "-") of
        [Ordinal, Digest] when length(Digest) =:= 16, length(Ordinal) + 17 =:= length(Text) ->
            lists:all(fun(C) -> C >= $0 andalso C =< $9 end, Ordinal)
                andalso lists:all(fun(C) ->
                                          (C >= $0 andalso C =< $9) orelse (C >= $a
                                                                            andalso C =< $f) end,
                                                                            Digest);
        _ ->
            false
    end.

%% @doc Which answer a request for `From' to `To' gets. A `From' that is not known here (too old,
%% another node's past, another cluster's) gets the document, since from it nothing can be left
%% out.
-spec asked(From :: none | token(), To :: current | token(), history()) ->
          {document, token(), Canonical :: binary()}
        | {difference, {token(), Canonical :: binary()}, {token(), Canonical :: binary()}}
        | {error, empty | unknown_to | reversed}.
asked(_, _, []) ->
    {error, empty};
asked(From, current, [{Newest, _} | _] = History) ->
    asked(From, Newest, History);
asked(From, To, History) ->
    case {find(From, History, 0), find(To, History, 0)} of
        {_, unknown} -> {error, unknown_to};
        {unknown, {_, Canonical}} -> {document, To, Canonical};
        {{FromAge, _}, {ToAge, _}} when FromAge < ToAge -> {error, reversed};
        {{_, FromCanonical}, {_, ToCanonical}} ->
            {difference, {From, FromCanonical}, {To, ToCanonical}}
    end.

find(Token, [{Token, Canonical} | _], Age) -> {Age, Canonical};
find(Token, [_ | Older], Age) -> find(Token, Older, Age + 1);
find(_, [], _) -> unknown.
