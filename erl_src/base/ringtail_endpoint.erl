%% @doc One place where a node can be reached: `{Scheme, Host, Port}'. Pure.
%%
%% What is_valid/1 refuses is neither published nor believed: a host goes into `Location' and into
%% JSON, and the ring is written by other nodes, of other versions.
-module(ringtail_endpoint).

-export([normal/1, text/1, is_valid/1, most/0]).
-export_type([endpoint/0, scheme/0]).

-type scheme() :: http | https | pb.
-type endpoint() :: {scheme(), Host :: binary(), Port :: 1..65535}.

%% Of one node. Many more than a node has, few enough to be told of each in every topology.
-define(MOST, 64).
%% As long as a name in the DNS can be.
-define(HOST_BYTES, 255).

%% @doc How many a node may publish.
-spec most() -> pos_integer().
most() -> ?MOST.

%% @doc An endpoint as somebody wrote it, in the form of all others.
-spec normal(term()) -> term().
normal({Scheme, Host, Port}) -> {Scheme, text(Host), Port};
normal(Other) -> Other.

%% @doc Whether this is one that may be published, and believed when it is read: the host is a DNS
%% name, an IPv4 address or an IPv6 address without brackets.
-spec is_valid(term()) -> boolean().
is_valid({Scheme, Host, Port})
  when is_binary(Host), byte_size(Host) > 0, byte_size(Host) =< ?HOST_BYTES,
       is_integer(Port), Port > 0, Port < 65536 ->
    lists:member(Scheme, [http, https, pb]) andalso is_host(binary_to_list(Host));
is_valid(_) ->
    false.

is_host(Host) ->
    case lists:member($:, Host) of
        true ->
            %% The address of one link (`fe80::1%eth0') means nothing on another host.
            not lists:member($%, Host)
                andalso element(1, inet_parse:ipv6strict_address(Host)) =:= ok;
        false ->
            lists:all(fun is_name/1, Host)
    end.

is_name(C) ->
    (C >= $a andalso C =< $z) orelse (C >= $A andalso C =< $Z) orelse (C >= $0 andalso C =< $9)
        orelse C =:= $. orelse C =:= $- orelse C =:= $_.

%% @doc A host as somebody wrote it: an IPv6 address may be in brackets. What is no text becomes
%% an empty one, which is no host.
-spec text(term()) -> binary().
text(Host) ->
    try list_to_binary(string:strip(string:strip(characters(Host), left, $[), right, $]))
    catch
        error:_ -> <<>>
    end.

characters(Host) when is_binary(Host) -> binary_to_list(Host);
characters(Host) -> Host.
