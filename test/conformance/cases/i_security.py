import base64

from conform import http
from conform.case import Case, explore, key_preflist, native, preflist, primary
from conform.standin import StandinCluster

TYPE = b"n1"
TEXT = {"Content-Type": "text/plain"}


def user(name, password="secret"):
    return {
        "Authorization": "Basic " + base64.b64encode(("%s:%s" % (name, password)).encode()).decode()
    }


class Security(Case):
    """Riak's security on, on a cluster of its own: it cannot be tried on a real one without its
    users."""

    secured = None

    @classmethod
    def setUpClass(cls):
        if not Case.cluster.is_standin:
            return
        cls.secured = StandinCluster(
            Case.archive,
            4,
            (
                'https => true, types => [{<<"n1">>, [{n_val, 1}, {allow_mult, false}]}], '
                'security => [{"writer", "secret", [{any, ["riak_kv.get", "riak_kv.put", '
                '"riak_kv.delete", '
                '"riak_kv.get_preflist"]}]}, {"reader", "secret", [{"n1", ["riak_kv.get"]}]}, '
                '{"nobody", "secret", []}]'
            ),
        )
        for node in cls.secured.nodes:
            cls.secured.start_ringtail(node)

    @classmethod
    def tearDownClass(cls):
        if cls.secured:
            cls.secured.stop()

    def setUp(self):
        self.needs_standin = True
        super().setUp()
        self.cluster, self.nodes, self.trust = (
            self.secured,
            self.secured.nodes,
            self.secured.trust(),
        )
        self.bucket = (TYPE, b"b")
        self.eventually(
            lambda: self.get(preflist(), user("writer")).status == 200, "it does not serve"
        )
        owners = [
            (int(index), name)
            for index, name in self.get(preflist(), user("writer")).json().items()
        ]
        self.cluster.owners = lambda *_: owners
        self.owner, self.other = self.nodes[0], self.nodes[1]
        self.k = self.key(self.bucket, self.owner, n=1)

    def clean(self):
        pass  # the cluster ends with the cases

    def get(self, path, headers=(), node=None, method="GET", body=None):
        return http.ask(
            (node or self.nodes[0]).https, method, path, headers, body, trust=self.trust
        )

    def routes(self):
        return [
            preflist(),
            preflist("?format=full"),
            key_preflist(self.bucket, self.k),
            primary(self.bucket, self.k),
            explore(self.bucket, self.k),
            "/explore/clusters/default/topology",
        ]

    def test_01_http(self):
        """http gives 426, as Riak's own route, with or without a password"""
        wanted = self.ask(self.owner, "GET", native(self.bucket, self.k))
        self.assertEqual(426, wanted.status)
        for node in (self.owner, self.other):
            for path in self.routes():
                for headers in ({}, user("writer")):
                    answer = self.ask(node, "GET", path, headers)
                    self.assertEqual(426, answer.status, path)
                    self.has_headers(answer)

    def test_02_credentials(self):
        """none or wrong ones give 401 and the question for them"""
        for headers in (
            {},
            user("writer", "wrong"),
            user("stranger"),
            {"Authorization": "Bearer x"},
        ):
            wanted = self.get(native(self.bucket, self.k), headers)
            self.assertEqual(401, wanted.status)
            for node in (self.owner, self.other):
                for path in self.routes():
                    answer = self.get(path, headers, node)
                    self.assertEqual(
                        (401, wanted["www-authenticate"]),
                        (answer.status, answer["www-authenticate"]),
                        path,
                    )
                    self.has_headers(answer)

    def test_03_permissions(self):
        """what a user may not do gives 403, on a primary and elsewhere; what he may is done"""
        for node in (self.owner, self.other):
            for name, method, body, allowed in (
                ("writer", "PUT", b"v", 204),
                ("writer", "GET", None, 200),
                ("reader", "GET", None, 200),
                ("reader", "PUT", b"w", 403),
                ("reader", "DELETE", None, 403),
                ("nobody", "GET", None, 403),
                ("nobody", "PUT", b"w", 403),
                ("reader", "HEAD", None, 200),
            ):
                for route in ("", "?route=local", "?route=redirect"):
                    if node is self.owner and route:
                        continue
                    wanted = (
                        allowed
                        if not route or allowed == 403
                        else 421 if route == "?route=local" else 307
                    )
                    own = self.get(
                        native(self.bucket, self.k),
                        dict(user(name), **TEXT),
                        self.owner,
                        method,
                        body,
                    )
                    answer = self.get(
                        primary(self.bucket, self.k) + route,
                        dict(user(name), **TEXT),
                        node,
                        method,
                        body,
                    )
                    self.assertEqual(
                        (wanted, allowed),
                        (answer.status, own.status),
                        "%s %s %s by %s" % (name, method, route, node),
                    )
                    self.has_headers(answer)
        self.assertEqual(b"v", self.get(primary(self.bucket, self.k), user("reader")).body)
        for name, wanted in (("writer", 200), ("reader", 200), ("nobody", 403)):
            self.assertEqual(wanted, self.get(key_preflist(self.bucket, self.k), user(name)).status)

    def test_04_scheme(self):
        """redirects and primaries' endpoints are https"""
        answer = self.get(
            primary(self.bucket, self.k) + "?route=redirect", user("writer"), self.other
        )
        place = primary(self.bucket, self.k, answer["x-ringtail-cluster"]) + "?route=redirect"
        self.assertEqual((307, self.owner.https + place), (answer.status, answer["location"]))
        answer = self.get(primary(self.bucket, self.k) + "?route=local", user("writer"), self.other)
        self.assertIn("https", {e["protocol"] for e in answer.json()["primaries"][0]["endpoints"]})

    def test_05_large(self):
        """8 MiB by proxy over https, both ways"""
        body = bytes(range(256)) * 32768
        put = self.get(
            primary(self.bucket, self.k), dict(user("writer"), **TEXT), self.other, "PUT", body
        )
        self.assertEqual(204, put.status, repr(put))
        self.assertEqual(
            body, self.get(primary(self.bucket, self.k), user("writer"), self.other).body
        )
