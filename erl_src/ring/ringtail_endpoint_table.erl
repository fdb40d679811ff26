%% @doc Where clients reach each node: as the ring says, and for nodes that published nothing as
%% they say themselves.
-module(ringtail_endpoint_table).

-export([new/0, of_node/2, down/1]).

-define(TABLE, ?MODULE).
-define(ASK_MS, 2000).

%% @doc Makes the table of what nodes said, owned by the caller: it goes when the application does.
-spec new() -> ok.
new() ->
    ?TABLE = ets:new(?TABLE, [named_table, public, {read_concurrency, true}]),
    ok.

%% @doc Where to reach a node by this scheme: from the ring, else asked of the node itself once
%% and kept until it goes down. The asking is done by the caller, so that one slow node holds up
%% nobody else.
-spec of_node(node(), ringtail_endpoints:scheme()) ->
          {ok, {Host :: string(), inet:port_number()}} | {error, no_endpoint | unreachable}.
of_node(Node, Scheme) ->
    case endpoints(Node) of
        {ok, Endpoints} ->
            case ringtail_endpoints:pick(Scheme, Endpoints) of
                {ok, Address} -> {ok, Address};
                none -> {error, no_endpoint}
            end;
        {error, _} = Error ->
            Error
    end.

endpoints(Node) ->
    case ringtail_ring:endpoints(Node) of
        [_ | _] = Published -> {ok, Published};
        [] -> asked(Node)
    end.

asked(Node) ->
    try ets:lookup(?TABLE, Node) of
        [{Node, Endpoints}] -> {ok, Endpoints};
        [] -> ask(Node)
    catch
        error:badarg -> {error, unreachable}    % being stopped
    end.

%% The plain configuration is asked for, not one of our functions, so that a node without Ringtail
%% can answer too.
ask(Node) ->
    try [{Scheme, setting(Node, Scheme)} || Scheme <- [http, https, pb]] of
        Configured ->
            Endpoints = ringtail_endpoints:from_config(Node, Configured),
            _ = (catch ets:insert(?TABLE, {Node, Endpoints})),
            {ok, Endpoints}
    catch
        throw:unreachable -> {error, unreachable}
    end.

setting(Node, Scheme) ->
    case rpc:call(Node, application, get_env, [riak_api, Scheme], ?ASK_MS) of
        {ok, Listed} when is_list(Listed) -> Listed;
        {badrpc, _} -> throw(unreachable);
        _ -> []
    end.

%% @doc These nodes went down: they may come back elsewhere.
-spec down([node()]) -> ok.
down(Nodes) ->
    _ = [catch ets:delete(?TABLE, Node) || Node <- Nodes],
    ok.
