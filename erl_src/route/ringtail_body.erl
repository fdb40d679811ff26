%% @doc What a request says of its body, and reading it: for the object route of a node and of a VM
%% without Riak.
%%
%% mochiweb takes a length that it cannot read for something else than a length, and Riak then
%% stores an object without a byte. So the framing is looked at before anything else is: what is not
%% understood here is refused.
-module(ringtail_body).

-export([framing/1, refuse_framing/3, too_large/1, refuse_too_large/1, refuse_too_large/2,
         refuse_unreadable/1, validate_content_checksum/2, ended/1]).
-export([whole/1, sendable/1, unread/1, drain/1, close_afterwards/0, timeout/1, too_long/1]).
-export_type([framing/0, read/0, body/0]).

%% A body up to this size is read before anything is sent on; larger ones are passed through in
%% pieces. In bytes.
-define(HELD_BODY, 1048576).
-define(PIECE, 65536).
%% Where webmachine keeps a body that was read.
-define(BODY, req_body).
%% How much of a body that nobody wants is read, so that the client sees its answer: a connection
%% that is closed with bytes unread is reset, and the reset can overtake the answer.
-define(DRAIN, 67108864).
%% As many digits as any length of interest has, and few enough for every reader to agree on them.
-define(MAX_DIGITS, 15).
%% What Riak allows a request by default, and the longest that a request is waited for, whatever it
%% says. In ms.
-define(RIAK_TIMEOUT_MS, 60000).
-define(MAX_TIMEOUT_MS, 3600000).
%% Riak adds some time to what it is given, and no timer takes 2^32.
-define(RIAK_MAX_TIMEOUT_MS, 4000000000).

-type framing() :: none | {length, non_neg_integer()} | chunked.
-type read() :: fun(() -> {iodata(), read() | done}).
-type body() :: none | binary() | {length, pos_integer(), read()} | {chunked, read()}.

%% ---- Framing ----

%% @doc How the request's body ends; `{error, Why}' where two readers of it could disagree.
-spec framing(ringtail_reply:reqdata()) -> {ok, framing()} | {error, Why :: string()}.
framing(RD) ->
    Headers = wrq:req_headers(RD),
    case lists:any(fun is_folded/1, mochiweb_headers:to_list(Headers)) of
        true -> {error, "a header is continued on a second line; write each on one line"};
        false -> framing(wrq:get_req_header("Content-Length", RD),
                         wrq:get_req_header("Transfer-Encoding", RD))
    end.

%% What a header holds is its line without the end, unless it is more than one line.
is_folded({_, Value}) -> lists:member($\n, Value) orelse lists:member($\r, Value).

framing(undefined, undefined) ->
    {ok, none};
framing(Length, undefined) ->
    case is_length(Length) of
        true -> {ok, {length, list_to_integer(Length)}};
        false -> {error, "Content-Length must be one number of bytes, in digits alone"}
    end;
%% mochiweb knows no other spelling of it.
framing(undefined, "chunked") ->
    {ok, chunked};
framing(undefined, _) ->
    {error, "Transfer-Encoding must be chunked, in lower case, or left out"};
framing(_, _) ->
    {error, "give Content-Length or Transfer-Encoding, not both"}.

is_length([]) -> false;
is_length(Text) ->
    length(Text) =< ?MAX_DIGITS andalso lists:all(fun(C) -> C >= $0 andalso C =< $9 end, Text).

%% @doc The 400 for a framing that is not understood. The connection ends with it, for nobody knows
%% where the next request would begin. webmachine must not look for the rest of the body before it
%% answers, as newer ones do: it would fail over the length.
-spec refuse_framing(Why :: string(), ringtail_reply:reqdata(), Context) ->
          ringtail_reply:result(Context).
refuse_framing(Why, RD, Context) ->
    refuse_framing(bad_framing, Why, RD, Context).

refuse_framing(Code, Why, RD, Context) ->
    close_afterwards(),
    _ = put(webmachine_stream_progress, done),
    Closing = wrq:set_resp_header("Connection", "close", RD),
    ringtail_reply:refuse(400, Code, Why, Closing, Context).

%% @doc Whether the request says that its body is larger than allowed.
-spec too_large(ringtail_reply:reqdata()) -> boolean().
too_large(RD) ->
    case framing(wrq:get_req_header("Content-Length", RD), undefined) of
        {ok, {length, Length}} -> Length > ringtail_config:max_body();
        _ -> false
    end.

%% @doc The 413 for a body that is announced as too large.
-spec refuse_too_large(ringtail_reply:reqdata()) -> ringtail_reply:ending().
refuse_too_large(RD) ->
    Message = io_lib:format("the body is larger than ~b bytes; raise {ringtail, max_body} if that "
                            "is meant", [ringtail_config:max_body()]),
    {_, Told, _} = ringtail_reply:refuse(413, body_too_large, Message, RD, none),
    {halt, 413, Told}.

%% @doc The 413 for a body that has turned out to be too large, and goes on with `Rest'. That must
%% not be taken for the next request, as webmachine of Riak 2.x does.
-spec refuse_too_large(Rest :: read() | done, ringtail_reply:reqdata()) -> ringtail_reply:ending().
refuse_too_large(Rest, RD) ->
    ok = drain(Rest),
    refuse_too_large(RD).

%% @doc The 400 for a body that does not come as the request says: what is no chunk, or an end
%% before its length. Where the next request would begin nobody knows.
-spec refuse_unreadable(ringtail_reply:reqdata()) -> ringtail_reply:ending().
refuse_unreadable(RD) ->
    {_, Told, _} =
        refuse_framing(bad_body, "the body does not come as the request says; nothing was stored",
                       RD, none),
    {halt, 400, Told}.

%% @doc webmachine's callback of that name: a digest that is none is refused here, for webmachine
%% fails over it. Whether it is the body's, webmachine sees.
-spec validate_content_checksum(ringtail_reply:reqdata(), Context) ->
          {not_validated, ringtail_reply:reqdata(), Context} | ringtail_reply:result(Context).
validate_content_checksum(RD, Context) ->
    try base64:decode(wrq:get_req_header("Content-MD5", RD)) of
        _ -> {not_validated, RD, Context}
    catch
        _:_ ->
            Message = "Content-MD5 must be the base64 of the MD5 digest of the body",
            ringtail_reply:refuse(400, bad_digest, Message, RD, Context)
    end.

%% @doc At the end of a request that was refused its body is heard out. A client that waited for a
%% 100 may send its body all the same, or not: it would be taken for the next request, so there is
%% none on this connection.
-spec ended(ringtail_reply:reqdata()) -> ringtail_reply:reqdata().
ended(RD) ->
    case {wrq:response_code(RD), wrq:get_req_header("Expect", RD)} of
        {Code, "100-" ++ _} when is_integer(Code), Code >= 300 ->
            close_afterwards(),
            wrq:set_resp_header("Connection", "close", RD);
        {Code, _} when is_integer(Code), Code >= 300 ->
            unread(RD),
            RD;
        _ ->
            RD
    end.

%% ---- Reading ----

%% @doc Reads all of the body for Riak, which then finds it read. One without a length is counted as
%% it comes.
-spec whole(ringtail_reply:reqdata()) -> {ok, ringtail_reply:reqdata()} | ringtail_reply:ending().
whole(RD) ->
    Limited = wrq:set_max_recv_body(ringtail_config:max_body(), RD),
    try
        ok = read_counted(framing(RD), is_read(RD), Limited),
        {ok, Limited}
    catch
        throw:{?MODULE, {too_large, Rest}} -> refuse_too_large(Rest, RD);
        _:_ -> refuse_unreadable(RD)
    end.

%% webmachine would count too, but not tell where it stopped.
read_counted({ok, chunked}, false, RD) ->
    _ = put(?BODY, gathered(limited(pieces(RD), ringtail_config:max_body()), [])),
    ok;
read_counted(_, _, RD) ->
    _ = wrq:req_body(RD),
    ok.

gathered(done, Pieces) ->
    iolist_to_binary(lists:reverse(Pieces));
gathered(Read, Pieces) ->
    {Data, Next} = Read(),
    gathered(Next, [Data | Pieces]).

%% @doc The request's body as it is sent on: read where it is small, otherwise a fun that reads it
%% in pieces. Reading one that turns out to be larger than allowed throws `{ringtail_body,
%% {too_large, Rest}}', and one that does not come as it says `{ringtail_body, unreadable}'.
-spec sendable(ringtail_reply:reqdata()) -> body().
sendable(RD) ->
    case {framing(RD), is_read(RD)} of
        {{ok, none}, _} -> none;
        {{ok, {length, 0}}, _} -> <<>>;
        {{ok, {length, Length}}, Read} when Read; Length =< ?HELD_BODY -> read_whole(RD);
        {{ok, {length, Length}}, _} -> {length, Length, pieces(RD)};
        {{ok, chunked}, true} -> read_whole(RD);
        {{ok, chunked}, false} -> {chunked, limited(pieces(RD), ringtail_config:max_body())}
    end.

%% webmachine has read the body if it had to check its digest, and keeps what was read of it.
is_read(RD) ->
    get(?BODY) =/= undefined orelse wrq:get_req_header("Content-MD5", RD) =/= undefined.

read_whole(RD) -> readable(fun() -> wrq:req_body(RD) end).

pieces(RD) -> fun() -> read(fun() -> wrq:stream_req_body(RD, ?PIECE) end) end.

read(Read) ->
    case readable(Read) of
        {Data, done} -> {Data, done};
        {Data, Next} -> {Data, fun() -> read(Next) end}
    end.

%% Every server in front raises something else.
readable(Read) ->
    try Read()
    catch _:_ -> throw({?MODULE, unreadable})
    end.

limited(Read, Left) ->
    fun() ->
            {Data, Next} = Read(),
            case Left - iolist_size(Data) of
                Over when Over < 0 -> throw({?MODULE, {too_large, Next}});
                _ when Next =:= done -> {Data, done};
                Rest -> {Data, limited(Next, Rest)}
            end
    end.

%% @doc A client that sends its body without being asked to must be heard out, or its connection
%% cannot carry its next request. One that waits for a 100 has not sent anything yet, and need not.
-spec unread(ringtail_reply:reqdata()) -> ok.
unread(RD) ->
    case {framing(RD), is_begun(), wrq:get_req_header("Expect", RD)} of
        {{ok, none}, _, _} -> ok;
        {{ok, {length, 0}}, _, _} -> ok;
        {{ok, _}, false, "100-" ++ _} -> close_afterwards();    % it may send the body all the same
        {{ok, _}, false, _} -> drain(pieces(RD));
        {_, _, _} -> ok
    end.

%% Who begins to read a body has to see to its end. The names under which mochiweb, and webmachine
%% since Riak 3.0, note it.
is_begun() ->
    lists:any(fun(Name) -> get(Name) =/= undefined end,
              [?BODY, mochiweb_request_recv, webmachine_stream_progress]).

%% @doc Reads and drops the rest of a client's body, so that the client reads its answer and the
%% connection can carry another request. What is too long is not waited for: the connection is then
%% closed after the answer.
-spec drain(read() | done) -> ok.
drain(Read) -> drain(Read, ?DRAIN).

drain(done, _) ->
    ok;
drain(_, Left) when Left =< 0 ->
    close_afterwards();
drain(Read, Left) ->
    try Read() of
        {Data, Next} -> drain(Next, Left - iolist_size(Data))
    catch
        _:_ -> close_afterwards()       % the client has gone
    end.

%% @doc Has mochiweb close the connection once the request is answered.
-spec close_afterwards() -> ok.
close_afterwards() ->
    _ = put(mochiweb_request_force_close, true),
    ok.

%% ---- Time ----

%% @doc Why Riak cannot wait as long as the request says; `false' where it can. Asked for more, Riak
%% answers 500 to a write that it carries out, or nothing at all.
-spec too_long(ringtail_reply:reqdata()) -> false | {true, Message :: string()}.
too_long(RD) ->
    try list_to_integer(wrq:get_qs_value("timeout", RD)) of
        Given when Given > ?RIAK_MAX_TIMEOUT_MS ->
            {true, "timeout is in ms, and at most 4000000000"};
        _ -> false
    catch
        error:_ -> false        % none, or Riak's to refuse
    end.

%% @doc The time that the request gives Riak, in ms, as far as anything here waits for it.
-spec timeout(ringtail_reply:reqdata()) -> pos_integer().
timeout(RD) ->
    try list_to_integer(wrq:get_qs_value("timeout", RD)) of
        Given when Given > 0 -> min(Given, ?MAX_TIMEOUT_MS);
        _ -> ?RIAK_TIMEOUT_MS
    catch
        error:_ -> ?RIAK_TIMEOUT_MS
    end.
