import re

from conform import http
from conform.case import TYPE, Case, explore, native, preflist, primary
from conform.http import quote


def status(received):
    found = re.match(rb"HTTP/1\.[01] (\d+)", received)
    return int(found.group(1)) if found else received[:100]


class BadRequests(Case):
    def setUp(self):
        super().setUp()
        self.b = self.bucket({"n_val": 1}, TYPE)
        self.owner, self.other = self.nodes[0], self.nodes[1]
        self.k = self.key(self.b, self.owner, n=1)
        self.assertEqual(
            204,
            self.ask(
                self.owner, "PUT", native(self.b, self.k), {"Content-Type": "text/plain"}, b"v"
            ).status,
        )

    def send(self, node, path, *headers, version="1.1", method="GET"):
        lines = (
            ["%s %s HTTP/%s" % (method, path, version)]
            + list(headers)
            + ["Connection: close", "", ""]
        )
        return http.raw(node.url, "\r\n".join(lines).encode("latin-1"))

    def test_01_host(self):
        """a Host that is missing, empty, malformed or of someone else: as Riak's own route takes
        it, proxied or not"""
        for headers in (
            ["Host: x:y:z"],
            ["Host: "],
            ["Host: a b"],
            ["Host: [::1"],
            ["Host: example.org:99999"],
            ["Host: other.example"],
            ["Host: x", "X-Forwarded-Host: evil.example:1"],
            [
                "Host: x",
                "X-Forwarded-Host: a:b:c",
                "X-Forwarded-Server: s",
                "X-Forwarded-For: 1.2.3.4",
            ],
        ):
            with self.subTest(headers=headers):
                wanted = status(self.send(self.owner, native(self.b, self.k), *headers))
                for node in (self.owner, self.other):
                    for path in (primary(self.b, self.k), explore(self.b, self.k)):
                        received = self.send(node, path, *headers)
                        self.assertEqual(wanted, status(received), received[:500])
        self.assertEqual(200, status(self.send(self.other, primary(self.b, self.k), version="1.0")))

    def test_02_location(self):
        """no Host that a client gives shows in Location"""
        received = self.send(
            self.other,
            primary(self.b, self.k) + "?route=redirect",
            "Host: evil.example",
            "X-Forwarded-Host: evil.example",
        )
        self.assertEqual(307, status(received))
        place = "Location: %s%s" % (self.owner.url, primary(self.b, self.k, self.cluster_uuid()))
        self.assertIn(place.lower().encode(), received.lower())
        self.assertNotIn(b"evil.example", received)

    def test_03_escapes(self):
        """broken percent signs in cluster, type, bucket and key: an answer, as from Riak's own
        route"""
        for broken in ("%", "%z", "%zz", "a%2", "%u1234"):
            for bucket, key in ((self.b[1].decode(), broken), (broken, "k")):
                path = "/types/%s/buckets/%s/keys/%s" % (TYPE.decode(), bucket, key)
                wanted = status(self.send(self.owner, path, "Host: x"))
                for node in (self.owner, self.other):
                    got = status(
                        self.send(node, "/riak/primary/clusters/default" + path, "Host: x")
                    )
                    self.assertEqual(wanted, got, path)
            self.assertEqual(
                404, status(self.send(self.owner, preflist(cluster=broken), "Host: x"))
            )

    def test_04_cluster(self):
        """an unknown cluster on the object routes: 404 with JSON, for writes too"""
        for method, body in (("GET", None), ("PUT", b"x" * 100000), ("DELETE", None)):
            for path in (
                primary(self.b, self.k, "prod"),
                explore(self.b, self.k, cluster=quote(b"a/b")),
            ):
                answer = self.ask(
                    self.other, method, path, {"Content-Type": "text/plain"} if body else {}, body
                )
                self.is_error(answer, 404, "unknown_cluster")

    def test_05_paths(self):
        """paths next to ours stay Riak's"""
        for path in (
            "/explore",
            "/explore/clusters/default",
            "/explore/clusters/default/preflist/x",
        ):
            self.assertEqual(404, self.ask(self.owner, "GET", path).status, path)
        # The oldest form of Riak's object route, with a bucket that is called as our address
        # begins.
        self.made.append(((b"default", b"primary"), b"ringtail-conformance"))
        for method, body, wanted in (("PUT", b"v", 204), ("GET", None, 200)):
            answer = self.ask(
                self.owner,
                method,
                "/riak/primary/ringtail-conformance",
                {"Content-Type": "text/plain"},
                body,
            )
            self.assertEqual(wanted, answer.status)
            self.assertIsNone(answer["x-ringtail-node"])
        self.assertEqual(
            (200, b"OK"), (lambda a: (a.status, a.body))(self.ask(self.owner, "GET", "/ping"))
        )

    def test_06_junk(self):
        """what is no HTTP ends that connection only"""
        for junk in (
            b"\x00\xff" * 500 + b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: minus\r\n\r\n"
            % primary(self.b, self.k).encode(),
            b"PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: "
            b"chunked\r\n\r\nzz\r\n" % primary(self.b, self.k).encode(),
        ):
            for node in (self.owner, self.other):
                received = http.raw(node.url, junk, timeout=3)
                if received:  # some is just not answered
                    self.assertIn(status(received) // 100, (4, 5), received[:300])
        for node in self.nodes:
            self.assertEqual(
                (200, b"v"),
                (lambda a: (a.status, a.body))(self.ask(node, "GET", primary(self.b, self.k))),
            )

    def test_07_client_leaves(self):
        """a client that leaves in the middle of its body leaves nothing behind"""
        head = (
            "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: "
            "5000000\r\n\r\n" % primary(self.b, self.k)
        ).encode()
        before = int(self.cluster.rpc(self.other, "length(processes())"))
        for _ in range(5):
            with http.socket.create_connection(
                (http.Client(self.other.url).host, http.Client(self.other.url).port)
            ) as client:
                client.sendall(head + b"x" * 300000)
        self.eventually(
            lambda: int(self.cluster.rpc(self.other, "length(processes())")) <= before + 20,
            "processes stay",
        )
        self.assertEqual(b"v", self.ask(self.owner, "GET", native(self.b, self.k)).body)
        self.assertEqual(b"v", self.ask(self.other, "GET", primary(self.b, self.k)).body)
