%% @doc A request of the companion whose body, and whose answer, come in pieces: as many at a time
%% as the other side has asked for, so that neither holds more of a large object than a few pieces,
%% however slow the other is.
%%
%% All in the caller's process. Whoever opens a stream closes it; where the process dies instead,
%% the companion is told within seconds.
-module(ringtail_companion_stream).

-export([open/3, event/1, send/2, eof/1, taken/2, close/1]).
-export_type([stream/0]).

-record(stream, {request :: ringtail_companion_call:request(),
                 id :: ringtail_companion_codec:id(),
                 until :: integer()}).

-opaque stream() :: #stream{}.

%% @doc Everything on the stream has to be over after `Timeout' milliseconds.
-spec open(atom(), tuple(), pos_integer()) -> {ok, stream()} | ringtail_companion:failure().
open(Operation, Arguments, Timeout) ->
    Until = ringtail_clock:millis() + Timeout,
    case ringtail_companion_call:begin_request(Operation, Arguments) of
        {ok, Request} ->
            Id = ringtail_companion_call:id(Request),
            {ok, #stream{request = Request, id = Id, until = Until}};
        {error, _} = Error -> Error
    end.

%% @doc What the companion says next. After anything but progress the stream is over, and only to be
%% closed.
-spec event(stream()) -> ringtail_companion_codec:answer().
event(#stream{request = Request} = Stream) ->
    ringtail_companion_call:await(Request, left(Stream)).

%% @doc The next piece of the request.
-spec send(iodata(), stream()) -> ok.
send(Data, #stream{id = Id} = Stream) ->
    write(ringtail_companion_codec:data(Id, Data), Stream).

%% @doc The request has no more pieces.
-spec eof(stream()) -> ok.
eof(#stream{id = Id} = Stream) ->
    write(ringtail_companion_codec:eof(Id), Stream).

%% @doc So many pieces of the answer were taken, and as many more may come.
-spec taken(pos_integer(), stream()) -> ok.
taken(Count, #stream{id = Id} = Stream) ->
    write(ringtail_companion_codec:ack(Id, Count), Stream).

%% @doc Ends it, whatever is still to come.
-spec close(stream()) -> ok.
close(#stream{request = Request}) ->
    ringtail_companion_call:finish(Request).

write(Frame, #stream{request = Request}) ->
    ringtail_companion_call:write(Request, Frame).

left(#stream{until = Until}) ->
    max(0, Until - ringtail_clock:millis()).
