%% @doc What happens of a request through the companion in the process that makes it.
%%
%% Its deadline holds whatever the companion and its owner do, and what comes too late for it does
%% not come at all. Terms are encoded and decoded here, by as many processes as ask, not by the one
%% all requests pass through.
-module(ringtail_companion_call).

-export([call/2, call/3, begin_request/2, id/1, write/2, await/2, finish/1]).
-export_type([request/0]).

-define(OWNER, ringtail_companion).
-define(TABLE, ringtail_companion).
%% How often one who waits sees whether the owner, which tells all who wait when it ends in good
%% order, is there at all. To monitor it would cost more than the rest of a request. In ms.
-define(LOOK_EVERY, 200).
%% What a timer of R16B02 takes, in ms.
-define(LONGEST_TIMEOUT, 16#ffffffff).

-record(request, {owner :: pid(), ref :: reference(), id :: ringtail_companion_codec:id()}).
-opaque request() :: #request{}.
-type failure() :: {error, {atom(), binary()}}.

%% @doc Has the companion do something, within `{ringtail, port_timeout}' milliseconds (5000).
-spec call(atom(), tuple()) -> {ok, term()} | failure().
call(Operation, Arguments) ->
    call(Operation, Arguments, ringtail_config:port_timeout()).

-spec call(atom(), tuple(), timeout()) -> {ok, term()} | failure().
call(Operation, Arguments, Timeout) ->
    case begin_request(Operation, Arguments) of
        {ok, Request} ->
            case await(Request, bounded(Timeout)) of
                {error, {timeout, _}} = Error -> given_up(Request, Error);
                Answer -> Answer
            end;
        {error, _} = Error ->
            Error
    end.

%% Where a caller's number comes from is not known here.
bounded(infinity) -> infinity;
bounded(Timeout) when is_integer(Timeout) -> max(0, min(Timeout, ?LONGEST_TIMEOUT)).

%% @doc Makes a request. Whoever does must await/2 its answers, and finish/1 it in the end.
-spec begin_request(atom(), tuple()) -> {ok, request()} | failure().
begin_request(Operation, Arguments) ->
    try
        Owner = owner(),
        Id = ets:update_counter(?TABLE, id, 1),
        Frame = ringtail_companion_codec:request(Id, Operation, Arguments),
        Ref = make_ref(),
        Owner ! {request, Id, self(), Ref, Frame},
        {ok, #request{owner = Owner, ref = Ref, id = Id}}
    catch
        %% The table went with its owner.
        error:badarg -> died(<<"its owner ended">>)
    end.

%% @doc What the frames of a request name it by.
-spec id(request()) -> ringtail_companion_codec:id().
id(#request{id = Id}) -> Id.

%% @doc Writes another frame of a request. Where the companion is gone, await/2 tells.
-spec write(request(), iodata()) -> ok.
write(#request{owner = Owner, id = Id}, Frame) ->
    Owner ! {frame, Id, Frame},
    ok.

%% @doc The next frame for a request. After one that is no progress, and after an error but
%% `timeout', no other comes.
-spec await(request(), timeout()) -> ringtail_companion_codec:answer().
await(#request{ref = Ref, owner = Owner} = Request, Timeout) ->
    Look = min(Timeout, ?LOOK_EVERY),
    case heard(Ref, Look) of
        nothing ->
            case is_process_alive(Owner) of
                true when Look =:= Timeout ->
                    {error, {timeout, <<"the companion did not answer in time">>}};
                true -> await(Request, later(Timeout, Look));
                false -> last_words(heard(Ref, 0))
            end;
        Answer ->
            Answer
    end.

heard(Ref, Timeout) ->
    receive
        {Ref, {frame, Frame}} -> ringtail_companion_codec:answer(Frame);
        {Ref, {refused, Code, Why}} -> {error, {Code, Why}};
        {Ref, {died, Why}} -> died(Why)
    after Timeout ->
        nothing
    end.

later(infinity, _) -> infinity;
later(Timeout, Passed) -> Timeout - Passed.

%% Of an owner that has ended: what it said before has come by now.
last_words(nothing) -> died(<<"its owner ended">>);
last_words(Answer) -> Answer.

%% @doc No answer is wanted any more, if there is one to come. After this no message for the request
%% comes.
-spec finish(request()) -> ok.
finish(Request) ->
    _ = left(forget, Request),
    ok.

given_up(Request, Error) ->
    case left(give_up, Request) of
        not_written ->
            {error, {busy, <<"the companion does not read as fast as it is asked: "
                             "try again later">>}};
        not_started ->
            {error, {timeout, <<"the companion did not start in time">>}};
        _ -> Error
    end.

%% Once the owner has answered, what it sent before is here to be flushed. It waits for nothing, so
%% its answer is near; a caller that did not wait for it might find one of the two in its mailbox
%% later, and mochiweb's processes take that for a broken request.
left(How, #request{owner = Owner, ref = Ref, id = Id}) ->
    Outcome = try
                  gen_server:call(Owner, {How, Id}, infinity)
              catch
                  exit:_ -> gone
              end,
    flush(Ref),
    Outcome.

flush(Ref) ->
    receive {Ref, _} -> flush(Ref) after 0 -> ok end.

owner() ->
    case whereis(?OWNER) of
        undefined -> started(ringtail_companion_owner:start());
        Owner -> Owner
    end.

started({ok, Owner}) -> Owner;
started({error, {already_started, Owner}}) -> Owner.

died(Why) ->
    Detail = ["the companion is not there to answer (", Why, "): try again"],
    {error, {companion_died, iolist_to_binary(Detail)}}.
