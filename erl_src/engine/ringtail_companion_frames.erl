%% @doc Frames of `{packet, 4}' to and from the bytes of a port: pure.
%%
%% The port is opened as a plain stream, because with `{packet, 4}' the VM makes one system call and
%% one message of each frame; here many requests go out in one call, and many answers come in one
%% message. A large frame is not put together: it is mostly a piece of an object, which goes on in
%% the parts it came in.
-module(ringtail_companion_frames).

-export([new/0, add/2, framed/1, whole/1]).
-export_type([frames/0, frame/0]).

%% The companion sends none above this.
-define(LIMIT, 67108864).
-define(LENGTH_FIELD, 4).
%% So much of a frame at least is in its first part.
-define(FIRST_PART, 64).

%% What has come of a frame that is not whole, latest part first, and how much it takes to go on.
-record(frames, {parts = [] :: [binary()],
                 have = 0 :: non_neg_integer(),
                 want = ?LENGTH_FIELD :: pos_integer()}).
-opaque frames() :: #frames{}.
-type frame() :: binary() | [binary()].

%% @doc The beginning of a stream.
-spec new() -> frames().
new() ->
    #frames{}.

%% @doc The frames that are whole by now. One in parts has its first 64 bytes in the first of them.
-spec add(binary(), frames()) -> {[frame()], frames()} | error.
add(Bytes, #frames{have = 0}) ->
    split(Bytes, []);
add(Bytes, #frames{parts = Parts, have = Have, want = Want} = Frames)
  when Have + byte_size(Bytes) < Want ->
    {[], Frames#frames{parts = [Bytes | Parts], have = Have + byte_size(Bytes)}};
add(Bytes, #frames{parts = Parts, have = Have, want = Want})
  when Have >= ?LENGTH_FIELD + ?FIRST_PART ->
    Missing = Want - Have,
    <<Last:Missing/binary, Rest/binary>> = Bytes,
    [<<_:32, First/binary>> | Others] = lists:reverse([Last | Parts]),
    split(Rest, [[First | Others]]);
add(Bytes, #frames{parts = Parts}) ->
    split(iolist_to_binary(lists:reverse([Bytes | Parts])), []).

split(<<Length:32, _/binary>>, _) when Length > ?LIMIT ->
    error;
split(<<Length:32, Frame:Length/binary, Rest/binary>>, Whole) ->
    split(Rest, [Frame | Whole]);
split(<<>>, Whole) ->
    {lists:reverse(Whole), new()};
split(<<Length:32, _/binary>> = Rest, Whole) when byte_size(Rest) >= ?LENGTH_FIELD + ?FIRST_PART ->
    Want = ?LENGTH_FIELD + Length,
    {lists:reverse(Whole), #frames{parts = [Rest], have = byte_size(Rest), want = Want}};
%% Too little to be a first part: put together with what comes next.
split(Rest, Whole) ->
    {lists:reverse(Whole), #frames{parts = [Rest], have = byte_size(Rest)}}.

%% @doc A frame in one binary.
-spec whole(frame()) -> binary().
whole(Frame) when is_binary(Frame) -> Frame;
whole(Parts) -> iolist_to_binary(Parts).

%% @doc A frame as it goes out.
-spec framed(iodata()) -> iolist().
framed(Frame) ->
    [<<(iolist_size(Frame)):32>>, Frame].
