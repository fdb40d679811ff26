%% @doc Which header fields go on where a request or an answer is passed on to another cluster, and
%% in how many lines. Pure.
%%
%% What a field says of the way to this VM ends here: how the body is framed, which page a browser
%% came from, whom a proxy in front took for the client. The cluster would judge its own way by it.
-module(ringtail_remote_headers).

-export([request_fields/2, answer_fields/1, has_field/2]).
-export_type([fields/0]).

-type fields() :: [{Name :: binary(), Value :: binary()}].

%% A line of a request above 8 KB is refused by mochiweb; it has the name of the field in it, too.
-define(MAX_LINE, 4096).

%% @doc The fields of a request that go on. mochiweb has joined those of one name into one, as it
%% will do once more on the node, so that a long one may be cut where they were joined. An
%% Authorization goes on over https only: whoever has taken an address would read it.
-spec request_fields([{Name :: atom() | string(), Value :: string()}], http | https) -> fields().
request_fields(Given, Scheme) ->
    Fields = [{bytes(Name), bytes(Value)} || {Name, Value} <- Given],
    [{Name, Line} || {Name, Value} <- Fields, goes_on(lower(Name), Scheme), Line <- lines(Value)].

goes_on(<<"authorization">>, Scheme) -> Scheme =:= https;
goes_on(<<"x-forwarded-", _/binary>>, _) -> false;
goes_on(<<"x-ringtail-", _/binary>>, _) -> false;
goes_on(Name, _) ->
    not (is_of_the_hop(Name)
         orelse lists:member(Name, [<<"cookie">>, <<"expect">>, <<"forwarded">>, <<"host">>,
                                    <<"origin">>, <<"referer">>, <<"x-real-ip">>])).

%% What Connection names besides is no matter: it would let a client take away the condition of a
%% write, which a node takes no notice of.
is_of_the_hop(Name) ->
    lists:member(Name, [<<"connection">>, <<"content-length">>, <<"keep-alive">>,
                        <<"proxy-authenticate">>, <<"proxy-authorization">>,
                        <<"proxy-connection">>, <<"te">>, <<"trailer">>, <<"transfer-encoding">>,
                        <<"upgrade">>]).

%% Values of which each is as long as may be, joined by what is left out between them.
lines(Value) when byte_size(Value) =< ?MAX_LINE -> [Value];
lines(Value) ->
    case [At || {At, 2} <- binary:matches(Value, <<", ">>), is_joint(At, Value)] of
        [] -> [Value];
        Joints -> cut(0, Joints, Value)
    end.

%% A line that begins or ends with a blank would lose it.
is_joint(At, Value) ->
    At > 0 andalso At + 2 < byte_size(Value)
        andalso not is_blank(binary:at(Value, At - 1))
        andalso not is_blank(binary:at(Value, At + 2)).

is_blank(C) -> C =:= $\s orelse C =:= $\t.

cut(From, Joints, Value) when byte_size(Value) - From =< ?MAX_LINE; Joints =:= [] ->
    [binary:part(Value, From, byte_size(Value) - From)];
cut(From, [Joint | Joints], Value) ->
    {Last, Later} = furthest(From, Joint, Joints),
    [binary:part(Value, From, Last - From) | cut(Last + 2, Later, Value)].

furthest(From, _, [Next | Joints]) when Next - From =< ?MAX_LINE -> furthest(From, Next, Joints);
furthest(_, Joint, Joints) -> {Joint, Joints}.

%% @doc The fields of an answer that go on, in their order and number. Content-Length is not among
%% them: how long the body is goes on beside it, since whoever sends the body frames it.
-spec answer_fields(fields()) -> fields().
answer_fields(Fields) ->
    [Field || {Name, _} = Field <- Fields, not is_of_the_hop(lower(Name))].

%% @doc Whether there is a field of this name, given in lower case.
-spec has_field(string(), [{Name :: string(), Value :: string()}]) -> boolean().
has_field(Wanted, Fields) ->
    lists:any(fun({Name, _}) -> string:to_lower(Name) =:= Wanted end, Fields).

bytes(Text) when is_atom(Text) -> atom_to_binary(Text, latin1);
bytes(Text) -> iolist_to_binary(Text).

lower(Bytes) -> << <<(lower_char(C))>> || <<C>> <= Bytes >>.

lower_char(C) when C >= $A, C =< $Z -> C + 32;
lower_char(C) -> C.
