%% @doc What the object route does in a VM that is no node: has the companion send the request to a primary, sends the
%% client there, or says who the primaries are. The counterpart of `ringtail_redirect'.
-module(ringtail_far_hop).

-export([object/3, key_preflist/3, locate/4]).

%% What Riak gets besides the time it allows a request. In ms.
-define(EXTRA_MS, 5000).
-define(DOCUMENT_MS, 10000).

%% @doc Does with the request what the route says, and says how it ends.
-spec object(ringtail_clusters:name(), ringtail_config:route(), ringtail_wm:reqdata()) -> {halt, 100..599, ringtail_wm:reqdata()}.
object(Name, Route, RD) ->
    case {ringtail_body:too_large(RD), ringtail_clusters:far(Name)} of
        {true, _} -> too_large(RD);
        {false, {ok, Far}} when Route =:= proxy -> proxy(Far, RD);
        {false, {ok, Far}} -> elsewhere(Far, Name, Route, RD);
        {false, gone} -> refuse({not_configured, <<"the cluster has just been taken out of the configuration">>}, [], RD)
    end.

%% ---- Sending the request on ----

proxy(Far, RD) ->
    Goal = {object, bytes(bucket_type, RD), bytes(bucket, RD), bytes(key, RD)},
    ok = ringtail_count:add({proxy, []}),
    try
        request(Far, Goal, query(RD), ringtail_body:sendable(RD), ringtail_body:timeout(RD) + ?EXTRA_MS, RD)
    of
        {ok, Status, Headers, Body} -> {halt, Status, answer(Headers, Body, RD)};
        {error, Failure} -> refuse(Failure, [], RD)
    catch
        throw:{ringtail_body, too_large} -> too_large(RD)
    end.

too_large(RD) ->
    {Status, Told} = ringtail_body:refuse_too_large(RD),
    {halt, Status, Told}.

request(Far, Goal, Query, Body, Timeout, RD) ->
    Request = {wrq:method(RD), Goal, Query, headers(RD), Body},
    ringtail_far_request:request(Far, Request, Timeout, fun() -> ringtail_body:unread(RD) end).

%% The node's own headers speak of the node, as when it is asked itself.
answer(Headers, Body, RD) ->
    ringtail_far_answer:response(ringtail_wm:untold(ringtail_wm:source(RD), RD), Headers, Body).

%% What is meant for this hop stays here. The time is given anew by the companion, as what is left of it.
headers(RD) ->
    Given = [{bytes(Name), bytes(Value)} || {Name, Value} <- mochiweb_headers:to_list(wrq:req_headers(RD))],
    [Header || {Name, _} = Header <- ringtail_http:end_to_end(Given),
               not lists:member(string:to_lower(binary_to_list(Name)),
                                ["host", "expect", "x-ringtail-route", "x-forwarded-host", "x-forwarded-server"])].

query(RD) ->
    case lists:dropwhile(fun(C) -> C =/= $? end, wrq:raw_path(RD)) of
        [] -> "";
        [$? | Text] -> joined([Pair || Pair <- string:tokens(Text, "&"), not ours(Pair)])
    end.

ours(Pair) ->
    Name = lists:takewhile(fun(C) -> C =/= $= end, Pair),
    lists:member(mochiweb_util:unquote(Name), ["route", "timeout"]).

joined([]) -> "";
joined(Pairs) -> [$? | string:join(Pairs, "&")].

%% ---- Sending the client on ----

elsewhere(Far, Name, Route, RD) ->
    ringtail_body:unread(RD),
    case locate(Far, bytes(bucket_type, RD), {bytes(bucket, RD), bytes(key, RD)}, ?DOCUMENT_MS) of
        {ok, {Kind, Located}} -> decided(Kind, Located, Name, Route, RD);
        {error, Failure} -> refuse(Failure, [], RD)
    end.

%% @doc The primaries of a key.
-spec locate(ringtail_far:far(), Type :: binary(), {Bucket :: binary(), Key :: binary()}, pos_integer()) ->
          {ok, ringtail_far:located()} | ringtail_far:failure().
locate(Far, Type, {Bucket, Key}, Timeout) ->
    ringtail_far:locate(Far, Type, Bucket, Key, Timeout).

decided(Kind, Located, Name, Route, RD) ->
    {_, _, Turn} = os:timestamp(),
    Primaries = [{Index, Node} || {Index, {Node, _, _, _}, _} <- Located],
    Up = [Node || {_, {Node, _, _, _}, true} <- Located],
    Outcome = ringtail_decide:decide(Primaries, none, Up, Route, Turn),
    ok = ringtail_count:add(Outcome),
    case Outcome of
        {redirect, Nodes} ->
            redirect(Nodes, Located, Name, RD);
        {refuse, no_primary} ->
            refuse(503, no_primary, "no primary of the key is up; try again when one is back", Located, RD);
        {refuse, not_primary} when Kind =:= any ->
            refuse(421, not_primary, "only a node can tell the primaries of this bucket, which has a keyfun of its own; ask one of "
                   "'primaries' with route=proxy", Located, RD);
        {refuse, not_primary} ->
            refuse(421, not_primary, "this is no node of the cluster; ask one of 'primaries'", Located, RD)
    end.

redirect(Nodes, Located, Name, RD) ->
    Scheme = wrq:scheme(RD),
    case [Address || Node <- Nodes, {_, {Known, _, _, Endpoints}, _} <- Located, Known =:= Node,
                     {ok, Address} <- [ringtail_endpoints:pick(Scheme, Endpoints)]] of
        [{Host, Port} | _] ->
            Location = ringtail_endpoints:url({Scheme, Host, Port}) ++ path(Name, RD),
            refuse(307, not_primary, "this is no node of the cluster; follow Location", Located,
                   wrq:set_resp_header("Location", Location, RD));
        [] ->
            refuse(503, no_endpoint, ["no primary publishes an ", atom_to_list(Scheme),
                                      " listener; add one to its configuration, or {ringtail, advertise}"], Located, RD)
    end.

%% The one path that every node has, and the cluster by its uuid where it is known, which every node knows.
path(Name, RD) ->
    Cluster = case ringtail_clusters:identity(Name) of
                  {ok, _, Uuid, _} -> binary_to_list(Uuid);
                  {error, _} -> "default"
              end,
    lists:append(["/riak/primary/clusters/", Cluster, "/types/", wrq:path_info(bucket_type, RD),
                  "/buckets/", wrq:path_info(bucket, RD), "/keys/", wrq:path_info(key, RD),
                  lists:dropwhile(fun(C) -> C =/= $? end, wrq:raw_path(RD))]).

%% ---- A key's preflist ----

%% @doc resource_exists of the key preflist: one of the cluster's nodes tells, by its own view of who is up.
-spec key_preflist(ringtail_clusters:name(), ringtail_wm:reqdata(), Context) -> ringtail_wm:result(Context).
key_preflist(Name, RD, Context) ->
    Path = lists:append(["/bucket_types/", wrq:path_info(bucket_type, RD), "/buckets/", wrq:path_info(bucket, RD),
                         "/keys/", wrq:path_info(key, RD), "/preflist"]),
    {halt, Status, Told} = case ringtail_clusters:far(Name) of
                               {ok, Far} -> told_preflist(Far, list_to_binary(Path), RD);
                               gone -> refuse({not_configured, <<"the cluster has just been taken out of the configuration">>}, [], RD)
                           end,
    {ringtail_wm:ending(Status), Told, Context}.

told_preflist(Far, Path, RD) ->
    case request(Far, {document, Path}, "", none, ?DOCUMENT_MS, RD) of
        {ok, Status, Headers, Body} -> {halt, Status, answer(Headers, Body, RD)};
        {error, Failure} -> refuse(Failure, [], RD)
    end.

%% ---- Failures ----

refuse({Code, Detail}, Located, RD) ->
    {Status, Name} = meaning(Code),
    refuse(Status, Name, Detail, Located, RD).

refuse(Status, Code, Message, Located, RD) ->
    More = [{primaries, [primary(Primary) || Primary <- Located]} || Located =/= []],
    {_, Told, _} = ringtail_wm:refuse(Status, Code, Message, More, RD, none),
    {halt, Status, Told}.

primary({Index, {Node, Uuid, Status, Endpoints}, Up}) ->
    {struct, [{node, Node}] ++ [{index, list_to_binary(integer_to_list(Index))} || is_integer(Index)] ++
         [{up, Up}, {uuid, Uuid}, {status, Status}, {endpoints, ringtail_endpoints:to_json(Endpoints)}]}.

%% What a failure of the companion is to the client: its own mistake, a cluster that cannot be reached or serve it now, or
%% an answer that did not come.
meaning(unavailable) -> {503, no_primary};
meaning(no_bucket_type) -> {404, no_type};
meaning(bad_request) -> {400, bad_request};
meaning(local_io) -> {400, bad_body};
meaning(timeout) -> {504, timeout};
meaning(Code) when Code =:= unknown_outcome; Code =:= refused; Code =:= bad_answer; Code =:= broken_off;
                   Code =:= companion_died; Code =:= internal ->
    {502, Code};
meaning(Code) -> {503, Code}.

bytes(Name, RD) -> ringtail_wm:path_bytes(Name, RD).

bytes(Text) when is_atom(Text) -> atom_to_binary(Text, latin1);
bytes(Text) -> iolist_to_binary(Text).
