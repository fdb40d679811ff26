%% @doc Loading the library: where it is found, what happens where it is not, and replacing it in a
%% running VM as an operator does, with a new beam and a new library beside the old ones in one flat
%% directory. Each case has a VM of its own.
-module(ringtail_upgrade_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, init_per_testcase/2, end_per_testcase/2]).
-export([second_version_in_a_running_vm/1, same_version_loaded_again/1, many_first_calls_at_once/1,
         library_missing/1, library_damaged/1, library_where_configured/1,
         modules_that_are_gone_stayed/1]).
-export([on_peer_second_version/1, on_peer_same_version/0, on_peer_first_calls/0]).

-define(SECOND, "99.0.0").

all() ->
    [second_version_in_a_running_vm, same_version_loaded_again, many_first_calls_at_once,
     library_missing,
     library_damaged, library_where_configured, modules_that_are_gone_stayed].

init_per_testcase(Case, Config) ->
    Dir = filename:join(proplists:get_value(priv_dir, Config), atom_to_list(Case)),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    [{ok, _} = file:copy(Beam, filename:join(Dir, filename:basename(Beam)))
     || Beam <- filelib:wildcard(filename:join(filename:dirname(code:which(ringtail)),
                                               "ringtail*.beam"))],
    {ok, Library} = ringtail_nif:library(),
    {ok, _} = file:copy(Library ++ ".so", filename:join(Dir, filename:basename(Library) ++ ".so")),
    {ok, Peer,
     _} = peer:start(#{connection => standard_io,
                       args => ["-pa", Dir, filename:dirname(code:which(?MODULE))]}),
    [{dir, Dir}, {peer, Peer}, {library,
                                filename:join(Dir, filename:basename(Library) ++ ".so")} | Config].

end_per_testcase(_, Config) ->
    peer:stop(proplists:get_value(peer, Config)).

second_version_in_a_running_vm(Config) ->
    call(Config, ?MODULE, on_peer_second_version, [proplists:get_value(dir, Config)]).

on_peer_second_version(Dir) ->
    {ok, Bytes} = file:read_file(ringtail_test_util:vectors("rings/spread64x5.etf")),
    _ = binary_to_term(Bytes),
    Primaries = fun(Ring) ->
                        ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>, std,
                                                  3) end,
    {ok, Old} = ringtail_engine:load_ring(Bytes),
    {ok, [_, _, _] = Answer} = Primaries(Old),
    {ok, FirstLibrary} = ringtail_nif:library(),
    ?assertEqual(Dir, filename:dirname(FirstLibrary)),
    %% The second version arrives.
    {ok, _} = file:copy(FirstLibrary ++ ".so", filename:join(Dir, "ringtail_nif-" ?SECOND ".so")),
    {ok, ringtail_nif} = compile:file(ringtail_test_util:source("ringtail_nif.erl"),
                                      [{outdir, Dir}, {d, 'RINGTAIL_VERSION', ?SECOND}, debug_info,
                                       return_errors]),
    {module, ringtail_nif} = code:load_file(ringtail_nif),
    ?assertEqual(?SECOND, proplists:get_value(vsn, ringtail_nif:module_info(attributes))),
    %% It answers at once, rings of the first version are refused by name and not touched.
    {ok, New} = ringtail_engine:load_ring(Bytes),
    ?assertEqual({ok, "ringtail_nif-" ?SECOND},
                 {ok, filename:basename(element(2, ringtail_nif:library()))}),
    ?assertEqual({ok, Answer}, Primaries(New)),
    ?assertMatch({error, {foreign_ring, _}}, Primaries(Old)),
    ?assertNot(erlang:check_old_code(ringtail_nif)),
    %% Both libraries are mapped while a ring of each lives.
    ?assertEqual(2, length(mapped_libraries())),
    hold(Old),
    erlang:garbage_collect(),
    ?assertEqual({ok, Answer}, Primaries(New)),
    %% A third load of the same module finds its way too.
    {module, ringtail_nif} = code:load_file(ringtail_nif),
    {ok, Newest} = ringtail_engine:load_ring(Bytes),
    ?assertEqual({ok, Answer}, Primaries(Newest)),
    ok.

hold(_) ->
    ok.

mapped_libraries() ->
    {ok, Maps} = file:read_file("/proc/self/maps"),
    {match, Found} = re:run(Maps, "ringtail_nif-.*\\.so", [global, {capture, first, binary}]),
    lists:usort(Found).

same_version_loaded_again(Config) ->
    call(Config, ?MODULE, on_peer_same_version, []).

on_peer_same_version() ->
    {ok, Bytes} = file:read_file(ringtail_test_util:vectors("rings/spread64x5.etf")),
    _ = binary_to_term(Bytes),
    lists:foldl(
      fun(_, Kept) ->
              {module, ringtail_nif} = code:load_file(ringtail_nif),
              {ok, Ring} = ringtail_engine:load_ring(Bytes),
              {ok, [_, _, _]} = ringtail_engine:primaries(Ring, <<"default">>, <<"b">>, <<"k">>,
                                                          std, 3),
              [?assertMatch({error, {foreign_ring, _}}, ringtail_engine:owners(Old))
               || Old <- Kept],
              [Ring | lists:sublist(Kept, 3)]
      end, [], lists:seq(1, 20)),
    ok.

%% Nobody loads the library beforehand: the first callers do, all at the same time.
many_first_calls_at_once(Config) ->
    call(Config, ?MODULE, on_peer_first_calls, []).

on_peer_first_calls() ->
    Expected = crypto:hash(sha, term_to_binary({<<"b">>, <<"k">>})),
    lists:foreach(
      fun(_) ->
              Callers =
                  [spawn_monitor(fun() -> exit(ringtail_engine:chash(<<"default">>, <<"b">>,
                                                                     <<"k">>, std)) end)
                   || _ <- lists:seq(1, 50)],
              [receive {'DOWN', Monitor, process, Pid, Reason} ->
                       ?assertEqual({ok, Expected}, Reason) end
               || {Pid, Monitor} <- Callers],
              {module, ringtail_nif} = code:load_file(ringtail_nif)
      end, lists:seq(1, 5)),
    ok.

library_missing(Config) ->
    ok = file:delete(proplists:get_value(library, Config)),
    ?assertMatch({error, {no_library, _}}, call(Config, ringtail_nif, load, [])),
    {error, {no_engine, Detail}} =
        call(Config, ringtail_engine, chash, [<<"default">>, <<"b">>, <<"k">>, std]),
    ?assertMatch({_, _}, binary:match(Detail, list_to_binary(proplists:get_value(dir, Config)))).

library_damaged(Config) ->
    ok = file:delete(proplists:get_value(library, Config)),
    ok = file:write_file(proplists:get_value(library, Config), <<"no library">>),
    ?assertMatch({error, {load_failed, _}}, call(Config, ringtail_nif, load, [])),
    ?assertMatch({error, {no_engine, _}},
                 call(Config, ringtail, primaries, [<<>>, <<"b">>, <<"k">>, 3])).

library_where_configured(Config) ->
    Moved = filename:join(proplists:get_value(dir, Config), "elsewhere.so"),
    ok = file:rename(proplists:get_value(library, Config), Moved),
    ok = call(Config, application, set_env, [ringtail, nif_path, Moved]),
    ?assertEqual(ok, call(Config, ringtail_nif, load, [])),
    ?assertMatch({ok, _}, call(Config, ringtail_engine, chash,
                               [<<"default">>, <<"b">>, <<"k">>, std])).

%% As an operator upgrades: the new files lie over the old ones, and the script is run.
modules_that_are_gone_stayed(Config) ->
    Dir = proplists:get_value(dir, Config),
    App = filename:join(filename:dirname(code:which(ringtail)), "ringtail.app"),
    {ok, _} = file:copy(App, filename:join(Dir, "ringtail.app")),
    Script = filename:join([ringtail_test_util:root(), "erl_src", "ringtail_upgrade.script"]),
    {ok, _} = file:copy(Script, filename:join(Dir, "ringtail_upgrade.script")),
    [{ok, _} = file:copy(code:which(Module),
                         filename:join(Dir, filename:basename(code:which(Module))))
     || Module <- [?MODULE, ringtail_test_util]],
    ok = gone(Dir),
    ok = call(Config, application, set_env, [ringtail, route, local]),
    ok = call(Config, ringtail, start, []),
    earlier = call(Config, ringtail_gone, version, []),
    Before = [{Module, call(Config, code, is_loaded, [Module])} || Module <- [ringtail_ring]],
    ?assertMatch([{_, {file, _}}], Before),
    Upgrade = [filename:join(Dir, "ringtail_upgrade.script")],
    ?assertEqual({ok, ok}, call(Config, file, script, Upgrade)),
    ?assertEqual(false, call(Config, code, is_loaded, [ringtail_gone])),
    ?assertEqual([], filelib:wildcard(filename:join(Dir, "ringtail_gone.*"))),
    ?assertEqual({ok, local}, call(Config, application, get_env, [ringtail, route])),
    Running = [App1 || {App1, _, _} <- call(Config, application, which_applications, [])],
    ?assert(lists:member(ringtail, Running)),
    %% Nothing of the new version was taken for gone.
    {ok, Modules} = call(Config, application, get_key, [ringtail, modules]),
    [?assert(filelib:is_regular(filename:join(Dir, atom_to_list(Module) ++ ".beam")))
     || Module <- Modules].

%% A module that an earlier version had.
gone(Dir) ->
    Source = filename:join(Dir, "ringtail_gone.erl"),
    ok = file:write_file(Source, "-module(ringtail_gone).\n-export([version/0]).\n"
                         "version() -> earlier.\n"),
    {ok, ringtail_gone} = compile:file(Source, [{outdir, Dir}]),
    ok.

call(Config, Module, Function, Args) ->
    peer:call(proplists:get_value(peer, Config), Module, Function, Args, 60000).
