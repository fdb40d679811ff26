%% @doc The NIF's library as a guest in a VM that must stay healthy: its schedulers, its memory,
%% what it counts, and that it is the one the module expects.
-module(ringtail_nif_library_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0]).
-export([panic_is_an_exception/1, large_input_takes_the_dirty_way/1,
         a_long_key_left_its_caller_all_of_its_slice/1, rings_leave_no_memory_behind/1,
         every_stub_has_its_nif/1, versions_agree/1]).

suite() ->
    [{timetrap, {minutes, 5}}].

all() ->
    [panic_is_an_exception, large_input_takes_the_dirty_way,
     a_long_key_left_its_caller_all_of_its_slice, rings_leave_no_memory_behind,
     every_stub_has_its_nif, versions_agree].

%% ---- The VM stays healthy ----

panic_is_an_exception(_) ->
    ?assertError(nif_panicked, ringtail_nif:provoke_panic()),
    ?assertError(nif_panicked, ringtail_nif:provoke_panic_dirty()),
    ?assertMatch({ok, _}, ringtail_engine:chash(<<"default">>, <<"b">>, <<"k">>, std)).

%% No call may hold a normal scheduler for a millisecond: what could must run on a dirty one. The
%% sizes are the ones ringtail_engine promises; a ring of 20,000 partitions is larger than any.
large_input_takes_the_dirty_way(_) ->
    Ring = load("spread1024x12"),
    LargeModel = ringtail_model:ring(20000, lists:duplicate(20000, 'riak1@10.0.0.1')),
    {ok, Large} = ringtail_engine:load_ring(ringtail_model:legacy_term(LargeModel)),
    Long = binary:copy(<<"k">>, 32768),
    Short = <<"k">>,
    ManyUp = ['riak1@10.0.0.1' || _ <- lists:seq(1, 257)],
    Chash = fun(Key) -> fun() -> ringtail_engine:chash(<<"default">>, <<"b">>, Key, std) end end,
    Primaries = fun(R, Key, N) ->
                        fun() -> ringtail_engine:primaries(R, <<"default">>, <<"b">>, Key, std,
                                                           N) end end,
    Preflist = fun(R, Key, N, Up) ->
                       fun() -> ringtail_engine:preflist(R, <<"default">>, <<"b">>, Key, std, N,
                                                         Up) end
               end,
    lists:foreach(
      fun({Expected, Call}) -> ?assertEqual([Expected], called(Call)) end,
      [{chash, Chash(Short)}, {chash_dirty, Chash(Long)},
       {primaries, Primaries(Ring, Short, 3)}, {primaries_dirty, Primaries(Ring, Long, 3)},
       {primaries_dirty, Primaries(Ring, Short, 257)},
       {primaries_dirty, Primaries(Large, Short, 3)},
       {preflist, Preflist(Ring, Short, 3, all)}, {preflist_dirty, Preflist(Ring, Long, 3, all)},
       {preflist_dirty, Preflist(Ring, Short, 257, all)},
       {preflist_dirty, Preflist(Ring, Short, 3, ManyUp)},
       {preflist_dirty, Preflist(Large, Short, 3, all)}]).

%% The functions of ringtail_nif that a call calls.
called(Call) ->
    Traced = spawn_link(fun() -> receive go -> {ok, _} = Call() end end),
    1 = erlang:trace(Traced, true, [call]),
    _ = erlang:trace_pattern({ringtail_nif, '_', '_'}, true, [global]),
    Monitor = monitor(process, Traced),
    Traced ! go,
    receive {'DOWN', Monitor, process, Traced, Reason} -> ?assertEqual(normal, Reason) end,
    Delivered = erlang:trace_delivered(Traced),
    receive {trace_delivered, Traced, Delivered} -> ok end,
    _ = erlang:trace_pattern({ringtail_nif, '_', '_'}, false, [global]),
    traced(Traced).

traced(Pid) ->
    receive {trace, Pid, call, {ringtail_nif, Function, _}} -> [Function | traced(Pid)]
    after 0 -> []
    end.

%% What a call takes is counted in reductions, 40 for each hundredth of a slice; a short one is left
%% at what it costs anyway.
a_long_key_left_its_caller_all_of_its_slice(_) ->
    Ring = load("spread1024x12"),
    {ok, Uuid} = ringtail_engine:node_uuid(<<"6ba7b810-9dad-11d1-80b4-00c04fd430c8">>, <<"n@h">>),
    Up = ['riak1@10.0.0.1'],
    Calls = [{chash, fun(Key) -> ringtail_nif:chash(<<"t">>, <<"b">>, Key, std) end},
             {primaries, fun(Key) ->
                                 ringtail_engine:primaries(Ring, <<"t">>, <<"b">>, Key, std,
                                                           3) end},
             {preflist, fun(Key) ->
                                ringtail_engine:preflist(Ring, <<"t">>, <<"b">>, Key, std, 3,
                                                         all) end},
             {bucket, fun(Bucket) ->
                              ringtail_engine:primaries(Ring, <<"t">>, Bucket, <<"k">>, std,
                                                        3) end},
             {node_uuid, fun(Name) -> ringtail_nif:node_uuid(Uuid, Name) end}],
    [begin
         [None, Little, Much] = [reductions(Call, binary:copy(<<"k">>, Bytes))
                                 || Bytes <- [30, 3000, 30000]],
         ct:log("~w: ~w, ~w, ~w reductions", [Name, None, Little, Much]),
         ?assert(None < 40),
         ?assert(Little >= 40 andalso Little < 200),
         ?assert(Much >= 400)
     end || {Name, Call} <- Calls],
    %% Many entries, and a walk round the ring for those who stand in.
    Hash = <<0:160>>,
    Few = reductions(fun(N) -> ringtail_engine:primaries_of_hash(Ring, Hash, N) end, 3),
    Many = reductions(fun(N) -> ringtail_engine:primaries_of_hash(Ring, Hash, N) end, 256),
    AllUp = reductions(fun(Who) -> ringtail_engine:preflist_of_hash(Ring, Hash, 3, Who) end, all),
    OneUp = reductions(fun(Who) -> ringtail_engine:preflist_of_hash(Ring, Hash, 3, Who) end, Up),
    ct:log("~w and ~w entries: ~w, ~w reductions; all and one up: ~w, ~w",
           [3, 256, Few, Many, AllUp, OneUp]),
    ?assert(Few < 40 andalso Many >= Few + 80),
    ?assert(AllUp < 40 andalso OneUp >= AllUp + 40).

%% In a process of its own that is not swept meanwhile, which counts too. Of several the least, for
%% the first loads code.
reductions(Call, Argument) ->
    Self = self(),
    Count = fun() ->
                    {reductions, Before} = process_info(self(), reductions),
                    {ok, _} = Call(Argument),
                    {reductions, After} = process_info(self(), reductions),
                    After - Before
            end,
    Pid = spawn_opt(fun() -> Self ! {self(), [Count() || _ <- lists:seq(1, 5)]} end,
                    [link, {min_heap_size, 100000}]),
    receive {Pid, Counts} -> lists:min(Counts) end.

rings_leave_no_memory_behind(_) ->
    Bytes = ringtail_test_util:ring_bytes("spread8x3"),
    load_and_drop(Bytes, 20000),
    Before = resident(),
    load_and_drop(Bytes, 100000),
    After = resident(),
    ct:log("resident pages: ~w before, ~w after", [Before, After]),
    ?assert(After =< Before * 1.1).

%% In processes of their own, so that nothing but the rings themselves could hold memory.
load_and_drop(_, 0) ->
    ok;
load_and_drop(Bytes, Count) ->
    {Pid, Monitor} = spawn_monitor(fun() -> [load_and_use(Bytes) || _ <- lists:seq(1, 1000)] end),
    receive {'DOWN', Monitor, process, Pid, Reason} -> ?assertMatch(normal, Reason) end,
    load_and_drop(Bytes, Count - 1000).

load_and_use(Bytes) ->
    {ok, Ring} = ringtail_engine:load_ring(Bytes),
    {ok, [_, _, _]} = ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std, 3),
    ok.

resident() ->
    erlang:garbage_collect(),
    {ok, Statm} = file:read_file("/proc/self/statm"),
    [_, Resident | _] = binary:split(Statm, <<" ">>, [global]),
    binary_to_integer(Resident).

every_stub_has_its_nif(_) ->
    ok = ringtail_nif:load(),
    Plain = [{load, 0}, {library, 0}, {module_info, 0}, {module_info, 1},
             {primaries, 6}, {preflist, 7}, {primaries_of_hash, 3}, {preflist_of_hash, 4}],
    Stubs = ringtail_nif:module_info(exports) -- Plain,
    {ok, {_, [{abstract_code, {_, Forms}}]}} =
        beam_lib:chunks(code:which(ringtail_nif), [abstract_code]),
    ?assertEqual(lists:sort(Stubs),
                 lists:sort([{Name, Arity}
                             || {function, _, Name, Arity, [{clause, _, _, _, [Body]}]} <- Forms,
                                              is_stub(Name, Body)])),
    Nifs = ringtail_nif:module_info(nifs),
    ?assertEqual(lists:sort(Stubs), lists:sort(Nifs)).

is_stub(Name, {call, _, {atom, _, first}, [{atom, _, Name}, _]}) -> true;
is_stub(_, _) -> false.

%% Cargo.toml, the application file, the module and the library say the same.
versions_agree(_) ->
    {ok, Cargo} = file:read_file(filename:join(ringtail_test_util:root(), "Cargo.toml")),
    {match, [Version]} = re:run(Cargo, "^version = \"(.*)\"$", [multiline, {capture, [1], list}]),
    ok = case application:load(ringtail) of
             ok -> ok;
             {error, {already_loaded, ringtail}} -> ok
         end,
    ?assertEqual({ok, Version}, application:get_key(ringtail, vsn)),
    ?assertEqual(list_to_binary(Version), ringtail_nif:version()),
    {ok, Library} = ringtail_nif:library(),
    ?assertEqual("ringtail_nif-" ++ Version, filename:basename(Library)).

%% ---- Shared ----

load(Name) ->
    ringtail_test_util:load(Name).
