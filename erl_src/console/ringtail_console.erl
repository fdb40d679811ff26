%% @doc The console calls that need the running application; `ringtail' is their face. What they say
%% of a cluster is `ringtail_console_node's to say, or in a VM without Riak
%% `ringtail_console_remote's. They return data, or a line of text where a person wants to read
%% one.
-module(ringtail_console).

-export([start/0, stop/0, status/0, preflist/2, primaries/2, owners/0, where/2, topology/0]).
-export([text/1, compile/1]).

%% @doc Starts the application. Harmless when it runs already, and in a node that is still
%% booting: it then waits for Riak KV in the background.
-spec start() -> ok | {error, term()}.
start() ->
    case application:ensure_all_started(ringtail) of
        {ok, _} -> ok;
        {error, Reason} -> {error, explained(Reason)}
    end.

explained({ringtail, {"no such file or directory", "ringtail.app"}}) ->
    {no_application_file, <<"put ringtail.app where the beams are, on the code path (see "
                            "code:get_path())">>};
explained(Reason) ->
    Reason.

%% @doc Stops it and leaves the node as it was: clients are told of it no more. A node that is
%% stopped as a whole keeps its entry in the ring, for it comes back.
-spec stop() -> ok | {error, term()}.
stop() ->
    HasRing = whereis(riak_core_ring_manager) =/= undefined,
    case application:stop(ringtail) of
        ok when HasRing -> ringtail_endpoint_publisher:take_back();
        ok -> ok;
        {error, {not_started, ringtail}} -> ok;
        {error, _} = Error -> Error
    end.

-spec status() -> [{atom(), term()}].
status() ->
    (ringtail_routes:part(report, ringtail_status)):data().

-spec preflist(ringtail_key_owners:bucket(), binary()) ->
          [{{non_neg_integer(), node() | binary()}, primary | fallback}] | {error, term()}.
preflist(Bucket, Key) ->
    (calls()):preflist(Bucket, Key).

-spec primaries(ringtail_key_owners:bucket(), binary()) ->
          [{non_neg_integer(), node() | binary()}] | {error, term()}.
primaries(Bucket, Key) ->
    (calls()):primaries(Bucket, Key).

-spec owners() -> [{non_neg_integer(), node() | binary()}] | {error, term()}.
owners() ->
    (calls()):owners().

%% @doc A line to read: where the key lives and who of them is up.
-spec where(ringtail_key_owners:bucket(), binary()) -> string() | {error, term()}.
where(Bucket, Key) ->
    (calls()):where(Bucket, Key).

-spec topology() -> [{atom(), term()}] | {error, term()}.
topology() ->
    (calls()):topology().

calls() -> ringtail_routes:part(console, ringtail_console_node).

%% @doc What these calls return, as text.
-spec text(status | owners | topology) -> string().
text(status) -> ringtail_render:lines(status());
text(topology) -> ringtail_render:lines(topology());
text(owners) -> ringtail_render:owners(owners()).

%% @doc Compiles our sources in this directory for the OTP release of this node, into the same
%% directory, and loads them. For a node whose release the archive's beams were not built for.
-spec compile(file:name()) -> {ok, [module()]} | {error, [{file:name(), term()}]}.
compile(Directory) ->
    Files = filelib:wildcard(filename:join(Directory, "ringtail*.erl")),
    Options = [{outdir, Directory}, return_errors, debug_info],
    Compiled = [{File, compile:file(File, Options)} || File <- Files],
    case [{File, Why} || {File, Why} <- Compiled, element(1, Why) =/= ok] of
        [] when Files =:= [] ->
            {error, [{Directory, "no ringtail*.erl here: unpack the archive in this directory"}]};
        [] ->
            Modules = [Module || {_, {ok, Module}} <- Compiled],
            _ = [begin
                     code:purge(Module),
                     code:load_abs(filename:join(Directory, atom_to_list(Module)))
                 end || Module <- Modules],
            ok = serving_again(ringtail_ring:ring()),
            {ok, Modules};
        Failed ->
            {error, Failed}
    end.

%% A NIF that was just loaded does not know the rings of the one before.
serving_again({ok, Ring, _}) ->
    _ = ringtail_ring_follower:reload(Ring, 5000),
    ok;
serving_again({error, _}) ->
    ok.
