%% @doc What to do with a request for a key, given who owns it and who is up. Knows nothing of HTTP,
%% of processes or of time: the same decision serves any protocol, and a test can ask it everything.
-module(ringtail_decide).

-export([decide/5, is_here/3]).
-export_type([outcome/0, name/0]).

%% Nodes of another cluster are no atoms here.
-type name() :: node() | binary().

-type outcome() ::
        serve                                   % here
      | {proxy, [name()]}                       % on the first of these that stays up
      %% the client goes to the first of these that has an address
      | {redirect, [name()]}
      | {refuse, not_primary | no_primary}.

%% @doc `Primaries' are the key's owners in preflist order, up or not; a node may be there twice.
%% `Turn' is any number that varies between requests, for spreading them over several primaries that
%% are up.
%%
%% A primary that is down is never replaced by a fallback here: that is the whole point of this
%% route.
-spec decide(Primaries :: [{Index :: term(), name()}], Self :: name(), Up :: [name()],
             Route :: ringtail_config:route(), Turn :: non_neg_integer()) -> outcome().
decide(Primaries, Self, Up, Route, Turn) ->
    case is_here(Primaries, Self, lists:member(Self, Up)) of
        true -> serve;
        false -> elsewhere(up_once(Primaries, Up, []), Route, Turn)
    end.

%% @doc Whether the answer is `serve', whatever else there is to know about the request.
-spec is_here(Primaries :: [{Index :: term(), name()}], Self :: name(), IsUp :: boolean()) ->
          boolean().
is_here(Primaries, Self, IsUp) ->
    IsUp andalso lists:keymember(Self, 2, Primaries).

elsewhere([], _, _) -> {refuse, no_primary};
elsewhere(_, local, _) -> {refuse, not_primary};
elsewhere(Nodes, Route, Turn) -> {Route, rotate(Nodes, Turn)}.

%% In preflist order, each node once.
up_once([{_, Node} | Rest], Up, Found) ->
    case lists:member(Node, Up) andalso not lists:member(Node, Found) of
        true -> up_once(Rest, Up, [Node | Found]);
        false -> up_once(Rest, Up, Found)
    end;
up_once([], _, Found) ->
    lists:reverse(Found).

rotate([Only], _) ->
    [Only];
rotate(Nodes, Turn) ->
    {Before, From} = lists:split(Turn rem length(Nodes), Nodes),
    From ++ Before.
