from assault.attack import Attack
from assault.health import Health

# As Erlang has them.
NONSENSE = [
    "x",
    "-1",
    "0",
    "1 bsl 70",
    "1.5",
    "\"\"",
    "[]",
    "[x]",
    "{x, y}",
    "[{x, -1}]",
    "<<\"x\">>",
    "<<255>>",
    "[256]",
    "[$a, $\\r, $\\n]",
    "[16#4e2d]",
    "[{http, \"h\\r\\nX: y\", 80}]",
    "[{http, [233], 80}]",
    "[{http, \"h\", 0}]",
    "[{http, \"h\", 99999}]",
    "[{ftp, \"h\", 80}]",
    "[a | b]",
    "self()",
    "fun() -> x end",
    "lists:duplicate(100000, $x)",
    "[\"a\" | \"b\"]",
    "undefined",
    "true",
]
TOLD = ["route", "prefixes", "cluster_alias", "advertise", "publish", "engine", "roote"]
# Any short text is the name of a file, and many a number makes sense.
DOUBTFUL = [
    "max_body",
    "nif_path",
    "companion",
    "port_timeout",
    "port_hang_timeout",
    "port_max_requests",
]
# What of it is proper.
PROPER = {
    "prefixes": ["\"\"", "[]"],
    "publish": ["true"],
    "cluster_alias": ["undefined"],
    "advertise": ["undefined", "[]", "\"\""],
}


class Settings(Attack):
    """A setting that makes no sense is told, its default is used, and nobody is harmed by it."""

    def setUp(self):
        self.needs_standin = True
        super().setUp()
        self.places = [(self.other, lambda text: self.cluster.rpc(self.other, text))]
        if self.standalone:
            self.places.append((self.standalone, self.standalone.rpc))

    def test_01_while_running(self):
        """nonsense in every setting while it serves: told in the problems, and all works"""
        for name in TOLD + DOUBTFUL:
            for number, value in enumerate(NONSENSE):
                what = "{%s, %s}" % (name, value[:30])
                for place, rpc in self.places:
                    rpc("application:set_env(ringtail, %s, %s)" % (name, value))
                    with self.tried(what, place):
                        problems = self.problems(place)
                        if name in TOLD and value not in PROPER.get(name, ()):
                            self.assertIn(name, problems, "it is told nowhere")
                        for path in ("/ringtail", "/ringtail/metrics"):
                            status = self.cluster.ask(place, "GET", path).status
                            self.assertEqual(200, status, "%s: %d" % (path, status))
                if number % 4 == 0:
                    self.alike(what, self.put())
                for _, rpc in self.places:
                    rpc("application:unset_env(ringtail, %s)" % name)

    def test_02_when_started(self):
        """started with nonsense in every setting: it serves, and says what it does not use"""
        names = ", ".join(TOLD + DOUBTFUL)
        for value in ("x", "[{x, -1}]", "1 bsl 70", "\"\""):
            for place, rpc in self.places:
                rpc(
                    "ringtail:stop(), [application:set_env(ringtail, N, %s) || N <- [%s]], "
                    "ok = ringtail:start()" % (value, names)
                )
                try:
                    with self.tried(value, place):
                        self.eventually(lambda: self.answers(place), "it does not serve", 60)
                        self.assertIn("roote", self.problems(place), "it is told nowhere")
                finally:
                    rpc(
                        "ringtail:stop(), [application:unset_env(ringtail, N) || N <- [%s]], "
                        "ok = ringtail:start()" % names
                    )
        self.cluster.await_serving()
        if self.standalone:
            self.eventually(self.standalone.serves, "it does not serve again", 60)
        self.alike("afterwards", self.put())
        for vm in Health.vms:
            vm.remember()
        # Whoever asked while it was stopped was told so.
        Health.neighbour.take()

    def answers(self, place):
        return self.cluster.ask(place, "GET", "/ringtail/status").status == 200

    def problems(self, place):
        answer = self.cluster.ask(place, "GET", "/ringtail/status")
        self.assertEqual("serving", answer.json()["state"], repr(answer)[:200])
        return " ".join(answer.json()["problems"])
