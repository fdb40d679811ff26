"""HTTP as a client library would speak it, and, for malformed requests, as none would."""

import http.client
import json
import socket
import ssl
import time
import urllib.parse


class Answer:
    """Status, headers (names in lower case, in order, repeated ones kept) and body."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = [(name.lower(), value) for name, value in headers]
        self.body = body

    def all(self, name):
        return [value for given, value in self.headers if given == name.lower()]

    def __getitem__(self, name):
        """The header's value, or None."""
        return (self.all(name) or [None])[0]

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %r %r" % (self.status, self.headers, self.body[:300])


def quote(data):
    """Bytes as one segment of a path."""
    return urllib.parse.quote(data, safe="")


class Client:
    """One kept-alive connection to one address."""

    def __init__(self, url, timeout=90, trust=None):
        parts = urllib.parse.urlsplit(url)
        self.url = url
        self.host, self.port, self.scheme, self.timeout = (
            parts.hostname,
            parts.port,
            parts.scheme,
            timeout,
        )
        if self.scheme == "https":
            context = ssl.create_default_context(cafile=trust)
            self.connection = http.client.HTTPSConnection(
                self.host, self.port, timeout=timeout, context=context
            )
        else:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, method, path, headers=(), body=None):
        """`headers` is a dictionary or a list of pairs; nothing is added but Host and
        Content-Length."""
        pairs = list(headers.items()) if isinstance(headers, dict) else list(headers)
        names = {name.lower() for name, _ in pairs}
        for attempt in (1, 2):
            try:
                self.connection.putrequest(
                    method, path, skip_host="host" in names, skip_accept_encoding=True
                )
                break
            except (http.client.CannotSendRequest, ConnectionError):
                self.connection.close()
                if attempt == 2:
                    raise
        if body is not None and "content-length" not in names and "transfer-encoding" not in names:
            pairs.append(("Content-Length", str(len(body))))
        for name, value in pairs:
            self.connection.putheader(name, value)
        try:
            self.connection.endheaders()
            if body:
                self.connection.send(body)
            response = self.connection.getresponse()
            answer = Answer(response.status, response.getheaders(), response.read())
        except Exception:
            self.connection.close()
            raise
        return answer

    def close(self):
        self.connection.close()


def ask(url, method, path, headers=(), body=None, timeout=90, trust=None):
    """One request on a connection of its own."""
    client = Client(url, timeout, trust)
    try:
        return client.ask(method, path, headers, body)
    finally:
        client.close()


def raw(url, data, timeout=20):
    """Sends these bytes; all that comes back until the other side closes or says no more for a
    second."""
    parts = urllib.parse.urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=timeout) as connection:
        connection.sendall(data)
        received = b""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            connection.settimeout(1.0 if received else timeout)
            try:
                piece = connection.recv(65536)
            except (socket.timeout, ConnectionError):
                break
            if not piece:
                break
            received += piece
    return received
