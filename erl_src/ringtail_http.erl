%% @doc HTTP/1.1 as one hop of a proxy needs it, without a socket: the head of a
%% request, the head and the framing of an answer, which headers go on and
%% which end at this hop.
%%
%% Heads are read by own code and not by erlang:decode_packet/3: that one
%% rewrites header names ("x-riak-meta-FOO" becomes "X-Riak-Meta-Foo"), and an
%% answer must leave this node as it came in. The price is the forty lines of
%% {@link parse_head/1}; every parser here is total and takes any split of the
%% bytes.
-module(ringtail_http).

-export([request_head/5, host/3, forwarded_for/2]).
-export([parse_head/1, final_head/1, framing/4, reusable/2, end_to_end/1]).
-export([chunks/0, chunks/2, chunk/1, last_chunk/0]).
-export([values/2]).

-export_type([headers/0, head/0, body_framing/0, chunks/0]).

-type headers() :: [{binary(), binary()}].
-type head() :: {Version :: {1, 0..1}, Status :: 100..599, headers()}.
%% How a body ends: `close' = with the connection.
-type body_framing() :: none | {length, non_neg_integer()} | chunked | close.
-opaque chunks() :: {size, binary()} | {data, pos_integer()} |
                    {crlf, binary()} | {trailer, binary(), non_neg_integer()}.

%% A head longer than this is no answer of Riak's.
-define(MAX_HEAD, 65536).
-define(MAX_CHUNK_LINE, 4096).

%% ---------------------------------------------------------------------
%% Requests
%% ---------------------------------------------------------------------

%% @doc The head of the request for the next hop. `Headers' are the client's;
%% `Peer' is the client's address as this node believes it, or `undefined'.
%%
%% Dropped: what concerns the client's own connection, `Expect' (the server in
%% front has answered it), and `X-Forwarded-Host' and `X-Forwarded-Server',
%% which webmachine would take for the host the request is meant for.
%% `X-Forwarded-For' is carried on with `Peer' as its last element, because
%% Riak's security compares the client's address with its sources: without it
%% a forwarded request would be judged by the address of the node in front.
-spec request_head(string(), string(), [{term(), term()}],
                   {http | https, string(), inet:port_number(),
                    string() | undefined},
                   none | {length, non_neg_integer()} | chunked) ->
                          {ok, iolist()} | {error, {bad_request, term()}}.
request_head(Method, Path, Headers0, {Scheme, Host, Port, Peer}, Framing) ->
    try
        is_token(to_bin(Method)) orelse throw({bad_request, method}),
        is_target(to_bin(Path)) orelse throw({bad_request, path}),
        Headers = [request_header(H) || H <- Headers0],
        Kept = [H || {Name, _} = H <- drop_hop_by_hop(Headers),
                     not dropped_from_request(lower(Name))],
        {ok, [Method, " ", Path, " HTTP/1.1\r\n",
              "Host: ", host(Scheme, Host, Port), "\r\n",
              [[Name, ": ", Value, "\r\n"]
               || {Name, Value} <- forwarded_for(Peer, Kept)],
              framing_header(Method, Framing), "\r\n"]}
    catch
        throw:{bad_request, _} = Reason -> {error, Reason}
    end.

%% mochiweb names well-known headers by atoms.
request_header({Name0, Value0}) ->
    Name = to_bin(Name0),
    Value = to_bin(Value0),
    is_token(Name) andalso is_value(Value)
        orelse throw({bad_request, {header, Name}}),
    {Name, Value}.

dropped_from_request(<<"host">>) -> true;
dropped_from_request(<<"content-length">>) -> true;
dropped_from_request(<<"expect">>) -> true;
dropped_from_request(<<"x-forwarded-host">>) -> true;
dropped_from_request(<<"x-forwarded-server">>) -> true;
dropped_from_request(_) -> false.

framing_header(_, {length, N}) ->
    ["Content-Length: ", integer_to_list(N), "\r\n"];
framing_header(_, chunked) ->
    "Transfer-Encoding: chunked\r\n";
framing_header(Method, none) when Method =:= "PUT"; Method =:= "POST" ->
    "Content-Length: 0\r\n";
framing_header(_, none) ->
    "".

%% @doc The value of a `Host' header: IPv6 addresses in brackets and without
%% their zone, which means nothing to the other side.
-spec host(http | https, string(), inet:port_number()) -> string().
host(Scheme, Host0, Port) ->
    Host1 = string:strip(string:strip(Host0, left, $[), right, $]),
    Host = case lists:member($:, Host1) of
               true -> "[" ++ lists:takewhile(fun(C) -> C =/= $% end, Host1)
                           ++ "]";
               false -> Host1
           end,
    case {Scheme, Port} of
        {http, 80} -> Host;
        {https, 443} -> Host;
        _ -> Host ++ ":" ++ integer_to_list(Port)
    end.

%% @doc Makes `Peer' the last element of X-Forwarded-For, which is the one that
%% webmachine believes.
-spec forwarded_for(string() | undefined, headers()) -> headers().
forwarded_for(undefined, Headers) ->
    Headers;
forwarded_for(Peer0, Headers) ->
    Peer = to_bin(Peer0),
    is_value(Peer) orelse throw({bad_request, peer}),
    IsForwarded = fun({Name, _}) -> lower(Name) =:= <<"x-forwarded-for">> end,
    {Forwarded, Others} = lists:partition(IsForwarded, Headers),
    Seen = [E || {_, Value} <- Forwarded, E <- elements(Value)],
    All = case Seen =/= [] andalso lists:last(Seen) =:= Peer of
              true -> Seen;
              false -> Seen ++ [Peer]
          end,
    Others ++ [{<<"X-Forwarded-For">>, join(All)}].

%% ---------------------------------------------------------------------
%% Answers
%% ---------------------------------------------------------------------

%% @doc The head at the start of `Bytes', and what follows it.
-spec parse_head(binary()) -> more | {ok, head(), binary()} |
                              {error, bad_head | head_too_large}.
parse_head(Bytes) ->
    case binary:match(Bytes, <<"\r\n\r\n">>) of
        {At, 4} when At =< ?MAX_HEAD ->
            <<Head:At/binary, "\r\n\r\n", Rest/binary>> = Bytes,
            [Status | Lines] = binary:split(Head, <<"\r\n">>, [global]),
            try
                {Version, Code} = parse_status(Status),
                {ok, {Version, Code, parse_lines(Lines, [])},
                 binary:copy(Rest)}
            catch
                throw:bad_head -> {error, bad_head}
            end;
        nomatch when byte_size(Bytes) =< ?MAX_HEAD ->
            more;
        _ ->
            {error, head_too_large}
    end.

%% @doc As {@link parse_head/1}, past any interim answers. 101 is not interim:
%% this hop never asks for an upgrade.
-spec final_head(binary()) -> {more, binary()} | {ok, head(), binary()} |
                              {error, bad_head | head_too_large}.
final_head(Bytes) ->
    case parse_head(Bytes) of
        more -> {more, Bytes};
        {ok, {_, 101, _}, _} -> {error, bad_head};
        {ok, {_, Status, _}, Rest} when Status < 200 -> final_head(Rest);
        Other -> Other
    end.

parse_status(<<"HTTP/1.", Minor, " ", A, B, C, Rest/binary>>)
  when Minor >= $0, Minor =< $9, A >= $1, A =< $5, B >= $0, B =< $9,
       C >= $0, C =< $9 ->
    case Rest of
        <<>> -> ok;
        <<" ", Reason/binary>> -> is_value(Reason) orelse throw(bad_head);
        _ -> throw(bad_head)
    end,
    %% A minor version above 1 promises to be understood as 1.1.
    {{1, min(Minor - $0, 1)}, (A - $0) * 100 + (B - $0) * 10 + (C - $0)};
parse_status(_) ->
    throw(bad_head).

parse_lines([], Acc) ->
    lists:reverse(Acc);
parse_lines([<<C, _/binary>> = Line | Lines], [{Name, Value} | Acc])
  when C =:= $\s; C =:= $\t ->
    %% A value folded over lines, as old servers did it.
    is_value(Line) orelse throw(bad_head),
    Unfolded = trim(<<Value/binary, " ", (trim(Line))/binary>>),
    parse_lines(Lines, [{Name, Unfolded} | Acc]);
parse_lines([Line | Lines], Acc) ->
    case binary:split(Line, <<":">>) of
        [Name, Value] ->
            is_token(Name) andalso is_value(Value) orelse throw(bad_head),
            parse_lines(Lines, [{Name, trim(Value)} | Acc]);
        _ ->
            throw(bad_head)
    end.

%% @doc How the body of an answer to `Method' ends.
%%
%% Two answers are refused because two readers could disagree on them: lengths
%% that contradict each other, and codings other than plain `chunked'.
-spec framing(string(), 100..599, {1, 0..1}, headers()) ->
                     {ok, body_framing()} | {error, bad_framing}.
framing("HEAD", _, _, _) -> {ok, none};
framing(_, Status, _, _) when Status < 200; Status =:= 204; Status =:= 304 ->
    {ok, none};
framing(_, _, Version, Headers) ->
    case {values(<<"transfer-encoding">>, Headers),
          lists:usort(values(<<"content-length">>, Headers))} of
        {[], []} -> {ok, close};
        {[], [Length]} -> length_framing(Length);
        {[Coding], _} when Version =:= {1, 1} ->
            case lower(Coding) of
                <<"chunked">> -> {ok, chunked};
                _ -> {error, bad_framing}
            end;
        _ -> {error, bad_framing}
    end.

length_framing(Digits) when byte_size(Digits) > 0, byte_size(Digits) =< 18 ->
    case [C || <<C>> <= Digits, C < $0 orelse C > $9] of
        [] -> {ok, {length, list_to_integer(binary_to_list(Digits))}};
        _ -> {error, bad_framing}
    end;
length_framing(_) ->
    {error, bad_framing}.

%% @doc Whether the connection may carry another request after this answer.
%% Not so if both a length and a coding were said: the two of us may have read
%% different bodies.
-spec reusable({1, 0..1}, headers()) -> boolean().
reusable(Version, Headers) ->
    Connection = [lower(V) || V <- values(<<"connection">>, Headers)],
    Doubtful = values(<<"transfer-encoding">>, Headers) =/= [] andalso
        values(<<"content-length">>, Headers) =/= [],
    Kept = case Version of
               {1, 1} -> not lists:member(<<"close">>, Connection);
               {1, 0} -> lists:member(<<"keep-alive">>, Connection)
           end,
    Kept andalso not Doubtful.

%% @doc The headers of an answer that go on to the client, in their order and
%% number. Content-Length is not among them: how long the body is goes on
%% beside it, since whoever sends the body frames it.
-spec end_to_end(headers()) -> headers().
end_to_end(Headers) ->
    Named = named_by_connection(Headers),
    [H || {Name, _} = H <- Headers, is_end_to_end(lower(Name), Named)].

is_end_to_end(<<"content-length">>, _) -> false;
is_end_to_end(Name, Named) -> not hop_by_hop(Name, Named).

drop_hop_by_hop(Headers) ->
    Named = named_by_connection(Headers),
    [H || {Name, _} = H <- Headers, not hop_by_hop(lower(Name), Named)].

named_by_connection(Headers) ->
    [lower(V) || V <- values(<<"connection">>, Headers)].

hop_by_hop(<<"connection">>, _) -> true;
hop_by_hop(<<"keep-alive">>, _) -> true;
hop_by_hop(<<"proxy-authenticate">>, _) -> true;
hop_by_hop(<<"proxy-authorization">>, _) -> true;
hop_by_hop(<<"proxy-connection">>, _) -> true;
hop_by_hop(<<"te">>, _) -> true;
hop_by_hop(<<"trailer">>, _) -> true;
hop_by_hop(<<"transfer-encoding">>, _) -> true;
hop_by_hop(<<"upgrade">>, _) -> true;
%% A client must not be able to name away what tells the next node that this is
%% a second hop, or whose request it is.
hop_by_hop(<<"x-ringtail-", _/binary>>, _) -> false;
hop_by_hop(<<"x-forwarded-for">>, _) -> false;
hop_by_hop(Name, Named) -> lists:member(Name, Named).

%% @doc The elements of a header given as one or more comma-separated lists;
%% `Name' in lower case.
-spec values(binary(), headers()) -> [binary()].
values(Name, Headers) ->
    [E || {N, Value} <- Headers, byte_size(N) =:= byte_size(Name), lower(N) =:= Name, E <- elements(Value)].

elements(Value) ->
    [E || E <- [trim(P) || P <- binary:split(Value, <<",">>, [global])],
          E =/= <<>>].

%% ---------------------------------------------------------------------
%% Chunked bodies
%% ---------------------------------------------------------------------

%% @doc A decoder at the start of a chunked body.
-spec chunks() -> chunks().
chunks() -> {size, <<>>}.

%% @doc Feeds bytes to the decoder. Chunk extensions and trailers are dropped;
%% `done' comes with the bytes after the body.
-spec chunks(binary(), chunks()) -> {more, [binary()], chunks()} |
                                    {done, [binary()], binary()} |
                                    {error, bad_chunk}.
chunks(Bytes, State) -> chunks(Bytes, State, []).

chunks(<<>>, State, Acc) ->
    {more, lists:reverse(Acc), State};
chunks(Bytes, {size, Seen}, Acc) ->
    case line(Seen, Bytes, ?MAX_CHUNK_LINE) of
        more ->
            {more, lists:reverse(Acc), {size, <<Seen/binary, Bytes/binary>>}};
        {ok, Line, Rest} ->
            case chunk_size(Line) of
                {ok, 0} -> chunks(Rest, {trailer, <<>>, 0}, Acc);
                {ok, Size} -> chunks(Rest, {data, Size}, Acc);
                error -> {error, bad_chunk}
            end;
        error ->
            {error, bad_chunk}
    end;
chunks(Bytes, {data, Left}, Acc) when byte_size(Bytes) < Left ->
    {more, lists:reverse([Bytes | Acc]), {data, Left - byte_size(Bytes)}};
chunks(Bytes, {data, Left}, Acc) ->
    <<Data:Left/binary, Rest/binary>> = Bytes,
    chunks(Rest, {crlf, <<>>}, [Data | Acc]);
chunks(Bytes, {crlf, Seen}, Acc) ->
    case <<Seen/binary, Bytes/binary>> of
        <<"\r\n", Rest/binary>> -> chunks(Rest, {size, <<>>}, Acc);
        <<"\r">> -> {more, lists:reverse(Acc), {crlf, <<"\r">>}};
        _ -> {error, bad_chunk}
    end;
chunks(Bytes, {trailer, Seen, Total}, Acc) ->
    case line(Seen, Bytes, ?MAX_HEAD - Total) of
        more ->
            {more, lists:reverse(Acc),
             {trailer, <<Seen/binary, Bytes/binary>>, Total}};
        {ok, <<>>, Rest} ->
            {done, lists:reverse(Acc), Rest};
        {ok, Line, Rest} ->
            chunks(Rest, {trailer, <<>>, Total + byte_size(Line) + 2}, Acc);
        error ->
            {error, bad_chunk}
    end.

%% A line of at most Max bytes, of which Seen came earlier without its end.
line(Seen, Bytes, Max) ->
    All = <<Seen/binary, Bytes/binary>>,
    case binary:match(All, <<"\r\n">>) of
        {At, 2} when At =< Max ->
            <<Line:At/binary, "\r\n", Rest/binary>> = All,
            {ok, Line, Rest};
        nomatch when byte_size(All) =< Max + 1 -> more;
        _ -> error
    end.

chunk_size(Line) ->
    [Size0 | _] = binary:split(Line, <<";">>),
    Size = trim(Size0),
    Digits = [C || <<C>> <= Size],
    case Digits =/= [] andalso length(Digits) =< 15 andalso
        lists:all(fun is_hex/1, Digits) of
        true -> {ok, list_to_integer(Digits, 16)};
        false -> error
    end.

is_hex(C) ->
    (C >= $0 andalso C =< $9) orelse (C >= $a andalso C =< $f)
        orelse (C >= $A andalso C =< $F).

%% @doc `Data' as one chunk. Nothing for no data: an empty chunk would end the
%% body.
-spec chunk(iodata()) -> iodata().
chunk(Data) ->
    case iolist_size(Data) of
        0 -> [];
        Size -> [integer_to_list(Size, 16), "\r\n", Data, "\r\n"]
    end.

-spec last_chunk() -> binary().
last_chunk() -> <<"0\r\n\r\n">>.

%% ---------------------------------------------------------------------
%% Characters
%% ---------------------------------------------------------------------

to_bin(V) when is_binary(V) -> V;
to_bin(V) when is_atom(V) -> list_to_binary(atom_to_list(V));
to_bin(V) when is_integer(V) -> list_to_binary(integer_to_list(V));
to_bin(V) ->
    try iolist_to_binary(V)
    catch error:badarg -> throw({bad_request, not_bytes})
    end.

is_token(<<>>) -> false;
is_token(Name) -> all(fun is_token_char/1, Name).

is_token_char(C) when C >= $a, C =< $z; C >= $A, C =< $Z; C >= $0, C =< $9 ->
    true;
is_token_char(C) -> lists:member(C, "!#$%&'*+-.^_`|~").

%% Any byte but those that could end a line or a string early.
is_value(Value) ->
    all(fun(C) -> C =/= $\r andalso C =/= $\n andalso C =/= 0 end, Value).

is_target(<<>>) -> false;
is_target(Path) -> all(fun(C) -> C > $\s andalso C =/= 127 end, Path).

all(Pred, Bytes) -> [] =:= [C || <<C>> <= Bytes, not Pred(C)].

lower(Bytes) -> << <<(lower_char(C))>> || <<C>> <= Bytes >>.

lower_char(C) when C >= $A, C =< $Z -> C + 32;
lower_char(C) -> C.

trim(<<C, Rest/binary>>) when C =:= $\s; C =:= $\t -> trim(Rest);
trim(Bytes) -> trim_right(Bytes, byte_size(Bytes)).

trim_right(_, 0) -> <<>>;
trim_right(Bytes, Size) ->
    case binary:at(Bytes, Size - 1) of
        C when C =:= $\s; C =:= $\t -> trim_right(Bytes, Size - 1);
        _ -> binary:part(Bytes, 0, Size)
    end.

join([E]) -> E;
join([E | Es]) -> << E/binary, ", ", (join(Es))/binary >>.
