%% @doc What the application knows of itself in the text format that Prometheus reads. Pure.
-module(ringtail_metrics).

-export([text/1, truth/1]).
-export_type([metric/0]).

-type metric() :: {Name :: string(), counter | gauge, Help :: string(),
                   [{Labels :: [{atom(), term()}], Value :: number()}]}.

%% @doc One block a metric: help, type, and a line for each set of labels.
-spec text([metric()]) -> binary().
text(Metrics) ->
    unicode:characters_to_binary([block(Metric) || Metric <- Metrics]).

block({Name, Kind, Help, Samples}) ->
    ["# HELP ", Name, " ", Help, "\n# TYPE ", Name, " ", atom_to_list(Kind), "\n",
     [[Name, labels(Labels), " ", number(Value), "\n"] || {Labels, Value} <- Samples]].

labels([]) -> "";
labels(Labels) ->
    ["{",
     string:join([lists:flatten([atom_to_list(Label), "=\"", escaped(text_of(Value)), "\""])
                  || {Label, Value} <- Labels], ","), "}"].

number(Value) when is_integer(Value) -> integer_to_list(Value);
number(Value) when is_float(Value) -> io_lib:format("~w", [Value]).

text_of(Value) when is_atom(Value) -> atom_to_list(Value);
text_of(Value) when is_binary(Value) -> unicode:characters_to_list(Value);
text_of(Value) when is_list(Value) -> Value.

%% As the format wants it within quotation marks.
escaped(Text) ->
    lists:flatmap(fun($\\) -> "\\\\"; ($") -> "\\\""; ($\n) -> "\\n"; (Char) -> [Char] end, Text).

%% @doc A condition as a gauge has it.
-spec truth(boolean()) -> 0 | 1.
truth(true) -> 1;
truth(false) -> 0.
