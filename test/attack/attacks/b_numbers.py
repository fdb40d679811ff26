from assault.attack import Attack
from conform.case import TYPE, key_preflist, preflist, primary

NUMBERS = [
    "-1",
    "0",
    "2147483647",
    "2147483648",
    "4294967294",
    "4294967295",
    "4294967296",
    "4294967297",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "9" * 20,
    "9" * 1000,
    "-" + "9" * 20,
    "1e3",
    "0x10",
    "%205",
    "5%20",
    "%2B5",
    "+5",
    "5.0",
    "",
    "%D9%A5",
    "NaN",
]
READS = ["timeout", "r", "pr", "n_val", "basic_quorum", "notfound_ok", "node_confirms", "vtag"]
WRITES = [
    "timeout",
    "w",
    "dw",
    "pw",
    "n_val",
    "returnbody",
    "asis",
    "node_confirms",
    "sloppy_quorum",
]
DELETES = ["timeout", "rw", "r", "w", "pr", "pw", "dw"]
HEADERS = [
    "X-Riak-Vclock",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "Range",
    "Max-Forwards",
    "X-Ringtail-Route",
    "X-Ringtail-Forwarded",
    "X-Ringtail-Topology",
    "Keep-Alive",
    "Age",
    "Accept",
    "Accept-Encoding",
    "If-Match",
    "If-None-Match",
    "X-Riak-If-Not-Modified",
]
VALUES = [
    "9" * 20,
    "-1",
    "bytes=0-" + "9" * 20,
    "*/*;q=" + "9" * 400,
    "Fri, 31 Dec 99999 23:59:60 GMT",
    "gzip;q=-1",
    "4294967296-0123456789abcdef",
]
QUERIES = [
    "?",
    "?&",
    "?=",
    "?timeout",
    "?timeout=",
    "?timeout=1000&timeout=x",
    "?%",
    "?r=%zz",
    "?r=1;w=2",
    "?" + "&".join(["r=1"] * 500),
    "??r=1",
    "?r=one#x",
    "?route=",
    "?route=nowhere",
    "?route=" + "p" * 3000,
]
TOKENS = [
    "0-0",
    "-1-0123456789abcdef",
    "9" * 20 + "-0123456789abcdef",
    "1-" + "f" * 400,
    "%00",
    "18446744073709551615-0123456789abcdef",
    "%FF",
    "1-0123456789ABCDEF",
]


class Numbers(Attack):
    """No number of a caller's does more than to refuse his own request."""

    def test_01_get(self):
        """numbers at and over each bound in the query of a GET"""
        self.each("GET", READS)

    def test_02_put(self):
        """the same of a PUT: the object is the old one or the new"""
        self.each("PUT", WRITES)

    def test_03_delete(self):
        """the same of a DELETE"""
        self.each("DELETE", DELETES)

    def each(self, method, names):
        for name in names:
            for number in NUMBERS:
                query = "?%s=%s" % (name, number)
                outcomes, new = self.asked(method, query=query)
                # Without any time left Riak may have done it or not; a VM without it does not try.
                refusals = (400, 503) if query in ("?timeout=0", "?timeout=-1") else (400,)
                # A deleted object is gone, and one whose delete timed out may be.
                self.alike((method, query), outcomes, None if method == "DELETE" else new, refusals)

    def test_04_headers(self):
        """numbers in headers"""
        for name in HEADERS:
            for value in VALUES:
                for method in ("GET", "PUT"):
                    line = "%s: %s" % (name, value)
                    outcomes, new = self.asked(method, line)
                    self.alike((method, line), outcomes, new, refusals=(400,))

    def test_05_queries(self):
        """queries that are none, or hold a name many times"""
        for query in QUERIES:
            outcomes, new = self.asked("GET", query=query)
            self.alike(query, outcomes, new, refusals=(400,))


class Documents(Attack):
    """The routes that answer with documents of ours: never a 5xx for what somebody asks."""

    def told(self, url, path):
        with self.tried(path):
            answer = self.cluster.ask(url, "GET", path)
            said = "%d %r" % (answer.status, answer.body[:100])
            self.assertIn(answer.status // 100, (2, 3, 4), said)
            if answer.status // 100 == 4:
                self.assertIn("application/json", answer["content-type"] or "", said)
                self.assertTrue(answer.json()["message"], said)

    def test_06_documents(self):
        """numbers and junk in paths and queries of the documents"""
        self.documents(self.other, "default")
        if self.standalone:
            self.documents(self.standalone, self.standalone.CLUSTER)

    def documents(self, place, cluster):
        topology = "/explore/clusters/%s/topology" % cluster
        for value in NUMBERS + TOKENS:
            for query in ("?from=" + value, "?to=" + value, "?from=-1&to=" + value):
                self.told(place, topology + query)
            self.told(place, preflist("?format=" + value, cluster=cluster))
            self.told(place, "/ringtail?cluster=" + value)
            self.told(place, "/ringtail/status?cluster=" + value)
        for key in (b"\x00", b"\xff" * 200, b"x" * 4000, b"/", b".."):
            self.told(place, key_preflist((TYPE, b"b"), key, cluster=cluster))
            self.told(place, key_preflist((TYPE, key), b"k", cluster=cluster))
            self.told(place, key_preflist((key, b"b"), b"k", cluster=cluster))
        for name in ("%00", "%FF%FE", "x" * 4000, "%2F", "..", "%0d%0aX-Evil:%20y"):
            self.told(place, preflist(cluster=name))
            self.told(place, primary((TYPE, b"b"), b"k", cluster=name))
