import os

from conform import erl
from conform.case import ODD_KEYS, TYPE, Case, erl_bucket, key_preflist
from conform.hashing import RING_TOP


class KeyPreflist(Case):
    def riak_says(self, node, bucket, keys):
        """What riak_core_apl gives for these keys on the node: [[(index, node, kind)]]."""
        said = self.cluster.text(
            node,
            (
                "B = %s, {n_val, N} = lists:keyfind(n_val, 1, riak_core_bucket:get_bucket(B)), "
                "{ok, R} = riak_core_ring_manager:get_my_ring(), Up = "
                "riak_core_node_watcher:nodes(riak_kv), "
                "lists:flatten([[[io_lib:format(\"~b ~s ~s,\", [I, M, T]) || {{I, M}, T} <- "
                "riak_core_apl:get_apl_ann(riak_core_util:chash_key({B, K}), N, R, Up)], $\\n] || "
                "K <- [%s]])"
            )
            % (erl_bucket(bucket), ", ".join(erl.binary(key) for key in keys)),
        )
        return [
            [
                (entry.split(" ")[0], entry.split(" ")[1], entry.split(" ")[2] == "primary")
                for entry in line.split(",")
                if entry
            ]
            for line in said.splitlines()
        ]

    def agrees(self, node, bucket, keys):
        size = len(self.cluster.owners(node))
        for key, expected in zip(keys, self.riak_says(node, bucket, keys), strict=True):
            answer = self.ask(node, "GET", key_preflist(bucket, key))
            self.assertEqual(200, answer.status, "%r: %r" % (key, answer))
            self.has_headers(answer, node)
            entries = answer.json()["preflist"]
            self.assertEqual(
                expected, [(e["index"], e["node"], e["primary"]) for e in entries], key
            )
            for entry in entries:
                self.assertEqual(int(entry["index"]) // (RING_TOP // size), entry["partition"])
                self.assertIs(True, entry["up"])

    def test_01_default(self):
        """as riak_core_apl has it, for any bytes in key and bucket"""
        for number, node in enumerate(self.nodes):
            self.agrees(
                node,
                (b"default", b"some bucket/%d" % number),
                ODD_KEYS + [os.urandom(20) for _ in range(5)],
            )

    def test_02_type(self):
        """buckets of a type"""
        self.agrees(self.nodes[0], (TYPE, "ümlaut+".encode()), ODD_KEYS)

    def test_03_n_val(self):
        """n_val 1 and 5 from the bucket's properties"""
        for n in (1, 5):
            bucket = self.bucket({"n_val": n}, TYPE)
            self.agrees(self.nodes[1], bucket, [b"%d" % i for i in range(8)])
            entries = self.ask(self.nodes[0], "GET", key_preflist(bucket, b"k")).json()["preflist"]
            self.assertEqual(n, len(entries))

    def test_04_bucketonly(self):
        """the bucketonly keyfun puts all keys of a bucket in one place"""
        bucket = self.bucket(
            {"chash_keyfun": {"mod": "riak_core_util", "fun": "chash_bucketonly_keyfun"}}
        )
        self.agrees(self.nodes[0], bucket, [b"a", b"b", b"c"])
        self.assertEqual(
            1,
            len(
                {
                    self.ask(self.nodes[0], "GET", key_preflist(bucket, bytes([letter]))).body
                    for letter in b"abcdefghijklmnop"
                }
            ),
        )

    def test_05_custom(self):
        """a keyfun of the operator's own is asked through riak_core"""
        source = (
            '{ok, M, B} = compile:forms([{attribute, 1, module, ringtail_conformance_keyfun}, '
            '{attribute, 1, export, [{first, 1}]}, {function, 1, first, 1, [{clause, 1, [{tuple, '
            '1, [{var, 1, \'B\'}, '
            '{var, 1, \'K\'}]}], [], [{call, 1, {remote, 1, {atom, 1, chash}, {atom, 1, key_of}}, '
            '[{tuple, 1, '
            '[{var, 1, \'B\'}, {call, 1, {remote, 1, {atom, 1, binary}, {atom, 1, first}}, [{var, '
            '1, \'K\'}]}]}]}]}]}]), '
            '{module, M} = code:load_binary(M, "memory", B), ok'
        )
        for node in self.nodes:
            self.assertEqual("ok", self.cluster.rpc(node, source))
            self.addCleanup(self.cluster.rpc, node, "code:delete(ringtail_conformance_keyfun)")
        bucket = self.bucket(
            {"chash_keyfun": {"mod": "ringtail_conformance_keyfun", "fun": "first"}}
        )
        self.agrees(self.nodes[2], bucket, [b"alpha", b"another", b"beta"])

        def preflist(key):
            return self.ask(self.nodes[0], "GET", key_preflist(bucket, key)).json()["preflist"]

        self.assertEqual(preflist(b"alpha"), preflist(b"another"))
        # Two letters fall into the same partition once in as many buckets as there are partitions;
        # not all of these.
        self.assertGreater(
            len({preflist(bytes([letter]))[0]["index"] for letter in b"abcdefghijklmnop"}), 1
        )

    def test_06_no_type(self):
        """an unknown bucket type gives 404"""
        self.is_error(
            self.ask(self.nodes[0], "GET", key_preflist((b"no such type", b"b"), b"k")),
            404,
            "no_type",
        )

    def test_07_unknown_cluster(self):
        """an unknown cluster gives 404, a known one works by its other prefix"""
        bucket = (b"default", b"b")
        self.is_error(
            self.ask(self.nodes[0], "GET", key_preflist(bucket, b"k", cluster="x")),
            404,
            "unknown_cluster",
        )
        self.assertEqual(
            200, self.ask(self.nodes[0], "GET", key_preflist(bucket, b"k", prefix="/admin")).status
        )

    def test_08_methods(self):
        """GET and HEAD only"""
        path = key_preflist((b"default", b"b"), b"k")
        self.is_error(self.ask(self.nodes[0], "DELETE", path), 405, "method_not_allowed")
        head = self.ask(self.nodes[0], "HEAD", path)
        self.assertEqual((200, b""), (head.status, head.body))
        self.has_headers(head)
