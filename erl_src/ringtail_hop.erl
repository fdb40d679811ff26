%% @doc What the object route does where the request is not served on this node: sends it to a primary, sends the client
%% there, or refuses. The half of the routing that knows HTTP; `ringtail_decide' is the half that does not.
-module(ringtail_hop).

-export([route/2, decide/3, leave/4, too_large/1, body_too_large/1]).
%% What the hop to another cluster needs, too
-export([sendable/1, unread/1, timeout/1]).
-export_type([wanted/0]).

%% A body up to this size is read before it is sent on, so that it can be sent again to another node when the first
%% one says that it is no primary. Larger ones are passed through in pieces. In bytes.
-define(HELD_BODY, 1048576).
-define(PIECE, 65536).
%% What Riak allows a request by default, and what the hop gets besides. In ms.
-define(RIAK_TIMEOUT_MS, 60000).
-define(EXTRA_MS, 5000).
-define(REFRESH_MS, 1000).

-record(job, {rd :: ringtail_wm:reqdata(),
              route :: wanted(),
              scheme :: http | https,
              method :: atom() | string(),
              path :: string(),
              headers :: [{term(), term()}],
              body :: none | binary() | {length, non_neg_integer(), fun()} | {chunked, fun()},
              options :: [{atom(), term()}],
              cluster :: string(),
              primaries :: [{non_neg_integer(), node()}],
              refreshed = false :: boolean(),
              failures = [] :: [{node(), term()}]}).          % newest first

%% What the request itself wants, or what is configured, which is looked up only where it matters.
-type wanted() :: configured | ringtail_config:route().

-type left() :: serve | {halt, 100..599, ringtail_wm:reqdata()}.

%% @doc What the request wants done where this node is no primary; the default where it does not say.
-spec route(ringtail_wm:reqdata(), Default) -> {ok, ringtail_config:route() | Default} | {error, Message :: iodata()}.
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

-spec decide([{non_neg_integer(), node()}], wanted(), ringtail_wm:reqdata()) -> ringtail_decide:outcome().
decide(Primaries, Route, RD) ->
    {_, _, Turn} = os:timestamp(),
    Forwarded = wrq:get_req_header("X-Ringtail-Forwarded", RD) =/= undefined,
    ringtail_decide:decide(Primaries, node(), ringtail_ring:up(), wanted(Route), Forwarded, Turn).

wanted(configured) -> ringtail_config:route();
wanted(Route) -> Route.

%% @doc Does what was decided. `serve' when it turns out, by a newer ring, that this node is a primary after all.
-spec leave(ringtail_decide:outcome(), [{non_neg_integer(), node()}], wanted(), ringtail_wm:reqdata()) -> left().
leave(Outcome, Primaries, Route, RD) ->
    case too_large(RD) of
        {true, Status, Told} -> {halt, Status, Told};
        false -> act(Outcome, Primaries, Route, RD)
    end.

act({refuse, not_primary}, Primaries, _, RD) ->
    unread(RD),
    refuse(421, not_primary, "this node is no primary of the key; ask one of 'primaries'", Primaries, RD);
act({refuse, no_primary}, Primaries, _, RD) ->
    unread(RD),
    refuse(503, no_primary, "no primary of the key is up; try again when one is back", Primaries, RD);
act({redirect, Nodes}, Primaries, _, RD) ->
    unread(RD),
    redirect(Nodes, Primaries, RD);
act({proxy, Nodes}, Primaries, Route, RD) ->
    proxy(Nodes, job(Primaries, Route, RD)).

%% ---- Bodies ----

%% @doc Whether the request says that its body is larger than allowed.
-spec too_large(ringtail_wm:reqdata()) -> false | {true, 413, ringtail_wm:reqdata()}.
too_large(RD) ->
    case content_length(RD) > ringtail_config:max_body() of
        true ->
            {Status, Told} = body_too_large(RD),
            {true, Status, Told};
        false ->
            false
    end.

-spec body_too_large(ringtail_wm:reqdata()) -> {413, ringtail_wm:reqdata()}.
body_too_large(RD) ->
    Message = io_lib:format("the body is larger than ~b bytes; raise {ringtail, max_body} if that is meant",
                            [ringtail_config:max_body()]),
    {{halt, 413}, Told, _} = ringtail_wm:refuse(413, body_too_large, Message, RD, none),
    {413, Told}.

content_length(RD) ->
    case wrq:get_req_header("Content-Length", RD) of
        undefined -> 0;
        Text ->
            try list_to_integer(string:strip(Text))
            catch error:badarg -> 0     % webmachine's own to refuse, when it reads the body
            end
    end.

%% @doc A client that sends its body without being asked to must be heard out, or its connection cannot carry its next
%% request. One that waits for a 100 has not sent anything yet.
-spec unread(ringtail_wm:reqdata()) -> ok.
unread(RD) ->
    case {body(RD), wrq:get_req_header("Expect", RD)} of
        {none, _} -> ok;
        {_, "100-" ++ _} -> ok;
        {{length, _, Read}, _} -> ringtail_forward:drain(Read);
        {{chunked, Read}, _} -> ringtail_forward:drain(Read);
        {_, _} -> ok
    end.

%% @doc The request's body as it is sent on: read where it is small, otherwise a fun that reads it in pieces. Reading one that
%% turns out to be larger than allowed throws `{ringtail_hop, body_too_large}'.
-spec sendable(ringtail_wm:reqdata()) -> none | binary() | {length, pos_integer(), fun()} | {chunked, fun()}.
sendable(RD) ->
    held(body(RD), RD).

body(RD) ->
    Chunked = wrq:get_req_header("Transfer-Encoding", RD) =/= undefined,
    %% webmachine has read the body if it had to check its digest.
    Read = wrq:get_req_header("Content-MD5", RD) =/= undefined,
    case content_length(RD) of
        _ when Chunked, Read -> wrq:req_body(RD);
        _ when Chunked -> {chunked, limited(fun() -> wrq:stream_req_body(RD, ?PIECE) end, ringtail_config:max_body())};
        0 -> none;
        _ when Read -> wrq:req_body(RD);
        Length -> {length, Length, fun() -> wrq:stream_req_body(RD, ?PIECE) end}
    end.

%% Read as far as is wanted for sending it more than once.
held({length, Length, _}, RD) when Length =< ?HELD_BODY -> wrq:req_body(RD);
held(none, RD) ->
    case wrq:get_req_header("Content-Length", RD) of
        undefined -> none;
        _ -> <<>>
    end;
held(Body, _) -> Body.

limited(Read, Left) ->
    fun() ->
            {Data, Next} = Read(),
            case Left - iolist_size(Data) of
                Over when Over < 0 -> throw({?MODULE, body_too_large});
                _ when Next =:= done -> {Data, done};
                Rest -> {Data, limited(Next, Rest)}
            end
    end.

%% ---- Sending the client on ----

redirect(Nodes, Primaries, RD) ->
    Scheme = wrq:scheme(RD),
    case first_reachable(Nodes, Scheme, []) of
        {ok, {Host, Port}} ->
            Location = ringtail_endpoints:url({Scheme, Host, Port}) ++ wrq:raw_path(RD),
            refuse(307, not_primary, "this node is no primary of the key; follow Location", Primaries,
                   wrq:set_resp_header("Location", Location, RD));
        {error, Failures} ->
            unreachable(Failures, Scheme, Primaries, RD)
    end.

first_reachable([Node | Nodes], Scheme, Failures) ->
    case ringtail_listeners:of_node(Node, Scheme) of
        {ok, Address} -> {ok, Address};
        {error, Reason} -> first_reachable(Nodes, Scheme, [{Node, Reason} | Failures])
    end;
first_reachable([], _, Failures) ->
    {error, Failures}.

%% ---- Sending the request on ----

job(Primaries, Route, RD) ->
    {ok, _, Cluster, Self} = ringtail_ring:identity(),
    #job{rd = RD, route = Route, scheme = wrq:scheme(RD), method = wrq:method(RD), path = path(Cluster, RD),
         headers = mochiweb_headers:to_list(wrq:req_headers(RD)) ++ [{"X-Ringtail-Forwarded", binary_to_list(Self)}],
         body = sendable(RD),
         options = [{timeout, timeout(RD) + ?EXTRA_MS}, {peer, wrq:peer(RD)}],
         cluster = binary_to_list(Cluster), primaries = Primaries}.

%% The one path that every node has, whatever prefixes it is configured with, and the cluster by its uuid: a node of
%% another cluster that took over an address refuses it.
path(Cluster, RD) ->
    Query = lists:dropwhile(fun(C) -> C =/= $? end, wrq:raw_path(RD)),
    lists:append(["/riak/primary/clusters/", binary_to_list(Cluster), "/types/", wrq:path_info(bucket_type, RD),
                  "/buckets/", wrq:path_info(bucket, RD), "/keys/", wrq:path_info(key, RD), Query]).

%% @doc The time that the request gives Riak, in ms.
-spec timeout(ringtail_wm:reqdata()) -> pos_integer().
timeout(RD) ->
    try list_to_integer(wrq:get_qs_value("timeout", RD)) of
        Given when Given > 0 -> Given;
        _ -> ?RIAK_TIMEOUT_MS
    catch
        error:_ -> ?RIAK_TIMEOUT_MS
    end.

proxy([Node | Nodes], #job{scheme = Scheme} = Job) ->
    case ringtail_listeners:of_node(Node, Scheme) of
        {ok, {Host, Port}} -> sent(send(Node, Host, Port, Job), Node, Nodes, Job);
        {error, Reason} -> proxy(Nodes, failed(Node, Reason, Job))
    end;
proxy([], #job{scheme = Scheme, failures = Failures, primaries = Primaries, rd = RD} = Job) ->
    drop_body(Job),
    unreachable(Failures, Scheme, Primaries, RD).

send(Node, Host, Port, #job{scheme = Scheme, method = Method, path = Path, headers = Headers, body = Body,
                            options = Options}) ->
    try
        ringtail_forward:forward({Scheme, Host, Port}, {Method, Path, Headers, Body}, [{node, Node} | Options])
    catch
        throw:{?MODULE, body_too_large} -> body_too_large
    end.

sent(body_too_large, _, _, #job{rd = RD}) ->
    {Status, Told} = body_too_large(RD),
    {halt, Status, Told};
sent({ok, Status, Headers, Body}, Node, Nodes, #job{cluster = Cluster} = Job) ->
    case {header("x-ringtail-cluster", Headers), Status} of
        {Cluster, 421} -> misdirected(Node, Job);
        {Cluster, _} -> {halt, Status, ringtail_forward_wm:response(Job#job.rd, Headers, Body, ours)};
        %% What Riak itself says to this path, or webmachine where there is no route.
        {undefined, Refused} when Refused =:= 400; Refused =:= 404; Refused =:= 405 ->
            no_answer(no_ringtail, Node, Nodes, Job);
        {undefined, _} -> no_answer(not_ringtail, Node, Nodes, Job);
        {_, _} -> no_answer(other_cluster, Node, Nodes, Job)
    end;
sent({error, {not_opened, Reason}}, Node, Nodes, Job) ->
    proxy(Nodes, failed(Node, Reason, Job));
sent({error, {Reason, _}}, Node, Nodes, Job) ->
    case is_read(Job) of
        true when Nodes =/= [] -> proxy(Nodes, failed(Node, Reason, Job));
        _ -> broken(Reason, Node, Job)
    end.

%% An answer that is not our route's: the node that was meant does not run Ringtail (it may be starting), or another one
%% stands at its address.
no_answer(Reason, Node, Nodes, Job) ->
    ringtail_forward:discard(),
    case is_read(Job) of
        true -> proxy(Nodes, failed(Node, Reason, Job));
        false when Reason =:= no_ringtail -> proxy([], failed(Node, Reason, Job));     % no such route, so nothing was done
        false -> gateway(502, Reason, Node, Job)
    end.

%% The node says that it is no primary, so one of the two rings is older. The request was not carried out, so it may
%% be decided again, once, by what the ring says now.
misdirected(Node, #job{refreshed = true} = Job) ->
    ringtail_forward:discard(),
    gateway(502, rings_disagree, Node, Job);
misdirected(Node, #job{rd = RD, route = Route} = Job) ->
    ringtail_forward:discard(),
    _ = ringtail_ring:refresh(?REFRESH_MS),
    Repeatable = Job#job.body =:= none orelse is_binary(Job#job.body),
    case ringtail_place:primaries(ringtail_wm:bucket(RD), ringtail_wm:key(RD)) of
        {ok, Primaries} when Repeatable ->
            again(decide(Primaries, Route, RD), Node, Job#job{primaries = Primaries, refreshed = true});
        _ ->
            gateway(502, rings_disagree, Node, Job)
    end.

again(serve, _, _) ->
    serve;
again({proxy, Nodes}, Node, Job) ->
    case lists:delete(Node, Nodes) of
        [] -> gateway(502, rings_disagree, Node, Job);
        Others -> proxy(Others, Job)
    end;
again(Outcome, _, #job{primaries = Primaries, route = Route, rd = RD}) ->
    act(Outcome, Primaries, Route, RD).

failed(Node, Reason, #job{failures = Failures} = Job) ->
    Job#job{failures = [{Node, Reason} | Failures]}.

is_read(#job{method = Method}) ->
    Method =:= 'GET' orelse Method =:= 'HEAD'.

drop_body(#job{body = {length, _, _}, rd = RD}) -> unread(RD);
drop_body(#job{body = {chunked, _}, rd = RD}) -> unread(RD);
drop_body(_) -> ok.

header(Name, Headers) ->
    case [Value || {Given, Value} <- Headers, string:to_lower(Given) =:= Name] of
        [Value | _] -> Value;
        [] -> undefined
    end.

%% ---- Failures ----

%% Nothing was sent to anyone.
unreachable(Failures, Scheme, Primaries, RD) ->
    {Code, Message} = case [Reason || {_, Reason} <- Failures, Reason =/= no_endpoint] of
                          [] -> {no_endpoint, ["no primary publishes an ", atom_to_list(Scheme),
                                               " listener; add one to its configuration, or {ringtail, advertise}"]};
                          [busy | _] -> {busy, "all connections to the primaries are in use; try again"};
                          _ -> {no_primary, ["no primary could be reached: ", told(Failures)]}
                      end,
    refuse(503, Code, Message, Primaries, RD).

told(Failures) ->
    string:join([lists:flatten(io_lib:format("~s ~s", [Node, reason(Reason)])) || {Node, Reason} <- lists:reverse(Failures)],
                "; ").

reason(no_ringtail) -> "does not run ringtail (call ringtail:start() there)";
reason(not_ringtail) -> "answered otherwise than ringtail does";
reason(other_cluster) -> "belongs to another cluster";
reason(no_endpoint) -> "publishes no such listener";
reason(rings_disagree) -> "has another ring than this node";
reason(Reason) -> io_lib:format("~P", [Reason, 8]).

broken(timeout, Node, Job) -> gateway(504, timeout, Node, Job);
broken(bad_body, _, #job{rd = RD, primaries = Primaries}) ->
    refuse(400, bad_body, "the request's body is not as long as it says", Primaries, RD);
broken(Reason, Node, Job) -> gateway(502, Reason, Node, Job).

gateway(Status, Reason, Node, #job{rd = RD, primaries = Primaries} = Job) ->
    Outcome = case is_read(Job) orelse Reason =:= rings_disagree of
                  true -> "nothing was changed";
                  false -> "whether the write was done is not known: read the key before trying again"
              end,
    Code = case lists:member(Reason, [timeout, other_cluster, rings_disagree]) of
               true -> Reason;
               false -> bad_gateway
           end,
    refuse(Status, Code, [atom_to_list(Node), " ", gateway_reason(Reason), "; ", Outcome], Primaries, RD).

gateway_reason(timeout) -> "did not answer in time";
gateway_reason(closed) -> "closed the connection before it had answered";
gateway_reason(Reason) -> reason(Reason).

refuse(Status, Code, Message, Primaries, RD) ->
    {_, Told, _} =
        ringtail_wm:refuse(Status, Code, Message, [{primaries, primaries_json(Primaries)}], RD, none),
    {halt, Status, Told}.

primaries_json(Primaries) ->
    Up = ringtail_ring:up(),
    Members = ringtail_ring:members(),
    [{struct, [{node, ringtail_json:name(Node)}, {index, list_to_binary(integer_to_list(Index))},
               {up, lists:member(Node, Up)} | described(lists:keyfind(Node, 1, Members))]}
     || {Index, Node} <- Primaries].

described({_, Uuid, Status, Endpoints}) ->
    [{uuid, Uuid}, {status, Status}, {endpoints, ringtail_endpoints:to_json(Endpoints)}];
described(false) ->
    [].
