"""What an attack is made of: an object not to be harmed, the same bytes by every way, and rules."""

import contextlib
import dataclasses
import itertools

from conform.case import TYPE, Case, native

from .wire import Silence, Wire
from .ways import ways

PLAIN = "Content-Type: text/plain"
OLD, NEW, PROBE = b"precious " * 8, b"quite another value", b"what a probe reads"
KEPT = {"Content-Type": "text/plain", "X-Riak-Meta-Keep": "yes"}
SHOWN = 12
_numbers = itertools.count(1)


def head(method, path, *lines, version="1.1"):
    """The head of a request, whose lines are texts or bytes."""
    given = ["%s %s HTTP/%s" % (method, path, version), *lines, "", ""]
    return b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in given)


@dataclasses.dataclass
class Target:
    """Where the bytes of an attack go: by which way, to which object's path, on which host."""

    way: object
    key: bytes
    path: str
    host: str
    marker: str  # the path of an object that nobody may write
    is_smuggling: bool = False

    def head(self, method, *lines, query="", version="1.1"):
        """HOST in a line is the host that is asked."""
        lines = [
            line.replace("HOST", self.host) if isinstance(line, str) else line for line in lines
        ]
        return head(method, self.path + query, "Host: " + self.host, *lines, version=version)

    def put(self, *lines, body=NEW, query=""):
        """A whole and proper one, but for what the lines say."""
        length = "Content-Length: %d" % len(body)
        return self.head("PUT", PLAIN, length, *lines, query=query) + body

    def smuggled(self):
        """A request that would write the marker if it were taken for one."""
        self.is_smuggling = True
        return head("PUT", self.marker, "Host: x", PLAIN, "Content-Length: 8") + b"smuggled"


@dataclasses.dataclass
class Outcome:
    way: object
    answer: object  # None: the connection ended without one
    after: str  # of the connection: closed, usable, or what is wrong with it
    stored: tuple  # of the object, as Riak has it
    smuggled: bool  # whether the marker was written

    @property
    def kind(self):
        return "closed" if self.answer is None else "%dxx" % (self.answer.status // 100)

    @property
    def told(self):
        if self.answer is None:
            return "no answer"
        return "%d %r" % (self.answer.status, self.answer.body[-60:])

    @property
    def status(self):
        return None if self.answer is None else self.answer.status


class Attack(Case):
    standalone = None  # both set by the runner
    bucket_props = {"n_val": 1, "allow_mult": False}
    shared = maker = None

    def setUp(self):
        super().setUp()
        self.longMessage = False
        self.faults = []
        self.owner, self.other = self.nodes[1], self.nodes[0]
        self.ways = ways(self.owner, self.other, self.standalone)
        self.object_bucket = self.attacked_bucket()
        self.probe = self.victim(PROBE)

    @classmethod
    def attacked_bucket(cls):
        """One bucket for all attacks, known to all nodes; the runner has its maker clean up."""
        if Attack.shared is None:
            Attack.maker = Case()
            Attack.maker.nodes = cls.cluster.nodes
            Attack.shared = Attack.maker.bucket(cls.bucket_props, TYPE)
        return Attack.shared

    def victim(self, body=OLD):
        """The key of a new object that only the owner has."""
        key = self.key(self.object_bucket, self.owner, n=1, prefix=b"a%d-" % next(_numbers))
        if body is not None:
            answer = self.ask(self.owner, "PUT", native(self.object_bucket, key), KEPT, body)
            self.assertEqual(204, answer.status, repr(answer))
        return key

    def clean(self):
        if not self.cluster.is_standin:
            super().clean()

    def stored(self, key):
        """The object as Riak has it: what must not be harmed."""
        path = native(self.object_bucket, key)
        with Wire(self.owner.url) as wire:
            wire.send(head("GET", path, "Host: x", "Connection: close"))
            answer = wire.answer()
        if answer.status == 404:
            return None
        said = ("x-riak-meta-", "x-riak-index-", "link")
        kept = sorted(
            header
            for header in answer.headers
            if header[0].startswith(said) and 'rel="up"' not in header[1]
        )
        return answer.status, answer.body, answer["content-type"], tuple(kept)

    # ---- One attack ----

    def attack(self, way, build, method="PUT", body=OLD, finish=False, pause=0):
        """`build(target)` gives the bytes, or a list of pieces, which follow each other when
        something comes back, or after the `pause` in seconds; `body` is what was stored before."""
        key, marker = self.victim(body), self.victim(None)
        bucket = self.object_bucket
        target = Target(way, key, way.path(bucket, key), way.host, way.path(bucket, marker))
        pieces = build(target)
        with Wire(way.url) as wire:
            for number, piece in enumerate([pieces] if isinstance(pieces, bytes) else pieces):
                if number and pause:
                    wire.wait(pause)
                wire.send(piece)
            if finish:
                wire.finish()
            try:
                answer = wire.answer(method)
                # How Riak's own route leaves a connection after nonsense is not ours to mend.
                after = (
                    "unknown"
                    if way.name == "native"
                    else wire.afterwards(way.path(bucket, self.probe), PROBE)
                )
            except Silence as silence:
                answer, after = None, str(silence)
        smuggled = target.is_smuggling and self.stored(marker) is not None
        return Outcome(way, answer, after, self.stored(key), smuggled)

    def by_every_way(self, build, **more):
        return [self.attack(way, build, **more) for way in self.ways]

    def sent(self, method, *lines, tail=b"", query="", version="1.1", smuggling=False, **more):
        """A head of these lines, and what follows it, by every way."""

        def build(target):
            whole = target.head(method, *lines, query=query, version=version) + tail
            return whole + target.smuggled() if smuggling else whole

        return self.by_every_way(build, method=method, **more)

    def put(self, *lines, query="", **more):
        """A proper PUT with these lines besides, by every way."""
        return self.by_every_way(lambda target: target.put(*lines, query=query), **more)

    def asked(self, method, *lines, query=""):
        """A GET or a PUT with these lines, by every way, and what is to be there afterwards."""
        if method == "PUT":
            return self.put(*lines, query=query), NEW
        return self.sent(method, *lines, query=query), OLD

    # ---- Rules ----

    @contextlib.contextmanager
    def tried(self, *what):
        """One of many attacks of a case: the others are tried too; the case fails at its end."""
        try:
            yield
        except AssertionError as fault:
            text = " ".join(str(fault).split())
            named = " by ".join(str(part)[:80] for part in what)
            self.faults.append("%s: %s" % (named, text[:400]))

    def tearDown(self):
        if self.faults:
            more = len(self.faults) - SHOWN
            self.fail("\n".join(self.faults[:SHOWN] + (["and %d more" % more] if more > 0 else [])))

    def in_step(self, outcome):
        """The connection is closed, or the next request on it gets its own answer."""
        if outcome.after not in ("closed", "usable"):
            self.fail("after %s the connection is %s" % (outcome.told, outcome.after))

    def unharmed(self, outcome, new=NEW):
        """The object is the old one, or the new one where that was accepted; never a part."""
        old = (200, OLD, "text/plain", (("x-riak-meta-keep", "yes"),))
        whole = [new] if outcome.kind == "2xx" else [OLD] if outcome.kind == "4xx" else [OLD, new]
        if outcome.stored is None:
            self.fail("%s, and the object is gone" % outcome.told)
        if outcome.stored[1] not in whole or (outcome.stored[1] == OLD and outcome.stored != old):
            self.fail("%s, and stored is %r" % (outcome.told, outcome.stored))
        if outcome.smuggled and outcome.kind != "2xx":
            self.fail("%s, and what was smuggled is stored" % outcome.told)

    def alike(self, what, outcomes, new=NEW, refusals=(), malformed=False):
        """As Riak's own route, by class of status. Where that one breaks, ours may say anything but
        must say 400 if the request is `malformed`; `refusals` are allowed besides."""
        measure = outcomes[0]
        broken = measure.kind in ("5xx", "closed")
        for outcome in outcomes[1:]:
            with self.tried(what, outcome.way):
                self.in_step(outcome)
                if new is not None:
                    self.unharmed(outcome, new)
                if outcome.status in refusals or outcome.kind == measure.kind == "closed":
                    continue
                if broken and malformed and outcome.status == 400:
                    continue
                if broken and not malformed and outcome.answer is not None:
                    continue
                if broken or outcome.kind != measure.kind:
                    self.fail("%s, natively %s" % (outcome.told, measure.told))
