import hashlib
import os
import time

from conform import http
from conform.case import ODD_KEYS, TYPE, Case, erl_bucket, explore, native, primary
from conform.erl import binary
from conform.http import quote

TEXT = {"Content-Type": "text/plain"}


class Keys(Case):
    def test_01_odd(self):
        """keys with slash, plus, space, percent, UTF-8, NUL and 1,000 bytes live where riak_core
        puts them"""
        for bucket in (self.bucket({"n_val": 1}, TYPE), self.bucket({"n_val": 1})):
            for key in ODD_KEYS:
                self.made.append((bucket, key))
                (owner,) = self.holders(bucket, key, 1)
                other = self.cluster.others(owner.name)[0]
                with self.subTest(key=key, bucket=bucket):
                    answer = self.ask(other, "PUT", primary(bucket, key), TEXT, b"value of " + key)
                    self.assertEqual(204, answer.status, repr(answer))
                    for node in self.nodes:
                        self.assertEqual(
                            200 if node is owner else 421,
                            self.ask(node, "GET", primary(bucket, key) + "?route=local").status,
                        )
                    for node, path in (
                        (owner, native(bucket, key)),
                        (owner, primary(bucket, key)),
                        (other, explore(bucket, key)),
                    ):
                        got = self.ask(node, "GET", path)
                        self.assertEqual((200, b"value of " + key), (got.status, got.body), path)

    def test_02_plus(self):
        """a plus in the path is a space, as Riak's routes have it"""
        bucket = self.bucket({"n_val": 1})
        self.made.append((bucket, b"c d"))
        (owner,) = self.holders(bucket, b"c d", 1)
        for node in (owner, self.cluster.others(owner.name)[0]):
            path = primary(bucket, b"x")[:-1] + "c+d"
            answer = self.ask(node, "PUT", path, TEXT, b"v")
            self.assertEqual(204, answer.status)
            self.assertEqual(
                200 if node is owner else 421, self.ask(node, "GET", path + "?route=local").status
            )
        self.assertEqual(b"v", self.ask(owner, "GET", native(bucket, b"c d")).body)

    def test_03_buckets(self):
        """buckets with slash, plus, space and UTF-8"""
        for name in (b"a/b", b"c d+e", "grüße".encode(), b"\x00\xff"):
            bucket = (TYPE, b"ringtail-conformance " + name)
            self.made.append((bucket, b"k"))
            holders = self.holders(bucket, b"k")
            for node in self.nodes:
                answer = self.ask(node, "PUT", primary(bucket, b"k"), TEXT, name)
                self.assertEqual(204, answer.status, repr(answer))
                self.assertIn(
                    self.ask(node, "GET", primary(bucket, b"k") + "?route=local").status,
                    (200, 300) if node in holders else (421,),
                )

    def test_04_long(self):
        """a key that is too long for a URL gets an answer, not a dead socket"""
        bucket = (TYPE, b"b")
        for length in (4000, 20000, 200000):
            key = quote(b"\xff" * length)
            own, ours = (self.status(path(bucket, b"") + key) for path in (native, primary))
            self.assertEqual(own, ours, "%d bytes" % length)

    def status(self, path):
        """A server that refuses a request line closes the connection: the answer may be lost while
        the line is being sent."""
        try:
            return self.ask(self.nodes[0], "GET", path).status
        except (ConnectionError, http.http.client.HTTPException):
            return 400


class Sizes(Case):
    def setUp(self):
        super().setUp()
        self.b = self.bucket({"n_val": 1, "allow_mult": False}, TYPE)
        self.owner, self.other = self.nodes[3 % len(self.nodes)], self.nodes[0]
        self.k = self.key(self.b, self.owner, n=1)

    def test_01_large(self):
        """50 MiB by proxy, both ways, to the byte"""
        # Riak takes objects up to 50 MiB, with what it keeps besides the body.
        body = (os.urandom(1048576) * 50)[:-65536]
        put = self.ask(
            self.other,
            "PUT",
            primary(self.b, self.k) + "?timeout=120000",
            {"Content-Type": "application/octet-stream"},
            body,
            timeout=300,
        )
        self.assertEqual(204, put.status, repr(put))
        self.has_headers(put, self.other)
        for node in (self.other, self.owner):
            got = self.ask(node, "GET", primary(self.b, self.k) + "?timeout=120000", timeout=300)
            self.assertEqual(200, got.status)
            self.assertEqual(hashlib.sha1(body).hexdigest(), hashlib.sha1(got.body).hexdigest())

    def test_02_edges(self):
        """bodies around the sizes at which they are passed on in pieces"""
        client = http.Client(self.other.url)
        self.addCleanup(client.close)
        for size in (0, 1, 65535, 65536, 65537, 1048575, 1048576, 1048577, 3000000):
            body = os.urandom(size)
            self.assertEqual(204, client.ask("PUT", primary(self.b, self.k), TEXT, body).status)
            got = client.ask("GET", primary(self.b, self.k))
            self.assertEqual((200, size, body), (got.status, len(got.body), got.body))

    def test_03_chunked(self):
        """a body in chunks, with and without a hop"""
        for node in (self.other, self.owner):
            body = os.urandom(200000)
            chunks = (
                b"".join(
                    b"%x\r\n%s\r\n" % (len(body[i : i + 7001]), body[i : i + 7001])
                    for i in range(0, len(body), 7001)
                )
                + b"0\r\n\r\n"
            )
            self.ask(node, "DELETE", native(self.b, self.k))
            answer = self.ask(
                node,
                "PUT",
                primary(self.b, self.k),
                dict(TEXT, **{"Transfer-Encoding": "chunked"}),
                chunks,
            )
            self.assertEqual(204, answer.status, repr(answer))
            self.assertEqual(body, self.ask(self.owner, "GET", native(self.b, self.k)).body)

    def test_04_continue(self):
        """Expect: 100-continue is answered, by a node that is no primary too"""
        for node in (self.owner, self.other):
            head = (
                "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
                "Expect: 100-continue\r\nConnection: close\r\n\r\n" % primary(self.b, self.k)
            ).encode()
            received = http.raw(node.url, head + b"hello")
            self.assertTrue(received.startswith(b"HTTP/1.1 100"), received[:200])
            self.assertIn(b"HTTP/1.1 204", received)
        refused = http.raw(
            self.other.url, head.replace(b" HTTP/1.1\r\nHost", b"?route=local HTTP/1.1\r\nHost")
        )
        self.assertIn(b"HTTP/1.1 421", refused)

    def test_05_over_limit(self):
        """a body over the limit gives 413, said ahead or counted on the way"""
        for node in self.nodes:
            self.addCleanup(self.cluster.rpc, node, "application:unset_env(ringtail, max_body)")
            self.cluster.rpc(node, "application:set_env(ringtail, max_body, 100000)")
        body = b"x" * 100001
        chunked = (
            b"".join(
                b"%x\r\n%s\r\n" % (len(body[i : i + 7001]), body[i : i + 7001])
                for i in range(0, len(body), 7001)
            )
            + b"0\r\n\r\n"
        )
        for node in (self.owner, self.other):
            said = self.ask(node, "PUT", primary(self.b, self.k), TEXT, body)
            self.assertIn("100000", self.is_error(said, 413, "body_too_large")["message"])
            counted = self.ask(
                node,
                "PUT",
                primary(self.b, self.k),
                dict(TEXT, **{"Transfer-Encoding": "chunked"}),
                chunked,
            )
            self.is_error(counted, 413, "body_too_large")
            self.assertEqual(404, self.ask(self.owner, "GET", native(self.b, self.k)).status)
            self.assertEqual(
                204, self.ask(node, "PUT", primary(self.b, self.k), TEXT, body[:100000]).status
            )
            self.ask(node, "DELETE", native(self.b, self.k))

    def test_06_parallel(self):
        """100 objects of 1 MiB relayed at once: all arrive, memory and connections come back
        down"""
        keys = [self.key(self.b, self.owner, n=1, prefix=b"m%d-" % i) for i in range(100)]
        body = os.urandom(1048576)
        ports = int(self.cluster.rpc(self.other, "length(erlang:ports())"))

        def work(key):
            put = self.ask(self.other, "PUT", primary(self.b, key), TEXT, body, timeout=180)
            got = self.ask(self.other, "GET", primary(self.b, key), timeout=180)
            self.assertEqual((204, True), (put.status, got.body == body))

        self.assertEqual([], self.at_once(work, keys)[:3])
        self.eventually(
            lambda: int(self.cluster.rpc(self.other, "length(erlang:ports())")) <= ports + 20,
            "connections are left open",
            60,
        )
        held = int(
            self.cluster.rpc(
                self.other, "[erlang:garbage_collect(P) || P <- processes()], erlang:memory(binary)"
            )
        )
        self.assertLess(held, 100 * 1048576 if self.cluster.is_standin else 400 * 1048576)
