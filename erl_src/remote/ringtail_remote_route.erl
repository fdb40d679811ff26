%% @doc What the object route does in a VM that is no node: has the companion send the request to a
%% primary, sends the client there, or says who the primaries are. The counterpart of
%% `ringtail_redirect'.
-module(ringtail_remote_route).

-export([object/3, key_preflist/2, path_bytes/2]).

%% What Riak gets besides the time it allows a request. In ms.
-define(EXTRA_MS, 5000).
-define(DOCUMENT_MS, 10000).
%% Riak waits for 100 ms more, and from here on no timer goes so far: it ends in a 500. In ms.
-define(NO_TIMER_MS, 16#ffffffff - 99).

%% @doc Does with the request what the route says, and says how it ends.
-spec object(ringtail_remote_clusters:name(), ringtail_config:route(), ringtail_reply:reqdata()) ->
          ringtail_reply:ending().
object(Name, Route, RD) ->
    case {ringtail_body:too_large(RD), ringtail_remote_clusters:far(Name), timeout(RD)} of
        {true, _, _} -> ringtail_body:refuse_too_large(RD);
        {_, gone, _} -> gone(RD);
        {_, _, {refuse, Status, Message}} -> refuse(Status, bad_timeout, Message, [], RD);
        {_, {ok, Far}, {ok, Timeout}} when Route =:= proxy -> proxy(Name, Far, Timeout, RD);
        {_, {ok, Far}, {ok, _}} -> elsewhere(Far, Name, Route, RD)
    end.

gone(RD) ->
    refuse({not_configured, <<"the cluster was just taken out of the configuration">>}, [], RD).

%% The time that the request gives Riak. What Riak would not take never gets as far as a timer here.
timeout(RD) ->
    try list_to_integer(wrq:get_qs_value("timeout", "1", RD)) of
        Given when Given >= ?NO_TIMER_MS ->
            {refuse, 500, "timeout is more than any timer takes: give less, or none"};
        Given when Given > 0 ->
            {ok, ringtail_body:timeout(RD) + ?EXTRA_MS};
        _ ->
            {refuse, 503, "no time was given: give timeout milliseconds, or leave it out"}
    catch
        error:_ -> {refuse, 400, "timeout must be a number of milliseconds"}
    end.

%% ---- Sending the request on ----

proxy(Name, Far, Timeout, RD) ->
    ok = ringtail_count:add({proxy, []}),
    Pause = ringtail_config:client_pause(),
    try
        {Body, Unread} = ringtail_remote_body:begun(ringtail_body:sendable(RD), Pause, RD),
        Goal = {object, bytes(bucket_type, RD), bytes(bucket, RD), bytes(key, RD)},
        Request = {wrq:method(RD), Goal, query(RD), fields(Name, RD), Body},
        ringtail_remote_request:request(Far, Request, Timeout, Unread)
    of
        Answer -> answered(Answer, Name, RD)
    catch
        throw:{ringtail_body, {too_large, Rest}} ->
            ringtail_body:refuse_too_large(Rest, RD);
        throw:{ringtail_body, unreadable} ->
            ringtail_body:refuse_unreadable(RD);
        throw:{ringtail_remote_body, stalled} ->
            ringtail_remote_body:refuse_stalled(Pause, RD)
    end.

fields(Name, RD) ->
    Given = mochiweb_headers:to_list(wrq:req_headers(RD)),
    ringtail_remote_headers:request_fields(Given, ringtail_remote_clusters:scheme(Name)).

answered({ok, Status, Headers, Body}, Name, RD) ->
    case ringtail_remote_headers:has_field("x-ringtail-cluster", Headers) of
        %% The node's own headers speak of the node, as when it is asked itself.
        true ->
            Prepared = ringtail_remote_clusters:prepared_headers(Name),
            Untold = ringtail_reply_headers:unset(Prepared, RD),
            {halt, Status, ringtail_remote_answer:response(Untold, Headers, Body)};
        false ->
            drop(Body),
            refuse(Status, refused, unseen(Status), [], RD)
    end;
answered({error, Failure}, _, RD) ->
    refuse(Failure, [], RD).

%% The node's server refuses what it does not even pass on to Ringtail.
unseen(Status) when Status =:= 400; Status =:= 413; Status =:= 414; Status =:= 431 ->
    "nothing was done: the path, or one of the headers, is longer than a node takes";
unseen(_) ->
    "nothing was done: the node's server refused the request before Ringtail was asked".

drop({stream, _, Next}) -> ringtail_body:drain(Next);
drop(_) -> ok.

%% The companion gives the time anew, as what is left of it.
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
    Located = ringtail_remote:locate(Far, bytes(bucket_type, RD), bytes(bucket, RD), bytes(key, RD),
                                  ?DOCUMENT_MS),
    case Located of
        {ok, {Kind, Places}} -> decided(Kind, Places, Name, Route, RD);
        {error, Failure} -> refuse(Failure, [], RD)
    end.

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
            refuse(503, no_primary, "no primary of the key is up; try again when one is back",
                   Located, RD);
        {refuse, not_primary} when Kind =:= any ->
            refuse(421, not_primary, "only a node can tell the primaries of this bucket, which has "
                   "a keyfun of its own; ask one of 'primaries' with route=proxy", Located, RD);
        {refuse, not_primary} ->
            refuse(421, not_primary, "this is no node of the cluster; ask one of 'primaries'",
                   Located, RD)
    end.

redirect(Nodes, Located, Name, RD) ->
    Scheme = wrq:scheme(RD),
    Reachable = [Address || Node <- Nodes,
                            {_, {Known, _, _, Endpoints}, _} <- Located, Known =:= Node,
                            {ok, Address} <- [ringtail_endpoints:pick(Scheme, Endpoints)]],
    case {Reachable, ringtail_remote_clusters:identity(Name)} of
        {[Address | _], {ok, _, Uuid, _}} ->
            refuse(307, not_primary, "this is no node of the cluster; follow Location", Located,
                   ringtail_redirect:location(Address, Uuid, RD));
        {[], _} ->
            Message = ["no primary publishes an ", atom_to_list(Scheme), " listener; add one to "
                       "its configuration, or {ringtail, advertise}"],
            refuse(503, no_endpoint, Message, Located, RD);
        {_, {error, Failure}} ->
            refuse(Failure, Located, RD)
    end.

%% ---- A key's preflist ----

%% @doc The preflist of the key that the path names: one of the cluster's nodes tells, by its own
%% view of who is up.
-spec key_preflist(ringtail_remote_clusters:name(), ringtail_reply:reqdata()) ->
          ringtail_reply:ending().
key_preflist(Name, RD) ->
    case ringtail_remote_clusters:far(Name) of
        {ok, Far} -> told_preflist(Name, Far, RD);
        gone -> gone(RD)
    end.

told_preflist(Name, Far, RD) ->
    Path = lists:append(["/bucket_types/", wrq:path_info(bucket_type, RD),
                         "/buckets/", wrq:path_info(bucket, RD),
                         "/keys/", wrq:path_info(key, RD), "/preflist"]),
    Goal = {document, list_to_binary(Path)},
    Request = {wrq:method(RD), Goal, "", fields(Name, RD), none},
    Unread = fun() -> ringtail_body:unread(RD) end,
    answered(ringtail_remote_request:request(Far, Request, ?DOCUMENT_MS, Unread), Name, RD).

%% ---- Failures ----

refuse({Code, Detail}, Located, RD) ->
    {Status, Name} = meaning(Code),
    refuse(Status, Name, Detail, Located, RD).

refuse(Status, Code, Message, Located, RD) ->
    More = [{primaries, [primary(Primary) || Primary <- Located]} || Located =/= []],
    {_, Told, _} = ringtail_reply:refuse(Status, Code, Message, More, RD, none),
    {halt, Status, Told}.

primary({Index, {Node, _, _, _} = Member, IsUp}) when is_integer(Index) ->
    ringtail_member_json:primary(Index, Node, IsUp, Member);
primary({_, {Node, _, _, _} = Member, IsUp}) ->
    ringtail_member_json:primary(unknown, Node, IsUp, Member).

%% What a failure of the companion is to the client: its own mistake, a cluster that cannot be
%% reached or serve it now, or an answer that did not come.
meaning(unavailable) -> {503, no_primary};
meaning(no_bucket_type) -> {404, no_type};
meaning(bad_request) -> {400, bad_request};
meaning(local_io) -> {400, bad_body};
meaning(timeout) -> {504, timeout};
meaning(Code) when Code =:= unknown_outcome; Code =:= refused; Code =:= bad_answer;
                   Code =:= broken_off; Code =:= companion_died; Code =:= internal ->
    {502, Code};
meaning(Code) -> {503, Code}.

bytes(Name, RD) -> path_bytes(Name, RD).

%% @doc A path segment as the bytes that Riak stores.
-spec path_bytes(atom(), ringtail_reply:reqdata()) -> binary().
path_bytes(Name, RD) ->
    list_to_binary(mochiweb_util:unquote(wrq:path_info(Name, RD))).
