%% @doc Where clients reach a node: `{Scheme, Host, Port}' with Scheme http, https or pb. Host and port are never one
%% string, because of IPv6. Pure, but for local/0 which reads this node's configuration.
%%
%% A node publishes its endpoints in the ring, as metadata of its own membership, so that they travel with the ring and
%% every node says the same. The value is `{ringtail, 1, Endpoints}': a later format gets a later number, and a node
%% that does not know a number treats it as absent.
-module(ringtail_endpoints).

-export([local/0, from_config/2, to_meta/1, from_meta/1, publish/2]).
-export([pick/2, url/1, to_json/1, meta_key/0]).
-export_type([endpoint/0, scheme/0]).

-type scheme() :: http | https | pb.
-type endpoint() :: {scheme(), Host :: binary(), Port :: 1..65535}.
-type listeners() :: [{scheme(), [{inet:ip_address() | string() | binary(), inet:port_number()}]}].

-define(META_KEY, ringtail).
-define(META_VERSION, 1).

-spec meta_key() -> atom().
meta_key() -> ?META_KEY.

%% @doc This node's endpoints: what `{ringtail, advertise}' says, else its configured listeners.
-spec local() -> [endpoint()].
local() ->
    case ringtail_config:advertise() of
        undefined -> from_config(node(), [{Scheme, listeners(Scheme)} || Scheme <- [http, https, pb]]);
        Advertised -> lists:usort(Advertised)
    end.

%% Listeners are configured under riak_api, in early 2.x under riak_core.
listeners(Scheme) ->
    case [Listed || App <- [riak_api, riak_core], {ok, Listed} <- [application:get_env(App, Scheme)], is_list(Listed)] of
        [First | _] -> First;
        [] -> []
    end.

%% @doc The endpoints of listeners as configured. One that listens on every address is reached where the node's own name
%% says; what is no listener is left out.
-spec from_config(node(), listeners()) -> [endpoint()].
from_config(Node, Configured) ->
    lists:usort([{Scheme, Host, Port} || {Scheme, Listed} <- Configured,
                                         {Address, Port} <- Listed, is_integer(Port), Port > 0, Port < 65536,
                                         {ok, Host} <- [host(Node, Address)]]).

host(Node, Address) when is_tuple(Address) ->
    case inet_parse:ntoa(Address) of
        Text when is_list(Text) -> host(Node, Text);
        {error, _} -> error
    end;
host(Node, Address) when is_binary(Address) ->
    host(Node, binary_to_list(Address));
host(Node, "0.0.0.0") ->
    {ok, node_host(Node)};
host(Node, "::" ++ Zeros) when Zeros =:= ""; Zeros =:= "0" ->
    {ok, node_host(Node)};
host(_, [_ | _] = Address) ->
    {ok, list_to_binary(string:strip(string:strip(Address, left, $[), right, $]))};
host(_, _) ->
    error.

node_host(Node) ->
    case binary:split(atom_to_binary(Node, utf8), <<"@">>) of
        [_, Host] -> Host;
        [Name] -> Name
    end.

-spec to_meta([endpoint()]) -> term().
to_meta(Endpoints) ->
    {?META_KEY, ?META_VERSION, lists:usort(Endpoints)}.

%% @doc What a member's metadata says; anything else than our own format is no endpoint, and never an error.
-spec from_meta(term()) -> [endpoint()].
from_meta({?META_KEY, ?META_VERSION, Listed}) when is_list(Listed) ->
    try
        [Endpoint || {Scheme, Host, Port} = Endpoint <- Listed,
                     lists:member(Scheme, [http, https, pb]), is_binary(Host), byte_size(Host) > 0,
                     is_integer(Port), Port > 0, Port < 65536]
    catch
        error:_ -> []   % an improper list
    end;
from_meta(_) ->
    [].

%% @doc For riak_core_ring_manager:ring_trans/2: writes this node's metadata, only where it differs.
-spec publish(Ring :: term(), Meta :: term()) -> {new_ring, term()} | ignore.
publish(Ring, Meta) ->
    Member = lists:member(node(), riak_core_ring:all_members(Ring)),
    case riak_core_ring:get_member_meta(Ring, node(), ?META_KEY) of
        Meta -> ignore;
        _ when Member -> {new_ring, riak_core_ring:update_member_meta(node(), Ring, node(), ?META_KEY, Meta)};
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
    [{struct, [{protocol, Scheme}, {host, Host}, {port, Port}]} || {Scheme, Host, Port} <- Endpoints].
