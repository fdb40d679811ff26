%% Test support: a chash_keyfun that no client can know of.
-module(standin_keyfun).
-export([first_byte/1]).

%% Keys that begin alike live together.
first_byte({Bucket, <<First, _/binary>>}) -> chash:key_of({Bucket, First}).
