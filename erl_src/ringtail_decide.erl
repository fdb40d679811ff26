%% @doc What to do with a request for a key, given who owns it and who is up. Knows nothing of HTTP, of processes or of
%% time: the same decision serves any protocol, and a test can ask it everything.
-module(ringtail_decide).

-export([decide/6, is_here/3]).
-export_type([outcome/0, name/0]).

%% Nodes of another cluster are no atoms here.
-type name() :: node() | binary().

-type outcome() ::
        serve                                   % here
      | {proxy, [name()]}                       % to the first of these that can be reached
      | {redirect, [name()]}                    % the client goes to the first of these that has an address
      | {refuse, not_primary | no_primary}.

%% @doc `Primaries' are the key's owners in preflist order, up or not; a node may be there twice. `Forwarded' says that
%% another node sent the request: it is never sent on. `Turn' is any number that varies between requests, for spreading
%% them over several primaries that are up.
%%
%% A primary that is down is never replaced by a fallback here: that is the whole point of this route.
-spec decide(Primaries :: [{Index :: term(), name()}], Self :: name(), Up :: [name()],
             Route :: ringtail_config:route(), Forwarded :: boolean(), Turn :: non_neg_integer()) -> outcome().
decide(Primaries, Self, Up, Route, Forwarded, Turn) ->
    case is_here(Primaries, Self, lists:member(Self, Up)) of
        true ->
            serve;
        false ->
            case lists:keymember(Self, 2, Primaries) of
                false when Forwarded -> {refuse, not_primary};
                _ -> elsewhere(Primaries, Up, Route, Forwarded, Turn)
            end
    end.

%% @doc Whether the answer is `serve', whatever else there is to know about the request.
-spec is_here(Primaries :: [{Index :: term(), name()}], Self :: name(), IsUp :: boolean()) -> boolean().
is_here(Primaries, Self, IsUp) ->
    IsUp andalso lists:keymember(Self, 2, Primaries).

elsewhere(Primaries, Up, Route, Forwarded, Turn) ->
    case up_once(Primaries, Up, []) of
        [] -> {refuse, no_primary};
        _ when Forwarded -> {refuse, not_primary};
        _ when Route =:= local -> {refuse, not_primary};
        Nodes -> {Route, rotate(Nodes, Turn)}
    end.

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
