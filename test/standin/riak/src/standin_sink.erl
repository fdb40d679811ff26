%% Test support: late answers. A request that has its quorum does not wait for
%% the rest, whose answers would pile up in the mailbox of a kept-alive
%% connection; they are thrown away when the next request begins.
-module(standin_sink).

-export([drain/0]).

%% Only answers of vnodes have this shape.
drain() ->
    receive
        {ignored, {Index, Node}, _} when is_integer(Index), is_atom(Node) -> drain();
        {Ref, {Index, Node}, _} when is_reference(Ref), is_integer(Index), is_atom(Node) -> drain()
    after 0 -> ok
    end.
