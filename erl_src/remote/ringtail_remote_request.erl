%% @doc A request to a node of another cluster, carried by the companion: which finds the node,
%% keeps the connections and knows when trying again is safe. Bodies pass in pieces both ways, in
%% the caller's own process, a few of them at a time.
-module(ringtail_remote_request).

-export([request/4]).
-export_type([goal/0, request/0, answer/0]).

%% A document is what follows /explore/clusters/UUID, percent-encoded; any node is good for it.
-type goal() :: {object, Type :: binary(), Bucket :: binary(), Key :: binary()}
              | {document, Path :: binary()}.
-type request() :: {Method :: atom(), goal(), Query :: string(), ringtail_remote_headers:fields(),
                    ringtail_body:body()}.
-type answer() :: {ok, 100..599, [{string(), string()}], ringtail_remote_answer:body()}
                | ringtail_remote:failure().

-record(request, {method :: binary(),
                  goal :: goal(),
                  query :: binary(),
                  headers :: ringtail_remote_headers:fields(),
                  body :: none | binary() | {stream, pos_integer() | chunked},
                  timeout :: pos_integer()}).

%% @doc `Timeout' (ms) is for all of it. Its answer's body, if it is a stream, ends with an exit
%% when it breaks off, so that the client's connection ends and it sees that the body is short.
%% Where the answer comes before all of a streamed body was read, the rest is read and dropped;
%% where nothing of it was read here, `Unread' says what to do about it.
-spec request(ringtail_remote:far(), request(), pos_integer(), Unread :: fun(() -> ok)) -> answer().
request(Far, {Method, Goal, Query, Headers, Body}, Timeout, Unread) ->
    Request = #request{method = atom_to_binary(Method, latin1), goal = Goal,
                       query = list_to_binary(Query), headers = Headers, body = framing(Body),
                       timeout = Timeout},
    Source = source(Body, Unread),
    case attempt(Far, Request, Source) of
        {error, {no_such_cluster, _}} ->
            again(Far, Request, Source);
        {error, {companion_died, _}} when Body =:= none, Method =:= 'GET';
                                          Body =:= none, Method =:= 'HEAD' ->
            again(Far, Request, Source);
        Answer ->
            Answer
    end.

%% Nothing of the body was read: the companion asks for it once it has a use for it.
again(Far, #request{timeout = Timeout} = Request, {_, Drop} = Source) ->
    case ringtail_remote:open(Far, Timeout) of
        ok -> attempt(Far, Request, Source);
        {error, _} = Error -> Drop(), Error
    end.

framing({length, Length, _}) -> {stream, Length};
framing({chunked, _}) -> {stream, chunked};
framing(Body) -> Body.

%% What reads the body, and what to do about the rest of it when no more is wanted.
source({length, _, Read}, Unread) -> {Read, Unread};
source({chunked, Read}, Unread) -> {Read, Unread};
source(_, _) -> {done, fun() -> ok end}.

rest(Read) -> {Read, fun() -> ringtail_body:drain(Read) end}.

attempt(Far, #request{timeout = Timeout} = Request, {_, Drop} = Source) ->
    case ringtail_remote:stream(Far, cluster_request, arguments(Request), Timeout) of
        {ok, Stream} ->
            %% Reading the client's body can raise whatever the server in front raises; it gets it
            %% back.
            try
                exchange(Stream, Request#request.method, Source)
            catch
                Class:Reason ->
                    ringtail_companion_stream:close(Stream),
                    erlang:raise(Class, Reason, [])
            end;
        {error, _} = Error ->
            Drop(),
            Error
    end.

arguments(#request{method = Method, goal = Goal, query = Query, headers = Headers, body = Body}) ->
    [Method, Goal, Query, Headers, Body, ringtail_config:client_pause()].

exchange(Stream, Method, {_, Drop} = Source) ->
    case ringtail_companion_stream:event(Stream) of
        {progress, {more, Count}} ->
            exchange(Stream, Method, pieces(Stream, Source, Count));
        {ok, {whole, Status, Headers, Length, Body}} ->
            ringtail_companion_stream:close(Stream),
            Drop(),
            {ok, Status, passed(Headers), whole(Method, Length, Body)};
        {progress, {head, Status, Headers, Length}} ->
            Drop(),
            {ok, Status, passed(Headers), {stream, Length, fun() -> next(Stream) end}};
        {error, {no_such_cluster, _}} = Error ->
            ringtail_companion_stream:close(Stream),
            Error;
        {error, _} = Error ->
            failed(Error, Stream, Source);
        _ ->
            Why = <<"the companion's answer has no head">>,
            failed({error, {bad_answer, Why}}, Stream, Source)
    end.

failed(Error, Stream, {_, Drop}) ->
    ringtail_companion_stream:close(Stream),
    Drop(),
    Error.

%% What goes wrong with them the next event tells.
pieces(_, {done, _} = Source, _) ->
    Source;
pieces(_, Source, 0) ->
    Source;
pieces(Stream, {Read, _}, Count) ->
    {Data, Next} = Read(),
    ok = ringtail_companion_stream:send(Data, Stream),
    _ = [ok = ringtail_companion_stream:eof(Stream) || Next =:= done],
    pieces(Stream, rest(Next), Count - 1).

passed(Headers) ->
    [{binary_to_list(Name), binary_to_list(Value)}
     || {Name, Value} <- ringtail_remote_headers:answer_fields(Headers)].

%% The answer to a HEAD has the length it states and an empty stream.
whole(<<"HEAD">>, 0, _) -> <<>>;
whole(<<"HEAD">>, Length, _) -> {stream, Length, fun() -> {<<>>, done} end};
whole(_, _, Body) -> Body.

next(Stream) ->
    case ringtail_companion_stream:event(Stream) of
        {progress, {data, Piece}} ->
            ok = ringtail_companion_stream:taken(1, Stream),
            {Piece, fun() -> next(Stream) end};
        {ok, _} ->
            ringtail_companion_stream:close(Stream),
            {<<>>, done};
        {error, Reason} ->
            ringtail_companion_stream:close(Stream),
            exit({shutdown, {truncated, Reason}})
    end.
