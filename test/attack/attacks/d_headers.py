from assault.attack import NEW, OLD, PLAIN, PROBE, Attack, head
from assault.wire import ANSWER_S, Wire

OWN_PAGE = [
    ["Referer: http://HOST/explore/"],
    ["Referer: http://HOST/"],
    ["Origin: http://HOST"],
    ["Referer: http://HOST/x?y=z", "Origin: http://HOST"],
]
FOREIGN_PAGE = [
    "Referer: http://evil.example:80/",
    "Referer: http://evil.example/",
    "Referer: x",
    "Referer: https://HOST/",
    "Referer: http://HOST",
    "Referer: ",
    "Referer: ://:",
    "Referer: http://[::1]:8098/",
    "Referer: http://user:secret@HOST/",
    "Origin: http://evil.example",
    "Origin: http://evil.example:8098",
    "Origin: x",
    "Origin: null",
]
FORWARDED = [
    ["X-Forwarded-For: 1.2.3.4"],
    ["X-Forwarded-For: 127.0.0.1"],
    ["X-Forwarded-For: "],
    ["X-Forwarded-For: ::1, x, 1.2.3"],
    ["Forwarded: for="],
    ["Forwarded: for=1.2.3.4;host=evil.example;proto=https"],
    ["Forwarded: for=\"[2001:db8::1]:80\""],
    ["X-Real-IP: 1.2.3.4"],
    ["X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https"],
    ["X-Forwarded-For: " + ", ".join("10.0.0.%d" % n for n in range(250))],
    ["Via: 1.1 here, 1.0 there"],
    ["X-Ringtail-Forwarded: 0"],
    ["X-Ringtail-Node: x"],
]
CONNECTION = [
    "authorization",
    "content-type",
    "content-length",
    "host",
    "transfer-encoding",
    "x-riak-vclock",
    "keep-alive",
    "close",
    "close, keep-alive",
    "upgrade",
    "x-ringtail-route",
    "",
    ",",
    "te",
    "y" * 3000,
    "Keep-Alive, Content-Type, Content-Length, Host",
]
ODD = [
    "Accept: text/plain;version=0.0.4",
    "Accept: application/json;charset=utf-8",
    "Accept: */*;q=0",
    "Accept: x",
    "Accept: ",
    "Accept: text/plain;;q=1",
    "Accept: text/plain, */*;q=0.1",
    "Accept-Encoding: identity;q=0",
    "Accept-Encoding: *;q=0",
    "Accept-Encoding: gzip;q=1.0, *;q=0",
    "Accept-Charset: x",
    "Accept-Charset: *;q=0",
    "Content-Encoding: gzip",
    "Content-MD5: x",
    "Content-MD5: " + "A" * 24,
    "Content-Range: bytes 0-1/2",
    "If-Match: x",
    "If-None-Match: x",
    "If-Modified-Since: x",
    "X-HTTP-Method-Override: DELETE",
    "X-Riak-ClientId: \x80\xff",
    "Cookie: \x01",
    "Authorization: Basic !!!",
    "Authorization: x",
    "X-Riak-Vclock: x",
    "X-Riak-Deleted: true",
    "X-Riak-Index-a_int: x",
    "X-Riak-Index-b_bin: y",
    "Link: x",
    "Link: </buckets/b/keys/k>",
    "X-Ringtail-Route: x",
    "Host: other.example",
    "Host: x:y:z",
    "Host: ",
    "X-Riak-Meta-A: gr\u00fc\u00dfe",
    "Upgrade: websocket",
    "TE: gzip",
]
TWICE = [
    ("Content-Type: text/plain", "Content-Type: text/html"),
    ("Host: a", "Host: b"),
    ("If-None-Match: *", "If-None-Match: x"),
    ("X-Riak-Vclock: a", "X-Riak-Vclock: b"),
    ("Authorization: Basic eDp5", "Authorization: Basic eTp4"),
    ("Accept: x/y", "Accept: */*"),
    ("X-Ringtail-Route: proxy", "X-Ringtail-Route: redirect"),
    ("Connection: close", "Connection: x"),
    ("X-Riak-Meta-A: 1", "X-Riak-Meta-A: 2"),
    ("X-Riak-Index-a_bin: 1", "X-Riak-Index-a_bin: 2"),
]
METHODS = [
    "OPTIONS",
    "TRACE",
    "PATCH",
    "BREW",
    "get",
    "put",
    "CONNECT",
    "PROPFIND",
    "M" * 1000,
    "HEAD",
]


class Headers(Attack):
    """What a header means for this hop ends here; for Riak it means the same by every way."""

    def each(self, lines, refusals=()):
        for method in ("GET", "PUT"):
            outcomes, new = self.asked(method, *lines)
            self.alike((method, lines), outcomes, new, refusals)

    def test_01_own_page(self):
        """Referer and Origin of a page on the host that is asked: any page in Explorer"""
        for lines in OWN_PAGE:
            self.each(lines)

    def test_02_foreign_page(self):
        """Referer and Origin of another page, with a port and without"""
        for line in FOREIGN_PAGE:
            for method in ("GET", "PUT"):
                outcomes, new = self.asked(method, line)
                # The VM without Riak is not the host that Riak's own judgement is about.
                here = [outcome for outcome in outcomes if outcome.way.name != "standalone"]
                self.alike((method, line), here, new, (403,))
                for outcome in outcomes[len(here) :]:
                    with self.tried(method, line, outcome.way):
                        self.in_step(outcome)
                        self.unharmed(outcome, new)
                        self.assertIn(outcome.kind, ("2xx", "4xx"), outcome.told)

    def test_03_forwarded(self):
        """X-Forwarded-* and Forwarded of a client, proper and not"""
        for lines in FORWARDED:
            self.each(lines)

    def test_04_connection(self):
        """Connection names headers that belong to the request"""
        for value in CONNECTION:
            # What is named is for this hop: a write that names its type has none afterwards.
            for more in ([], ["Authorization: Basic eDp5", "Upgrade: h2c", "TE: trailers"]):
                self.each(["Connection: " + value, *more], (400,))

    def test_05_odd(self):
        """headers that are odd in themselves"""
        for line in ODD:
            self.each([line], (400,))

    def test_06_two_of_a_name(self):
        """one header twice"""
        for lines in TWICE:
            self.each(lines, (400,))

    def test_07_methods(self):
        """methods that the route does not know, and some that are none"""
        for method in METHODS:
            for lines, body in (([], b""), ([PLAIN, "Content-Length: 5"], b"hello")):
                outcomes = self.sent(method, *lines, tail=body)
                self.alike((method, lines), outcomes, OLD, refusals=(400, 405, 501))

    def test_08_versions(self):
        """other versions of HTTP"""
        for version in ("1.0", "1.1", "0.9", "1.2", "2.0", "9.9", "99.99"):
            outcomes = self.sent("GET", "Connection: close", version=version, finish=True)
            self.alike("HTTP/" + version, outcomes, OLD, refusals=(400, 505))


class Expectations(Attack):
    def test_09_expect(self):
        """Expect in every spelling: 100 or a final answer, whether the client waits or not"""
        for value in (
            "100-continue",
            "100-Continue",
            "100-CONTINUE",
            "200-ok",
            "",
            "100",
            "100-continue, x",
        ):
            line = "Expect: " + value
            self.alike(line, self.put(line), refusals=(400, 417))

            def in_two(target, line=line):
                whole = target.put(line)
                return [whole[: -len(NEW)], whole[-len(NEW) :]]

            # Who waits sends the body after a 100, or after half a second without any.
            outcomes = self.by_every_way(in_two, pause=0.5)
            self.alike(line + " and waits", outcomes, refusals=(400, 417))

    def test_10_refused(self):
        """a final answer instead of a 100: no byte of the body is taken for another request"""
        body = b"GET /ping HTTP/1.1\r\nHost: smuggled\r\n\r\n"
        lines = [
            "Host: x",
            PLAIN,
            "Content-Length: %d" % len(body),
            "If-None-Match: *",
            "Expect: 100-continue",
        ]
        for query, wanted in (
            ("?route=nowhere", 400),
            ("?w=x", 400),
            ("?timeout=x", 400),
            ("", 412),
        ):
            for way in self.ways[1:]:
                path = way.path(self.object_bucket, self.victim()) + query
                with self.tried(query, way), Wire(way.url) as wire:
                    wire.send(head("PUT", path, *lines))
                    wire.wait(ANSWER_S)
                    if wire.peek().startswith(b"HTTP/1.1 100"):
                        wire.send(body)
                        answer = wire.answer("PUT")
                    else:
                        # The body all the same, as a client may that did not wait long enough.
                        answer = wire.answer("PUT")
                        wire.send(body)
                    self.assertEqual(wanted, answer.status, str(answer.status))
                    after = wire.afterwards(way.path(self.object_bucket, self.probe), PROBE)
                    self.assertIn(after, ("closed", "usable"), after)
