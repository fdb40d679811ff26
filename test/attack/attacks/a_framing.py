from assault.attack import NEW, PLAIN, Attack, head
from assault.wire import Wire

HELLO = b"hello"
CHUNKED = "Transfer-Encoding: chunked"
HELLO_CHUNKED = b"5\r\nhello\r\n0\r\n\r\n"
LENGTHS = [
    "5, 5",
    "5,5",
    "abc",
    "0x5",
    "-1",
    "-5",
    "5 5",
    "+5",
    "5.0",
    "5e0",
    "",
    " ",
    "5;",
    "\u0665",
    "5\t5",
    "5\x00",
    "-0",
]
ENCODINGS = [
    "chunked, gzip",
    "gzip, chunked",
    "xchunked",
    "gzip",
    "identity",
    "chunked, chunked",
    "chunked;x",
    "\x0bchunked",
    "chunked,",
    "chunked, identity",
    "",
    "chunkedchunked",
]
# Each is what stands between the head and the end of what is sent.
BAD_CHUNKS = {
    "no number": b"zz\r\nhello\r\n0\r\n\r\n",
    "negative": b"-5\r\nhello\r\n0\r\n\r\n",
    "two numbers": b"5 5\r\nhello\r\n0\r\n\r\n",
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "a prefix": b"0x5\r\nhello\r\n0\r\n\r\n",
    "longer than it says": b"5\r\nhello!\r\n0\r\n\r\n",
    "shorter than it says": b"7\r\nhello\r\n0\r\n\r\n",
    "2^64": b"10000000000000000\r\nhello\r\n0\r\n\r\n",
    "a line of 10,000 digits": b"0" * 10000 + b"5\r\nhello\r\n0\r\n\r\n",
    "2^4000": b"f" * 1000 + b"\r\nhello\r\n0\r\n\r\n",
    "only line feeds": b"\n\n\n\n\n",
}
CHUNKS = {
    "one": HELLO_CHUNKED,
    "five": b"".join(b"1\r\n%c\r\n" % byte for byte in HELLO) + b"0\r\n\r\n",
    "an extension": b"5;x=y\r\nhello\r\n0;z\r\n\r\n",
    "zeros": b"0005\r\nhello\r\n000\r\n\r\n",
    "a trailer": b"5\r\nhello\r\n0\r\nX-Riak-Meta-Late: y\r\nContent-Length: 3\r\n\r\n",
}
CUT_SHORT = {
    "a length": ("Content-Length: 50", HELLO),
    "2^32 + 5": ("Content-Length: 4294967301", HELLO),
    "nothing at all": ("Content-Length: 5", b""),
    "2 MB": ("Content-Length: 2000000", b"x" * 1500000),
    "no last chunk": (CHUNKED, b"5\r\nhello\r\n"),
    "half a chunk": (CHUNKED, b"8\r\nhello"),
    "half a size": (CHUNKED, b"5\r\nhello\r\n1"),
    "half the trailer": (CHUNKED, b"5\r\nhello\r\n0\r\nX: y\r\n"),
}


class Framing(Attack):
    """Whatever of a request's framing is not understood is 400, and nothing is stored."""

    def malformed(self, *lines, tail=HELLO, smuggling=True):
        """Riak's own route may understand it, and then ours may too: as a whole."""
        outcomes = self.sent("PUT", PLAIN, *lines, tail=tail, smuggling=smuggling)
        self.alike(lines, outcomes, HELLO, refusals=(400, 413), malformed=True)

    def test_01_lengths(self):
        """a Content-Length that is none"""
        for length in LENGTHS:
            self.malformed("Content-Length: " + length)
            self.malformed("Content-Length:" + length)

    def test_02_two_lengths(self):
        """two Content-Lengths, alike and different, in any spelling"""
        for first, second in ((5, 5), (5, 6), (6, 5), (0, 5), (5, 0), (5, "x")):
            for name in ("Content-Length", "content-length", "CONTENT-LENGTH"):
                self.malformed("Content-Length: %s" % first, "%s: %s" % (name, second))

    def test_03_folded(self):
        """folded headers, a length among them"""
        for line in (
            "Content-Length:\r\n 5",
            "Content-Length: 5\r\n 5",
            "Content-Length: 5\r\n\t",
            "X-Riak-Meta-A: b\r\n c\r\nContent-Length: 5",
            "X-Riak-Meta-A: b\r\n Content-Length: 50\r\nContent-Length: 5",
            "X-Riak-Meta-A:\r\n\tc\r\nContent-Length: 5",
        ):
            self.malformed(line, smuggling=False)

    def test_04_names(self):
        """names of headers that hide a length"""
        # Of a blank before the colon no resource hears: mochiweb waits for the rest of the head.
        for line in (
            " Content-Length: 5",
            "Content_Length: 5",
            "X: y\nContent-Length: 5",
            "X: y\rContent-Length: 5",
            ": 5",
        ):
            outcomes = self.sent("PUT", PLAIN, line, "Connection: close", tail=HELLO, finish=True)
            # Without a length there is no body: such a request asks for an empty object.
            self.alike(line, outcomes, outcomes[0].stored[1], refusals=(400,))

    def test_05_encodings(self):
        """a Transfer-Encoding that is not chunked"""
        for encoding in ENCODINGS:
            self.malformed("Transfer-Encoding: " + encoding, tail=HELLO_CHUNKED)

    def test_06_length_and_encoding(self):
        """Transfer-Encoding and Content-Length in one request: no two ways to read it"""
        for lines in (
            (CHUNKED, "Content-Length: 5"),
            ("Content-Length: 5", CHUNKED),
            ("Content-Length: 15", CHUNKED),
            ("Content-Length: x", CHUNKED),
            ("Content-Length: 3", "Transfer-Encoding: xchunked"),
            (CHUNKED, "Transfer-Encoding: identity"),
            (CHUNKED, CHUNKED),
        ):
            self.malformed(*lines, tail=HELLO_CHUNKED, smuggling=False)

    def test_07_chunks(self):
        """chunks that are malformed: nothing of them is stored"""
        for what, chunks in BAD_CHUNKS.items():
            self.cut_short(what, CHUNKED, chunks)

    def test_08_missing_end(self):
        """a body that ends before it says, by a length and by chunks"""
        for what, (line, body) in CUT_SHORT.items():
            self.cut_short(what, line, body)

    def cut_short(self, what, line, tail):
        """The client itself may be gone, so a closed connection is an answer."""
        outcomes = self.sent("PUT", PLAIN, line, tail=tail, finish=True)
        for outcome in outcomes[1:]:
            with self.tried(what, outcome.way):
                self.in_step(outcome)
                self.unharmed(outcome, HELLO)
                if outcome.status not in (None, 400, 408, 413):
                    self.fail("%s, natively %s" % (outcome.told, outcomes[0].told))

    def test_09_chunked(self):
        """proper chunks, with extensions and trailers: stored as they are"""
        for what, chunks in CHUNKS.items():
            for coding in ("chunked", "Chunked", "CHUNKED"):
                outcomes = self.sent("PUT", PLAIN, "Transfer-Encoding: " + coding, tail=chunks)
                self.alike((what, coding), outcomes, HELLO, refusals=(400,))
                if coding == "chunked":
                    native = outcomes[0]
                    self.assertEqual((204, HELLO), (native.status, native.stored[1]), native.told)

    def test_10_digits(self):
        """a length with zeros before it, and lengths beyond any body and any number"""
        self.alike("0005", self.sent("PUT", PLAIN, "Content-Length: 0005", tail=HELLO), HELLO)
        # Riak's own route would wait for all of it.
        for length in ("9" * 20, "9" * 400, "18446744073709551616", "18446744073709551621"):
            line = "Content-Length: " + length
            for way in self.ways[1:]:
                outcome = self.attack(way, lambda target: target.head("PUT", PLAIN, line) + HELLO)
                with self.tried(length, way):
                    self.in_step(outcome)
                    self.unharmed(outcome)
                    self.assertIn(outcome.status, (400, 413), outcome.told)

    def test_11_other_methods(self):
        """bodies where none is expected"""
        for method in ("GET", "DELETE", "HEAD"):
            for line, body in (
                ("Content-Length: 5", HELLO),
                ("Content-Length: 5, 5", HELLO),
                ("Content-Length: x", b""),
                ("Transfer-Encoding: xchunked", b""),
                (CHUNKED, HELLO_CHUNKED),
            ):
                outcomes = self.sent(method, line, tail=body)
                self.alike((method, line), outcomes, None, refusals=(400,), malformed=True)

    def test_12_pipelined(self):
        """two proper requests at once: two answers in order"""
        for way in self.ways:
            key = self.victim()
            path = way.path(self.object_bucket, key)
            put = head("PUT", path, "Host: x", PLAIN, "Content-Length: %d" % len(NEW)) + NEW
            with self.tried(way), Wire(way.url) as wire:
                wire.send(put + head("GET", path, "Host: x"))
                self.assertEqual(204, wire.answer().status, "the first is another")
                self.assertEqual(NEW, wire.answer().body, "the second is another")


class Splits(Attack):
    def split(self, line, body):
        """The same request in two pieces, cut at every byte, on as many connections."""
        for way in self.ways[1:]:
            key = self.victim()
            whole = head("PUT", way.path(self.object_bucket, key), "Host: x", PLAIN, line) + body
            cuts = [(whole[:place], whole[place:]) for place in range(1, len(whole))]
            for pieces in [*cuts, [whole[place : place + 1] for place in range(len(whole))]]:
                with self.tried(way, pieces[0]), Wire(way.url) as wire:
                    wire.send(*pieces)
                    answer = wire.answer("PUT")
                    self.assertEqual(204, answer and answer.status, "not 204")
            with self.tried(way):
                self.assertEqual(HELLO, self.stored(key)[1], "another object is stored")

    def test_13_length(self):
        """a request with a length, split at every byte and into single bytes"""
        self.split("Content-Length: 5", HELLO)

    def test_14_chunks(self):
        """a request in chunks, split at every byte and into single bytes"""
        self.split(CHUNKED, b"2\r\nhe\r\n3;x\r\nllo\r\n0\r\n\r\n")
