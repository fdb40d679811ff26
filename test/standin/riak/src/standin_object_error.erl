%% Test support: errors of gets and puts as HTTP answers, in Riak's words.
-module(standin_object_error).

-include("standin_object.hrl").

-export([answer/3]).

answer(Reason, RD, Ctx) ->
    {Status, Plain, Text} = what(Reason, Ctx),
    RD1 = case Reason of
              {deleted, _} ->
                  wrq:set_resp_header("X-Riak-Deleted", "true",
                                      standin_object_view:vclock_header(RD, Ctx));
              _ -> RD
          end,
    RD2 = case Plain of
              plain -> wrq:set_resp_header("Content-Type", "text/plain", RD1);
              bare -> RD1
          end,
    RD3 = case Text of
              none -> RD2;
              _ -> wrq:append_to_response_body(iolist_to_binary(Text), RD2)
          end,
    {{halt, Status}, RD3, Ctx}.

%% bare: the answer has no content type of its own.
what(notfound, _) -> {404, plain, "not found\n"};
what({deleted, _}, _) -> {404, plain, "not found\n"};
what(bucket_type_unknown, #ctx{bucket_type = Type}) ->
    {404, plain, ["Unknown bucket type: ", Type]};
what(no_type, Ctx) -> what(bucket_type_unknown, Ctx);
what(timeout, _) -> {503, plain, "request timed out\n"};
what(too_many_fails, _) -> {503, bare, "Too Many write failures to satisfy W/DW\n"};
what({n_val_violation, N}, _) ->
    {400, bare,
     io_lib:format("Specified w/dw/pw/node_confirms values invalid for bucket n value of ~p~n",
                   [N])};
what({r_val_unsatisfied, Want, Got}, _) -> {503, plain, unsatisfied("R", Want, Got)};
what({dw_val_unsatisfied, Want, Got}, _) -> {503, plain, unsatisfied("DW", Want, Got)};
what({pr_val_unsatisfied, Want, Got}, _) -> {503, plain, unsatisfied("PR", Want, Got)};
what({pw_val_unsatisfied, Want, Got}, _) -> {503, bare, unsatisfied("PW", Want, Got)};
what({node_confirms_val_unsatisfied, Want, Got}, _) ->
    {503, bare, unsatisfied("node_confirms", Want, Got)};
what(failed, _) -> {412, bare, none};
what(Other, _) -> {500, plain, io_lib:format("Error:~n~p~n", [Other])}.

unsatisfied(Name, Want, Got) -> io_lib:format("~s-value unsatisfied: ~p/~p~n", [Name, Got, Want]).
