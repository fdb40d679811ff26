%% @doc What the process of a relayed request does: it runs a callback of Riak's object resource.
%%
%% Riak's client, pointed at another node, asks that node two or three times, one after the other:
%% for properties of the bucket, and for a process that gets or puts. So where that node runs the
%% same code as this one the callback runs there whole, which is one round trip. Elsewhere (another
%% release of Riak, no Ringtail) it runs here, and Riak's client does the asking.
-module(ringtail_relay_work).

-export([new/0, start/5, changed/2]).
-export([run/6]).
%% Called on the other node
-export([code/0, serve/5]).
-export_type([outcome/0, changes/0]).

-define(TABLE, ?MODULE).
-define(RIAK, riak_kv_wm_object).
%% What understands a request, its context and an object. The attributes of a module have the
%% checksum of its code.
-define(CODE, [?MODULE, ?RIAK, riak_kv_wm_utils, riak_client, riak_object, wrq, webmachine_request,
               mochiweb_headers]).
%% How long a node that runs other code is not asked for it again. In ms.
-define(RECHECK_MS, 60000).
%% Room for the garbage of a get or put. In words.
-define(HEAP, 10000).
%% Where webmachine keeps a body that was read.
-define(BODY, req_body).

%% What one process sends the other is copied, and a request is thousands of words: so of the
%% context only the elements that are other than before are told, and a request that is as it was is
%% not sent back.
-type outcome() :: {answer, term(), changes(), same | {other, ringtail_reply:reqdata()}}
                 | {raised, error | exit | throw, Reason :: term()}.
-opaque changes() :: [{pos_integer(), term()}].

%% @doc Makes the table of what is known of other nodes' code, owned by the caller. Until it is made
%% this node runs no callback for another.
-spec new() -> ok.
new() ->
    ?TABLE = ets:new(?TABLE, [named_table, public, {read_concurrency, true}]),
    Attributes = [catch Module:module_info(attributes) || Module <- ?CODE],
    true = ets:insert(?TABLE, {code, erlang:md5(term_to_binary(Attributes))}),
    ok.

%% @doc Starts it and watches it. It ends with `{ringtail_relay_work, outcome()}' as the reason, so
%% that one message tells either way. The context's client is pointed at `Primary'.
-spec start(Primary :: node(), Method :: atom(), Callback :: atom(), ringtail_reply:reqdata(),
            Riak :: tuple()) -> {pid(), reference()}.
start(Primary, Method, Callback, RD, Riak) ->
    spawn_opt(?MODULE, run, [Primary, Method, Callback, RD, Riak, get(?BODY)],
              [monitor, {min_heap_size, ?HEAP}]).

%% @private The process.
-spec run(node(), Method :: atom(), Callback :: atom(), ringtail_reply:reqdata(), Riak :: tuple(),
          Body :: undefined | binary()) -> no_return().
run(Primary, Method, Callback, RD, Riak, Body) ->
    Outcome = case is_worth_it(Method, Callback, RD) andalso is_same(Primary) of
                  true -> there(Primary, Callback, RD, Riak, Body);
                  false -> here(Callback, RD, Riak, Body)
              end,
    exit({?MODULE, Outcome}).

%% Of other callbacks it is not known that they ask. A body that is wanted back would come twice, in
%% the answer and in the context. Riak's resource reads where it judges whether one may: that is for
%% the node that was asked.
is_worth_it(Method, Callback, _) when Method =:= 'GET'; Method =:= 'HEAD' ->
    Callback =/= forbidden orelse not riak_core_security:is_enabled();
is_worth_it(_, Callback, RD) ->
    is_writing(Callback) andalso wrq:get_qs_value("returnbody", RD) =:= undefined.

is_writing(Callback) ->
    lists:member(Callback, [accept_doc_body, process_post, delete_resource]).

here(Callback, RD, Riak, Body) ->
    _ = put(?BODY, Body),
    try ?RIAK:Callback(RD, Riak) of
        {Answer, RD, After} -> {answer, Answer, changes(Riak, After), same};
        {Answer, Told, After} -> {answer, Answer, changes(Riak, After), {other, Told}}
    catch
        Class:Reason -> {raised, Class, Reason}
    end.

there(Primary, Callback, RD, Riak, Body) ->
    case rpc:call(Primary, ?MODULE, serve, [code(), Callback, RD, Riak, Body]) of
        {served, Outcome} ->
            Outcome;
        other_code ->
            here_after_all(Primary, Callback, RD, Riak, Body);
        {badrpc, {'EXIT', {undef, [{?MODULE, serve, _, _} | _]}}} ->
            here_after_all(Primary, Callback, RD, Riak, Body);
        {badrpc, Reason} ->
            exit(Reason)
    end.

%% The other node has refused it, so nothing was done.
here_after_all(Primary, Callback, RD, Riak, Body) ->
    ok = learn(Primary, other_code),
    here(Callback, RD, Riak, Body).

%% @doc Runs a callback for a node whose code is `Code', if this node runs the same.
-spec serve(Code :: binary(), Callback :: atom(), ringtail_reply:reqdata(), Riak :: tuple(),
            Body :: undefined | binary()) -> {served, outcome()} | other_code.
serve(Code, Callback, RD, Riak, Body) ->
    case code() of
        Code when is_binary(Code) ->
            _ = process_flag(min_heap_size, ?HEAP),
            {served, brief(Callback, here(Callback, RD, Riak, Body))};
        _ ->
            other_code
    end.

%% Nobody looks at the context after a write that is done and has no body to answer. In it is the
%% object, which has no need to come back.
brief(Callback, {answer, true, _, same} = Answer) ->
    case is_writing(Callback) of
        true -> {answer, true, [], same};
        false -> Answer
    end;
brief(_, Outcome) ->
    Outcome.

%% ---- Whose code is the same ----

%% @doc A checksum of the code that runs callbacks here; none while Ringtail does not run.
-spec code() -> binary() | none.
code() ->
    case ringtail_table:find(?TABLE, code) of
        {code, Code} -> Code;
        none -> none
    end.

%% A node of which it is not known is asked first, lest a body is sent for nothing.
is_same(Node) ->
    case ringtail_table:find(?TABLE, Node) of
        {Node, same} -> true;
        {Node, {other_code, At}} -> ringtail_clock:millis() - At >= ?RECHECK_MS andalso ask(Node);
        none -> ask(Node)
    end.

ask(Node) ->
    Is = case {rpc:call(Node, ?MODULE, code, []), code()} of
             {Code, Code} when is_binary(Code) -> same;
             _ -> other_code
         end,
    ok = learn(Node, Is),
    Is =:= same.

learn(Node, Is) ->
    Known = case Is of
                same -> same;
                other_code -> {other_code, ringtail_clock:millis()}
            end,
    try ets:insert(?TABLE, {Node, Known}) of
        true -> ok
    catch
        error:badarg -> ok      % the application is being stopped
    end.

%% ---- Changes ----

changes(Before, After) ->
    [{N, element(N, After)} || N <- lists:seq(1, tuple_size(After)),
                               element(N, After) =/= element(N, Before)].

%% @doc The context with these changes.
-spec changed(changes(), tuple()) -> tuple().
changed(Changes, Before) ->
    lists:foldl(fun({N, Element}, Riak) -> setelement(N, Riak, Element) end, Before, Changes).
