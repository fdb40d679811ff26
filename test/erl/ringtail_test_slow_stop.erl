%% @doc An application that takes its time to stop, so that those started before it are still there
%% while those started after it are gone.
-module(ringtail_test_slow_stop).

-behaviour(application).
-behaviour(supervisor).

-export([begin_it/0, start/2, prep_stop/1, stop/1, init/1]).

begin_it() ->
    ok = application:load({application, ?MODULE, [{mod, {?MODULE, []}}, {vsn, "1"},
                                                  {applications, [kernel, stdlib]}]}),
    application:start(?MODULE).

start(_, _) -> supervisor:start_link(?MODULE, []).

init([]) -> {ok, {{one_for_one, 1, 1}, []}}.

prep_stop(State) ->
    true = register(?MODULE, self()),
    timer:sleep(infinity),
    State.

stop(_) -> ok.
