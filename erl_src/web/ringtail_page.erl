%% @doc The ring page's HTML. Pure. It stands alone: no script, nothing fetched from elsewhere,
%% since nodes are often reached from hosts that reach nothing else.
-module(ringtail_page).

-export([html/7, escaped/1]).

%% @doc The page as UTF-8.
-spec html(ClusterName :: binary() | undefined, Token :: binary(), Self :: node() | binary(),
           [ringtail_topology_history:member()],
           Up :: [node() | binary()], Owners :: [{non_neg_integer(), node() | binary()}],
           Problems :: [binary()]) -> binary().
html(ClusterName, Token, Self, Members, Up, Owners, Problems) ->
    Size = length(Owners),
    Colours = colours([Node || {Node, _, _, _} <- Members] ++ [Node || {_, Node} <- Owners]),
    unicode:characters_to_binary(
      ["<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Ring of ",
       name(ClusterName), "</title><style>",
       style(), "</style></head><body><h1>", name(ClusterName), "</h1><p>", integer_to_list(Size),
       " partitions, ",
       integer_to_list(length(Members)), " members, topology <code>", escaped(Token),
       "</code>, as ",
       escaped(ringtail_json:name(Self)), " sees it.</p>",
       [["<p><b>", escaped(ringtail_json:text(Problem)), "</b></p>"] || Problem <- Problems],
       "<table><tr><th></th><th>node</th><th>status</th><th></th><th>partitions</th>"
        "<th>share</th><th>endpoints</th></tr>",
       [member(Member, Up, Owners, Size, Colours) || Member <- Members],
       "</table><div class=\"ring\">",
       [partition(Partition, Up, Colours) || Partition <- number(Owners)],
       "</div></body></html>\n"]).

name(undefined) -> "a cluster without a name";
name(Name) -> escaped(Name).

member({Node, _, Status, Endpoints}, Up, Owners, Size, Colours) ->
    Owned = length([own || {_, Owner} <- Owners, Owner =:= Node]),
    ["<tr><td style=\"background:", colour(Node, Colours), "\">&nbsp;</td><td>",
     escaped(ringtail_json:name(Node)), "</td><td>",
     escaped(ringtail_json:name(Status)), "</td><td>", up(Node, Up), "</td><td>",
     integer_to_list(Owned), "</td><td>",
     io_lib:format("~.2f %", [100 * Owned / Size]), "</td><td>",
     string:join([escaped(ringtail_endpoints:url(Endpoint)) || Endpoint <- Endpoints], "<br>"),
     "</td></tr>"].

partition({Position, {Index, Node}}, Up, Colours) ->
    Class = case lists:member(Node, Up) of
                true -> "";
                false -> " class=\"down\""
            end,
    ["<span", Class, " style=\"background:", colour(Node, Colours), "\" title=\"",
     integer_to_list(Position), ": ",
     integer_to_list(Index), " ", escaped(ringtail_json:name(Node)), "\">",
     integer_to_list(Position), "</span>"].

number(List) ->
    lists:zip(lists:seq(0, length(List) - 1), List).

up(Node, Up) ->
    case lists:member(Node, Up) of
        true -> "up";
        false -> "<b>down</b>"
    end.

%% As far apart on the colour wheel as that many nodes can be.
colours(Nodes) ->
    Distinct = lists:usort(Nodes),
    [{Node, At * 360 div length(Distinct)} || {At, Node} <- number(Distinct)].

colour(Node, Colours) ->
    {Node, Hue} = lists:keyfind(Node, 1, Colours),
    io_lib:format("hsl(~b,65%,78%)", [Hue]).

style() ->
    "body{font:15px/1.5 sans-serif;margin:2em;color:#222}h1{font-size:1.3em}"
    "table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.15em .8em;text-align:left;vertical-align:top}"
    ".ring{display:flex;flex-wrap:wrap;max-width:66em}"
    ".ring span{width:3.6em;margin:1px;text-align:center;font-size:.75em}"
    ".ring .down{outline:2px solid #c00}".

%% @doc Text as it may stand in HTML.
-spec escaped(string() | binary()) -> string().
escaped(Text) when is_binary(Text) ->
    escaped(unicode:characters_to_list(Text));
escaped(Text) ->
    lists:flatmap(fun($<) ->
                          "&lt;"; ($>) ->
                              "&gt;"; ($&) ->
                                  "&amp;"; ($") -> "&quot;"; (Char) -> [Char] end, Text).
