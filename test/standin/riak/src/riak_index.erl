%% Test support: secondary index fields of an object.
-module(riak_index).

-export([parse_fields/1, parse_field/2, format_failure_reason/1, normalize_index_field/1]).

%% [{Field, Value}] (binaries) -> {ok, sorted, parsed} | {error, Reasons}
parse_fields(Fields) ->
    Parsed = [{normalize_index_field(F), parse_field(normalize_index_field(F), V)}
              || {F, V} <- Fields],
    case lists:usort([Why || {_, {error, Why}} <- Parsed]) of
        [] -> {ok, lists:usort([{F, V} || {F, {ok, V}} <- Parsed])};
        Reasons -> {error, Reasons}
    end.

parse_field(<<"$key">>, Value) -> {ok, Value};
parse_field(<<"$bucket">>, Value) -> {ok, Value};
parse_field(Field, Value) ->
    case kind(Field) of
        bin -> {ok, Value};
        int ->
            try {ok, binary_to_integer(Value)}
            catch error:badarg -> {error, {field_parsing_failed, {Field, Value}}}
            end;
        unknown -> {error, {unknown_field_type, Field}}
    end.

kind(Field) when byte_size(Field) > 4 ->
    case binary:part(Field, byte_size(Field), -4) of
        <<"_bin">> -> bin;
        <<"_int">> -> int;
        _ -> unknown
    end;
kind(_) -> unknown.

format_failure_reason({unknown_field_type, Field}) ->
    io_lib:format("Unknown field type for field: '~s'.~n", [Field]);
format_failure_reason({field_parsing_failed, {Field, Value}}) ->
    io_lib:format("Could not parse field '~s', value '~s'.~n", [Field, Value]).

normalize_index_field(Field) when is_binary(Field) ->
    list_to_binary(string:to_lower(binary_to_list(Field))).
