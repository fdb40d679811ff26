%% @doc What the resources have in common: the headers that every answer bears, the cluster's name in the path, errors
%% as JSON, Riak's own authorisation.
-module(ringtail_wm).

-export([ping/2, ready/2, told/1, told/2, untold/2, prepared/1, source/1, query_element/0, query_with/3]).
-export([methods/3, is_authorized/2, security/3, permitted/3, path_bytes/2, bucket/1, key/1]).
-export([refuse/6, refuse/5, error_body/4, ending/1]).
-export_type([reqdata/0, result/1, prepared/0]).

-type reqdata() :: tuple().
-type result(Context) :: {term(), reqdata(), Context}.
-opaque prepared() :: {Element :: pos_integer(), None :: term(), Headers :: term()}.

%% What told/2 sets.
-define(OUR_HEADERS, ["X-Ringtail-Topology", "X-Ringtail-Node", "X-Ringtail-Cluster", "Age", "Warning"]).
%% Seconds after which a client that was refused for now may try again.
-define(RETRY_AFTER, "1").

%% @doc The very first callback of an old webmachine, which must be there; newer ones do not know it.
-spec ping(reqdata(), Context) -> result(Context).
ping(RD, Context) ->
    {pong, RD, Context}.

%% @doc service_available, the first callback of every webmachine: sets our headers, so that whatever ends the request
%% carries them; then sees that there is a snapshot and that the path names a cluster.
-spec ready(reqdata(), Context) -> result(Context).
ready(RD, Context) ->
    case ringtail_source:named(cluster(RD)) of
        {ok, Source} ->
            Prepared = ringtail_source:prepared(Source),
            Told = told(Prepared, Source, RD),
            %% Prepared headers come with the snapshot.
            case Prepared =/= none orelse ringtail_source:is_there(Source) of
                true -> {true, Told, Context};
                {error, {Code, Detail}} -> refuse(503, Code, Detail, Told, Context)
            end;
        {unknown, Known} ->
            unknown_cluster(Known, RD, Context)
    end.

%% @doc The same for what is not about one cluster of several: the first one's headers, and no condition.
-spec told(reqdata()) -> reqdata().
told(RD) ->
    case ringtail_source:named("default") of
        {ok, Source} -> told(Source, RD);
        {unknown, _} -> RD
    end.

-spec told(ringtail_source:source(), reqdata()) -> reqdata().
told(Source, RD) ->
    told(ringtail_source:prepared(Source), Source, RD).

told(Prepared, Source, RD) ->
    Told = case Prepared of
               {Element, None, Headers} when element(Element, RD) =:= None -> setelement(Element, RD, Headers);
               _ -> wrq:set_resp_headers(ringtail_source:headers(Source), RD)
           end,
    case ringtail_source:age(Source) of
        [] -> Told;
        Age -> wrq:set_resp_headers(Age, Told)
    end.

%% @doc Without what told/2 said, for an answer that speaks for itself.
-spec untold(ringtail_source:source(), reqdata()) -> reqdata().
untold(Source, RD) ->
    case ringtail_source:prepared(Source) of
        {Element, None, _} -> setelement(Element, RD, None);
        none -> lists:foldl(fun wrq:remove_resp_header/2, RD, ?OUR_HEADERS)
    end.

%% @doc These headers as told/2 puts them into an answer that has none yet. Every answer bears them, and putting them there one
%% by one costs several times what the decision of the object route does; so it is done once for each ring. There is no setter
%% for all at once, and the record differs between versions: setting them shows where they are. Should one keep them in more
%% places than one, there is nothing to prepare. They are set in ascending order: in the tree that mochiweb keeps them in,
%% whatever Riak sets after them, all of which comes before them, then meets the least of ours and not each.
-spec prepared([{string(), string()}]) -> prepared() | none.
prepared(Headers) ->
    Without = wrq:create('GET', {1, 1}, "/", mochiweb_headers:empty()),
    With = wrq:set_resp_headers(lists:sort(Headers), Without),
    case [N || N <- lists:seq(1, tuple_size(With)), element(N, With) =/= element(N, Without)] of
        [Element] ->
            Texts = lists:append([[Name, Value] || {Name, Value} <- Headers]),
            {Element, element(Element, Without), in_binaries(Texts, element(Element, With))};
        _ ->
            none
    end.

%% These texts as binaries wherever tuples hold them. A string takes two words for each character, and this is copied from a
%% table for each request, and by each garbage collection during it.
in_binaries(Texts, Term) when is_tuple(Term) ->
    list_to_tuple([in_binaries(Texts, Element) || Element <- tuple_to_list(Term)]);
in_binaries(Texts, Term) ->
    case lists:member(Term, Texts) of
        true -> list_to_binary(Term);
        false -> Term
    end.

%% @doc Where the answer to a request that is ready/2 comes from.
-spec source(reqdata()) -> ringtail_source:source().
source(RD) ->
    {ok, Source} = ringtail_source:named(cluster(RD)),
    Source.

%% The name in the path, which is seldom another than this.
cluster(RD) ->
    case wrq:path_info(cluster, RD) of
        "default" -> "default";
        Name -> mochiweb_util:unquote(Name)
    end.

unknown_cluster(Known, RD, Context) ->
    refuse(404, unknown_cluster, ["no cluster '", cluster(RD), "' is known here; use one of 'clusters'"],
           [{clusters, [ringtail_json:text(Cluster) || Cluster <- Known]}], told(RD), Context).

%% @doc allowed_methods for a resource of our own: anything else is refused as JSON.
-spec methods([atom()], reqdata(), Context) -> result(Context).
methods(Allowed, RD, Context) ->
    case lists:member(wrq:method(RD), Allowed) of
        true ->
            {Allowed, RD, Context};
        false ->
            Message = ["use ", string:join([atom_to_list(Method) || Method <- Allowed], ", "), " here"],
            {Allowed, error_body(method_not_allowed, Message, [], RD), Context}
    end.

%% ---- Riak's security ----

%% @doc is_authorized exactly as Riak's own resources answer it. In a VM without Riak who may ask is for whoever runs it to
%% see to, as for the rest of what it serves.
-spec is_authorized(reqdata(), Context) -> {result(Context), Security :: term()}.
is_authorized(RD, Context) ->
    case ringtail_clusters:is_running() of
        false -> riak_authorized(RD, Context);
        true -> {{true, RD, Context}, undefined}
    end.

riak_authorized(RD, Context) ->
    case riak_api_web_security:is_authorized(RD) of
        {true, Security} ->
            {{true, RD, Context}, Security};
        false ->
            {{"Basic realm=\"Riak\"", error_body(unauthorized, "give a user and password that Riak knows", [], RD), Context},
             undefined};
        insecure ->
            {refuse(426, insecure, "security is enabled and Riak takes no credentials over http: use https", RD, Context),
             undefined}
    end.

%% @doc The security context that Riak's resource keeps in its own context, found by what its is_authorized changed
%% there: asking riak_core to authenticate again would cost a password hash per request.
-spec security(Before :: tuple(), After :: tuple(), reqdata()) -> Security :: term().
security(Before, After, RD) ->
    case riak_core_security:is_enabled() of
        false -> undefined;
        true -> changed(Before, After, RD)
    end.

changed(Before, After, RD) ->
    case [New || {Old, New} <- lists:zip(tuple_to_list(Before), tuple_to_list(After)), Old =/= New] of
        [Security] ->
            Security;
        _ ->
            {true, Security} = riak_api_web_security:is_authorized(RD),
            Security
    end.

%% @doc Whether Riak would let this user do one of these; what it would say otherwise. `any' is any user.
-spec permitted(reqdata(), [{Permission :: string(), Bucket :: term()}] | any, Security :: term()) ->
          true | {false, reqdata()}.
permitted(RD, Wanted, Security) ->
    ringtail_clusters:is_running() orelse riak_permits(RD, Wanted, Security).

riak_permits(RD, Wanted, Security) ->
    case riak_kv_wm_utils:is_forbidden(RD) of
        true -> {false, error_body(forbidden, "the request's Origin or Referer is not allowed", [], RD)};
        false when Security =:= undefined; Wanted =:= any -> true;
        false -> granted(Wanted, Security, RD)
    end.

granted([Wanted | Others], Security, RD) ->
    case riak_core_security:check_permission(Wanted, Security) of
        {true, _} -> true;
        {false, _, _} when Others =/= [] -> granted(Others, Security, RD);
        {false, Why, _} -> {false, error_body(forbidden, Why, [], RD)}
    end.

%% ---- The path ----

%% @doc A path segment as the bytes that Riak stores.
-spec path_bytes(atom(), reqdata()) -> binary().
path_bytes(Name, RD) ->
    case ringtail_clusters:is_running() of
        false -> riak_bytes(Name, RD);
        true -> list_to_binary(mochiweb_util:unquote(wrq:path_info(Name, RD)))
    end.

riak_bytes(Name, RD) ->
    Segment = wrq:path_info(Name, RD),
    case is_plain(Segment) of
        true -> list_to_binary(Segment);
        false -> list_to_binary(riak_kv_wm_utils:maybe_decode_uri(RD, Segment))
    end.

%% However Riak is configured to decode, nothing else than these two characters is changed by it; few segments have one.
is_plain([$% | _]) -> false;
is_plain([$+ | _]) -> false;
is_plain([_ | Rest]) -> is_plain(Rest);
is_plain([]) -> true.

%% @doc The bucket named by the path, as riak_core names it, on a node.
-spec bucket(reqdata()) -> ringtail_place:bucket().
bucket(RD) ->
    riak_kv_wm_utils:maybe_bucket_type(riak_bytes(bucket_type, RD), riak_bytes(bucket, RD)).

%% @doc The key named by the path, on a node.
-spec key(reqdata()) -> binary().
key(RD) ->
    riak_bytes(key, RD).

%% ---- The query string ----

%% @doc Which element of this webmachine's reqdata holds the parsed query string. There is no setter for it, and the
%% record differs between versions: a request with a known query string shows it.
-spec query_element() -> pos_integer().
query_element() ->
    Known = [{"ringtail", "query"}],
    RD = wrq:create('GET', {1, 1}, "/?ringtail=query", mochiweb_headers:empty()),
    [Element] = [N || N <- lists:seq(1, tuple_size(RD)), element(N, RD) =:= Known],
    Element.

%% @doc Adds to the query string what the client did not give.
-spec query_with([{string(), string()}], Element :: pos_integer(), reqdata()) -> reqdata().
query_with(Defaults, Element, RD) ->
    Given = wrq:req_qs(RD),
    case [Default || {Name, _} = Default <- Defaults, not lists:keymember(Name, 1, Given)] of
        [] -> RD;
        Added -> setelement(Element, RD, Given ++ Added)
    end.

%% ---- Answers ----

%% @doc Ends the request with an error.
-spec refuse(100..599, Code :: atom(), Message :: iodata(), reqdata(), Context) -> result(Context).
refuse(Status, Code, Message, RD, Context) ->
    refuse(Status, Code, Message, [], RD, Context).

%% @doc Ends the request with an error that says more: members for the JSON object besides error and message.
-spec refuse(100..599, Code :: atom(), Message :: iodata(), [{atom(), term()}], reqdata(), Context) -> result(Context).
refuse(Status, Code, Message, More, RD, Context) ->
    Told = case Status of
               503 -> wrq:set_resp_header("Retry-After", ?RETRY_AFTER, RD);
               _ -> RD
           end,
    {ending(Status), error_body(Code, Message, More, Told), Context}.

%% @doc The error as JSON in the answer, whose status webmachine or the caller sets.
-spec error_body(Code :: atom(), Message :: iodata(), [{atom(), term()}], reqdata()) -> reqdata().
error_body(Code, Message, More, RD) ->
    Json = ringtail_json:object([{error, Code}, {message, ringtail_json:text(Message)} | More]),
    wrq:set_resp_body(Json, wrq:set_resp_header("Content-Type", "application/json", RD)).

%% @doc What ends a request with this status. 421 is younger than OTP's list of phrases, which calls an unknown status an
%% internal error.
-spec ending(100..599) -> {halt, 100..599 | {100..599, string()}}.
ending(421) -> {halt, {421, "Misdirected Request"}};
ending(Status) -> {halt, Status}.
