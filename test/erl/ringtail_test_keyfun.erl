%% A keyfun of an operator's own, for buckets of the stand-in.
-module(ringtail_test_keyfun).

-export([by_prefix/1]).

%% All keys that begin with the same byte live together.
by_prefix({Bucket, <<First, _/binary>>}) ->
    chash:key_of({Bucket, <<First>>}).
