import contextlib

from assault.attack import KEPT, OLD, PLAIN, Attack, head
from assault.wire import Wire
from conform.case import native

# More than any pool of ours has places, and few enough for a small machine.
CLIENTS = 80
LARGE = 2097152
SENT = 300000


def upload(path, line):
    return head("PUT", path, "Host: x", PLAIN, line)


def upload_of(path, length):
    return upload(path, "Content-Length: %d" % length)


class Stalls(Attack):
    """Clients that stop in the middle take nobody else's turn; what they sent stores nothing."""

    def test_01_in_head(self):
        """80 clients that stop in the middle of a head"""
        self.each_way(lambda wire, path, _: wire.send(upload_of(path, 20)[:-20]))

    def test_02_in_body(self):
        """80 clients that stop in the middle of a 2 MB upload; one of them goes on"""
        self.each_way(
            lambda wire, path, _: wire.send(upload_of(path, LARGE), b"x" * SENT), self.goes_on
        )

    def goes_on(self, wire, key):
        """He may have been given up, but it is not said to be done when it is not."""
        wire.send(b"x" * (LARGE - SENT))
        answer = wire.answer("PUT")
        kept = self.stored(key)[1]
        whole = [b"x" * LARGE] if answer and answer.status == 204 else [OLD, b"x" * LARGE]
        status = answer and answer.status
        self.assertTrue(kept in whole, "%s, and stored are %d bytes" % (status, len(kept)))

    def test_03_in_small_body(self):
        """80 clients that stop in the middle of a few bytes"""
        self.each_way(lambda wire, path, _: wire.send(upload_of(path, 20), b"0123456789"))

    def test_04_in_chunks(self):
        """80 clients that stop in the middle of a chunk, or between two"""
        self.each_way(
            lambda wire, path, number: wire.send(
                upload(path, "Transfer-Encoding: chunked"),
                b"5\r\nhello\r\n",
                b"5\r\nhe"[: number % 6],
            )
        )

    def test_05_in_answer(self):
        """80 clients that do not read the 2 MB they asked for"""
        key, large = self.large()
        for way in self.ways[1:]:
            with contextlib.ExitStack() as stack:
                asked = head("GET", way.path(self.object_bucket, key), "Host: x")
                wires, _ = self.stalled(way, stack, lambda wire, *_: wire.send(asked))
                self.all_served("others while %d do not read" % CLIENTS)
                with self.tried("what is read at last", way):
                    answer = wires[0].answer()
                    self.assertEqual((200, True), (answer.status, answer.body == large), "another")

    def test_06_idle(self):
        """200 clients that keep their connections and say nothing more"""
        for way in self.ways[1:]:
            with contextlib.ExitStack() as stack:
                for _ in range(200):
                    wire = stack.enter_context(Wire(way.url))
                    wire.send(head("GET", way.path(self.object_bucket, self.probe), "Host: x"))
                    self.assertEqual(200, wire.answer().status, "not 200")
                self.all_served("others beside 200 idle ones")

    def test_07_leaving(self):
        """80 clients that leave in the middle of an upload, and 80 in the middle of an answer"""
        key, large = self.large()
        for way in self.ways[1:]:
            path = way.path(self.object_bucket, key)
            for _ in range(CLIENTS):
                with Wire(way.url) as wire:
                    wire.send(upload_of(path, LARGE), b"x" * SENT)
                with Wire(way.url, receive_buffer=4096) as wire:
                    wire.send(head("GET", path, "Host: x"))
                    wire.wait(0.01)
            self.all_served("others while clients leave")
            with self.tried("what they left", way):
                self.assertTrue(self.stored(key)[1] == large, "the object is another")

    # ---- Stalling, and who else is served ----

    def each_way(self, start, then=None):
        for way in self.ways[1:]:
            with contextlib.ExitStack() as stack:
                wires, keys = self.stalled(way, stack, start)
                self.all_served("others while %d stall" % CLIENTS)
                for key in keys:
                    with self.tried("what stalled", way):
                        self.assertEqual(OLD, self.stored(key)[1], "the object is another")
                if then:
                    with self.tried("what went on", way):
                        then(wires[-1], keys[(CLIENTS - 1) % len(keys)])

    def stalled(self, way, stack, start):
        """So many clients at `way`, each begun by start(wire, path, number)."""
        wires, keys = [], [self.victim() for _ in range(4)]
        for number in range(CLIENTS):
            wire = stack.enter_context(Wire(way.url, receive_buffer=4096))
            start(wire, way.path(self.object_bucket, keys[number % len(keys)]), number)
            wires.append(wire)
        return wires, keys

    def all_served(self, what):
        """Meanwhile others write little and much by every way, and the documents are there."""
        for way in self.ways[1:]:
            for body in (b"x", b"y" * 100000, b"z" * LARGE):
                outcome = self.attack(way, lambda target: target.put(body=body))
                with self.tried(what, way, "%d bytes" % len(body)):
                    self.in_step(outcome)
                    self.unharmed(outcome, body)
                    self.assertEqual(204, outcome.status, outcome.told)
        for place in [*self.nodes, *([self.standalone] if self.standalone else [])]:
            with self.tried(what, place):
                answer = self.cluster.ask(place, "GET", "/ringtail/status")
                self.assertEqual("serving", answer.json()["state"], repr(answer)[:200])

    def large(self):
        """An object of 2 MB: its key, its body."""
        key, body = self.victim(), b"m" * LARGE
        put = self.ask(self.owner, "PUT", native(self.object_bucket, key), KEPT, body)
        self.assertEqual(204, put.status, repr(put))
        return key, body
