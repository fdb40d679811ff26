%% Test support: what a node of Riak says in the ring that it can do. Riak's
%% own list is longer; these are of the same shape.
-module(standin_capabilities).
-export([publish/0]).

publish() ->
    [riak_core_capability:register(Capability, Modes, lists:last(Modes))
     || {Capability, Modes} <-
            [{{riak_core, bucket_types}, [true, false]},
             {{riak_core, security}, [true, false]},
             {{riak_core, vnode_routing}, [proxy, legacy]},
             {{riak_kv, object_format}, [v1, v0]},
             {{riak_kv, secondary_index_version}, [v3, v2, v1]},
             {{riak_kv, vclock_data_encoding}, [encode_zlib, encode_raw]},
             {{riak_kv, vnode_vclocks}, [true, false]}]],
    ok.
