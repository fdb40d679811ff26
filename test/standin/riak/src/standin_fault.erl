%% Test support: a node made slow. The delay is taken by whoever coordinates a
%% get or put on this node, as a busy node would make its clients wait.
-module(standin_fault).

-export([delay/1, set_delay/2]).

%% Operation: get | put | all
set_delay(Operation, Milliseconds) ->
    application:set_env(standin, {delay, Operation}, Milliseconds).

delay(Operation) ->
    case max(of_env(Operation), of_env(all)) of
        0 -> ok;
        Ms -> timer:sleep(Ms)
    end.

of_env(Operation) -> application:get_env(standin, {delay, Operation}, 0).
