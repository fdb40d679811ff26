%% @doc JSON for small documents and errors, by the encoder that every Riak node has (mochiweb's).
%% The large documents are made by the engine. Names and keys are bytes, JSON is text: what is not
%% UTF-8 is shown as Latin-1.
-module(ringtail_json).

-export([object/1, name/1, text/1]).

%% @doc An object from `[{Key, Value}]' in this order; a value `{json, IoData}' is put in as it is.
-spec object([{atom(), term()}]) -> binary().
object(Members) ->
    iolist_to_binary(mochijson2:encode({struct, Members})).

%% @doc A node's name as text. The names of another cluster's nodes are text already.
-spec name(node() | binary()) -> binary().
name(Node) when is_binary(Node) -> Node;
name(Node) -> atom_to_binary(Node, utf8).

%% @doc Any bytes as text that can be encoded.
-spec text(iodata()) -> binary().
text(IoData) ->
    Bytes = iolist_to_binary(IoData),
    case unicode:characters_to_binary(Bytes, utf8, utf8) of
        Bytes -> Bytes;
        _ -> unicode:characters_to_binary(Bytes, latin1, utf8)
    end.
