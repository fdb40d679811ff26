%% @doc Riak 2.x runs on Erlang/OTP R16B02: our beams may call and say only what that release knows.
-module(ringtail_r16_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0]).
-export([our_modules_keep_to_r16b02/1, violations_are_found/1]).

all() ->
    [our_modules_keep_to_r16b02, violations_are_found].

%% Modules that are not in the list of exports, by name and with the reason. `{Module, '_'}' is the
%% whole module.
allowed() ->
    [{ssl, "part of R16B02, but not built where the list was made"},
     {compile, "the compiler, part of R16B02 and of every Riak node, but not in the list"},
     {chash, "riak_core"},
     {chashbin, "riak_core"},
     {vclock, "riak_core"},
     {ibrowse, "shipped with Riak"}].

%% The same by the beginning of the name.
allowed_prefixes() ->
    [{"riak_core", "Riak's own"},
     {"riak_kv", "Riak's own"},
     {"riak_api", "Riak's own"},
     {"webmachine", "shipped with Riak"},
     {"wrq", "webmachine"},
     {"mochi", "mochiweb, shipped with Riak"}].

%% Single calls newer than R16B02, each reached only after erlang:function_exported/3 or a version
%% check.
guarded() ->
    [{erlang, monotonic_time, 1}].

our_modules_keep_to_r16b02(_) ->
    Beams =
        filelib:wildcard(filename:join(filename:dirname(code:which(ringtail)), "ringtail*.beam")),
    Ours = [Beam || Beam <- Beams, is_ours(Beam)],
    ?assert(length(Ours) >= 3),
    ?assertEqual([], [{filename:basename(Beam), Problem} || Beam <- Ours,
                      Problem <- problems(Beam)]).

%% Compiled from erl_src, which leaves out what the tests compile.
is_ours(Beam) ->
    filelib:is_regular(ringtail_test_util:source(filename:basename(Beam, ".beam") ++ ".erl")).

%% The check must be able to fail: each line below is one thing R16B02 does not know.
violations_are_found(_) ->
    Cases =
        [{"f(X) -> maps:get(a, X).", {call, {maps, get, 2}}},
         {"f(X) -> persistent_term:get(X).", {call, {persistent_term, get, 1}}},
         {"f(X) -> lists:join(x, X).", {call, {lists, join, 2}}},
         {"f(X) -> ceil(X).", {call, {erlang, ceil, 1}}},
         {"f(X) -> X#{a => 1}.", {syntax, map}},
         {"f(#{a := X}) -> X.", {syntax, map}},
         {"f(X) -> F = fun G(Y) -> G(Y) end, F(X).", {syntax, named_fun}},
         {"f(X) -> try X() catch _:_:S -> S end.", {syntax, stacktrace_variable}},
         {"f(X) -> X, '" ++ [955] ++ "'.", {syntax, unicode_atom}},
         {"-spec f(map()) -> ok.\nf(_) -> ok.", {syntax, map_type}},
         {"f(X) -> fun maps:get/2, X.", {call, {maps, get, 2}}}],
    [?assertEqual({Source, true}, {Source, lists:member(Problem, problems(compiled(Source)))})
     || {Source, Problem} <- Cases],
    Sound = "f(X) -> lists:map(fun erlang:abs/1, [X]), ssl:start(), riak_core_ring:any(X).",
    ?assertEqual([], problems(compiled(Sound))).

compiled(Source) ->
    Text = "-module(sample).\n-export([f/1]).\n" ++ Source ++ "\n",
    {ok, Tokens, _} = erl_scan:string(Text),
    Forms = forms(Tokens, [], []),
    {ok, sample, Beam} = compile:forms(Forms, [debug_info]),
    Beam.

forms([], [], Forms) ->
    lists:reverse(Forms);
forms([{dot, _} = Dot | Rest], Taken, Forms) ->
    {ok, Form} = erl_parse:parse_form(lists:reverse(Taken, [Dot])),
    forms(Rest, [], [Form | Forms]);
forms([Token | Rest], Taken, Forms) ->
    forms(Rest, [Token | Taken], Forms).

%% ---- The check ----

problems(Beam) ->
    {ok, {_, [{imports, Imports}, {abstract_code, {raw_abstract_v1, Forms}}]}} =
        beam_lib:chunks(Beam, [imports, abstract_code]),
    Known = exports(),
    Calls = lists:usort(Imports ++ mentioned(Forms)),
    [{call, Call} || Call <- Calls, not known(Call, Known)]
        ++ [{syntax, What} || What <- lists:usort(newer(Forms))].

known({Module, _, _} = Call, Known) ->
    sets:is_element(lists:flatten(io_lib:format("~w:~w/~w", tuple_to_list(Call))), Known)
        orelse lists:keymember(Module, 1, allowed())
        orelse [Prefix
                || {Prefix, _} <- allowed_prefixes(),
                   lists:prefix(Prefix, atom_to_list(Module))] =/= []
        orelse lists:member(Call, guarded())
        orelse filelib:is_regular(ringtail_test_util:source(atom_to_list(Module) ++ ".erl"))
        %% The compiler puts these into every module.
        orelse lists:member(Call, [{erlang, get_module_info, 1}, {erlang, get_module_info, 2}]).

exports() ->
    {ok,
     Bytes} =
         file:read_file(filename:join(ringtail_test_util:root(), "test/otp/r16b02-exports.txt")),
    sets:from_list([binary_to_list(Line)
                    || Line <- binary:split(Bytes, <<"\n">>, [global]), Line =/= <<>>]).

%% Remote calls by literal names, also those the compiler replaces or drops.
mentioned({call, _, {remote, _, {atom, _, M}, {atom, _, F}}, Args}) ->
    [{M, F, length(Args)} | mentioned(Args)];
mentioned({'fun', _, {function, {atom, _, M}, {atom, _, F}, {integer, _, A}}}) ->
    [{M, F, A}];
mentioned({attribute, _, _, _}) ->
    [];
mentioned(Tuple) when is_tuple(Tuple) ->
    mentioned(tuple_to_list(Tuple));
mentioned([Head | Tail]) ->
    mentioned(Head) ++ mentioned(Tail);
mentioned(_) ->
    [].

%% Abstract code that R16B02's compiler would not have read.
newer({map, _, Fields}) -> [map | newer(Fields)];
newer({map, _, Map, Fields}) -> [map | newer(Map) ++ newer(Fields)];
newer({named_fun, _, _, Clauses}) -> [named_fun | newer(Clauses)];
newer({'maybe', _, Body}) -> ['maybe' | newer(Body)];
newer({'maybe', _, Body, Else}) -> ['maybe' | newer(Body) ++ newer(Else)];
newer({mc, _, Template, Generators}) -> [map_comprehension | newer(Template) ++ newer(Generators)];
newer({type, _, map, _}) -> [map_type];
newer({type, _, Name, []})
  when Name =:= nonempty_binary; Name =:= nonempty_bitstring; Name =:= dynamic -> [newer_type];
newer({'try', _, Body, Of, Catch, After}) ->
    [stacktrace_variable
     || {clause, _, [{tuple, _, [_, _, {var, _, Name}]}], _, _} <- Catch, Name =/= '_']
        ++ newer(Body) ++ newer(Of) ++ newer(Catch) ++ newer(After);
newer({attribute, _, Name, _})
  when Name =:= nifs; Name =:= feature; Name =:= nominal; Name =:= doc; Name =:= moduledoc ->
    [{attribute, Name}];
newer({atom, _, Atom}) ->
    [unicode_atom || lists:any(fun(Char) -> Char > 255 end, atom_to_list(Atom))];
newer(Tuple) when is_tuple(Tuple) ->
    newer(tuple_to_list(Tuple));
newer([Head | Tail]) ->
    newer(Head) ++ newer(Tail);
newer(_) ->
    [].
