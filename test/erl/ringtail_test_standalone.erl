%% The standalone mode beside a stand-in cluster of two nodes, for the suites that attack it.
-module(ringtail_test_standalone).

-include_lib("stdlib/include/assert.hrl").

-export([start/1, stop/1, vm/1, rpc/4, is_reached/1, companion/1, none_left/1, until_closed/2]).
-export([object/2, object/3, native/2, native/3, path/1, stored/2, raw/4, connect/2, is_error/2]).
-export([by_protocol_buffers/3, head/1]).

-define(HTTP, ringtail_test_http).

start(Config) ->
    Types = [{<<"one">>, [{n_val, 1}, {allow_mult, false}]}],
    Prod = ringtail_test_cluster:start(#{nodes => 2, ring_size => 8, types => Types}),
    Seeds = [Url || {_, Url} <- standin:urls(Prod)],
    Secret = [{seeds, ["https://127.0.0.1:1"]}, {user, "u"}, {password, "geheim"}],
    Clusters = [{prod, Seeds}, {secret, Secret}],
    {ok, Vm} = standin_bare:start(#{patches => [ringtail_test_cluster:ours()],
                                    env => [{ringtail, [{clusters, Clusters}]}]}),
    ok = rpc(Vm, ringtail, start, []),
    ok = ringtail_test_cluster:wait(fun() -> is_reached(Vm) end),
    [{vm, Vm}, {prod, Prod} | Config].

stop(Config) ->
    ok = standin_bare:stop(vm(Config)),
    standin:stop_cluster(proplists:get_value(prod, Config)).

is_reached(Vm) ->
    rpc(Vm, ringtail_routes, state, []) =:= serving
        andalso element(1, rpc(Vm, ringtail_remote_clusters, freshness, ["prod"])) =:= current.

vm(Config) -> proplists:get_value(vm, Config).
rpc(Vm, Module, Function, Args) -> standin_bare:rpc(Vm, Module, Function, Args).

object(Config, Key) -> object(Config, "one", Key).

object(Config, Type, Key) ->
    lists:append([standin_bare:url(vm(Config)), "/riak/primary/clusters/prod/types/", Type,
                  "/buckets/b/keys/", Key]).

native(Config, Key) -> native(Config, "one", Key).

%% Riak cannot show links under /types.
native(Config, Type, Key) ->
    [{_, Url} | _] = standin:urls(proplists:get_value(prod, Config)),
    Typed = lists:append(["/types/" ++ Type || Type =/= "default"]),
    lists:append([Url, Typed, "/buckets/b/keys/", Key]).

path(Url) -> maps:get(path, uri_string:parse(Url)).

stored(Url, Body) -> ?HTTP:request(put, Url, [], {"text/plain", Body}).

%% An object of the type `one' with such metadata as protocol buffers take.
by_protocol_buffers(Config, Key, Metadata) ->
    Prod = proplists:get_value(prod, Config),
    [Node | _] = standin:nodes(Prod),
    Meta = dict:from_list([{<<"content-type">>, "text/plain"}, {<<"X-Riak-Meta">>, Metadata}]),
    Object = standin:rpc(Prod, Node, riak_object, new, [{<<"one">>, <<"b">>}, Key, <<"x">>, Meta]),
    {ok, Client} = standin:rpc(Prod, Node, riak, local_client, []),
    ok = standin:rpc(Prod, Node, riak_client, put, [Object, [], Client]).

%% The lines of an answer's head as they come.
head(Url) ->
    Socket = connect(Url, []),
    ok = gen_tcp:send(Socket, ["GET ", path(Url), " HTTP/1.1\r\nHost: x\r\n"
                               "Connection: close\r\n\r\n"]),
    [Head, _] = binary:split(until_closed(Socket, <<>>), <<"\r\n\r\n">>),
    binary:split(Head, <<"\r\n">>, [global]).

%% Sends these lines of a head and this body to both routes.
raw(Url, Method, Lines, Body) ->
    ?HTTP:raw(Url, [Method, " ", path(Url), " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                    [[Line, "\r\n"] || Line <- Lines], "\r\n", Body]).

connect(Url, Options) ->
    #{port := Port} = uri_string:parse(Url),
    {ok, Socket} = gen_tcp:connect("127.0.0.1", Port, [binary, {active, false} | Options]),
    Socket.

is_error(Answer, Code) ->
    ?assertMatch(#{<<"error">> := Code, <<"message">> := _}, ?HTTP:json(Answer)).

companion(Vm) -> proplists:get_value(os_pid, rpc(Vm, ringtail_companion, status, [])).

none_left(Config) ->
    Vm = vm(Config),
    Requests = fun() -> proplists:get_value(requests, rpc(Vm, ringtail_companion, status, [])) end,
    ok = ringtail_test_cluster:wait(fun() -> Requests() =:= 0 end, 60000).

until_closed(Socket, Got) ->
    case gen_tcp:recv(Socket, 0, 30000) of
        {ok, More} -> until_closed(Socket, <<Got/binary, More/binary>>);
        {error, closed} -> Got;
        {error, Reason} -> {Reason, Got}
    end.
