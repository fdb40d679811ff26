import time
import urllib.parse

from conform import http
from conform.case import TYPE, Case, explore, native, primary

TEXT = {"Content-Type": "text/plain"}


class ObjectRoutes(Case):
    """Who serves, by the route's rules; what is served is compared with Riak's own route
    elsewhere."""

    def setUp(self):
        super().setUp()
        self.n1 = self.bucket({"n_val": 1, "allow_mult": False}, TYPE)
        self.owner, self.other = self.nodes[1], self.nodes[0]
        self.k = self.key(self.n1, self.owner, n=1)
        self.assertEqual(
            204, self.ask(self.owner, "PUT", native(self.n1, self.k), TEXT, b"value").status
        )

    def test_01_addresses(self):
        """at all its addresses, from a primary and from another node"""
        paths = [
            primary(self.n1, self.k),
            explore(self.n1, self.k),
            explore(self.n1, self.k, "/admin"),
        ]
        cluster = self.ask(self.owner, "GET", paths[0])["x-ringtail-cluster"]
        paths += [primary(self.n1, self.k, cluster), explore(self.n1, self.k, cluster=cluster)]
        for path in paths:
            for node in self.nodes:
                answer = self.ask(node, "GET", path)
                self.assertEqual((200, b"value"), (answer.status, answer.body), path)
                self.has_headers(answer, node)

    def test_02_proxy(self):
        """proxied by default and with route=proxy: the answer names the node that was asked"""
        for query in ("", "?route=proxy"):
            for method, body in (
                ("GET", None),
                ("HEAD", None),
                ("PUT", b"value"),
                ("POST", b"value"),
            ):
                path = primary(self.n1, self.k) + query
                answer = self.ask(self.other, method, path, TEXT if body else {}, body)
                self.assertIn(answer.status, (200, 204), repr(answer))
                self.has_headers(answer, self.other)

    def test_03_redirect(self):
        """route=redirect gives 307 and the path every primary has, by the uuid of the cluster"""
        for method, body in (("GET", None), ("HEAD", None), ("PUT", b"new"), ("DELETE", None)):
            path = primary(self.n1, self.k) + "?route=redirect&returnbody=true"
            answer = self.ask(self.other, method, path, TEXT if body else {}, body)
            self.assertEqual(307, answer.status, repr(answer))
            self.has_headers(answer, self.other)
            place = (
                primary(self.n1, self.k, self.cluster_uuid()) + "?route=redirect&returnbody=true"
            )
            self.assertEqual(self.owner.url + place, answer["location"])
            target = urllib.parse.urlsplit(answer["location"])
            followed = self.ask(
                self.owner, method, target.path + "?" + target.query, TEXT if body else {}, body
            )
            self.assertIn(followed.status, (200, 204), repr(followed))
        self.assertEqual(404, self.ask(self.owner, "GET", primary(self.n1, self.k)).status)

    def test_04_local(self):
        """route=local gives 421 and the primaries with their endpoints"""
        for method, body in (("GET", None), ("PUT", b"x" * 100000), ("DELETE", None)):
            answer = self.ask(
                self.other,
                method,
                primary(self.n1, self.k) + "?route=local",
                TEXT if body else {},
                body,
            )
            (holder,) = self.is_error(answer, 421, "not_primary")["primaries"]
            self.assertEqual(
                (self.owner.name, True, self.uuid(self.owner)),
                (holder["node"], holder["up"], holder["uuid"]),
            )
            self.assertIn(
                self.owner.url,
                ["%s://%s:%d" % (e["protocol"], e["host"], e["port"]) for e in holder["endpoints"]],
            )
        answer = self.ask(self.owner, "GET", primary(self.n1, self.k) + "?route=local")
        self.assertEqual((200, b"value"), (answer.status, answer.body))

    def test_05_connection(self):
        """a refusal reads the body away: the connection carries the next request"""
        client = http.Client(self.other.url)
        self.addCleanup(client.close)
        for route in ("local", "redirect", "local"):
            refused = client.ask(
                "PUT", primary(self.n1, self.k) + "?route=" + route, TEXT, b"z" * 3000000
            )
            self.assertIn(refused.status, (421, 307))
            self.assertEqual(
                (200, b"value"),
                (lambda a: (a.status, a.body))(client.ask("GET", primary(self.n1, self.k))),
            )

    def test_06_header_and_setting(self):
        """the route by header, by the node's setting, and the query string over both"""
        path = primary(self.n1, self.k)
        self.assertEqual(
            421, self.ask(self.other, "GET", path, {"X-Ringtail-Route": "local"}).status
        )
        self.assertEqual(
            307, self.ask(self.other, "GET", path, {"X-Ringtail-Route": "redirect"}).status
        )
        self.assertEqual(
            200,
            self.ask(
                self.other, "GET", path + "?route=proxy", {"X-Ringtail-Route": "local"}
            ).status,
        )
        self.addCleanup(self.cluster.rpc, self.other, "application:unset_env(ringtail, route)")
        self.cluster.rpc(self.other, "application:set_env(ringtail, route, redirect)")
        self.assertEqual(307, self.ask(self.other, "GET", path).status)
        self.assertEqual(
            421, self.ask(self.other, "GET", path, {"X-Ringtail-Route": "local"}).status
        )
        self.assertEqual(
            200, self.ask(self.other, "GET", path, {"X-Ringtail-Route": "proxy"}).status
        )

    def test_07_bad_route(self):
        """another value of route is refused, on a primary too"""
        for node in (self.owner, self.other):
            self.is_error(
                self.ask(node, "GET", primary(self.n1, self.k) + "?route=fastest"), 400, "bad_route"
            )
            self.is_error(
                self.ask(node, "GET", primary(self.n1, self.k), {"X-Ringtail-Route": ""}),
                400,
                "bad_route",
            )

    def test_09_local_first(self):
        """with n_val 3, a node that is a primary always serves itself"""
        bucket = self.bucket({"n_val": 3})
        key = self.key(bucket)
        for node in self.holders(bucket, key):
            for _ in range(4):
                answer = self.ask(node, "PUT", primary(bucket, key), TEXT, b"x")
                self.assertEqual(204, answer.status)
                self.has_headers(answer, node)

    def test_10_spread(self):
        """a node that is no primary spreads its requests over all of them"""
        bucket = self.bucket({"n_val": 2})
        key = self.key(bucket, not_on=[self.other], n=2)
        self.assertEqual(204, self.ask(self.other, "PUT", primary(bucket, key), TEXT, b"x").status)
        place = primary(bucket, key, self.cluster_uuid()) + "?route=redirect"
        wanted = {node.url + place for node in self.holders(bucket, key, 2)}
        self.assertEqual(2, len(wanted))
        client = http.Client(self.other.url)
        self.addCleanup(client.close)
        places = [
            client.ask("GET", primary(bucket, key) + "?route=redirect")["location"]
            for _ in range(60)
        ]
        self.assertEqual(wanted, set(places))
        self.assertGreater(min(places.count(place) for place in wanted), 8)

    def test_11_bucketonly(self):
        """a bucketonly keyfun is followed: the primary of the bucket serves all its keys"""
        bucket = self.bucket(
            {
                "n_val": 1,
                "chash_keyfun": {"mod": "riak_core_util", "fun": "chash_bucketonly_keyfun"},
            }
        )
        (owner,) = self.holders(bucket, b"any", 1, "bucketonly")
        for key in (b"a", b"b", b"c"):
            self.made.append((bucket, key))
            for node in self.nodes:
                answer = self.ask(node, "PUT", primary(bucket, key) + "?route=local", TEXT, b"x")
                self.assertEqual(204 if node is owner else 421, answer.status)

    def test_12_read_where_it_is(self):
        """what is written by the primary route is read by Riak's own, and the other way round"""
        for writer, reader in ((primary, native), (native, primary)):
            for node, other in ((self.owner, self.other), (self.other, self.owner)):
                value = b"%d" % time.monotonic_ns()
                self.ask(node, "DELETE", native(self.n1, self.k))
                self.assertEqual(
                    204, self.ask(node, "PUT", writer(self.n1, self.k), TEXT, value).status
                )
                self.assertEqual(value, self.ask(other, "GET", reader(self.n1, self.k)).body)

    def test_13_at_once(self):
        """32 clients at once through one node: every answer is its own"""
        plain = self.bucket({"n_val": 1})  # a write replaces the one before
        keys = [self.key(plain, n=1, prefix=b"p%d-" % i) for i in range(32)]

        def work(key):
            client = http.Client(self.other.url)
            for number in range(5):
                value = key + b"/%d" % number
                put = client.ask("PUT", primary(plain, key), TEXT, value)
                got = client.ask("GET", primary(plain, key))
                self.assertEqual((204, 200, value), (put.status, got.status, got.body))
            client.close()

        self.assertEqual([], self.at_once(work, keys)[:3])

    def test_14_no_transfer(self):
        """n_val 1 and a client that chooses primaries: at most 0.1 % of the bytes cross between
        nodes"""
        if not self.cluster.is_standin:
            self.skipTest("only the stand-in counts bytes between nodes")
        body, sent = b"m" * 4194304, 0
        keys = [
            self.key(self.n1, node, n=1, prefix=b"big%d-" % i)
            for i in range(5)
            for node in self.nodes
        ]
        self.cluster.reset_traffic()
        for key in keys:
            (node,) = self.holders(self.n1, key, 1)
            self.assertEqual(
                204,
                self.ask(node, "PUT", primary(self.n1, key) + "?route=local", TEXT, body).status,
            )
            self.assertEqual(
                body, self.ask(node, "GET", primary(self.n1, key) + "?route=local").body
            )
            sent += 2 * len(body)
        self.assertLess(self.cluster.traffic(), sent / 1000)
