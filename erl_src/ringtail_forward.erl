%% @doc One request sent on to another node, and its answer, in the caller's own
%% process and without ever holding a body: both ways flow in pieces of 64 KiB.
%%
%% Why own code: OTP's httpc sends a request again when a kept-alive connection
%% fails, which for a write means twice, and holds whole bodies; ibrowse is not
%% on the nodes of Riak 2.x.
%%
%% What a caller can rely on:
%% <ul>
%% <li>A write is sent once. `{not_opened, _}' says that nothing was sent and
%%   nothing of the request's body was read: another node may be tried.</li>
%% <li>`timeout' is what the *target* may take in all, from waiting for a
%%   connection to the last byte. The client's own slowness is not counted
%%   against it, as it is not by Riak; `client_timeout' bounds that (how long
%%   the whole hop may hold its connection).</li>
%% <li>No message is left in the caller's mailbox: mochiweb would take one for
%%   a broken request.</li>
%% <li>A target that dies in the middle of an answer makes the body's fun exit
%%   with `{shutdown, {truncated, _}}'. An exit and not an error: webmachine
%%   catches errors and would write a second answer into the middle of the
%%   body, whereas an exit ends the client's connection, by which the client
%%   sees that the body is short.</li>
%% <li>If the answer came before all of the client's body was read, the rest is
%%   read and dropped up to 64 MiB; if there is more, mochiweb is told to close
%%   the client's connection after the answer.</li>
%% </ul>
-module(ringtail_forward).

-export([forward/3, discard/0, drain/1]).

-export_type([target/0, request/0, body/0, next/0, result/0]).

-define(PIECE, 65536).
%% Room for any object one would store: a connection closed with bytes unread is
%% reset, and the reset can overtake the answer.
-define(DRAIN, 67108864).

-type target() :: {http | https, string(), inet:port_number()}.
-type request() :: {Method :: string() | atom(), RawPath :: string(),
                    Headers :: [{term(), term()}], request_body()}.
-type request_body() :: none | iodata() | {length, non_neg_integer(), read()} |
                        {chunked, read()}.
-type read() :: fun(() -> {iodata(), read() | done}).
-type body() :: binary() | {stream, non_neg_integer() | chunked, next()}.
-type next() :: fun(() -> {iodata(), next() | done}).
-type failure() :: timeout | closed | bad_answer | bad_body | term().
-type result() :: {ok, 100..599, [{string(), string()}], body()} |
                  {error, {not_opened, term()}} |
                  {error, {failure(), sent | maybe_sent}}.

-record(hop, {slot :: ringtail_forward_pool:slot(),
              conn :: ringtail_forward_conn:conn(),
              method :: string(),
              fresh :: boolean(),             % opened for this request
              left :: integer(),              % ms the target may still take
              sent = maybe_sent :: sent | maybe_sent,
              buf = <<>> :: binary(),         % received, not yet read
              reuse = true :: boolean()}).

%% @doc Sends `Request' to `Target'. Options:
%% `{node, Node}' whose connection it is (see
%% {@link ringtail_forward_pool:close_node/1}); `{timeout, Ms}' (65000);
%% `{peer, Address}' the client's address as `wrq:peer/1' gives it;
%% `{connect_timeout, Ms}' (2000); `{wait, Ms}' for a free connection (5000);
%% `{client_timeout, Ms}' (600000).
%%
%% The answer to a HEAD has `{stream, Length, _}' for the length it states, and
%% an empty stream.
-spec forward(target(), request(), [{atom(), term()}]) -> result().
forward({Scheme, Host, Port} = Target, {Method0, Path, Headers, Body}, Opts) ->
    Method = method(Method0),
    Peer = proplists:get_value(peer, Opts),
    case ringtail_http:request_head(Method, Path, Headers,
                                    {Scheme, Host, Port, Peer},
                                    framing(Body)) of
        {ok, Head} ->
            Timeout = proplists:get_value(timeout, Opts, 65000),
            Wait = min(Timeout, proplists:get_value(wait, Opts, 5000)),
            Lease = Timeout + proplists:get_value(client_timeout, Opts, 600000),
            Key = {proplists:get_value(node, Opts), Scheme, Host, Port},
            Started = ringtail_forward_conn:now_ms(),
            case ringtail_forward_pool:checkout(Key, Wait, Lease) of
                {ok, Slot, Conn} ->
                    Left = Timeout - (ringtail_forward_conn:now_ms() - Started),
                    in_slot(Slot, Conn, Target, Method, Head, Body, Left, Opts);
                {error, Reason} ->
                    {error, {not_opened, Reason}}
            end;
        {error, Reason} ->
            {error, {not_opened, Reason}}
    end.

method(Method) when is_atom(Method) -> atom_to_list(Method);
method(Method) -> Method.

framing(none) -> none;
framing({length, N, _}) -> {length, N};
framing({chunked, _}) -> chunked;
framing(Bytes) -> {length, iolist_size(Bytes)}.

in_slot(Slot, Conn0, Target, Method, Head, Body, Left0, Opts) ->
    Started = ringtail_forward_conn:now_ms(),
    case connected(Slot, Conn0, Target, Left0, Opts) of
        {ok, Conn, Fresh} ->
            Left = Left0 - (ringtail_forward_conn:now_ms() - Started),
            Hop = #hop{slot = Slot, conn = Conn, method = Method, fresh = Fresh,
                       left = Left},
            %% Reading the client's body can raise whatever the server in front
            %% raises; it gets it back, but the slot is not kept.
            try exchange(Hop, Head, Body) of
                {stale, Still} ->
                    in_slot(Slot, none, Target, Method, Head, Body, Still,
                            Opts);
                Result ->
                    Result
            catch
                Class:Reason ->
                    _ = ringtail_forward_conn:unwatch(Conn),
                    give_up(Hop),
                    erlang:raise(Class, Reason, [])
            end;
        {error, Reason} ->
            ringtail_forward_pool:release(Slot),
            {error, {not_opened, Reason}}
    end.

connected(Slot, none, Target, Left, Opts) ->
    Timeout = min(Left, proplists:get_value(connect_timeout, Opts, 2000)),
    case Timeout > 0 andalso ringtail_forward_conn:connect(Target, Timeout) of
        {ok, Conn} ->
            case ringtail_forward_pool:opened(Slot, Conn) of
                ok -> {ok, Conn, true};
                gone -> ringtail_forward_conn:close(Conn), {error, stopping}
            end;
        {error, Reason} ->
            {error, Reason};
        false ->
            {error, timeout}
    end;
connected(Slot, Conn, Target, Left, Opts) ->
    case ringtail_forward_conn:alive(Conn) of
        true ->
            {ok, Conn, false};
        false ->
            ringtail_forward_conn:close(Conn),
            connected(Slot, none, Target, Left, Opts)
    end.

%% ---------------------------------------------------------------------
%% The request
%% ---------------------------------------------------------------------

exchange(Hop0, Head, {length, Length, Read}) ->
    upload(Hop0, Head, Read, Length);
exchange(Hop0, Head, {chunked, Read}) ->
    upload(Hop0, Head, Read, chunked);
exchange(Hop0, Head, Body) ->
    Data = case Body of none -> []; _ -> Body end,
    case send(Hop0, [Head, Data]) of
        {ok, Hop} -> read_answer(Hop#hop{sent = sent}, Body =:= none);
        {error, Reason, Hop} -> failed(Reason, Hop, Body =:= none)
    end.

upload(Hop0, Head, Read, Framing) ->
    ringtail_forward_conn:watch(Hop0#hop.conn),
    Outcome = case send(Hop0, Head) of
                  {ok, Hop1} -> pieces(Hop1, Read, Framing);
                  {error, Reason, Hop1} -> {broken, Reason, Hop1, Read}
              end,
    case Outcome of
        {complete, Hop2} ->
            {_, Hop} = unwatched(Hop2),
            read_answer(Hop#hop{sent = sent}, false);
        {answered, Hop2, Rest} ->
            {_, Hop} = unwatched(Hop2),
            Result = read_answer(Hop#hop{reuse = false}, false),
            drain(Rest),
            Result;
        {broken, Why, Hop2, Rest} ->
            %% The answer may have come before the end of the connection.
            {_, Hop} = unwatched(Hop2),
            Result = case ringtail_http:final_head(Hop#hop.buf) of
                         {ok, _, _} ->
                             read_answer(Hop#hop{reuse = false}, false);
                         _ ->
                             failed(Why, Hop, false)
                     end,
            drain(Rest),
            Result
    end.

%% Framing: the bytes still to come, or chunked.
pieces(Hop0, Read, Framing0) ->
    {Data, Next} = Read(),
    case wire(Data, Next, Framing0) of
        {ok, Bytes, Framing} ->
            case look(Hop0) of
                {answered, Hop} ->
                    {answered, Hop, Next};
                {closed, Hop} ->
                    {broken, closed, Hop, Next};
                {ok, Hop1} ->
                    case send(Hop1, Bytes) of
                        {ok, Hop} when Next =:= done -> {complete, Hop};
                        {ok, Hop} -> pieces(Hop, Next, Framing);
                        {error, Reason, Hop} -> {broken, Reason, Hop, Next}
                    end
            end;
        bad_body ->
            {broken, bad_body, Hop0, Next}
    end.

wire(Data, done, chunked) ->
    {ok, [ringtail_http:chunk(Data), ringtail_http:last_chunk()], chunked};
wire(Data, _, chunked) ->
    {ok, ringtail_http:chunk(Data), chunked};
wire(Data, Next, Left) ->
    case Left - iolist_size(Data) of
        0 when Next =:= done -> {ok, Data, 0};
        Rest when Rest >= 0, Next =/= done -> {ok, Data, Rest};
        _ -> bad_body
    end.

%% Has the target answered already?
look(Hop) ->
    case ringtail_forward_conn:seen(Hop#hop.conn) of
        nothing ->
            {ok, Hop};
        closed ->
            {closed, Hop};
        {data, Data} ->
            ringtail_forward_conn:watch(Hop#hop.conn),
            Hop1 = Hop#hop{buf = <<(Hop#hop.buf)/binary, Data/binary>>},
            case ringtail_http:final_head(Hop1#hop.buf) of
                {more, Buf} -> {ok, Hop1#hop{buf = Buf}};
                _ -> {answered, Hop1}
            end
    end.

unwatched(Hop) ->
    {Pieces, State} = ringtail_forward_conn:unwatch(Hop#hop.conn),
    {State, Hop#hop{buf = iolist_to_binary([Hop#hop.buf | Pieces]),
                    reuse = Hop#hop.reuse andalso State =:= open}}.

%% @doc Reads and drops the rest of a client's body, so that the client reads
%% its answer and the connection can carry another request. What is longer than
%% 64 MiB is not waited for: the connection is then closed after the answer.
-spec drain(read() | done) -> ok.
drain(Read) -> drain(Read, ?DRAIN).

drain(done, _) ->
    ok;
drain(_, Left) when Left =< 0 ->
    close_client();
drain(Read, Left) ->
    try Read() of
        {Data, Next} -> drain(Next, Left - iolist_size(Data))
    catch
        %% The client has gone.
        _:_ -> close_client()
    end.

close_client() ->
    _ = put(mochiweb_request_force_close, true),
    ok.

%% ---------------------------------------------------------------------
%% The answer
%% ---------------------------------------------------------------------

read_answer(Hop0, Repeatable) ->
    case ringtail_http:final_head(Hop0#hop.buf) of
        {ok, Head, Rest} ->
            answer(Hop0#hop{buf = Rest}, Head);
        {more, Buf} ->
            case recv(Hop0, 0) of
                {ok, Data, Hop} ->
                    read_answer(Hop#hop{buf = <<Buf/binary, Data/binary>>},
                                Repeatable);
                {error, Reason, Hop} ->
                    failed(Reason, Hop#hop{buf = Buf}, Repeatable)
            end;
        {error, _} ->
            failed(bad_answer, Hop0, false)
    end.

%% A kept connection can end in the moment it is used. Only a request that
%% changes nothing and has no body is then sent again, on a fresh one.
failed(closed, #hop{fresh = false, buf = <<>>, method = M} = Hop, true)
  when M =:= "GET"; M =:= "HEAD"; M =:= "OPTIONS" ->
    ringtail_forward_conn:close(Hop#hop.conn),
    {stale, Hop#hop.left};
failed(Reason, Hop, _) ->
    give_up(Hop),
    {error, {Reason, Hop#hop.sent}}.

answer(Hop0, {Version, Status, Headers}) ->
    Hop = Hop0#hop{reuse = Hop0#hop.reuse
                       andalso ringtail_http:reusable(Version, Headers)},
    Out = [{binary_to_list(N), binary_to_list(V)}
           || {N, V} <- ringtail_http:end_to_end(Headers)],
    case ringtail_http:framing(Hop#hop.method, Status, Version, Headers) of
        {ok, none} ->
            done(Hop),
            {ok, Status, Out, no_body(Hop, Status, Version, Headers)};
        {ok, {length, Length}} when Length =< ?PIECE ->
            case exactly(Hop, Length) of
                {ok, Body} -> {ok, Status, Out, Body};
                {error, _} = Error -> Error
            end;
        {ok, {length, Length}} ->
            {ok, Status, Out, {stream, Length, fun() -> next(Hop, Length) end}};
        {ok, chunked} ->
            Chunks = ringtail_http:chunks(),
            {ok, Status, Out, {stream, chunked,
                               fun() -> next_chunks(Hop, Chunks) end}};
        {ok, close} ->
            {ok, Status, Out, {stream, chunked, fun() -> until_closed(Hop) end}};
        {error, bad_framing} ->
            failed(bad_answer, Hop, false)
    end.

no_body(#hop{method = "HEAD"}, Status, Version, Headers) ->
    Empty = fun() -> {<<>>, done} end,
    case ringtail_http:framing("GET", Status, Version, Headers) of
        {ok, {length, 0}} -> <<>>;
        {ok, {length, Length}} -> {stream, Length, Empty};
        {ok, none} -> <<>>;
        _ -> {stream, chunked, Empty}
    end;
no_body(_, _, _, _) ->
    <<>>.

exactly(#hop{buf = Buf} = Hop0, Length) when byte_size(Buf) < Length ->
    case recv(Hop0, Length - byte_size(Buf)) of
        {ok, Data, Hop} -> exactly(Hop#hop{buf = <<Buf/binary, Data/binary>>},
                                   Length);
        {error, Reason, Hop} -> failed(Reason, Hop, false)
    end;
exactly(#hop{buf = Buf} = Hop, Length) ->
    <<Body:Length/binary, Rest/binary>> = Buf,
    done(Hop#hop{buf = Rest}),
    {ok, binary:copy(Body)}.

next(#hop{buf = <<>>} = Hop0, Left) ->
    case recv(Hop0, 0) of
        {ok, Data, Hop} -> next(Hop#hop{buf = Data}, Left);
        {error, Reason, Hop} -> truncated(Reason, Hop)
    end;
next(#hop{buf = Buf} = Hop0, Left) when byte_size(Buf) < Left ->
    Hop = Hop0#hop{buf = <<>>},
    {Buf, fun() -> next(Hop, Left - byte_size(Buf)) end};
next(#hop{buf = Buf} = Hop, Left) ->
    <<Last:Left/binary, Rest/binary>> = Buf,
    done(Hop#hop{buf = Rest}),
    {Last, done}.

next_chunks(#hop{buf = <<>>} = Hop0, Chunks) ->
    case recv(Hop0, 0) of
        {ok, Data, Hop} -> next_chunks(Hop#hop{buf = Data}, Chunks);
        {error, Reason, Hop} -> truncated(Reason, Hop)
    end;
next_chunks(#hop{buf = Buf} = Hop0, Chunks0) ->
    case ringtail_http:chunks(Buf, Chunks0) of
        {more, [], Chunks} ->
            next_chunks(Hop0#hop{buf = <<>>}, Chunks);
        {more, Data, Chunks} ->
            Hop = Hop0#hop{buf = <<>>},
            {Data, fun() -> next_chunks(Hop, Chunks) end};
        {done, Data, Rest} ->
            done(Hop0#hop{buf = Rest}),
            {iolist_to_binary(Data), done};
        {error, bad_chunk} ->
            truncated(bad_answer, Hop0)
    end.

until_closed(#hop{buf = <<>>} = Hop0) ->
    case recv(Hop0, 0) of
        {ok, Data, Hop} -> until_closed(Hop#hop{buf = Data});
        {error, closed, Hop} -> give_up(Hop), {<<>>, done};
        {error, Reason, Hop} -> truncated(Reason, Hop)
    end;
until_closed(#hop{buf = Buf} = Hop) ->
    {Buf, fun() -> until_closed(Hop#hop{buf = <<>>}) end}.

-spec truncated(term(), #hop{}) -> no_return().
truncated(Reason, Hop) ->
    give_up(Hop),
    ringtail_forward_pool:count(truncated),
    exit({shutdown, {truncated, Reason}}).

%% @doc For an answer whose body nobody will read to its end: frees what this
%% process holds.
-spec discard() -> ok.
discard() -> ringtail_forward_pool:release_all(self()).

%% ---------------------------------------------------------------------
%% The connection
%% ---------------------------------------------------------------------

%% The exchange is over. Bytes that nobody asked for make a connection suspect.
done(#hop{reuse = true, buf = <<>>} = Hop) ->
    ringtail_forward_pool:checkin(Hop#hop.slot, Hop#hop.conn);
done(Hop) ->
    give_up(Hop).

give_up(Hop) ->
    ringtail_forward_conn:close(Hop#hop.conn),
    ringtail_forward_pool:release(Hop#hop.slot).

send(Hop, Data) ->
    {Result, Hop1} = timed(Hop, fun(Left) ->
                       ringtail_forward_conn:send(Hop#hop.conn, Data, Left)
                   end),
    case Result of
        ok -> {ok, Hop1};
        {error, Reason} -> {error, Reason, Hop1}
    end.

recv(Hop, Length) ->
    {Result, Hop1} = timed(Hop, fun(Left) ->
                       ringtail_forward_conn:recv(Hop#hop.conn, Length, Left)
                   end),
    case Result of
        {ok, Data} -> {ok, Data, Hop1};
        {error, Reason} -> {error, Reason, Hop1}
    end.

%% Only what the target takes is taken off its time.
timed(#hop{left = Left} = Hop, Fun) ->
    Started = ringtail_forward_conn:now_ms(),
    Result = Fun(Left),
    {Result, Hop#hop{left = Left - (ringtail_forward_conn:now_ms() - Started)}}.
