"""One connection on which any bytes are sent, and what comes back on it."""

import itertools
import re
import select
import socket
import urllib.parse

from conform.http import Answer

# An answer may take long on a machine with much else to do. What hangs, hangs longer than this.
ANSWER_S = 30
_numbers = itertools.count(1)


class Silence(AssertionError):
    """Neither an answer nor the end of the connection."""


class Wire:
    def __init__(self, url, timeout=ANSWER_S, receive_buffer=None):
        parts = urllib.parse.urlsplit(url)
        self.received, self.interim, self.ended = b"", [], False
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect((parts.hostname, parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, *pieces):
        """Whether all of it could be sent: the other side may have closed in the middle."""
        try:
            for piece in pieces:
                self.socket.sendall(piece)
            return True
        except ConnectionError:
            return False

    def finish(self):
        """No more will be sent."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # closed from the other side already

    def wait(self, seconds):
        """Until something comes back, at most so long."""
        if not self.received:
            select.select([self.socket], [], [], seconds)

    def peek(self):
        """What has come back, which is still to be read."""
        return self.socket.recv(65536, socket.MSG_PEEK)

    # ---- What comes back ----

    def answer(self, method="GET"):
        """The next final answer; None where the connection ended before it began."""
        while True:
            head = self._until(b"\r\n\r\n")
            if head is None:
                if self.received:
                    raise AssertionError("the connection ended in %r" % self.received[:300])
                return None
            # A value may be continued on the next line.
            lines = re.sub("\r\n[ \t]+", " ", head.decode("latin-1")).split("\r\n")
            found = re.fullmatch(r"HTTP/1\.[01] (\d{3})( .*)?", lines[0])
            if not found:
                raise AssertionError("no status line: %r" % head[:300])
            status = int(found.group(1))
            headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:-2]]
            if status // 100 != 1:
                answer = Answer(status, headers, b"")
                answer.body = self._body(answer, method)
                return answer
            self.interim.append(status)

    def _body(self, answer, method):
        if method == "HEAD" or answer.status in (204, 304):
            return b""
        if (answer["transfer-encoding"] or "").lower() == "chunked":
            return self._chunks()
        if answer["content-length"] is not None:
            return self._exactly(int(answer["content-length"]))
        while self._more():
            pass
        body, self.received = self.received, b""
        return body

    def _chunks(self):
        body = b""
        while size := int(self._line().split(b";")[0], 16):
            body += self._exactly(size)
            self._line()
        while self._line():
            pass
        return body

    def _line(self):
        line = self._until(b"\r\n")
        if line is None:
            raise AssertionError("the connection ended in the middle of a body")
        return line[:-2]

    def _until(self, mark):
        while mark not in self.received:
            if not self._more():
                return None
        before, _, self.received = self.received.partition(mark)
        return before + mark

    def _exactly(self, size):
        while len(self.received) < size:
            if not self._more():
                raise AssertionError("%d of %d bytes" % (len(self.received), size))
        body, self.received = self.received[:size], self.received[size:]
        return body

    def _more(self):
        try:
            piece = self.socket.recv(65536)
        except TimeoutError:
            raise Silence("no answer and no end; so far %r" % self.received[:300]) from None
        except ConnectionError:
            piece = b""
        self.received += piece
        self.ended = not piece
        return bool(piece)

    # ---- The state of the connection after an answer ----

    def afterwards(self, path, body):
        """`closed', or `usable': the next request, for the object at `path`, gets its own answer.
        What comes in between would be an answer to bytes that are no request."""
        if not self.ended:
            host = "probe-%d" % next(_numbers)
            self.send(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path.encode(), host.encode()))
        try:
            answer = self.answer()
        except Silence:
            return "silent: the next request gets no answer"
        except AssertionError as error:
            return "out of step: %s" % error
        if answer is None:
            return "closed"
        if (answer.status, answer.body) != (200, body):
            got = answer.status, answer.body[:60]
            return "out of step: another request was answered %d %r" % got
        return "usable"
