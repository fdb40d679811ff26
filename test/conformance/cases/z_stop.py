from conform.case import TYPE, Case, native, preflist, primary

TEXT = {"Content-Type": "text/plain"}


class Stop(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.cluster.await_serving)
        for node in self.nodes:
            self.addCleanup(self.cluster.start_ringtail, node)

    def stop(self, node):
        self.assertEqual("ok", self.cluster.rpc(node, "ringtail:stop()"))

    def test_01_as_before(self):
        """stop() leaves routes, names, tables, event handlers, processes and ports as they were
        before the start"""
        for node in self.nodes:
            self.cluster.rpc(node, "ringtail:where(<<\"b\">>, <<\"k\">>)")
            self.assertNotEqual(self.before[node.name], self.snapshot(self.cluster, node))
            self.stop(node)
            self.assertEqual(self.before[node.name], self.snapshot(self.cluster, node))

    def test_02_routes_gone(self):
        """afterwards our routes give 404 and Riak's own work"""
        bucket, node = (TYPE, b"b"), self.nodes[0]
        self.stop(node)
        self.stop(node)
        for path in (
            preflist(),
            preflist(prefix="/admin"),
            primary(bucket, b"k"),
            "/ringtail/status",
        ):
            answer = self.ask(node, "GET", path)
            # Below /riak it is again for Riak's link walker, which does not understand it.
            self.assertEqual(400 if path.startswith("/riak/") else 404, answer.status)
            self.assertIsNone(answer["x-ringtail-topology"])
        self.made.append((bucket, b"k"))
        self.assertEqual(204, self.ask(node, "PUT", native(bucket, b"k"), TEXT, b"v").status)

    def test_03_again_and_again(self):
        """20 starts and stops leave nothing"""
        node = self.nodes[1]
        self.stop(node)
        before = self.snapshot(self.cluster, node)
        counted = int(
            self.cluster.rpc(
                node, "length(processes()) + length(ets:all()) + length(erlang:ports())"
            )
        )
        self.cluster.rpc(
            node, "[{ok, ok} = {ringtail:start(), ringtail:stop()} || _ <- lists:seq(1, 20)]"
        )
        self.assertEqual(before, self.snapshot(self.cluster, node))
        self.eventually(
            lambda: int(
                self.cluster.rpc(
                    node, "length(processes()) + length(ets:all()) + length(erlang:ports())"
                )
            )
            <= counted + 10,
            "something is left",
        )
        self.cluster.start_ringtail(node)
        self.cluster.await_serving()
