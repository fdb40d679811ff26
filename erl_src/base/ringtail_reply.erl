%% @doc Answers that end a request, errors as JSON among them, in webmachine's terms.
-module(ringtail_reply).

-export([refuse/6, refuse/5, error_body/4, ending/1]).
-export_type([reqdata/0, result/1, ending/0]).

-type reqdata() :: tuple().
%% How a request ends that is not served here.
-type ending() :: {halt, 100..599, reqdata()}.
-type result(Context) :: {term(), reqdata(), Context}.

%% Seconds after which a client that was refused for now may try again.
-define(RETRY_AFTER, "1").

%% @doc Ends the request with an error.
-spec refuse(100..599, Code :: atom(), Message :: iodata(), reqdata(), Context) -> result(Context).
refuse(Status, Code, Message, RD, Context) ->
    refuse(Status, Code, Message, [], RD, Context).

%% @doc Ends the request with an error that says more: members for the JSON object besides error and
%% message.
-spec refuse(100..599, Code :: atom(), Message :: iodata(), [{atom(), term()}], reqdata(),
             Context) -> result(Context).
refuse(Status, Code, Message, More, RD, Context) ->
    Told = case Status of
               503 -> wrq:set_resp_header("Retry-After", ?RETRY_AFTER, RD);
               _ -> RD
           end,
    {ending(Status), error_body(Code, Message, More, Told), Context}.

%% @doc The error as JSON in the answer, whose status webmachine or the caller sets.
-spec error_body(Code :: atom(), Message :: iodata(), [{atom(), term()}], reqdata()) -> reqdata().
error_body(Code, Message, More, RD) ->
    Json = ringtail_json:object([{error, Code}, {message, ringtail_json:text(Message)} | More]),
    wrq:set_resp_body(Json, wrq:set_resp_header("Content-Type", "application/json", RD)).

%% @doc What ends a request with this status. 421 is younger than OTP's list of phrases, which calls
%% an unknown status an internal error.
-spec ending(100..599) -> {halt, 100..599 | {100..599, string()}}.
ending(421) -> {halt, {421, "Misdirected Request"}};
ending(Status) -> {halt, Status}.
