"""The cluster under test: what every kind of it offers to the cases."""

import time

from . import erl, http

SETTLE_S = 120


class Node:
    def __init__(self, name, url, https=None):
        self.name, self.url, self.https = name, url, https

    def __repr__(self):
        return self.name


class Cluster:
    """Subclasses start or find the nodes, evaluate expressions on them, and kill them if they
    can."""

    nodes = []
    can_kill = False  # kill/1, start/1
    is_standin = False  # control/1
    engine = None  # nif or port, where the cases are to be run with that one

    def rpc(self, node, expression):
        """The value of an Erlang expression on a node, as ~p prints it."""
        raise NotImplementedError

    def text(self, node, expression):
        """The same for an expression whose value is a string."""
        return erl.string(self.rpc(node, expression))

    def kill(self, node):
        raise NotImplementedError

    def start(self, node):
        raise NotImplementedError

    # ---- Ringtail on it ----

    def start_ringtail(self, node):
        if self.engine:
            self.rpc(
                node,
                "application:load(ringtail), application:set_env(ringtail, engine, %s)"
                % self.engine,
            )
        said = self.rpc(node, "ringtail:start()")
        if said != "ok":
            raise RuntimeError("ringtail:start() on %s said %s" % (node, said))

    def await_serving(self, nodes=None):
        """Until every node answers for every other one, with one token."""
        wanted = len(self.nodes) if nodes is None else len(nodes)
        for node in nodes or self.nodes:
            await_true(lambda: self._serves(node, wanted), "%s does not serve" % node)

        def tokens():
            return {
                self.ask(node, "GET", "/explore/clusters/default/preflist")["x-ringtail-topology"]
                for node in nodes or self.nodes
            }

        await_true(lambda: len(tokens()) == 1, lambda: "the nodes' tokens differ: %s" % tokens())

    def _serves(self, node, up):
        try:
            answer = self.ask(node, "GET", "/explore/clusters/default/preflist?format=full")
        except OSError:
            return False
        if answer.status != 200:
            return False
        described = answer.json()["nodes"]
        entries = described.values() if isinstance(described, dict) else described
        return sum(1 for entry in entries if entry["up"]) == up and all(
            entry["endpoints"] for entry in entries if entry["up"]
        )

    # ---- HTTP ----

    def ask(self, node, method, path, headers=(), body=None, timeout=90):
        return http.ask(node.url, method, path, headers, body, timeout)

    def owners(self, node=None):
        """The cluster preflist as a list in ring order: [(index, node name)]."""
        answer = self.ask(node or self.nodes[0], "GET", "/explore/clusters/default/preflist")
        if answer.status != 200:
            raise AssertionError("cluster preflist: %r" % answer)
        return [(int(index), name) for index, name in answer.json().items()]

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)

    def others(self, *named):
        return [node for node in self.nodes if node.name not in named]


def await_true(condition, what, seconds=SETTLE_S, pause=0.1):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("after %g s: %s" % (seconds, what() if callable(what) else what))
        time.sleep(pause)
