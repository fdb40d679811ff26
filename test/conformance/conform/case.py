"""What a case is made of: keys that live where they are wanted, requests, and objects that are gone
afterwards."""

import itertools
import os
import threading
import unittest

from . import erl, hashing, http
from .http import quote

# Riak cannot remove a bucket type: the one that the cases need stays in the cluster. Buckets' own
# properties are reset.
TYPE = b"ringtail_conformance"
# What URLs, shells and other languages take for something else.
ODD_KEYS = [
    b"plain",
    b"a/b",
    b"c d",
    b"e+f",
    b"100%",
    b"%2F",
    "grüße/漢字".encode(),
    b"nul\0in",
    b"..",
    b"?q=1&r",
    b"#",
    b";a=b,c",
    b"'\"<>",
    b"\xff\xfe\x80",
    b"k" * 1000,
    b"\xff" * 300,
]
_numbers = itertools.count(1)
_uuids = {}


class Case(unittest.TestCase):
    """Named by the first line of its test's docstring. `cluster` is set by the runner."""

    cluster = None
    needs_standin = False
    needs_kill = False

    def setUp(self):
        if self.needs_standin and not self.cluster.is_standin:
            self.skipTest("only the stand-in can do that")
        if self.needs_kill and not self.cluster.can_kill:
            self.skipTest("set RINGTAIL_KILL and RINGTAIL_START")
        self.nodes = self.cluster.nodes
        self.made = []
        self.addCleanup(self.clean)

    @staticmethod
    def snapshot(cluster, node):
        """What Ringtail may add to a node, as text: its routes, its names, its tables, its event
        handlers."""
        return cluster.text(
            node,
            """lists:flatten(io_lib:format("~w", [[
            webmachine_router:get_routes(),
            [N || N <- lists:sort(registered()), lists:prefix("ringtail", atom_to_list(N))],
            [T || T <- lists:sort(ets:all()), is_atom(T),
                  lists:prefix("ringtail", atom_to_list(T))],
            [length(gen_event:which_handlers(E))
             || E <- [riak_core_ring_events, riak_core_node_watcher_events]],
            [P || P <- lists:sort(processes()), {_, {M, _, _}} <- [process_info(P, initial_call)],
                  lists:prefix("ringtail", atom_to_list(M))],
            [P || P <- lists:sort(erlang:ports()), {name, N} <- [erlang:port_info(P, name)],
                  string:str(N, "ringtail") > 0]]]))""",
        )

    # ---- Requests ----

    def ask(self, node, method, path, headers=(), body=None, **more):
        return self.cluster.ask(node, method, path, headers, body, **more)

    def has_headers(self, answer, node=None):
        """Every answer of ours says of which topology, node and cluster it is."""
        for name in ("x-ringtail-topology", "x-ringtail-node", "x-ringtail-cluster"):
            self.assertEqual(1, len(answer.all(name)), "%s in %r" % (name, answer))
        self.assertRegex(answer["x-ringtail-topology"], r"^\d+-[0-9a-f]{16}$")
        self.assertRegex(answer["x-ringtail-node"], r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        if node:
            self.assertEqual(
                self.uuid(node),
                answer["x-ringtail-node"],
                "answered by another node than %s" % node,
            )

    def is_error(self, answer, status, code):
        self.assertEqual(status, answer.status, repr(answer))
        self.assertEqual("application/json", answer["content-type"].split(";")[0])
        document = answer.json()
        self.assertEqual(code, document["error"], document)
        self.assertTrue(document["message"], document)
        self.has_headers(answer)
        return document

    def uuid(self, node):
        """A node's own uuid, which never changes."""
        if node not in _uuids:
            _uuids[node] = self.ask(node, "GET", "/explore/clusters/default/preflist")[
                "x-ringtail-node"
            ]
        return _uuids[node]

    def cluster_uuid(self):
        """What the cluster goes by in a redirect, on every node."""
        return self.ask(self.nodes[0], "GET", "/explore/clusters/default/preflist")[
            "x-ringtail-cluster"
        ]

    # ---- Keys ----

    def bucket(self, props=None, bucket_type=b"default"):
        """A new bucket with these properties, which every node knows when this returns."""
        name = b"ringtail-conformance-%d-%d" % (os.getpid(), next(_numbers))
        if props is None:
            return bucket_type, name
        path = "/types/%s/buckets/%s/props" % (quote(bucket_type), quote(name))
        answer = self.ask(
            self.nodes[0],
            "PUT",
            path,
            {"Content-Type": "application/json"},
            http.json.dumps({"props": props}).encode(),
        )
        self.assertEqual(204, answer.status, repr(answer))
        self.addCleanup(self.ask, self.nodes[0], "DELETE", path)
        for node in self.nodes:
            self.eventually(
                lambda: all(
                    self.ask(node, "GET", path).json()["props"].get(key) == value
                    for key, value in props.items()
                ),
                "%s does not know of %s" % (node, props),
            )
        return bucket_type, name

    def key(self, bucket, node=None, not_on=(), n=3, prefix=b"k", keyfun="std"):
        """A key of which `node` is a primary, and none of `not_on` is. It is deleted afterwards."""
        owners = self.cluster.owners()
        for number in range(100000):
            key = prefix + b"%d" % number
            holders = {
                name
                for _, name in hashing.primaries(owners, n, hashing.key_hash(*bucket, key, keyfun))
            }
            if (node is None or node.name in holders) and not any(
                other.name in holders for other in not_on
            ):
                self.made.append((bucket, key))
                return key
        raise AssertionError(
            "no key has a primary on %s and none on %s, says %s" % (node, not_on, self.nodes[0])
        )

    def holders(self, bucket, key, n=3, keyfun="std"):
        """The nodes of the key's primaries, in order, each once."""
        places = hashing.primaries(self.cluster.owners(), n, hashing.key_hash(*bucket, key, keyfun))
        return [self.cluster.node(name) for name in dict.fromkeys(name for _, name in places)]

    def clean(self):
        for bucket, key in self.made:
            try:
                self.ask(self.nodes[0], "DELETE", native(bucket, key))
            except OSError:
                pass

    # ---- Many at once, and waiting ----

    def at_once(self, work, arguments):
        """Runs work(argument) for each in a thread of its own; what any of them raised, as
        texts."""
        raised = []

        def kept(argument):
            try:
                work(argument)
            except Exception as error:
                raised.append("%r: %r" % (argument, error))

        threads = [threading.Thread(target=kept, args=(argument,)) for argument in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return raised

    def eventually(self, condition, what, seconds=60):
        from .cluster import await_true

        await_true(condition, what, seconds)


# ---- Paths ----


def native(bucket, key):
    """Riak's own object route."""
    return "/types/%s/buckets/%s/keys/%s" % (quote(bucket[0]), quote(bucket[1]), quote(key))


def primary(bucket, key, cluster="default"):
    """The primary object route by its short address."""
    return "/riak/primary/clusters/%s%s" % (cluster, native(bucket, key))


def explore(bucket, key, prefix="", cluster="default"):
    """The primary object route by the address under Explorer's."""
    return "%s/explore/clusters/%s/bucket_types/%s/buckets/%s/primary/%s" % (
        prefix,
        cluster,
        quote(bucket[0]),
        quote(bucket[1]),
        quote(key),
    )


def key_preflist(bucket, key, prefix="", cluster="default"):
    return "%s/explore/clusters/%s/bucket_types/%s/buckets/%s/keys/%s/preflist" % (
        prefix,
        cluster,
        quote(bucket[0]),
        quote(bucket[1]),
        quote(key),
    )


def preflist(query="", prefix="", cluster="default"):
    return "%s/explore/clusters/%s/preflist%s" % (prefix, cluster, query)


def erl_bucket(bucket):
    return erl.bucket(*bucket)
