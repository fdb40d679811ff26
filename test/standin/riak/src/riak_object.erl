%% Test support: the Riak object and how versions of it are told apart. The
%% record is Riak's; the causality is that of dotted version vectors: every
%% content remembers the write that made it, and a later write drops exactly
%% the contents it has seen.
-module(riak_object).

-include("standin_md.hrl").

-export([new/3, new/4, bucket/1, bucket_only/1, type/1, key/1, vclock/1,
         set_vclock/2, value_count/1, get_contents/1, set_contents/2,
         get_metadata/1, get_metadatas/1, get_value/1, get_values/1,
         update_metadata/2, update_value/2, get_update_metadata/1,
         get_update_value/1, apply_updates/1, update_last_modified/1,
         update_last_modified/2, get_last_modified/1, index_data/1]).
-export([coordinate/4, merge/2, reconcile/2, descends/2, is_deleted/1]).
-export([vclock_header/1, encode_vclock/1, decode_vclock/1,
         vclock_encoding_method/0, to_binary/2, from_binary/3]).

-record(r_content, {metadata, value}).
-record(r_object, {bucket, key, contents, vclock = [],
                   updatemetadata = dict:store(clean, true, dict:new()),
                   updatevalue}).

-define(MAX_KEY, 65536).

new(Bucket, Key, Value) -> new(Bucket, Key, Value, dict:new()).

new(_Bucket, Key, _Value, _Meta) when byte_size(Key) > ?MAX_KEY ->
    throw({error, key_too_large});
new(Bucket, Key, Value, CType) when is_list(CType) ->
    new(Bucket, Key, Value, dict:from_list([{?MD_CTYPE, CType}]));
new(Bucket, Key, Value, Meta) ->
    #r_object{bucket = Bucket, key = Key,
              contents = [#r_content{metadata = Meta, value = Value}]}.

bucket(#r_object{bucket = Bucket}) -> Bucket.
bucket_only(#r_object{bucket = {_, Name}}) -> Name;
bucket_only(#r_object{bucket = Name}) -> Name.
type(#r_object{bucket = {Type, _}}) -> Type;
type(_) -> undefined.
key(#r_object{key = Key}) -> Key.
vclock(#r_object{vclock = Clock}) -> Clock.
set_vclock(Obj, Clock) -> Obj#r_object{vclock = Clock}.
value_count(#r_object{contents = Contents}) -> length(Contents).
get_contents(#r_object{contents = Cs}) -> [{M, V} || #r_content{metadata = M, value = V} <- Cs].
set_contents(Obj, MVs) ->
    Obj#r_object{contents = [#r_content{metadata = M, value = V} || {M, V} <- MVs]}.
get_metadatas(Obj) -> [M || {M, _} <- get_contents(Obj)].
get_values(Obj) -> [V || {_, V} <- get_contents(Obj)].
get_metadata(Obj) -> [M] = get_metadatas(Obj), M.
get_value(Obj) -> [V] = get_values(Obj), V.

update_metadata(Obj, Meta) -> Obj#r_object{updatemetadata = dict:erase(clean, Meta)}.
update_value(Obj, Value) -> Obj#r_object{updatevalue = Value}.
get_update_metadata(#r_object{updatemetadata = Meta}) -> Meta.
get_update_value(#r_object{updatevalue = Value}) -> Value.

apply_updates(Obj = #r_object{updatemetadata = Meta, updatevalue = Value, contents = Contents}) ->
    Clean = dict:is_key(clean, Meta),
    Values = case Value of
                 undefined -> [V || #r_content{value = V} <- Contents];
                 _ -> [Value]
             end,
    Metas = case Clean of
                true -> lists:sublist([M || #r_content{metadata = M} <- Contents], length(Values));
                false -> [Meta || _ <- Values]
            end,
    Obj#r_object{contents = [#r_content{metadata = M, value = V}
                             || {M, V} <- lists:zip(Metas, Values)],
                 updatemetadata = dict:store(clean, true, dict:new()), updatevalue = undefined}.

update_last_modified(Obj) -> update_last_modified(Obj, os:timestamp()).

update_last_modified(Obj, Now) ->
    Update = Obj#r_object.updatemetadata,
    Meta = case {dict:is_key(clean, Update), get_metadatas(Obj)} of
               {true, [Only]} -> Only;
               _ -> Update
           end,
    Stamped = dict:store(?MD_LASTMOD, Now, Meta),
    update_metadata(Obj, dict:store(?MD_VTAG, riak_kv_util:make_vtag(Now), Stamped)).

get_last_modified(Meta) ->
    case dict:find(?MD_LASTMOD, Meta) of
        {ok, Time} -> Time;
        error -> {0, 0, 0}
    end.

index_data(Obj) ->
    lists:append([Index || M <- get_metadatas(Obj), {ok, Index} <- [dict:find(?MD_INDEX, M)]]).

%% --- versions ---

%% The write of New at the vnode named Actor, over Old if there is one.
coordinate(none, New, Actor, AllowMult) ->
    coordinate(New#r_object{vclock = [], contents = []}, New, Actor, AllowMult);
coordinate(Old, New, Actor, AllowMult) ->
    Seen = New#r_object.vclock,
    Clock = vclock:increment(Actor, vclock:merge([Old#r_object.vclock, Seen])),
    {ok, Dot} = vclock:get_dot(Actor, Clock),
    Written = [C#r_content{metadata = dict:store(?MD_DOT, Dot, M)}
               || #r_content{metadata = M} = C <- New#r_object.contents],
    Kept = [C || C <- Old#r_object.contents, not seen(C, Old, Seen)],
    single(AllowMult, New#r_object{vclock = Clock, contents = Kept ++ Written}).

seen(#r_content{metadata = Meta}, Object, Clock) ->
    case dict:find(?MD_DOT, Meta) of
        {ok, Dot} -> vclock:descends_dot(Clock, Dot);
        error -> vclock:descends(Clock, Object#r_object.vclock)
    end.

descends(A, B) -> vclock:descends(vclock(A), vclock(B)).

%% Two copies of an object: the one that has seen the other, or both together.
merge(A, B) ->
    case {descends(A, B), descends(B, A)} of
        {true, _} -> A;
        {false, true} -> B;
        {false, false} ->
            InB = [dot(C) || C <- B#r_object.contents],
            InA = [dot(C) || C <- A#r_object.contents],
            FromA = [C || C <- A#r_object.contents,
                          lists:member(dot(C), InB) orelse not seen(C, A, vclock(B))],
            FromB = [C || C <- B#r_object.contents, not lists:member(dot(C), InA),
                          not seen(C, B, vclock(A))],
            A#r_object{vclock = vclock:merge([vclock(A), vclock(B)]), contents = FromA ++ FromB}
    end.

dot(#r_content{metadata = Meta, value = Value}) ->
    case dict:find(?MD_DOT, Meta) of
        {ok, {Actor, {Count, _}}} -> {Actor, Count};
        error -> {none, Value, lists:sort(dict:to_list(Meta))}
    end.

reconcile([First | Rest], AllowMult) ->
    single(AllowMult, lists:foldl(fun(B, A) -> merge(A, B) end, First, Rest)).

%% Without allow_mult the content written last stays.
single(true, Obj) -> Obj;
single(false, Obj = #r_object{contents = Contents}) ->
    Age = fun(#r_content{metadata = M, value = V}) -> {get_last_modified(M), V} end,
    [Last | _] = lists:sort(fun(A, B) -> Age(A) >= Age(B) end, Contents),
    Obj#r_object{contents = [Last]}.

is_deleted(Obj) -> lists:all(fun(M) -> dict:is_key(?MD_DELETED, M) end, get_metadatas(Obj)).

%% --- vclocks and objects outside ---

vclock_header(Obj) ->
    {"X-Riak-Vclock", binary_to_list(base64:encode(encode_vclock(vclock(Obj))))}.

vclock_encoding_method() -> encode_zlib.

encode_vclock(Clock) -> zlib:zip(term_to_binary(Clock)).

%% Fails on what is not a vclock; the resource turns that into an error answer.
decode_vclock(Bin) -> binary_to_term(zlib:unzip(Bin), [safe]).

%% The stand-in keeps objects as terms, so it has one binary form.
to_binary(_Version, Obj) -> term_to_binary(Obj).
from_binary(_Bucket, _Key, Bin) -> binary_to_term(Bin).
