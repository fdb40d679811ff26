%% @doc What the resources that only read have in common, besides what all have (`ringtail_wm'): a
%% request whose framing is not understood is refused, the parameters of a media type in Accept do
%% not matter, and every error is JSON, those that webmachine makes by itself too.
-module(ringtail_wm_read).

-export([well_framed/1, is_authorized/3, forbidden/3]).
-export([provided/4, answer/4, finish/2, finish/3]).

%% @doc service_available once more: what was decided, unless the request's framing is not
%% understood. Nobody wants a body here, and one that came is read, so that the client sees its
%% answer.
-spec well_framed(ringtail_reply:result(Context)) -> ringtail_reply:result(Context).
well_framed({_, RD, Context} = Decided) ->
    case ringtail_body:framing(RD) of
        {ok, none} -> Decided;
        {ok, _} -> ok = ringtail_body:unread(RD), Decided;
        {error, Why} -> ringtail_body:refuse_framing(Why, RD, Context)
    end.

%% @doc is_authorized where it does not matter who asks, if it is one whom Riak knows.
-spec is_authorized(ringtail_source:origin(), ringtail_reply:reqdata(), Context) ->
          ringtail_reply:result(Context).
is_authorized(Origin, RD, Context) ->
    {Result, _} = Origin:is_authorized(RD, Context),
    Result.

%% @doc forbidden where no permission is needed.
-spec forbidden(ringtail_source:origin(), ringtail_reply:reqdata(), Context) ->
          ringtail_reply:result(Context).
forbidden(Origin, RD, Context) ->
    case Origin:permitted(RD, any, undefined) of
        true -> {false, RD, Context};
        {false, Told} -> {true, Told, Context}
    end.

%% @doc content_types_provided for one media type. webmachine compares parameters, too: a client
%% that asks for `text/plain;version=0.0.4' is offered just that. One that takes none of it is told
%% so in JSON, and nothing is offered: webmachine then has nothing to compare a range with, and
%% comparing one of slashes alone is what it fails on.
-spec provided(string(), atom(), ringtail_reply:reqdata(), Context) ->
          ringtail_reply:result(Context).
provided(Type, Produce, RD, Context) ->
    case offered(Type, wrq:get_req_header("Accept", RD)) of
        [] ->
            Message = ["this is ", Type, "; accept that, or leave Accept out"],
            Told = ringtail_reply:error_body(not_acceptable, Message, [], RD),
            {[], Told, Context};
        Offered ->
            {[{Each, Produce} || Each <- Offered], RD, Context}
    end.

offered(Type, undefined) ->
    [Type];
offered(Type, Accept) ->
    Ranges = try
                 [mochiweb_util:parse_header(string:strip(Range))
                  || Range <- string:tokens(Accept, ",")]
             catch
                 error:_ -> []
             end,
    Comparable = lists:all(fun({Range, _}) -> string:tokens(Range, "/") =/= [] end, Ranges),
    Fitting = [lists:keydelete("q", 1, Parameters)
               || Comparable, {Range, Parameters} <- Ranges, fits(Range, Type)],
    case {lists:member([], Fitting), Fitting} of
        {true, _} -> [Type];
        {false, [[_] = Parameters | _]} -> [{Type, Parameters}];
        %% webmachine keeps its choice with the parameters turned round, and looks for that.
        {false, [Several | _]} -> [{Type, Several}, {Type, lists:reverse(Several)}];
        {false, []} -> []
    end.

fits("*", _) -> true;
fits("*/*", _) -> true;
fits(Type, Type) -> true;
fits(Range, Type) ->
    case {string:tokens(Range, "/"), string:tokens(Type, "/")} of
        {[Kind, "*"], [Kind, _]} -> true;
        _ -> false
    end.

%% @doc The body of an answer, under the name it goes by and not the one it was asked for by.
-spec answer(string(), iodata(), ringtail_reply:reqdata(), Context) ->
          ringtail_reply:result(Context).
answer(Type, Body, RD, Context) ->
    {Body, wrq:set_resp_header("Content-Type", Type, RD), Context}.

%% @doc finish_request: an error without words, or with webmachine's page for them, gets JSON of
%% ours. By now nobody encodes it any more.
-spec finish(ringtail_reply:reqdata(), Context) -> ringtail_reply:result(Context).
finish(RD, Context) ->
    finish([], RD, Context).

%% @doc The same with meanings of statuses that are a resource's own.
-spec finish([{Status :: 400..599, {Code :: atom(), Message :: string()}}],
             ringtail_reply:reqdata(),
             Context) -> ringtail_reply:result(Context).
finish(Own, RD, Context) ->
    Told = case is_error(wrq:response_code(RD)) andalso not has_words(RD) of
               true -> told(Own, wrq:response_code(RD), RD);
               false -> RD
           end,
    {true, Told, Context}.

is_error(Status) -> is_integer(Status) andalso Status >= 400.

%% webmachine names the type of what there would have been also where there is nothing.
has_words(RD) ->
    wrq:get_resp_header("Content-Type", RD) =/= "text/html"
        andalso wrq:resp_body(RD) =/= [] andalso wrq:resp_body(RD) =/= <<>>
        andalso wrq:resp_body(RD) =/= undefined.

told(Own, Status, RD) ->
    {Code, Message} = case lists:keyfind(Status, 1, Own) of
                          {Status, Meaning} -> Meaning;
                          false -> meaning(Status)
                      end,
    Plain = wrq:remove_resp_header("Content-Encoding", RD),
    ringtail_reply:error_body(Code, Message, [], Plain).

meaning(400) ->
    {bad_request, "the request is not understood"};
meaning(401) ->
    {unauthorized, "give a user and password that Riak knows"};
meaning(403) ->
    {forbidden, "that is not allowed"};
meaning(404) ->
    {not_found, "there is no such thing here"};
meaning(406) ->
    {not_acceptable, "this comes as it is or compressed by gzip; accept one of these, or leave out "
     "Accept-Encoding, Accept-Charset and Accept-Language"};
meaning(412) ->
    {precondition_failed, "what is here is another by now than the request's conditions say; ask "
     "again without If-Match and If-Unmodified-Since"};
meaning(413) ->
    {body_too_large, "no body is wanted here"};
meaning(414) ->
    {uri_too_long, "the path is too long"};
meaning(500) ->
    {internal_error, "this request failed; the node's log says how"};
meaning(501) ->
    {not_implemented, "that method or one of the Content headers is not known here"};
meaning(503) ->
    {unavailable, "this node cannot answer now; try again in a moment"};
meaning(Status) ->
    {refused, ["HTTP status ", integer_to_list(Status)]}.
