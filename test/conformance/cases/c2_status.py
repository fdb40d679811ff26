import re

from conform.case import Case, preflist


class Status(Case):
    def test_01_status(self):
        """/ringtail/status as JSON: it serves, with the token of the headers"""
        for node in self.nodes:
            answer = self.ask(node, "GET", "/ringtail/status")
            self.assertEqual((200, "application/json"), (answer.status, answer["content-type"]))
            self.has_headers(answer, node)
            status = answer.json()
            self.assertEqual(
                ("serving", answer["x-ringtail-topology"], len(self.cluster.owners())),
                (status["state"], status["token"], status["ring_size"]),
            )

    def test_07_engine(self):
        """the engine is the one that was asked for"""
        if not self.cluster.engine:
            self.skipTest("asked for with --engine")
        for node in self.nodes:
            companions = self.cluster.rpc(
                node,
                "length([P || P <- erlang:ports(), {name, N} <- [erlang:port_info(P, name)], "
                "filename:basename(hd(string:tokens(N, \" \"))) =:= \"ringtail\"])",
            )
            self.assertEqual("1" if self.cluster.engine == "port" else "0", companions)

    def test_02_metrics(self):
        """/ringtail/metrics in Prometheus' text format"""
        answer = self.ask(self.nodes[0], "GET", "/ringtail/metrics")
        self.assertEqual(200, answer.status)
        self.assertTrue(answer["content-type"].startswith("text/plain"))
        self.has_headers(answer, self.nodes[0])
        lines = [line for line in answer.body.decode().splitlines() if line]
        samples = [line for line in lines if not line.startswith("#")]
        self.assertTrue(samples)
        typed = {line.split(" ")[2] for line in lines if line.startswith("# TYPE ")}
        for line in samples:
            found = re.fullmatch(
                r'(ringtail_[a-z_]+)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [-+0-9.e]+', line
            )
            self.assertTrue(found, line)
            self.assertIn(found.group(1), typed)

    def test_03_page(self):
        """/ringtail is a page for people that names every node"""
        answer = self.ask(self.nodes[0], "GET", "/ringtail", {"Accept": "text/html"})
        self.assertEqual(200, answer.status)
        self.assertTrue(answer["content-type"].startswith("text/html"))
        self.has_headers(answer, self.nodes[0])


class Topology(Case):
    path = "/explore/clusters/default/topology"

    def test_04_document(self):
        """the topology: owners and members as in the cluster preflist, endpoints, the same token on
        every node"""
        documents = []
        for node in self.nodes:
            answer = self.ask(node, "GET", self.path)
            self.assertEqual(200, answer.status)
            self.has_headers(answer, node)
            documents.append(answer.json())
            self.assertEqual(answer["x-ringtail-topology"], documents[-1]["token"])
        self.assertEqual(1, len({document["token"] for document in documents}))
        members = {member["name"]: member for member in documents[0]["members"]}
        self.assertEqual({node.name for node in self.nodes}, set(members))
        for node in self.nodes:
            urls = {
                "%s://%s:%d" % (e["protocol"], e["host"], e["port"])
                for e in members[node.name]["endpoints"]
            }
            self.assertIn(node.url, urls)
            self.assertEqual(self.uuid(node), members[node.name]["uuid"])

    def test_05_difference(self):
        """from=TOKEN: nothing changed; an unknown one: the full document; a malformed one: 400"""
        node = self.nodes[0]
        token = self.ask(node, "GET", preflist())["x-ringtail-topology"]
        same = self.ask(node, "GET", self.path + "?from=" + token).json()
        self.assertEqual(
            [[]] * 4, [list(same[part]) for part in ("joined", "left", "changed", "owners")], same
        )
        unknown = self.ask(node, "GET", self.path + "?from=1-0000000000000000").json()
        self.assertIs(True, unknown["full"])
        self.assertEqual(self.ask(node, "GET", self.path).json()["members"], unknown["members"])
        for bad in ("x", "4", "4-xyz", "-2", ""):
            self.is_error(self.ask(node, "GET", self.path + "?from=" + bad), 400, "bad_token")

    def test_06_etag(self):
        """ETag and 304"""
        answer = self.ask(self.nodes[0], "GET", self.path)
        same = self.ask(self.nodes[0], "GET", self.path, {"If-None-Match": answer["etag"]})
        self.assertEqual((304, b""), (same.status, same.body))
        self.has_headers(same, self.nodes[0])
