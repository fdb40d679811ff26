%% @doc What is to be written to the companion and is not yet: requests, and what else is said of
%% those that were written. Pure.
-module(ringtail_companion_outbox).

-export([new/0, is_empty/1, add/4, bytes/1, has_request/2, without/2, requests/1, ids/1]).
-export_type([outbox/0]).

-type id() :: ringtail_companion_codec:id().
%% Latest first.
-opaque outbox() :: [{request | frame, id(), ringtail_companion_codec:frame()}].

-spec new() -> outbox().
new() -> [].

-spec is_empty(outbox()) -> boolean().
is_empty(Outbox) -> Outbox =:= [].

-spec add(request | frame, id(), ringtail_companion_codec:frame(), outbox()) -> outbox().
add(Kind, Id, Frame, Outbox) -> [{Kind, Id, Frame} | Outbox].

%% @doc All of it, as it goes out.
-spec bytes(outbox()) -> iolist().
bytes(Outbox) ->
    lists:foldl(fun framed/2, [], Outbox).

framed({_, _, Frame}, Rest) ->
    [ringtail_companion_frames:framed(ringtail_companion_codec:opened(Frame)) | Rest].

%% @doc Whether the request itself is not written.
-spec has_request(id(), outbox()) -> boolean().
has_request(Id, Outbox) ->
    lists:any(fun({Kind, Of, _}) -> Kind =:= request andalso Of =:= Id end, Outbox).

-spec without(id(), outbox()) -> outbox().
without(Id, Outbox) ->
    [Entry || {_, Of, _} = Entry <- Outbox, Of =/= Id].

%% @doc What can be written to the next companion as well as to this one.
-spec requests(outbox()) -> outbox().
requests(Outbox) ->
    [Entry || {request, _, _} = Entry <- Outbox].

%% @doc Whose requests these are.
-spec ids(outbox()) -> [id()].
ids(Outbox) ->
    [Id || {request, Id, _} <- Outbox].
