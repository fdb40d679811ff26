%% @doc The object route where the request is not answered by Riak's resource: the client is sent to
%% a primary, or is told who they are. The half of the routing that knows HTTP; `ringtail_decide' is
%% the half that does not.
-module(ringtail_redirect).

-export([route/2, leave/3, lost/3, no_type/2, location/3]).

%% @doc What the request wants done where this node is no primary; the default where it does not
%% say.
-spec route(ringtail_reply:reqdata(), Default) ->
          {ok, ringtail_config:route() | Default} | {error, Message :: iodata()}.
route(RD, Default) ->
    Given = case wrq:get_qs_value("route", RD) of
                undefined -> wrq:get_req_header("X-Ringtail-Route", RD);
                Query -> Query
            end,
    case Given of
        undefined -> {ok, Default};
        "proxy" -> {ok, proxy};
        "redirect" -> {ok, redirect};
        "local" -> {ok, local};
        _ -> {error, "route must be proxy, redirect or local"}
    end.

%% @doc Ends the request as was decided.
-spec leave({redirect, [node()]} | {refuse, not_primary | no_primary},
            [{non_neg_integer(), node()}], ringtail_reply:reqdata()) -> ringtail_reply:ending().
leave(Outcome, Primaries, RD) ->
    case ringtail_body:too_large(RD) of
        true -> ringtail_body:refuse_too_large(RD);
        false -> act(Outcome, Primaries, RD)
    end.

act({refuse, not_primary}, Primaries, RD) ->
    refuse(421, not_primary, "this node is no primary of the key; ask one of 'primaries'",
           Primaries, RD);
act({refuse, no_primary}, Primaries, RD) ->
    refuse(503, no_primary, "no primary of the key is up; try again when one is back",
           Primaries, RD);
act({redirect, Nodes}, Primaries, RD) ->
    redirect(first_reachable(Nodes, wrq:scheme(RD), []), Primaries, RD).

redirect({ok, Address}, Primaries, RD) ->
    {ok, _, Cluster, _} = ringtail_ring:identity(),
    refuse(307, not_primary, "this node is no primary of the key; follow Location", Primaries,
           location(Address, Cluster, RD));
redirect({error, Failures}, Primaries, RD) ->
    {Code, Message} = unreachable(Failures, wrq:scheme(RD)),
    refuse(503, Code, Message, Primaries, RD).

first_reachable([Node | Nodes], Scheme, Failures) ->
    case ringtail_endpoint_table:of_node(Node, Scheme) of
        {ok, Address} -> {ok, Address};
        {error, Reason} -> first_reachable(Nodes, Scheme, [{Node, Reason} | Failures])
    end;
first_reachable([], _, Failures) ->
    {error, lists:reverse(Failures)}.

%% @doc The answer's Location: this object at a node of that address. It is the one path that every
%% node has, whatever prefixes it is configured with, and the cluster by its uuid: a node of another
%% cluster that took over the address refuses it, where it would take `default' for its own.
-spec location({Host :: string(), inet:port_number()}, ClusterUuid :: binary(),
               ringtail_reply:reqdata()) -> ringtail_reply:reqdata().
location({Host, Port}, Uuid, RD) ->
    Path = ["/riak/primary/clusters/", binary_to_list(Uuid),
            "/types/", wrq:path_info(bucket_type, RD), "/buckets/", wrq:path_info(bucket, RD),
            "/keys/", wrq:path_info(key, RD),
            lists:dropwhile(fun(C) -> C =/= $? end, wrq:raw_path(RD))],
    Node = ringtail_endpoints:url({wrq:scheme(RD), Host, Port}),
    wrq:set_resp_header("Location", lists:append([Node | Path]), RD).

unreachable(Failures, Scheme) ->
    case [Node || {Node, unreachable} <- Failures] of
        [] ->
            {no_endpoint, ["no primary has an ", atom_to_list(Scheme),
                           " listener; add one to its configuration, or {ringtail, advertise}"]};
        Nodes ->
            Names = string:join([atom_to_list(Node) || Node <- Nodes], ", "),
            {no_primary, ["no primary could be reached: ", Names]}
    end.

%% @doc The answer when the primary that served the request was lost meanwhile.
-spec lost(ringtail_relay:lost(), node(), ringtail_reply:reqdata()) -> ringtail_reply:ending().
lost(unreachable, Node, RD) ->
    ended(503, no_primary,
          [atom_to_list(Node), " went down before it was asked; nothing was changed"], RD);
lost(down, Node, RD) ->
    ended(502, bad_gateway,
          [atom_to_list(Node), " went down before it had answered; ", known(RD)], RD);
lost(timeout, Node, RD) ->
    ended(504, timeout, [atom_to_list(Node), " did not answer in time; ", known(RD)], RD).

known(RD) ->
    case lists:member(wrq:method(RD), ['GET', 'HEAD']) of
        true -> "nothing was changed";
        false -> "whether the write was done is not known: read the key before trying again"
    end.

ended(Status, Code, Message, RD) ->
    {_, Told, _} = ringtail_reply:refuse(Status, Code, Message, RD, none),
    {halt, Status, Told}.

%% @doc The answer where there is no such bucket type.
-spec no_type(Detail :: binary(), ringtail_reply:reqdata()) -> ringtail_reply:ending().
no_type(Detail, RD) ->
    ended(404, no_type, Detail, RD).

refuse(Status, Code, Message, Primaries, RD) ->
    More = [{primaries, primaries_json(Primaries)}],
    {_, Told, _} = ringtail_reply:refuse(Status, Code, Message, More, RD, none),
    {halt, Status, Told}.

primaries_json(Primaries) ->
    Up = ringtail_ring:up(),
    Members = ringtail_ring:members(),
    [ringtail_member_json:primary(Index, Node, lists:member(Node, Up), member(Node, Members))
     || {Index, Node} <- Primaries].

member(Node, Members) ->
    case lists:keyfind(Node, 1, Members) of
        false -> unknown;
        Member -> Member
    end.
