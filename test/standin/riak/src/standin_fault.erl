%% Test support: a node made slow, or held. The delay is taken by what carries
%% out a get, put or delete on this node, before it begins; `answer' is taken
%% by a get or put that is done, before it says so.
-module(standin_fault).

-export([delay/1, set_delay/2, held/0]).

-define(POLL, 10).

%% Operation: get | put | delete | answer | all (the first three)
%% Milliseconds, or infinity: held until the delay is set anew.
set_delay(Operation, Delay) ->
    application:set_env(standin, {delay, Operation}, Delay).

delay(Operation) ->
    case of_env(Operation) of
        infinity ->
            put({?MODULE, held}, Operation),
            timer:sleep(?POLL),
            delay(Operation);
        Ms ->
            erase({?MODULE, held}),
            timer:sleep(Ms)
    end.

%% Operations that are held on this node now.
held() ->
    lists:sort([Operation || Pid <- processes(),
                             {dictionary, Words} <- [process_info(Pid, dictionary)],
                             {{?MODULE, held}, Operation} <- Words]).

%% An atom is more than any number.
of_env(answer) -> of_key(answer);
of_env(Operation) -> max(of_key(Operation), of_key(all)).

of_key(Operation) -> application:get_env(standin, {delay, Operation}, 0).
