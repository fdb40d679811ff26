%% @doc Test support: calls a resource's callbacks.
%%
%% A callback that is not exported has webmachine's default answer; one that
%% fails answers `{error, {Class, Reason, Stack}}', which the decision flow
%% turns into a 500. What is in the process dictionary meanwhile is what a
%% resource finds there on a real node.
-module(webmachine_resource).

-export([wrap/2, call/3]).
-export_type([t/0]).

-include("wm_reqdata.hrl").
-include("wm_reqstate.hrl").

-opaque t() :: {module(), State :: term()}.

-spec wrap(module(), term()) -> {ok, t()} | {stop, bad_init_arg}.
wrap(Module, Args) ->
    case Module:init(Args) of
        {ok, State} -> {ok, {Module, State}};
        {{trace, _Dir}, State} -> {ok, {Module, State}};
        _ -> {stop, bad_init_arg}
    end.

-spec call(atom(), t(), #wm_reqstate{}) -> {term(), t(), #wm_reqstate{}}.
call(Fun, {Module, State} = Resource, #wm_reqstate{reqdata = RD} = ReqState) ->
    case function_exported(Fun, Module) of
        false ->
            {default(Fun), Resource, ReqState};
        true ->
            put(resource, Resource),
            put(reqstate, ReqState),
            put(tmp_reqstate, empty),
            Result = apply_callback(Module, Fun, RD#wm_reqdata{wm_state = ReqState}, State),
            Kept = case get(tmp_reqstate) of
                       empty -> ReqState;
                       Read -> Read
                   end,
            case Result of
                {Reply, #wm_reqdata{} = RD1, State1} ->
                    {Reply, {Module, State1},
                     Kept#wm_reqstate{reqdata = RD1#wm_reqdata{wm_state = undefined}}};
                {failed, Reason} ->
                    {{error, Reason}, Resource, Kept};
                Other ->
                    {{error, {bad_return, {Module, Fun, 2}, Other}}, Resource, Kept}
            end
    end.

function_exported(Fun, Module) ->
    default(Fun) =:= no_default orelse erlang:function_exported(Module, Fun, 2).

apply_callback(Module, Fun, RD, State) ->
    try
        Module:Fun(RD, State)
    catch
        Class:Reason:Stack -> {failed, {Class, Reason, without_request(Stack)}}
    end.

%% An undef or function_clause error carries the arguments, and with them the
%% whole request; the error page should show the call, not that.
without_request([{M, F, Args, Location} | Rest]) when is_list(Args) ->
    [{M, F, length(Args), Location} | Rest];
without_request(Stack) ->
    Stack.

default(service_available) -> true;
default(resource_exists) -> true;
default(is_authorized) -> true;
default(forbidden) -> false;
default(allow_missing_post) -> false;
default(malformed_request) -> false;
default(uri_too_long) -> false;
default(known_content_type) -> true;
default(valid_content_headers) -> true;
default(valid_entity_length) -> true;
default(validate_content_checksum) -> not_validated;
default(options) -> [];
default(allowed_methods) -> ['GET', 'HEAD'];
default(known_methods) ->
    ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'OPTIONS'];
default(content_types_provided) -> [{"text/html", to_html}];
default(content_types_accepted) -> [];
default(delete_resource) -> false;
default(delete_completed) -> true;
default(post_is_create) -> false;
default(create_path) -> undefined;
default(base_uri) -> undefined;
default(process_post) -> false;
default(language_available) -> true;
default(charsets_provided) -> no_charset;
default(encodings_provided) -> [{"identity", fun(X) -> X end}];
default(variances) -> [];
default(is_conflict) -> false;
default(multiple_choices) -> false;
default(previously_existed) -> false;
default(moved_permanently) -> false;
default(moved_temporarily) -> false;
default(last_modified) -> undefined;
default(expires) -> undefined;
default(generate_etag) -> undefined;
default(finish_request) -> true;
default(_) -> no_default.
