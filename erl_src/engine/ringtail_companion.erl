%% @doc The companion, as others call it. The process that owns it is `ringtail_companion_owner',
%% registered under this module's name.
-module(ringtail_companion).

-export([start_link/0, start/0, call/2, call/3, remember_ring/2, status/0, condition/0, stop/0]).
-export([executable/0]).
-export_type([failure/0]).

%% How long status/0 and stop/0 wait. In ms.
-define(PATIENCE_MS, 5000).

-type failure() :: {error, {atom(), binary()}}.

%% @doc Starts the process under a supervisor; one that a console call had started makes room.
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    case ringtail_companion_owner:start_link() of
        {error, {already_started, _}} ->
            stop(),
            ringtail_companion_owner:start_link();
        Other ->
            Other
    end.

%% @doc Starts the process for as long as it is used.
-spec start() -> {ok, pid()} | {error, term()}.
start() ->
    ringtail_companion_owner:start().

%% @doc Ends the process and the companion.
-spec stop() -> ok.
stop() ->
    _ = ringtail_call:ask(?MODULE, stop, ?PATIENCE_MS),
    ok.

%% @doc Has the companion do something, within `{ringtail, port_timeout}' milliseconds (5000).
-spec call(atom(), tuple()) -> {ok, term()} | failure().
call(Operation, Arguments) ->
    ringtail_companion_call:call(Operation, Arguments).

-spec call(atom(), tuple(), timeout()) -> {ok, term()} | failure().
call(Operation, Arguments, Timeout) ->
    ringtail_companion_call:call(Operation, Arguments, Timeout).

%% @doc This ring is in use: it will be loaded again when the companion was restarted.
-spec remember_ring(binary(), binary()) -> ok.
remember_ring(Handle, Bytes) ->
    gen_server:cast(?MODULE, {remember_ring, Handle, Bytes}).

%% @doc How the companion is and how quick.
-spec status() -> [{atom(), term()}].
status() ->
    case ringtail_call:ask(?MODULE, status, ?PATIENCE_MS) of
        {ok, Status} -> Status;
        {error, gone} -> [{state, stopped}];
        {error, timeout} -> [{state, overloaded}]
    end.

%% @doc Whether the companion is there, without a message.
-spec condition() -> ringtail_companion_condition:now().
condition() ->
    ringtail_companion_condition:read().

%% @doc The companion's path: where `{ringtail, companion}' says, else beside this module, else in
%% the application's priv directory.
-spec executable() -> {ok, file:filename()} | failure().
executable() ->
    ringtail_companion_program:executable().
