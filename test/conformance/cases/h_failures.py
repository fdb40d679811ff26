import os
import signal
import time

from conform import erl, http
from conform.case import TYPE, Case, erl_bucket, key_preflist, native, preflist, primary

TEXT = {"Content-Type": "text/plain"}
# The promise is one second for a primary that died and two for one that came back; the machine may
# be busy with others.
DEATH_S, RETURN_S = 30, 60


class Failures(Case):
    needs_kill = True

    def setUp(self):
        super().setUp()
        self.down = []

    def kill(self, *nodes):
        self.addCleanup(
            self.all_up
        )  # before what was to be cleaned up so far, which needs the nodes
        for node in nodes:
            self.down.append(node)
            self.cluster.kill(node)
        up = [node for node in self.nodes if node not in self.down]
        self.eventually(
            lambda: all(
                len(self.cluster.rpc(node, "riak_core_node_watcher:nodes(riak_kv)").split(","))
                == len(up)
                for node in up
            ),
            "the nodes do not notice",
            DEATH_S,
        )

    def all_up(self):
        returning, self.down = self.down, []
        for node in returning:
            self.cluster.start(node)
            self.cluster.start_ringtail(node)
        if returning:
            self.cluster.await_serving()

    def test_01_no_primary(self):
        """the only primary is killed: 503 no_primary for every method, nothing on a fallback; it
        returns and serves"""
        bucket = self.bucket({"n_val": 1, "allow_mult": False}, TYPE)
        owner, other = self.nodes[-1], self.nodes[0]
        key, unwritten = self.key(bucket, owner, n=1), self.key(bucket, owner, n=1, prefix=b"u")
        self.assertEqual(204, self.ask(other, "PUT", primary(bucket, key), TEXT, b"kept").status)
        map_before = self.ask(other, "GET", preflist())

        self.kill(owner)
        for node in self.nodes[:-1]:
            self.eventually(
                lambda: self.ask(node, "GET", primary(bucket, key)).status == 503,
                "no refusal",
                DEATH_S,
            )
        for query in ("", "?route=redirect", "?route=local"):
            for method, body in (
                ("GET", None),
                ("HEAD", None),
                ("PUT", b"x"),
                ("POST", b"x"),
                ("DELETE", None),
            ):
                started = time.monotonic()
                answer = self.ask(
                    other, method, primary(bucket, unwritten) + query, TEXT if body else {}, body
                )
                self.assertLess(time.monotonic() - started, DEATH_S)
                self.assertEqual(503, answer.status, "%s%s: %r" % (method, query, answer))
                self.assertRegex(answer["retry-after"], r"^\d+$")
                self.has_headers(answer, other)
                if method != "HEAD":
                    (holder,) = self.is_error(answer, 503, "no_primary")["primaries"]
                    self.assertEqual((owner.name, False), (holder["node"], holder["up"]))
        self.assertEqual(404, self.ask(other, "GET", native(bucket, unwritten) + "?pr=0").status)
        self.assertEqual(
            (map_before["etag"], map_before.body),
            (lambda a: (a["etag"], a.body))(self.ask(other, "GET", preflist())),
        )
        full = self.ask(other, "GET", preflist("?format=full")).json()
        self.assertEqual(
            {node.name: node is not owner for node in self.nodes},
            {e["node"]: e["up"] for e in full["nodes"]},
        )
        self.fallbacks_shown(other, bucket, key)
        self.assertIn(
            "down",
            self.cluster.text(
                other, "ringtail:where(%s, %s)" % (erl_bucket(bucket), erl.binary(key))
            ),
        )

        self.cluster.start(owner)
        self.cluster.start_ringtail(owner)
        self.down.clear()
        for node in self.nodes:
            self.eventually(
                lambda: (lambda a: (a.status, a.body))(self.ask(node, "GET", primary(bucket, key)))
                == (200, b"kept"),
                "%s does not serve again" % node,
                RETURN_S,
            )
        self.cluster.await_serving()

    def fallbacks_shown(self, node, bucket, key):
        entries = self.ask(node, "GET", key_preflist(bucket, key)).json()["preflist"]
        said = self.cluster.text(
            node,
            (
                "{ok, R} = riak_core_ring_manager:get_my_ring(), lists:flatten([io_lib:format(\"~b "
                "~s ~s,\", [I, N, T]) || "
                "{{I, N}, T} <- riak_core_apl:get_apl_ann(riak_core_util:chash_key({%s, %s}), 1, "
                "R, "
                "riak_core_node_watcher:nodes(riak_kv))])"
            )
            % (erl_bucket(bucket), erl.binary(key)),
        )
        self.assertEqual(
            said,
            "".join(
                "%s %s %s," % (e["index"], e["node"], "primary" if e["primary"] else "fallback")
                for e in entries
            ),
        )
        self.assertEqual([(False, True)], [(e["primary"], e["up"]) for e in entries])

    def test_02_others_serve(self):
        """n_val 3 with one and two primaries down: the others serve; with all three down nobody
        does"""
        bucket = self.bucket({"n_val": 3, "allow_mult": False}, TYPE)
        key = self.key(bucket)
        holders = self.holders(bucket, key)
        outside = next(node for node in self.nodes if node not in holders)
        self.assertEqual(204, self.ask(outside, "PUT", primary(bucket, key), TEXT, b"0").status)
        for number, victim in enumerate(holders, 1):
            self.kill(victim)
            left = holders[number:]
            for node in [outside] + left:
                wanted = (204, 200) if left else (503, 503)
                for _ in range(4):
                    put = self.ask(node, "PUT", primary(bucket, key), TEXT, b"%d" % number)
                    get = self.ask(node, "GET", primary(bucket, key))
                    self.assertEqual(wanted, (put.status, get.status), "%r %r" % (put, get))
                    if left:
                        self.assertEqual(b"%d" % number, get.body)
        self.is_error(self.ask(outside, "GET", primary(bucket, key)), 503, "no_primary")

    def test_03_killed_in_the_middle(self):
        """a primary is killed in the middle of a write: 502, 503 or 504 with JSON that says what is
        known"""
        bucket = self.bucket({"n_val": 1, "allow_mult": False}, TYPE)
        owner, other = self.nodes[1], self.nodes[0]
        key = self.key(bucket, owner, n=1)
        size = 8 * 1048576
        client = http.Client(other.url)
        self.addCleanup(client.close)
        client.connection.putrequest("PUT", primary(bucket, key))
        client.connection.putheader("Content-Type", "text/plain")
        client.connection.putheader("Content-Length", str(size))
        client.connection.endheaders()
        client.connection.send(b"x" * (size // 2))
        self.kill(owner)
        client.connection.send(b"x" * (size // 2))
        response = client.connection.getresponse()
        answer = http.Answer(response.status, response.getheaders(), response.read())
        self.assertIn(answer.status, (502, 503, 504), repr(answer))
        self.assertIn(answer.json()["error"], ("bad_gateway", "timeout", "no_primary"))
        self.has_headers(answer, other)
        again = client.ask("GET", preflist())
        self.assertEqual(200, again.status)


class Neighbours(Case):
    """A primary that is up but does not do its part."""

    def test_01_not_installed(self):
        """a primary on which Ringtail does not run is a primary like any other"""
        bucket = self.bucket({"n_val": 1}, TYPE)
        owner, other = self.nodes[2], self.nodes[0]
        key = self.key(bucket, owner, n=1)
        self.addCleanup(self.cluster.await_serving)
        self.addCleanup(self.cluster.start_ringtail, owner)
        self.assertEqual("ok", self.cluster.rpc(owner, "ringtail:stop()"))
        for method, body, status in (("PUT", b"x", 204), ("GET", None, 200), ("DELETE", None, 204)):
            answer = self.ask(other, method, primary(bucket, key), TEXT if body else {}, body)
            self.assertEqual(status, answer.status, repr(answer))
            self.has_headers(answer, other)
        self.assertEqual(404, self.ask(other, "GET", native(bucket, key)).status)

    def test_02_started_while_booting(self):
        """start() on a node that is still booting gives ok at once, and it serves when Riak KV is
        up"""
        self.only_standin()
        node = self.nodes[3]
        self.addCleanup(self.cluster.await_serving)
        self.cluster.control(
            "standin:restart(C, '%s', #{boot_delay => 3000, until => listening})" % node.name
        )
        self.cluster.start_ringtail(node)
        self.assertEqual("ok", self.cluster.rpc(node, "ringtail:start()"))
        self.assertIn(
            "waiting_for_riak_kv",
            self.cluster.rpc(node, "proplists:get_value(state, ringtail:status())"),
        )
        self.assertIn(self.ask(node, "GET", preflist()).status, (404, 503))
        self.eventually(
            lambda: self.ask(node, "GET", preflist()).status == 200, "it does not begin to serve"
        )

    def test_03_rings_differ(self):
        """two nodes with different rings: the asked primary's own ring decides"""
        self.only_standin()
        bucket = self.bucket({"n_val": 1, "allow_mult": False}, TYPE)
        owner, other, wrong = self.nodes[1], self.nodes[0], self.nodes[2]
        key = self.key(bucket, owner, n=1)
        self.assertEqual(204, self.ask(other, "PUT", primary(bucket, key), TEXT, b"v").status)
        self.addCleanup(self.cluster.await_serving)
        self.addCleanup(
            self.cluster.control,
            "standin:set_ring(C, '%s', standin:ring(C, '%s')), standin:heal(C, '%s')"
            % (other.name, owner.name, other.name),
        )
        self.cluster.control(
            "standin:set_ring(C, '%s', fun(R) -> lists:foldl(fun({I, N}, A) when N =:= '%s' -> "
            "riak_core_ring:transfer_node(I, '%s', A); (_, A) -> A end, R, "
            "riak_core_ring:all_owners(R)) end)" % (other.name, owner.name, wrong.name)
        )
        self.eventually(
            lambda: wrong.name
            in self.cluster.text(
                other, "ringtail:where(%s, %s)" % (erl_bucket(bucket), erl.binary(key))
            ),
            "it keeps its ring",
        )
        self.assertEqual(b"v", self.ask(other, "GET", primary(bucket, key)).body)
        self.assertEqual(204, self.ask(other, "PUT", primary(bucket, key), TEXT, b"w").status)
        self.assertEqual(b"w", self.ask(owner, "GET", primary(bucket, key) + "?route=local").body)

    def test_04_hangs(self):
        """a primary that hangs: given up after the request's timeout; a write is not done twice"""
        self.only_standin()
        bucket = self.bucket({"n_val": 1, "allow_mult": True}, TYPE)
        owner, other = self.nodes[1], self.nodes[0]
        key = self.key(bucket, owner, n=1)
        self.assertEqual(404, self.ask(other, "GET", primary(bucket, key)).status)
        process = int(erl.string(self.cluster.rpc(owner, "os:getpid()")))
        self.addCleanup(self.cluster.await_serving)
        self.addCleanup(os.kill, process, signal.SIGCONT)
        os.kill(process, signal.SIGSTOP)
        put = self.ask(other, "PUT", primary(bucket, key) + "?timeout=500", TEXT, b"once")
        self.assertIn(put.status, (503, 504))  # by Riak, or where it waits for the node itself
        self.has_headers(put, other)
        self.assertIn(
            self.ask(other, "GET", primary(bucket, key) + "?timeout=1").status, (503, 504)
        )
        os.kill(process, signal.SIGCONT)
        self.eventually(
            lambda: self.ask(other, "GET", primary(bucket, key)).status in (200, 404),
            "it does not go on",
        )
        time.sleep(1)
        self.assertIn(
            (lambda a: (a.status, a.body[:4]))(self.ask(other, "GET", primary(bucket, key))),
            ((200, b"once"), (404, b"not ")),
        )

    def test_05_storm(self):
        """while the ring changes hundreds of times a second, every answer is right"""
        self.only_standin()
        bucket = self.bucket({"n_val": 1, "allow_mult": False}, TYPE)
        keys = [
            self.key(bucket, node, n=1, prefix=b"s%d-" % i) for i, node in enumerate(self.nodes)
        ]
        self.addCleanup(self.cluster.await_serving)
        self.addCleanup(self.cluster.control, "standin:stop_storm(C, '%s')" % self.nodes[0].name)
        self.cluster.control(
            "standin:ring_storm(C, '%s', #{kind => meta, rate => 300})" % self.nodes[0].name
        )
        until = time.monotonic() + 4
        while time.monotonic() < until:
            for node in self.nodes:
                for key in keys:
                    put = self.ask(node, "PUT", primary(bucket, key), TEXT, key)
                    get = self.ask(node, "GET", primary(bucket, key))
                    self.assertEqual((204, 200, key), (put.status, get.status, get.body))

    def only_standin(self):
        if not self.cluster.is_standin:
            self.skipTest("only the stand-in can do that")
