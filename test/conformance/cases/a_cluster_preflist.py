import gzip
import json

from conform.case import Case, preflist
from conform.hashing import RING_TOP


class ClusterPreflist(Case):
    def test_01_map(self):
        """every partition in ring order, with the owner that riak_core says, on every node"""
        for node in self.nodes:
            answer = self.ask(node, "GET", preflist())
            self.assertEqual(200, answer.status)
            self.assertEqual("application/json", answer["content-type"])
            self.has_headers(answer, node)
            pairs = json.loads(answer.body, object_pairs_hook=list)
            said = self.cluster.text(
                node,
                '{ok, R} = riak_core_ring_manager:get_my_ring(), lists:flatten('
                '[io_lib:format("~b ~s~n", [I, N]) || {I, N} <- riak_core_ring:all_owners(R)])',
            )
            self.assertEqual(
                [tuple(line.split(" ")) for line in said.splitlines()],
                [tuple(pair) for pair in pairs],
            )
            self.assertEqual(
                [i * (RING_TOP // len(pairs)) for i in range(len(pairs))],
                [int(index) for index, _ in pairs],
            )

    def test_02_admin(self):
        """the same under /admin/explore"""
        plain, admin = (
            self.ask(self.nodes[0], "GET", preflist(prefix=prefix)) for prefix in ("", "/admin")
        )
        self.assertEqual((200, plain.body), (admin.status, admin.body))
        self.has_headers(admin)

    def test_03_etag(self):
        """the ETag is the token, and a 304 on match bears the headers and no body"""
        node = self.nodes[-1]
        answer = self.ask(node, "GET", preflist())
        self.assertEqual('"%s"' % answer["x-ringtail-topology"], answer["etag"])
        for given in (answer["etag"], '"other", ' + answer["etag"], "*"):
            same = self.ask(node, "GET", preflist(), {"If-None-Match": given})
            self.assertEqual((304, b""), (same.status, same.body), given)
            self.has_headers(same, node)
            self.assertEqual(answer["etag"], same["etag"])
        self.assertEqual(
            200, self.ask(node, "GET", preflist(), {"If-None-Match": '"1-0000000000000000"'}).status
        )

    def test_04_every_node(self):
        """all nodes give one map with one token"""
        answers = [self.ask(node, "GET", preflist()) for node in self.nodes]
        self.assertEqual(1, len({(answer["etag"], answer.body) for answer in answers}))
        self.assertEqual(len(self.nodes), len({answer["x-ringtail-node"] for answer in answers}))
        self.assertEqual(1, len({answer["x-ringtail-cluster"] for answer in answers}))

    def test_05_gzip(self):
        """gzip for those who accept it, and only for them"""
        node = self.nodes[0]
        plain = self.ask(node, "GET", preflist())
        self.assertIsNone(plain["content-encoding"])
        packed = self.ask(node, "GET", preflist(), {"Accept-Encoding": "gzip"})
        self.assertEqual("gzip", packed["content-encoding"])
        self.assertIn("accept-encoding", (packed["vary"] or "").lower())
        self.assertEqual(plain.body, gzip.decompress(packed.body))
        full = self.ask(node, "GET", preflist("?format=full"), {"Accept-Encoding": "gzip"})
        self.assertIn("preflist", json.loads(gzip.decompress(full.body)))
        refused = self.ask(node, "GET", preflist(), {"Accept-Encoding": "identity, gzip;q=0"})
        self.assertIsNone(refused["content-encoding"])
        self.assertEqual(plain.body, refused.body)

    def test_06_head(self):
        """HEAD as GET without the body"""
        get, head = (self.ask(self.nodes[0], method, preflist()) for method in ("GET", "HEAD"))
        self.assertEqual((200, b"", get["etag"]), (head.status, head.body, head["etag"]))
        self.has_headers(head)

    def test_07_full(self):
        """format=full tells ring size, token, who is up and where each node listens"""
        node = self.nodes[0]
        answer = self.ask(node, "GET", preflist("?format=full"))
        self.has_headers(answer, node)
        full = answer.json()
        self.assertEqual(self.ask(node, "GET", preflist()).json(), full["preflist"])
        self.assertEqual(len(full["preflist"]), full["ring_size"])
        self.assertEqual(answer["x-ringtail-topology"], full["token"])
        self.assertEqual(answer["x-ringtail-cluster"], full["cluster"])
        described = {entry["node"]: entry for entry in full["nodes"]}
        self.assertEqual({node.name for node in self.nodes}, set(described))
        for one in self.nodes:
            entry = described[one.name]
            self.assertIs(True, entry["up"])
            self.assertEqual("valid", entry["status"])
            self.assertEqual(self.uuid(one), entry["uuid"])
            urls = {
                "%s://%s:%s" % (e["protocol"], e["host"], e["port"]) for e in entry["endpoints"]
            }
            self.assertIn(one.url, urls)
            self.assertIn("pb", {e["protocol"] for e in entry["endpoints"]})
        same = self.ask(node, "GET", preflist("?format=full"), {"If-None-Match": answer["etag"]})
        self.assertEqual(304, same.status)
        self.has_headers(same)

    def test_08_format(self):
        """another format is refused"""
        self.is_error(self.ask(self.nodes[0], "GET", preflist("?format=xml")), 400, "bad_format")

    def test_09_names(self):
        """the cluster by its uuid and by its configured alias"""
        node = self.nodes[0]
        uuid = self.ask(node, "GET", preflist())["x-ringtail-cluster"]
        for given in (uuid, uuid.upper()):
            self.assertEqual(200, self.ask(node, "GET", preflist(cluster=given)).status)
        self.assertEqual(404, self.ask(node, "GET", preflist(cluster="our%20own")).status)
        self.addCleanup(self.cluster.rpc, node, "application:unset_env(ringtail, cluster_alias)")
        self.cluster.rpc(node, 'application:set_env(ringtail, cluster_alias, "our own")')
        self.assertEqual(200, self.ask(node, "GET", preflist(cluster="our%20own")).status)

    def test_10_unknown_cluster(self):
        """another cluster's name gives 404 and the names that are known"""
        answer = self.ask(self.nodes[0], "GET", preflist(cluster="prod"))
        document = self.is_error(answer, 404, "unknown_cluster")
        self.assertIn("prod", document["message"])
        self.assertEqual(["default", answer["x-ringtail-cluster"]], document["clusters"])

    def test_11_methods(self):
        """other methods are refused with 405, Allow and JSON"""
        for method in ("POST", "PUT", "DELETE"):
            answer = self.ask(
                self.nodes[0], method, preflist(), {"Content-Type": "text/plain"}, b"x"
            )
            self.is_error(answer, 405, "method_not_allowed")
            self.assertEqual({"GET", "HEAD"}, {word.strip() for word in answer["allow"].split(",")})
