%% Test support: a get or put as a process of the node it was asked for on. Who
%% asked is neither linked nor watched, and gets {ReqId, Answer} if there is one:
%% a timer that cannot be set ends the process without an answer, as in Riak.
-module(standin_fsm).

-export([start/4]).

start({raw, ReqId, Client}, Operation, Options, Fun) ->
    {ok, proc_lib:spawn(fun() ->
        Timer = erlang:send_after(proplists:get_value(timeout, Options, 60000), self(), late),
        standin_fault:delay(Operation),
        Answer = Fun(),
        _ = erlang:cancel_timer(Timer),
        standin_fault:delay(answer),
        Client ! {ReqId, Answer}
    end)}.
