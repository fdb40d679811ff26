%% @doc Frames of `{packet, 4}' to and from the bytes of a port: pure.
%%
%% The port is opened as a plain stream, because with `{packet, 4}' the VM makes one system call and one message of each frame;
%% here many requests go out in one call, and many answers come in one message.
-module(ringtail_port_frames).

-export([new/0, add/2, framed/1]).
-export_type([frames/0]).

%% The companion sends none above this.
-define(LIMIT, 67108864).
-define(LENGTH_FIELD, 4).

%% What has come of a frame that is not whole, latest piece first, and how much it takes to go on.
-record(frames, {pieces = [] :: [binary()], have = 0 :: non_neg_integer(), want = ?LENGTH_FIELD :: pos_integer()}).
-opaque frames() :: #frames{}.

%% @doc The beginning of a stream.
-spec new() -> frames().
new() ->
    #frames{}.

%% @doc The frames that are whole by now. A large one is put together once, however many pieces it comes in.
-spec add(binary(), frames()) -> {[binary()], frames()} | error.
add(Bytes, #frames{pieces = [], have = 0}) ->
    split(Bytes, []);
add(Bytes, #frames{pieces = Pieces, have = Have, want = Want} = Frames) when Have + byte_size(Bytes) < Want ->
    Frames1 = Frames#frames{pieces = [Bytes | Pieces], have = Have + byte_size(Bytes)},
    {[], Frames1};
add(Bytes, #frames{pieces = Pieces}) ->
    split(iolist_to_binary(lists:reverse([Bytes | Pieces])), []).

split(<<Length:32, _/binary>>, _) when Length > ?LIMIT ->
    error;
split(<<Length:32, Frame:Length/binary, Rest/binary>>, Whole) ->
    split(Rest, [Frame | Whole]);
split(<<>>, Whole) ->
    {lists:reverse(Whole), new()};
split(<<Length:32, _/binary>> = Rest, Whole) ->
    {lists:reverse(Whole), #frames{pieces = [Rest], have = byte_size(Rest), want = ?LENGTH_FIELD + Length}};
split(Rest, Whole) ->
    {lists:reverse(Whole), #frames{pieces = [Rest], have = byte_size(Rest)}}.

%% @doc A frame as it goes out.
-spec framed(binary()) -> iolist().
framed(Frame) ->
    [<<(byte_size(Frame)):32>>, Frame].
