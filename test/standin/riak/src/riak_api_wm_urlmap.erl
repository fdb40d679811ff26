%% Test support: GET /: which resource is where, by module: links for a
%% browser, an object for a program.
-module(riak_api_wm_urlmap).

-export([init/1, content_types_provided/2, to_html/2, to_json/2]).

-include("webmachine.hrl").

init([]) -> {ok, undefined}.

content_types_provided(RD, Ctx) ->
    {[{"text/html", to_html}, {"application/json", to_json}], RD, Ctx}.

to_html(RD, Ctx) ->
    Items = [["<li><a href=\"", Path, "\">", atom_to_list(M), "</a></li>"]
             || {M, Path} <- mapping()],
    {["<html><body><ul>", Items, "</ul></body></html>"],
     wrq:set_resp_header("Link", links(), RD), Ctx}.

to_json(RD, Ctx) ->
    {mochijson2:encode({struct, [{atom_to_binary(M, utf8), list_to_binary(P)}
                                 || {M, P} <- mapping()]}),
     wrq:set_resp_header("Link", links(), RD), Ctx}.

links() ->
    lists:flatten(lists:join(", ",
                             [["<", Path, ">; rel=\"", atom_to_list(M), "\""]
                              || {M, Path} <- mapping()])).

%% Up to the first binding: what follows depends on the request.
mapping() ->
    lists:usort([{Module, path(Spec)} || {Spec, Module} <- routes(), Module =/= ?MODULE]).

routes() ->
    [{element(1, R), element(tuple_size(R) - 1, R)} || R <- webmachine_router:get_routes()].

path(Spec) ->
    "/" ++ string:join(lists:takewhile(fun is_list/1, Spec), "/").
