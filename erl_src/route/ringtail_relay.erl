%% @doc The object route on a node that is no primary of the key: Riak's own resource answers here,
%% and its gets, puts and deletes run on a primary. HTTP is handled once, by this node.
%%
%% Riak's client waits for the other node's answer without watching the node, for a minute by
%% default. So what may ask it runs in a process of its own (`ringtail_relay_work'), which is given
%% up when the node goes down. A read then goes on to the next primary; of a write it is said that
%% nobody knows what became of it. What Riak's client leaves behind (answers that come late, a link
%% that breaks) ends with that process, and never reaches the connection's, which is mochiweb's.
-module(ringtail_relay).

-export([client_element/0, client_in/1, problems/0, new/5, call/3]).
-export_type([relay/0, answer/0, lost/0]).

-define(RIAK, riak_kv_wm_object).
%% What a request gets besides the time it allows Riak. In ms.
-define(EXTRA_MS, 5000).
-define(WORK, ringtail_relay_work).

-record(relay, {riak :: tuple(),                    % the context of Riak's resource
                client :: pos_integer(),            % the element of it that is the client
                primary :: node(),                  % where the client points
                others :: [node()],                 % where a read goes when the primary goes down
                method :: atom(),
                is_fetched = false :: boolean(),    % the resource has the object, or knows why not
                until :: integer()}).               % ms of ringtail_clock

-opaque relay() :: #relay{}.
%% `down': the primary, and the request with it. `unreachable': nothing was handed to it. `timeout':
%% it did not answer in time.
-type answer() :: {answer, term(), ringtail_reply:reqdata(), relay()} | {lost, lost(), node()}.
-type lost() :: down | unreachable | timeout.

%% ---- The client ----

%% @doc Which element of the context of Riak's resource is the client, learnt from a request of our
%% own. There must be exactly one that names this node; otherwise nothing can be relayed.
-spec client_element() -> {ok, pos_integer()} | {error, Why :: string()}.
client_element() ->
    try
        {ok, Before} = ?RIAK:init([{api_version, 3}, {prefix, "riak"}, {riak, local}]),
        {true, _, Context} = ?RIAK:service_available(sample(), Before),
        client_in(Context)
    catch
        _:Reason -> {error, lists:flatten(io_lib:format("it answers otherwise: ~P", [Reason, 10]))}
    end.

%% @doc The same of a context at hand.
-spec client_in(tuple()) -> {ok, pos_integer()} | {error, Why :: string()}.
client_in(Context) ->
    case [N || N <- lists:seq(1, tuple_size(Context)), is_client(element(N, Context))] of
        [Element] -> {ok, Element};
        Elements -> {error, lists:flatten(io_lib:format("it keeps ~b clients", [length(Elements)]))}
    end.

is_client({riak_client, [Node, _]}) -> Node =:= node();
is_client(_) -> false.

%% @doc A sentence where nothing can be relayed on this node.
-spec problems() -> [string()].
problems() ->
    case client_element() of
        {ok, _} -> [];
        {error, Why} ->
            ["route proxy acts as redirect on this node: Riak's object resource is not as known, "
             ++ Why]
    end.

sample() ->
    Path = "/types/t/buckets/b/keys/k",
    RD = wrq:create('GET', {1, 1}, Path, mochiweb_headers:empty()),
    Bound = orddict:from_list([{bucket_type, "t"}, {bucket, "b"}, {key, "k"}]),
    wrq:load_dispatch_data(Bound, ["localhost"], 8098, [], ".", Path, RD).

%% @doc A request that the first of these nodes serves. `Riak' is the context that Riak's resource
%% has come to, whose element `Client' is its client.
-spec new(Riak :: tuple(), Client :: pos_integer(), [node()], Method :: atom(),
          Milliseconds :: pos_integer()) -> relay().
new(Riak, Client, [Primary | Others], Method, Timeout) ->
    #relay{riak = point(Primary, Client, Riak), client = Client, primary = Primary, others = Others,
           method = Method, until = ringtail_clock:millis() + Timeout + ?EXTRA_MS}.

point(Node, Element, Riak) ->
    {riak_client, [_, ClientId]} = element(Element, Riak),
    setelement(Element, Riak, {riak_client, [Node, ClientId]}).

%% ---- Callbacks ----

%% @doc What Riak's resource answers to a callback of webmachine.
-spec call(Callback :: atom(), ringtail_reply:reqdata(), relay()) -> answer().
call(Callback, RD, #relay{riak = Riak, is_fetched = IsFetched, method = Method} = Relay) ->
    case not IsFetched andalso is_asking(Method, Callback) of
        true -> ask(Callback, RD, Relay);
        false -> answer(?RIAK:Callback(RD, Riak), Relay)
    end.

answer({Answer, RD, Riak}, Relay) ->
    {answer, Answer, RD, Relay#relay{riak = Riak}}.

%% Whether the callback may ask the client. A read is over with the object at hand, a write of
%% course is not.
is_asking(_, resource_exists) -> true;
is_asking('PUT', Callback) -> Callback =:= accept_doc_body;
is_asking('POST', Callback) -> Callback =:= process_post orelse Callback =:= accept_doc_body;
is_asking('DELETE', Callback) -> Callback =:= forbidden orelse Callback =:= delete_resource;
is_asking(_, Callback) -> Callback =:= forbidden.

%% What is handed to no one may be handed to another.
ask(Callback, RD, #relay{primary = Primary, others = Others} = Relay) ->
    case {is_gone(Primary), Others} of
        {false, _} -> hand_over(Callback, RD, Relay);
        {true, []} -> {lost, unreachable, Primary};
        {true, _} -> call(Callback, RD, next(Relay))
    end.

hand_over(Callback, RD, #relay{primary = Primary, riak = Before, method = Method} = Relay) ->
    true = erlang:monitor_node(Primary, true),
    {Worker, Monitor} = ?WORK:start(Primary, Method, Callback, RD, Before),
    Outcome = await(Worker, Monitor, Primary, max(0, Relay#relay.until - ringtail_clock:millis())),
    unwatch(Primary),
    case Outcome of
        {answer, Answer, Changes, Reply} ->
            Riak = ?WORK:changed(Changes, Before),
            Told = case Reply of
                       same -> RD;
                       {other, Other} -> Other
                   end,
            case is_failure(Answer) andalso is_gone(Primary) of
                true ->
                    lost(down, Callback, RD, Relay);
                false ->
                    IsFetched = is_read(Method) andalso Riak =/= Before,
                    {answer, Answer, Told, Relay#relay{riak = Riak, is_fetched = IsFetched}}
            end;
        {raised, Class, Reason} ->
            case Class =/= throw andalso is_gone(Primary) of
                true -> lost(down, Callback, RD, Relay);
                false -> erlang:raise(Class, Reason, [])
            end;
        Why ->
            lost(Why, Callback, RD, Relay)
    end.

%% Riak's client looks things up on the other node before it hands over a get or put. Where the node
%% goes down at that, the resource has an answer: a 500.
is_failure({halt, Status}) when is_integer(Status) -> Status >= 500;
is_failure({halt, {Status, _}}) -> Status >= 500;
is_failure(_) -> false.

%% A read that is asked again changes nothing; a write may have been done.
lost(down, Callback, RD, #relay{method = Method, primary = Primary, others = Others} = Relay) ->
    case is_read(Method) andalso Others =/= [] of
        true -> call(Callback, RD, next(Relay));
        false -> {lost, down, Primary}
    end;
lost(timeout, _, _, #relay{primary = Primary}) ->
    {lost, timeout, Primary}.

next(#relay{riak = Riak, client = Client, others = [Next | Others]} = Relay) ->
    Relay#relay{riak = point(Next, Client, Riak), primary = Next, others = Others}.

is_read(Method) -> Method =:= 'GET' orelse Method =:= 'HEAD'.

%% A primary that is up is connected, for how else would this node know.
is_gone(Node) -> not lists:member(Node, nodes()).

unwatch(Node) ->
    true = erlang:monitor_node(Node, false),
    receive
        {nodedown, Node} -> ok
    after 0 ->
        ok
    end.

await(Worker, Monitor, Primary, Timeout) ->
    receive
        {'DOWN', Monitor, process, Worker, {?WORK, Outcome}} -> Outcome;
        {'DOWN', Monitor, process, Worker, _} -> down;      % by its link to a process there
        {nodedown, Primary} -> give_up(Worker, Monitor, down)
    after Timeout ->
        give_up(Worker, Monitor, timeout)
    end.

%% What is done at the moment of giving up is done.
give_up(Worker, Monitor, Why) ->
    exit(Worker, kill),
    receive
        {'DOWN', Monitor, process, Worker, {?WORK, Outcome}} -> Outcome;
        {'DOWN', Monitor, process, Worker, _} -> Why
    end.
