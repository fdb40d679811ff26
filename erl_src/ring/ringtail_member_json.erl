%% @doc A member of a cluster in our JSON documents: among the nodes of the full cluster preflist,
%% and among the primaries of answers that name them. The topology document, which clients parse, is
%% made by the engine; `ringtail_topology_text' makes the same where the engine is lost.
-module(ringtail_member_json).

-export([nodes/2, primary/4]).

-type name() :: node() | binary().

%% @doc All of them as mochijson2 wants them.
-spec nodes([ringtail_topology_history:member()], Up :: [name()]) -> term().
nodes(Members, Up) ->
    [{struct, [{node, ringtail_json:name(Node)}, {uuid, Uuid}, {status, Status},
               {up, lists:member(Node, Up)}, endpoints(Endpoints)]}
     || {Node, Uuid, Status, Endpoints} <- Members].

%% @doc The owner of a partition; `unknown' stands for the index where only a node can tell it, and
%% for an owner that is no member.
-spec primary(Index :: non_neg_integer() | unknown, name(), IsUp :: boolean(),
              ringtail_topology_history:member() | unknown) -> term().
primary(Index, Node, IsUp, Member) ->
    {struct, [{node, ringtail_json:name(Node)}]
         ++ [{index, list_to_binary(integer_to_list(Index))} || Index =/= unknown]
         ++ [{up, IsUp} | described(Member)]}.

described(unknown) -> [];
described({_, Uuid, Status, Endpoints}) ->
    [{uuid, Uuid}, {status, Status}, endpoints(Endpoints)].

endpoints(Endpoints) -> {endpoints, ringtail_endpoints:to_json(Endpoints)}.
