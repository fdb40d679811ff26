from assault.attack import NEW, OLD, PLAIN, Attack, head
from conform.case import erl_bucket
from conform.erl import binary

TOO_LONG = (400, 413, 414, 431)
SIZES = (1000, 4000, 7000, 8000, 8050, 8100, 8150, 8192, 8300, 16000, 66000)
OF_ONE_NAME = {
    "indexes": "X-Riak-Index-many_bin: %03d" + "y" * 97,
    "metadata": "X-Riak-Meta-Many: %03d" + "y" * 97,
    "links": "Link: </buckets/b/keys/%03d" + "y" * 60 + ">; riaktag=\"t\"",
    "anything": "X-Any: %03d" + "y" * 97,
}
# Names and values of metadata that no HTTP client could have sent.
METADATA = {
    "a blank": (b"a b", b"c"),
    "UTF-8": ("grüße".encode(), "漢字".encode()),
    "a colon": (b"a:b", b"c"),
    "a control character": (b"ctl", b"a\x01b\x7f"),
    "a tab": (b"tab", b"a\tb"),
    "nothing": (b"", b""),
    "Latin-1": (b"l", b"\xfc"),
    "a line end": (b"x", b"a\r\nX-Evil: b"),
    "9,000 bytes": (b"long", b"y" * 9000),
}


class Heads(Attack):
    """As Riak's own route where that is possible, else the 4xx that says what is too long."""

    def test_01_keys(self):
        """long keys, up to where a line of a request ends: all of it is stored or nothing"""
        for size in (255, *SIZES):
            for method, body in (("PUT", NEW), ("GET", b"")):
                # No object of that name is there, and the one beside it must stay as it is.
                outcomes = self.by_every_way(
                    lambda target: head(
                        method,
                        target.path + "x" * size,
                        "Host: x",
                        PLAIN,
                        "Content-Length: %d" % len(body),
                    )
                    + body,
                    method=method,
                )
                self.alike("%s of a key of %d" % (method, size), outcomes, None, TOO_LONG)
                for outcome in outcomes:
                    with self.tried(size, outcome.way):
                        self.assertEqual(OLD, outcome.stored[1], "another object was harmed")

    def test_02_queries(self):
        """long queries"""
        for size in SIZES:
            outcomes = self.put(query="?x=" + "y" * size)
            self.alike("a query of %d" % size, outcomes, refusals=TOO_LONG)

    def test_03_many_headers(self):
        """hundreds of headers"""
        for count in (50, 100, 500, 900, 980, 990, 996, 999, 1000, 1001, 2000, 10000):
            outcomes = self.put(*("X-Any-%d: y" % number for number in range(count)))
            self.alike("%d headers" % count, outcomes, refusals=TOO_LONG)

    def test_04_many_metadata(self):
        """hundreds of metadata headers: all are stored, or none"""
        for count in (10, 100, 300, 980):
            outcomes = self.put(*("X-Riak-Meta-%d: %d" % (n, n) for n in range(count)))
            self.alike("%d metadata" % count, outcomes, refusals=TOO_LONG)
            self.stored_alike("%d metadata" % count, outcomes)

    def test_05_long_headers(self):
        """header lines around 8 KB and over 64 KiB"""
        for size in SIZES:
            for name in ("X-Riak-Meta-Long", "X-Any", "Cookie", "Accept", "If-None-Match"):
                outcomes = self.put("%s: %s" % (name, "y" * size))
                self.alike("%s of %d" % (name, size), outcomes, refusals=TOO_LONG)

    def test_06_long_head(self):
        """heads over 64 KiB of lines that are short enough each"""
        for count in (7, 15, 17, 30, 100):
            outcomes = self.put(*("X-Riak-Meta-%d: %s" % (n, "y" * 4000) for n in range(count)))
            self.alike("a head of %d lines of 4,000" % count, outcomes, refusals=TOO_LONG)

    def test_07_many_of_a_name(self):
        """100 headers of one name and 100 bytes each: as they are, not joined too long"""
        for what, line in OF_ONE_NAME.items():
            for count in (2, 20, 100):
                outcomes = self.put(*(line % number for number in range(count)))
                # Riak itself cannot show the links of an object in a bucket with a type.
                self.alike((count, what), outcomes, None if what == "links" else NEW)
                self.stored_alike((count, what), outcomes)

    def stored_alike(self, what, outcomes):
        for outcome in outcomes[1:]:
            with self.tried(what, outcome.way):
                if outcome.kind == "2xx":
                    self.assertEqual(outcomes[0].stored, outcome.stored, "stored otherwise")


class Stored(Attack):
    """Objects that came by another protocol."""

    def test_08_read(self):
        """names with blanks or UTF-8, values with control characters: read as natively"""
        for what, named in METADATA.items():
            key = self.victim()
            entry = "{%s}" % ", ".join("binary_to_list(%s)" % binary(text) for text in named)
            self.assertEqual(
                "ok",
                self.cluster.rpc(
                    self.owner,
                    (
                        "{ok, Cl} = riak:local_client(), {ok, O} = riak_client:get(%s, %s, Cl), "
                        "M = dict:store(<<\"X-Riak-Meta\">>, [%s], riak_object:get_metadata(O)), "
                        "riak_client:put(riak_object:update_metadata(O, M), Cl)"
                    )
                    % (erl_bucket(self.object_bucket), binary(key), entry),
                ),
            )
            outcomes = self.by_every_way(
                lambda target: head("GET", target.way.path(self.object_bucket, key), "Host: x"),
                method="GET",
            )
            self.alike("metadata with " + what, outcomes, None)
            for outcome in outcomes[1:]:
                with self.tried(what, outcome.way):
                    if outcome.kind == "2xx":
                        self.assertEqual(OLD, outcome.answer.body, "another body")
