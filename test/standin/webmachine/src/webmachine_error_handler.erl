%% @doc Test support: the pages of error answers.
%%
%% A body that the resource has set stays. The pages read as a real node's do,
%% because clients that show an error show this text.
-module(webmachine_error_handler).

-export([render_error/3]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

-spec render_error(pos_integer(), #wm_reqstate{}, term()) -> {iodata() | tuple(), #wm_reqstate{}}.
render_error(Code, #wm_reqstate{reqdata = RD} = Req, Reason) ->
    case webmachine_content:has_body(RD) of
        true ->
            {wrq:resp_body(RD), Req};
        false ->
            RD1 = wrq:set_resp_header("Content-Type", "text/html", RD),
            {iolist_to_binary(page(Code, Reason, RD)), Req#wm_reqstate{reqdata = RD1}}
    end.

page(404, _Reason, _RD) ->
    <<"<HTML><HEAD><TITLE>404 Not Found</TITLE></HEAD><BODY><H1>Not Found</H1>"
      "The requested document was not found on this server.<P><HR><ADDRESS>"
      "mochiweb+webmachine web server</ADDRESS></BODY></HTML>">>;
page(500, Reason, _RD) ->
    page("500 ", "Internal Server Error",
         ["The server encountered an error while processing this request:<br><pre>",
          io_lib:format("~p", [Reason]), "</pre>"], upper);
page(501, _Reason, RD) ->
    page("501 ", "Not Implemented",
         io_lib:format("The server does not support the ~p method.<br>", [wrq:method(RD)]),
         upper);
page(503, _Reason, _RD) ->
    page("503 ", "Service Unavailable",
         "The server is currently unable to handle the request due to a "
         "temporary overloading or maintenance of the server.<br>", upper);
page(Code, Reason, _RD) ->
    page([integer_to_list(Code), " "], httpd_util:reason_phrase(Code),
         text(Reason), lower).

page(Number, Phrase, Text, Case) ->
    {Rule, Open, Close} = case Case of
                              upper -> {"<P><HR>", "<ADDRESS>", "</ADDRESS>"};
                              lower -> {"<p><hr>", "<address>", "</address>"}
                          end,
    ["<html><head><title>", Number, Phrase, "</title></head><body><h1>", Phrase,
     "</h1>", Text, Rule, Open, "mochiweb+webmachine web server", Close,
     "</body></html>"].

text(Reason) ->
    try
        iolist_to_binary(Reason)
    catch
        error:badarg -> io_lib:format("~p", [Reason])
    end.
