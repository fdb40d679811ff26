from conform import erl, hashing
from conform.case import TYPE, Case, erl_bucket


class Console(Case):
    def test_01_start_twice(self):
        """start() again is harmless"""
        node = self.nodes[0]
        before = self.snapshot(self.cluster, node)
        self.assertEqual("ok", self.cluster.rpc(node, "ringtail:start()"))
        self.assertEqual(before, self.snapshot(self.cluster, node))

    def test_02_owners(self):
        """owners() is riak_core's own list"""
        self.assertEqual(
            "true",
            self.cluster.rpc(
                self.nodes[1],
                "{ok, R} = riak_core_ring_manager:get_my_ring(), "
                "riak_core_ring:all_owners(R) =:= ringtail:owners()",
            ),
        )

    def test_03_ten_thousand(self):
        """primaries() and preflist() of 10,000 random keys in buckets of n_val 1, 3 and 5 are
        riak_core_apl's"""
        buckets = [
            self.bucket({"n_val": 1}, TYPE),
            (TYPE, b"any"),
            self.bucket({"n_val": 5}),
            (b"default", b"other"),
        ]
        differing = self.cluster.rpc(
            self.nodes[0],
            (
                "{ok, R} = riak_core_ring_manager:get_my_ring(), Up = "
                "riak_core_node_watcher:nodes(riak_kv), "
                "Bs = {%s}, length([x || I <- lists:seq(1, 10000), begin B = element(I rem 4 + 1, "
                "Bs), "
                "K = crypto:strong_rand_bytes(1 + I rem 40), {n_val, N} = lists:keyfind(n_val, 1, "
                "riak_core_bucket:get_bucket(B)), "
                "Apl = riak_core_apl:get_apl_ann(riak_core_util:chash_key({B, K}), N, R, Up), "
                "ringtail:preflist(B, K) =/= Apl orelse ringtail:primaries(B, K) =/= [P || {P, "
                "primary} <- Apl] end])"
            )
            % ", ".join(erl_bucket(bucket) for bucket in buckets),
        )
        self.assertEqual("0", differing)

    def test_04_independent(self):
        """primaries() as worked out here from the rules alone"""
        owners = self.cluster.owners()
        keys = [b"key %d" % i for i in range(200)]
        said = self.cluster.text(
            self.nodes[0],
            (
                'lists:flatten([[[io_lib:format("~b ~s,", [I, N]) || {I, N} <- '
                'ringtail:primaries({<<"%s">>, <<"b">>}, K)], $\\n] '
                '|| K <- [' % TYPE.decode()
            )
            + ", ".join(map(erl.binary, keys))
            + "]])",
        )
        for key, line in zip(keys, said.splitlines(), strict=True):
            expected = hashing.primaries(owners, 3, hashing.key_hash(TYPE, b"b", key))
            self.assertEqual("".join("%d %s," % place for place in expected), line)

    def test_05_where(self):
        """where() is a line that names key, node and partition"""
        bucket = self.bucket({"n_val": 1})
        owners = self.cluster.owners()
        index, node = hashing.primaries(owners, 1, hashing.key_hash(*bucket, b"k"))[0]
        line = self.cluster.text(
            self.nodes[0], "ringtail:where(%s, <<\"k\">>)" % erl_bucket(bucket)
        )
        for part in (bucket[1].decode() + "/k", node, "partition %d" % owners.index((index, node))):
            self.assertIn(part, line)
        self.assertNotIn("\n", line)

    def test_06_status(self):
        """status() says that it serves, with every node up"""
        for node in self.nodes:
            said = self.cluster.text(
                node,
                'S = ringtail:status(), lists:flatten(io_lib:format("~w ~w ~b ~b ~s", ['
                'proplists:get_value(K, S) || K <- [state, down, ring_size]] ++ '
                '[length(proplists:get_value(up, S)), proplists:get_value(token, S)]))',
            )
            token = self.ask(node, "GET", "/explore/clusters/default/preflist")[
                "x-ringtail-topology"
            ]
            self.assertEqual(
                "serving [] %d %d %s" % (len(self.cluster.owners()), len(self.nodes), token), said
            )

    def test_07_topology(self):
        """topology() has the token and the uuids that the headers say"""
        node = self.nodes[0]
        said = self.cluster.text(
            node,
            'T = ringtail:topology(), lists:flatten(io_lib:format("~s ~s ~s", '
            '[proplists:get_value(K, T) || K <- [token, cluster, node]]))',
        )
        answer = self.ask(node, "GET", "/explore/clusters/default/preflist")
        self.assertEqual(
            " ".join(answer["x-ringtail-" + name] for name in ("topology", "cluster", "node")), said
        )

    def test_08_unknown_type(self):
        """an unknown bucket type is an error that says so, not a crash"""
        said = self.cluster.rpc(
            self.nodes[0], 'ringtail:primaries({<<"no such type">>, <<"b">>}, <<"k">>)'
        )
        self.assertTrue(said.startswith("{error,"), said)
        self.assertIn("no_type", said)

    def test_09_help(self):
        """help() and print() write what a person wants to read"""
        name = self.nodes[0].name
        for call, words in (
            ("help()", ["ringtail:where(", "ringtail:stop()"]),
            ("print(status)", ["serving", name]),
            ("print(owners)", [name, str(self.cluster.owners()[-1][0])]),
            ("print(topology)", [name, self.nodes[0].url, self.uuid(self.nodes[0])]),
        ):
            written = self.cluster.rpc(self.nodes[0], "ringtail:" + call)
            self.assertEqual("ok", written.splitlines()[-1])
            for word in words:
                self.assertIn(word, written, call)

    def test_10_compile(self):
        """compile() of the sources beside the beams"""
        said = self.cluster.rpc(
            self.nodes[0],
            "case ringtail:compile(filename:dirname(code:which(ringtail))) of "
            "{ok, L} -> lists:member(ringtail_wm_object, L); E -> E end",
        )
        self.assertEqual("true", said)
        self.assertEqual(
            200, self.ask(self.nodes[0], "GET", "/explore/clusters/default/preflist").status
        )
