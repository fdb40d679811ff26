%% @doc gen_server:call from a process whose mailbox is not ours: a process between asks.
%%
%% Before OTP 24 the answer to a call that was given up stays in the caller's mailbox. A request
%% is served in a process of mochiweb's, which takes any message it does not know for a broken
%% connection.
-module(ringtail_call).

-export([ask/3, asker/3]).

%% @doc What the server answers, within so many milliseconds. A server that is not there or ends
%% meanwhile is `gone'.
-spec ask(Server :: atom() | pid(), Request :: term(), Milliseconds :: pos_integer()) ->
          {ok, term()} | {error, timeout | gone}.
ask(Server, Request, Timeout) ->
    {Asker, Monitor} = spawn_monitor(?MODULE, asker, [Server, Request, Timeout]),
    receive
        {'DOWN', Monitor, process, Asker, {?MODULE, Answer}} -> {ok, Answer};
        {'DOWN', Monitor, process, Asker, {timeout, {gen_server, call, _}}} -> {error, timeout};
        {'DOWN', Monitor, process, Asker, _} -> {error, gone}
    end.

%% @doc The process between.
-spec asker(atom() | pid(), term(), Milliseconds :: pos_integer()) -> no_return().
asker(Server, Request, Timeout) ->
    exit({?MODULE, gen_server:call(Server, Request, Timeout)}).
