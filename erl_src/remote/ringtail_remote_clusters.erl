%% @doc In a VM without Riak: knows the configured clusters, asks each of them for its topology now
%% and then, and keeps what they said in a table that any process reads without a message. What a
%% cluster said last is served on when it cannot be reached, marked as what it is.
%%
%% The asking is done by a process of its own for each cluster, so that one which does not answer
%% delays no other. The settings are looked at again now and then: a cluster that is added or
%% changed in a console is there within seconds.
-module(ringtail_remote_clusters).

-behaviour(gen_server).

%% Reading, from any process
-export([names/0, resolve/1, freshness/1, failure/1, far/1, route/1]).
-export([seeds/1, scheme/1]).
-export([identity/1, headers/1, prepared_headers/1, preflist/1]).
-export([info/1, members/1, up/1, history/1]).
%% Following
-export([start_link/0, refresh/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3]).
-export_type([name/0]).

-type name() :: string().

-define(TABLE, ?MODULE).
-define(SETTINGS_MS, 2000).
%% How long a cluster may take to say its topology.
-define(ASK_MS, 8000).

-record(cluster, {far :: ringtail_remote:far(),
                  %% Of the settings, which hold a password that must not stand in the report of a
                  %% crash.
                  digest :: binary(),
                  state =
                      ringtail_remote_cluster_state:new() :: ringtail_remote_cluster_state:state(),
                  asker = none :: none | pid(),
                  timer = none :: none | reference(),
                  waiting = [] :: [term()]}).           % refresh/2 callers

-record(state, {clusters = [] :: [{name(), #cluster{}}]}).

%% ---- Reading ----

%% @doc The configured names, in the order of the configuration.
-spec names() -> [name()].
names() -> value(names, []).

%% @doc Which cluster a path means: a configured name, the UUID of one that has answered, or
%% `default', the first.
-spec resolve(string()) -> {ok, name()} | unknown.
resolve(Given) ->
    Names = names(),
    case {lists:member(Given, Names), Names} of
        {true, _} -> {ok, Given};
        {false, [First | _]} when Given =:= "default" -> {ok, First};
        {false, _} -> by_uuid(list_to_binary(string:to_lower(Given)), Names)
    end.

by_uuid(Uuid, [Name | Names]) ->
    case identity(Name) of
        {ok, _, Uuid, _} -> {ok, Name};
        _ -> by_uuid(Uuid, Names)
    end;
by_uuid(_, []) ->
    unknown.

-spec freshness(name()) -> ringtail_remote_cluster_state:freshness().
freshness(Name) ->
    State = value({Name, state}, ringtail_remote_cluster_state:new()),
    ringtail_remote_cluster_state:freshness(ringtail_clock:millis(), State).

%% @doc Why the last attempt to ask the cluster failed.
-spec failure(name()) -> none | {Code :: atom(), Detail :: binary()}.
failure(Name) ->
    ringtail_remote_cluster_state:failure(value({Name, state},
                                                ringtail_remote_cluster_state:new())).

-spec far(name()) -> {ok, ringtail_remote:far()} | gone.
far(Name) ->
    case value({Name, far}, none) of
        none -> gone;
        Far -> {ok, Far}
    end.

%% @doc What the object route does where the request does not say.
-spec route(name()) -> ringtail_config:route().
route(Name) ->
    case value({Name, route}, undefined) of
        undefined -> ringtail_config:route();
        Route -> Route
    end.

-spec seeds(name()) -> [binary()].
seeds(Name) -> value({Name, seeds}, []).

%% @doc How the cluster is asked: seeds of which one is http are all http.
-spec scheme(name()) -> http | https.
scheme(Name) ->
    case [Seed || <<"http://", _/binary>> = Seed <- seeds(Name)] of
        [] -> https;
        [_ | _] -> http
    end.

-spec identity(name()) ->
          {ok, ringtail_topology_history:token(), ClusterUuid :: binary(), NodeUuid :: binary()}
              | ringtail_remote:failure().
identity(Name) ->
    case value({Name, identity}, none) of
        {Token, Cluster, Node} -> {ok, Token, Cluster, Node};
        none -> missing(Name)
    end.

%% @doc The headers of answers about a cluster: its token, its UUID, the node that told.
-spec headers(name()) -> [{string(), string()}].
headers(Name) -> value({Name, headers}, []).

-spec prepared_headers(name()) -> ringtail_reply_headers:prepared() | none.
prepared_headers(Name) -> value({Name, prepared_headers}, none).

-spec preflist(name()) ->
          {ok, Etag :: string(), Json :: binary(), Gzipped :: binary()} | ringtail_remote:failure().
preflist(Name) ->
    case value({Name, preflist}, none) of
        {Etag, Json, Gzipped} -> {ok, Etag, Json, Gzipped};
        none -> missing(Name)
    end.

-spec info(name()) -> [{atom(), term()}].
info(Name) -> value({Name, info}, []).

-spec members(name()) -> [ringtail_topology_history:member()].
members(Name) -> value({Name, members}, []).

-spec up(name()) -> [binary()].
up(Name) -> value({Name, up}, []).

-spec history(name()) -> ringtail_topology_history:history().
history(Name) -> value({Name, history}, ringtail_topology_history:history()).

missing(Name) ->
    {error,
     ringtail_remote_cluster_state:asking(value({Name, state},
                                                ringtail_remote_cluster_state:new()))}.

value(Key, Default) ->
    case ringtail_table:find(?TABLE, Key) of
        {_, Value} -> Value;
        none -> Default
    end.

%% ---- Following ----

start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Asks a cluster now, and returns when it has answered, or has not.
-spec refresh(name(), Milliseconds :: pos_integer()) -> ok | timeout.
refresh(Name, Timeout) ->
    case ringtail_call:ask(?MODULE, {refresh, Name}, Timeout) of
        {ok, ok} -> ok;
        {error, _} -> timeout
    end.

%% ---- gen_server ----

init([]) ->
    process_flag(trap_exit, true),
    ok = ringtail_remote:start(),
    ?TABLE = ets:new(?TABLE, [named_table, protected, {read_concurrency, true}]),
    self() ! settings,
    {ok, #state{}}.

handle_call({refresh, Name}, From, State) ->
    case find(Name, State) of
        {ok, #cluster{waiting = Waiting} = Cluster} ->
            {noreply, put(Name, asked(Name, Cluster#cluster{waiting = [From | Waiting]}), State)};
        gone ->
            {reply, ok, State}
    end;
handle_call(_, _, State) ->
    {reply, {error, unknown_call}, State}.

handle_cast(_, State) ->
    {noreply, State}.

handle_info(settings, State) ->
    _ = erlang:send_after(?SETTINGS_MS, self(), settings),
    {noreply, settings(ringtail_config:clusters(), State)};
handle_info({timeout, Timer, {ask, Name}}, State) ->
    case find(Name, State) of
        {ok, #cluster{timer = Timer} = Cluster} ->
            {noreply, put(Name, asked(Name, Cluster), State)};
        _ ->
            {noreply, State}
    end;
handle_info({told, Asker, Name, Result}, State) ->
    case find(Name, State) of
        {ok, #cluster{asker = Asker} = Cluster} ->
            {noreply, put(Name, told(Name, Result, Cluster), State)};
        _ ->
            {noreply, State}
    end;
handle_info({'EXIT', Asker, Reason}, #state{clusters = Clusters} = State) ->
    case [Name || {Name, #cluster{asker = Pid}} <- Clusters, Pid =:= Asker] of
        [Name] ->
            {ok, Cluster} = find(Name, State),
            Detail = iolist_to_binary(io_lib:format("asking the cluster failed: ~P", [Reason, 20])),
            {noreply, put(Name, told(Name, {error, {internal, Detail}}, Cluster), State)};
        [] ->
            {noreply, State}
    end;
handle_info(_, State) ->
    {noreply, State}.

terminate(_, #state{clusters = Clusters}) ->
    _ = [exit(Asker, kill) || {_, #cluster{asker = Asker}} <- Clusters, is_pid(Asker)],
    ok.

code_change(_, State, _) ->
    {ok, State}.

%% ---- Settings ----

settings(Settings, #state{clusters = Clusters} = State) ->
    Given = [{digest(Setting), Setting} || Setting <- Settings],
    {Kept, Gone} = lists:partition(fun({_, #cluster{digest = Digest}}) ->
                                           lists:keymember(Digest, 1, Given)
                                   end, Clusters),
    Fars = [Far || {_, #cluster{far = Far}} <- Kept],
    _ = [gone(Name, Cluster, Fars) || {Name, Cluster} <- Gone],
    New = [{Name, added(Digest, Setting)}
           || {Digest, {Name, _, _, _} = Setting} <- Given, not lists:keymember(Name, 1, Kept)],
    Now = [lists:keyfind(Name, 1, Kept ++ New) || {Name, _, _, _} <- Settings],
    ets:insert(?TABLE, {names, [Name || {Name, _, _, _} <- Settings]}),
    State#state{clusters = Now}.

digest(Setting) -> crypto:hash(sha, term_to_binary(Setting)).

added(Digest, {Name, Seeds, Options, Route}) ->
    Far = ringtail_remote:new(Seeds, Options),
    ets:insert(?TABLE, [{{Name, far}, Far}, {{Name, route}, Route},
                        {{Name, seeds}, [ringtail_config_clusters:shown(Seed) || Seed <- Seeds]},
                        {{Name, state}, ringtail_remote_cluster_state:new()}]),
    asked(Name, #cluster{far = Far, digest = Digest}).

%% The companion is told by a process of its own, which may have to wait for it. Two names may stand
%% for one configuration.
gone(Name, #cluster{far = Far, asker = Asker, waiting = Waiting}, Fars) ->
    _ = [begin unlink(Asker), exit(Asker, kill) end || is_pid(Asker)],
    _ = [gen_server:reply(From, ok) || From <- Waiting],
    _ = [ringtail_remote:forget(Far) || not lists:member(Far, Fars)],
    _ = spawn(fun() -> ringtail_remote:close(Far) end),
    true = ets:match_delete(?TABLE, {{Name, '_'}, '_'}),
    ok.

find(Name, #state{clusters = Clusters}) ->
    case lists:keyfind(Name, 1, Clusters) of
        {Name, Cluster} -> {ok, Cluster};
        false -> gone
    end.

put(Name, Cluster, #state{clusters = Clusters} = State) ->
    State#state{clusters = lists:keyreplace(Name, 1, Clusters, {Name, Cluster})}.

%% ---- Asking ----

asked(Name, #cluster{asker = none, far = Far, state = State, timer = Timer} = Cluster) ->
    _ = [erlang:cancel_timer(Timer) || Timer =/= none],
    Server = self(),
    Token = ringtail_remote_cluster_state:token(State),
    Asker = spawn_link(fun() -> Server ! {told, self(), Name, ask(Far, Token)} end),
    Cluster#cluster{asker = Asker, timer = none};
asked(_, Cluster) ->
    Cluster.

%% What it takes to compress a map is spent here too.
ask(Far, Token) ->
    case ringtail_remote:topology(Far, Token, ?ASK_MS) of
        {ok, {_, _, _, _, same} = Told} ->
            {ok, Told, none};
        {ok, {_, _, _, _, {_, _, _, _, Preflist, _}} = Told} ->
            {ok, Told, zlib:gzip(Preflist)};
        {error, _} = Error ->
            Error
    end.

told(Name, Result, #cluster{state = State, waiting = Waiting} = Cluster) ->
    Later = case Result of
                {ok, {Token, _, _, _, _} = Told, Gzipped} ->
                    ets:insert(?TABLE, objects(Name, Told, Gzipped)),
                    say(Name, State, ok),
                    ringtail_remote_cluster_state:reached(Token, ringtail_clock:millis(), State);
                {error, Failure} ->
                    say(Name, State, Failure),
                    ringtail_remote_cluster_state:failed(Failure, State)
            end,
    ets:insert(?TABLE, {{Name, state}, Later}),
    _ = [gen_server:reply(From, ok) || From <- Waiting],
    Timer = erlang:start_timer(ringtail_remote_cluster_state:pause(chance(), Later), self(),
                               {ask, Name}),
    Cluster#cluster{state = Later, asker = none, waiting = [], timer = Timer}.

%% As one: readers see the old topology or the new one.
objects(Name, {Token, Uuid, Node, Up, Details}, Gzipped) ->
    Headers = [{"X-Ringtail-Topology", binary_to_list(Token)},
               {"X-Ringtail-Node", binary_to_list(Node)},
               {"X-Ringtail-Cluster", binary_to_list(Uuid)}],
    [{{Name, identity}, {Token, Uuid, Node}},
     {{Name, headers}, Headers},
     {{Name, prepared_headers}, ringtail_reply_headers:prepared(Headers)},
     {{Name, up}, lists:sort(Up)}
     | details(Name, Token, Uuid, Details, Gzipped)].

details(_, _, _, same, none) ->
    [];
details(Name, Token, Uuid, {ClusterName, Size, Resizing, Canonical, Preflist, Members}, Gzipped) ->
    %% A cluster restored under another name has another past.
    History = case identity(Name) of
                  {ok, _, Uuid, _} -> history(Name);
                  _ -> ringtail_topology_history:history()
              end,
    [{{Name, preflist}, {binary_to_list(Token), Preflist, Gzipped}},
     {{Name, history}, ringtail_topology_history:remember(Token, Canonical, History)},
     {{Name, info}, [{cluster_name, ClusterName}, {ring_size, Size}, {resizing, Resizing}]},
     {{Name, members}, Members}].

%% Once for each reason, not once for each try.
say(Name, Before, Result) ->
    case {ringtail_remote_cluster_state:failure(Before), Result} of
        {Result, _} -> ok;
        {none, ok} -> ok;
        {_, ok} -> error_logger:info_msg("ringtail: cluster ~s answers~n", [Name]);
        {_, {_, Detail}} -> error_logger:warning_msg("ringtail: cluster ~s: ~s~n", [Name, Detail])
    end.

%% Enough for clusters not to be asked all at once.
chance() ->
    {_, _, Micros} = os:timestamp(),
    Micros / 1000000.
