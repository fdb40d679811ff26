%% @doc Where clients reach a node: `{Scheme, Host, Port}' with Scheme http, https or pb. Host and
%% port are never one string, because of IPv6. Pure, but for local/0 which reads this node's
%% configuration.
%%
%% A node publishes its endpoints in the ring, as metadata of its own membership, so that they
%% travel with the ring and every node says the same. The value is `{ringtail, 1, Endpoints}': a
%% later format gets a later number, and a node that does not know a number treats it as absent. A
%% member's metadata cannot be taken out of a ring again, so a node that publishes no more says
%% `{ringtail, 1, []}', which reads as nothing published.
-module(ringtail_endpoints).

-export([local/0, from_config/2, to_meta/1, from_meta/1, publish/2]).
-export([pick/2, url/1, to_json/1, meta_key/0]).
-export_type([endpoint/0, scheme/0]).

-type scheme() :: ringtail_endpoint:scheme().
-type endpoint() :: ringtail_endpoint:endpoint().
-type listeners() ::
        [{scheme(), [{inet:ip_address() | string() | binary(), inet:port_number()}]}].

-define(META_KEY, ringtail).
-define(META_VERSION, 1).

-spec meta_key() -> atom().
meta_key() -> ?META_KEY.

%% @doc This node's endpoints: what `{ringtail, advertise}' says, else its configured listeners.
-spec local() -> [endpoint()].
local() ->
    case ringtail_config:advertise() of
        undefined ->
            from_config(node(), [{Scheme, listeners(Scheme)} || Scheme <- [http, https, pb]]);
        Advertised ->
            bounded(Advertised)
    end.

%% Listeners are configured under riak_api, in early 2.x under riak_core.
listeners(Scheme) ->
    case [Listed || App <- [riak_api, riak_core],
                    {ok, Listed} <- [application:get_env(App, Scheme)], is_list(Listed)] of
        [First | _] -> First;
        [] -> []
    end.

%% @doc The endpoints of listeners as configured. One that listens on every address is reached where
%% the node's own name says; what is no listener is left out.
-spec from_config(node(), listeners()) -> [endpoint()].
from_config(Node, Configured) ->
    bounded([Endpoint || {Scheme, Listed} <- Configured, {Address, Port} <- few(Listed),
                         Host <- host(Node, Address),
                         Endpoint <- [{Scheme, Host, Port}], ringtail_endpoint:is_valid(Endpoint)]).

host(Node, Address) when is_tuple(Address) ->
    case catch inet_parse:ntoa(Address) of
        Text when is_list(Text) -> host(Node, Text);
        _ -> []
    end;
host(Node, Address) ->
    case ringtail_endpoint:text(Address) of
        <<"0.0.0.0">> -> [node_host(Node)];
        <<"::">> -> [node_host(Node)];
        <<"::0">> -> [node_host(Node)];
        Host -> [Host]
    end.

node_host(Node) ->
    case binary:split(atom_to_binary(Node, utf8), <<"@">>) of
        [_, Host] -> Host;
        [Name] -> Name
    end.

-spec to_meta([endpoint()]) -> term().
to_meta(Endpoints) ->
    {?META_KEY, ?META_VERSION, bounded(Endpoints)}.

%% @doc What a member's metadata says; anything else than our own format is no endpoint, and never
%% an error.
-spec from_meta(term()) -> [endpoint()].
from_meta({?META_KEY, ?META_VERSION, Listed}) ->
    lists:usort([Endpoint || Endpoint <- few(Listed), ringtail_endpoint:is_valid(Endpoint)]);
from_meta(_) ->
    [].

bounded(Endpoints) ->
    lists:sublist(lists:usort(Endpoints), ringtail_endpoint:most()).

%% As many as count of a list that may be no list, or improper: then none.
few(Listed) -> first(ringtail_endpoint:most(), Listed, []).

first(_, [], Taken) -> lists:reverse(Taken);
first(0, _, Taken) -> lists:reverse(Taken);
first(Count, [Element | Rest], Taken) -> first(Count - 1, Rest, [Element | Taken]);
first(_, _, _) -> [].

%% @doc For riak_core_ring_manager:ring_trans/2: writes this node's metadata, only where it
%% differs. A node that has nothing to take back writes nothing.
-spec publish(Ring :: term(), Meta :: term()) -> {new_ring, term()} | ignore.
publish(Ring, Meta) ->
    Member = lists:member(node(), riak_core_ring:all_members(Ring)),
    case riak_core_ring:get_member_meta(Ring, node(), ?META_KEY) of
        Meta -> ignore;
        undefined when Meta =:= {?META_KEY, ?META_VERSION, []} -> ignore;
        _ when Member ->
            {new_ring, riak_core_ring:update_member_meta(node(), Ring, node(), ?META_KEY, Meta)};
        _ -> ignore
    end.

%% @doc The first endpoint of a scheme.
-spec pick(scheme(), [endpoint()]) -> {ok, {Host :: string(), inet:port_number()}} | none.
pick(Scheme, Endpoints) ->
    case lists:keyfind(Scheme, 1, Endpoints) of
        {Scheme, Host, Port} -> {ok, {binary_to_list(Host), Port}};
        false -> none
    end.

%% @doc The start of a URL, without a slash at its end.
-spec url({scheme(), Host :: string() | binary(), inet:port_number()}) -> string().
url({Scheme, Host, Port}) when is_binary(Host) ->
    url({Scheme, binary_to_list(Host), Port});
url({Scheme, Host, Port}) ->
    Bracketed = case lists:member($:, Host) of
                    true -> "[" ++ Host ++ "]";
                    false -> Host
                end,
    atom_to_list(Scheme) ++ "://" ++ Bracketed ++ ":" ++ integer_to_list(Port).

%% @doc As mochijson2 wants it, and as the topology has it.
-spec to_json([endpoint()]) -> term().
to_json(Endpoints) ->
    [{struct, [{protocol, Scheme}, {host, Host}, {port, Port}]}
     || {Scheme, Host, Port} <- Endpoints].
