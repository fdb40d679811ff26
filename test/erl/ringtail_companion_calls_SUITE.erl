%% @doc What calls of the companion stand on: many callers at once, the rings it holds, when it is
%% started, frames and answers, and the error codes it can give.
-module(ringtail_companion_calls_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0, init_per_testcase/2, end_per_testcase/2]).
-export([many_callers_at_once/1, the_current_ring_is_there_after_a_restart/1,
         more_rings_than_it_holds/1, a_supervisor_takes_over/1, the_first_call_starts_it/1,
         when_it_is_started_again/1, round_trips_are_counted/1, answers_of_all_kinds/1,
         frames_in_any_pieces/1, every_error_code_is_known/1]).

-import(ringtail_test_companion, [hash/0, ring_bytes/0, status/1, kill/2, wait/1, wait/2]).

suite() ->
    [{timetrap, {minutes, 5}}].

all() ->
    [many_callers_at_once, the_current_ring_is_there_after_a_restart, more_rings_than_it_holds,
     a_supervisor_takes_over, the_first_call_starts_it, when_it_is_started_again,
     round_trips_are_counted, answers_of_all_kinds, frames_in_any_pieces,
     every_error_code_is_known].

init_per_testcase(_, Config) ->
    ringtail_test_companion:use(),
    Config.

end_per_testcase(_, _) ->
    ringtail_test_companion:stop().

%% ---- Callers and rings ----

many_callers_at_once(_) ->
    {ok, Ring} = ringtail_engine:load_ring(ring_bytes()),
    Expected = fun(Key) -> <<(ringtail_model:hash(<<"t">>, <<"b">>, Key, std)):160>> end,
    Caller = fun(I) ->
                     [begin
                          Key = <<I:32, K:32>>,
                          ?assertEqual({ok, Expected(Key)},
                                       ringtail_engine:chash(<<"t">>, <<"b">>, Key, std)),
                          {ok, One} = ringtail_engine:primaries(Ring, <<"t">>, <<"b">>, Key, std,
                                                                3),
                          ?assertEqual({ok, [One]}, ringtail_engine:primaries_many(Ring,
                                                                                   [{<<"t">>,
                                                                                     <<"b">>, Key}],
                                                                                     std, 3))
                      end || K <- lists:seq(1, 50)]
             end,
    Callers = [spawn_monitor(fun() -> Caller(I) end) || I <- lists:seq(1, 64)],
    [receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual(normal, Reason) end
     || {Pid, Monitor} <- Callers],
    ?assertEqual(1, status(starts)).

the_current_ring_is_there_after_a_restart(_) ->
    Bytes = ring_bytes(),
    {ok, _} = ringtail_engine:load_ring(Bytes),
    Digest = crypto:hash(sha, Bytes),
    kill("KILL", status(os_pid)),
    wait(fun() -> status(starts) =:= 2 andalso status(state) =:= up end),
    %% Asked without the engine, which would send it again.
    ?assertMatch({ok, 64}, ringtail_companion:call(ring_size, {Digest})).

more_rings_than_it_holds(_) ->
    Names = ringtail_test_util:ring_names(),
    Rings = [begin
                 Bytes = ringtail_test_util:ring_bytes(Name),
                 {ok, Ring} = ringtail_engine:load_ring(Bytes),
                 {ok, Document} = ringtail_engine:document(Ring, ring_summary),
                 {Ring, Document}
             end || Name <- Names],
    Terms =
        [{chstate, n@h, [], {1, [{0, list_to_atom("n" ++ integer_to_list(I) ++ "@h")}]}, dict:new()}
         || I <- lists:seq(1, 20)],
    [{ok, _} = ringtail_engine:load_ring(Term) || Term <- Terms],
    {FirstDigest, _} = {crypto:hash(sha, ringtail_test_util:ring_bytes(hd(Names))), first},
    ?assertMatch({error, {no_such_ring, _}}, ringtail_companion:call(ring_size, {FirstDigest})),
    [?assertEqual({ok, Document}, ringtail_engine:document(Ring, ring_summary))
     || {Ring, Document} <- Rings].

a_supervisor_takes_over(_) ->
    {ok, _} = hash(),
    OfCall = whereis(ringtail_companion),
    {ok, Supervised} = ringtail_companion:start_link(),
    ?assertNotEqual(OfCall, Supervised),
    ?assertMatch({ok, _}, hash()),
    ?assertEqual(Supervised, whereis(ringtail_companion)),
    unlink(Supervised).

the_first_call_starts_it(_) ->
    ?assertEqual([{state, stopped}], ringtail_companion:status()),
    {ok, Supervised} = ringtail_companion:start_link(),
    unlink(Supervised),
    ?assertEqual({idle, 0}, {status(state), status(starts)}),
    Callers = [spawn_monitor(fun() -> exit(hash()) end) || _ <- lists:seq(1, 20)],
    [receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertMatch({ok, _}, Reason) end
     || {Pid, Monitor} <- Callers],
    ?assertEqual({up, 1}, {status(state), status(starts)}).

%% ---- Plain calls ----

when_it_is_started_again(_) ->
    New = ringtail_companion_restarts:new(),
    %% It dies at once, time after time.
    DiesAtOnce = fun(_, Life) ->
                         Up = ringtail_companion_restarts:up(0, Life),
                         ringtail_companion_restarts:ended(5, Up)
                 end,
    {Delays, Failing} = lists:mapfoldl(DiesAtOnce, New, lists:seq(1, 15)),
    ?assertEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000, 5000, 5000, 5000, 5000],
                 Delays),
    %% One that worked starts afresh.
    {Delay, Fresh} = ringtail_companion_restarts:ended(10000,
                                                       ringtail_companion_restarts:up(1000,
                                                                                      Failing)),
    ?assertEqual(10, Delay),
    ?assertMatch({10, _}, ringtail_companion_restarts:ended(10001, Fresh)).

round_trips_are_counted(_) ->
    ?assertEqual([{answers, 0}], ringtail_companion_stats:report(ringtail_companion_stats:new())),
    Stats = lists:foldl(fun ringtail_companion_stats:add/2, ringtail_companion_stats:new(),
                        lists:duplicate(98, 10) ++ [-5, 1000]),
    ?assertEqual([{answers, 100}, {mean_us, (980 + 1 + 1000) div 100}, {median_us, 15},
                  {p99_us, 15}, {longest_us, 1000}],
                 ringtail_companion_stats:report(Stats)),
    {ok, _} = hash(),
    ?assertEqual(1, status(answers)),
    ?assert(status(median_us) > 0).

answers_of_all_kinds(_) ->
    Frame = fun(Term) -> <<131, Tail/binary>> = term_to_binary(Term),
                <<131, 104, 3, 110, 8, 0, 7:64/little, Tail/binary>> end,
    Kind = fun(Name, Value) ->
                   <<131, Tail/binary>> = term_to_binary(Value),
                   <<131, 104, 3, 110, 8, 0, 7:64/little, 100, (byte_size(Name)):16, Name/binary,
                     Tail/binary>>
           end,
    ?assertEqual({7, last}, ringtail_companion_codec:addressee(Kind(<<"ok">>, 1))),
    ?assertEqual({7, last}, ringtail_companion_codec:addressee(Kind(<<"error">>, 1))),
    ?assertEqual({7, progress}, ringtail_companion_codec:addressee(Kind(<<"progress">>, 1))),
    [?assertEqual(error, ringtail_companion_codec:addressee(Bad))
     || Bad <- [<<>>, <<131>>, Frame(other), Kind(<<"oh">>, 1)]],
    ?assertEqual({ok, [a]}, ringtail_companion_codec:answer(Kind(<<"ok">>, [a]))),
    ?assertEqual({error, {busy, <<"b">>}},
                 ringtail_companion_codec:answer(Kind(<<"error">>, {<<"busy">>, <<"b">>}))),
    ?assertEqual({error, {companion_error, <<"never heard of that: b">>}},
                 ringtail_companion_codec:answer(Kind(<<"error">>,
                                                      {<<"never heard of that">>, <<"b">>}))),
    Unknown = <<131, 104, 3, 110, 8, 0, 7:64/little, 100, 2:16, "ok", 119, 22,
                "an atom nobody ever said">>,
    ?assertMatch({error, {bad_answer, _}}, ringtail_companion_codec:answer(Unknown)).

frames_in_any_pieces(_) ->
    _ = rand:seed(exsplus, {5, 8, 2}),
    [begin
         Frames = [crypto:strong_rand_bytes(one_of([0, 1, 3, 10, 300, 70000]))
                   || _ <- lists:seq(1, rand:uniform(12))],
         Stream = iolist_to_binary([ringtail_companion_frames:framed(Frame) || Frame <- Frames]),
         Most = one_of([1, 2, 5, 1000, 65536]),
         Got = in_pieces(Stream, Most, ringtail_companion_frames:new()),
         ?assertEqual(Frames, [ringtail_companion_frames:whole(Frame) || Frame <- Got]),
         %% What says whose it is is never cut.
         [?assert(byte_size(First) >= 64) || [First | _] <- Got]
     end || _ <- lists:seq(1, 60)],
    ?assertEqual(error, ringtail_companion_frames:add(<<65:8, 0:24, "x">>,
                                                      ringtail_companion_frames:new())).

in_pieces(<<>>, _, _) ->
    [];
in_pieces(Stream, Most, Frames) ->
    Size = min(byte_size(Stream), rand:uniform(Most)),
    <<Piece:Size/binary, Rest/binary>> = Stream,
    {Whole, Left} = ringtail_companion_frames:add(Piece, Frames),
    Whole ++ in_pieces(Rest, Most, Left).

one_of(List) ->
    lists:nth(rand:uniform(length(List)), List).

%% Those that are not are told in words, but a program cannot match on them.
every_error_code_is_known(_) ->
    Files =
        lists:append([filelib:wildcard(filename:join([ringtail_test_util:root(), "native", Dir,
                                                      "**", "*.rs"]))
                      || Dir <- ["ringtail-core/src", "ringtail-client/src", "ringtail/src/port"]]),
    %% No operation asks about a nursery yet.
    Codes = lists:usort(lists:append([codes_in(File)
                                      || File <- Files,
                                         string:find(File, "/nursery") =:= nomatch])),
    ?assert(length(Codes) > 40),
    Known = [atom_to_list(Atom) || Atom <- ringtail_companion_codec:vocabulary()],
    ?assertEqual([], Codes -- Known).

%% The texts in the body of every function `code'.
codes_in(File) ->
    {ok, Text} = file:read_file(File),
    case re:run(Text, "^( *)pub fn code\\(.*?^\\1}$",
                [global, multiline, dotall, {capture, [0], binary}]) of
        {match, Bodies} ->
            lists:append([begin
                              {match, Found} = re:run(Body, "\"([a-z_]+)\"",
                                                      [global, {capture, [1], list}]),
                              lists:append(Found)
                          end || [Body] <- Bodies]);
        nomatch ->
            []
    end.
