"""Clients that do nothing odd and must be served while others attack."""

import threading

from conform import http

PAUSE_S = 0.05


class Neighbour(threading.Thread):
    """Reads one object by each way, over and over; what was not right is kept."""

    def __init__(self, ways, bucket, key, body):
        super().__init__(daemon=True)
        self.wanted = [(way, way.path(bucket, key)) for way in ways]
        self.body = body
        self.served = {way.name: 0 for way in ways}
        self.wrong = []
        self.ending = threading.Event()

    def run(self):
        while not self.ending.wait(PAUSE_S):
            for way, path in self.wanted:
                try:
                    answer = http.ask(way.url, "GET", path)
                except OSError as error:
                    self.wrong.append("%s: %r" % (way, error))
                    continue
                if (answer.status, answer.body) != (200, self.body):
                    self.wrong.append("%s: %r" % (way, answer))
                else:
                    self.served[way.name] += 1

    def take(self):
        """How many were served by each way so far, and what was wrong since the last time."""
        wrong, self.wrong = self.wrong, []
        return dict(self.served), wrong

    def end(self):
        self.ending.set()
        self.join()
