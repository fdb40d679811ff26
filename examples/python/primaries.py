#!/usr/bin/env python3
"""Go straight to a primary of a key: fetch the map, hash, ask, follow changes.

Standard library only.

primaries.py http://127.0.0.1:8098              stores and reads 100 objects, says where they went
primaries.py --check client-side-hashing-vectors.json
"""

import hashlib
import http.client
import json
import random
import struct
import sys
import time
from urllib.parse import quote, urlsplit


def binary(data):
    return b"\x6d" + struct.pack(">I", len(data)) + data


def key_hash(bucket_type, bucket, key, keyfun="std"):
    """SHA-1 of Erlang's external term format of what Riak hashes, as an integer of 160 bits."""
    name = (
        binary(bucket)
        if bucket_type == b"default"
        else b"\x68\x02" + binary(bucket_type) + binary(bucket)
    )
    term = name if keyfun == "bucketonly" else b"\x68\x02" + name + binary(key)
    return int.from_bytes(hashlib.sha1(b"\x83" + term).digest(), "big")


def positions(hash_, ring_size, n_val):
    first = hash_ // (2**160 // ring_size) + 1
    return [(first + step) % ring_size for step in range(n_val)]


class Cluster:
    def __init__(self, seed):
        self.connections = {}
        self.properties = {}
        where = urlsplit(seed)
        self.take_in(self.topology(where.hostname, where.port))

    # ---- the map ----

    def topology(self, host, port, since=None):
        connection = http.client.HTTPConnection(host, port, timeout=10)
        path = "/explore/clusters/default/topology"
        connection.request("GET", path + (f"?from={since}" if since else ""))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{host}:{port} answers {answer.status}: is Ringtail started there?")
        return json.loads(body)

    def take_in(self, document):
        if document["full"]:
            self.members = {member["uuid"]: member for member in document["members"]}
            self.owners = dict(document["owners"])
        else:
            for uuid in document["left"]:
                del self.members[uuid]
            for member in document["changed"] + document["joined"]:
                self.members[member["uuid"]] = member
            self.owners.update(document["owners"])
        self.token, self.ring_size, self.up = (
            document["token"],
            document["ring_size"],
            set(document["up"]),
        )

    def endpoint(self, uuid):
        return next(
            (
                (e["host"], e["port"])
                for e in self.members[uuid]["endpoints"]
                if e["protocol"] == "http"
            ),
            None,
        )

    def refresh(self):
        for uuid in random.sample(sorted(self.members), len(self.members)):
            if self.endpoint(uuid):
                try:
                    return self.take_in(self.topology(*self.endpoint(uuid), since=self.token))
                except OSError:
                    continue
        raise RuntimeError("no known node answers; start again from the seeds")

    # ---- a key ----

    def primaries(self, bucket_type, bucket, key):
        n_val, keyfun = self.bucket_properties(bucket_type, bucket)
        increment = 2**160 // self.ring_size
        owners = [
            self.owners[str(p * increment)]
            for p in positions(key_hash(bucket_type, bucket, key, keyfun), self.ring_size, n_val)
        ]
        return list(dict.fromkeys(owners))

    def bucket_properties(self, bucket_type, bucket):
        kept = self.properties.get((bucket_type, bucket))
        if kept is None or kept[0] < time.monotonic():
            uuid = random.choice([u for u in self.up if self.endpoint(u)])
            answer, body = self.ask(
                uuid, "GET", f"/types/{quote(bucket_type, '')}/buckets/{quote(bucket, '')}/props"
            )
            props = json.loads(body)["props"]
            keyfun = {"chash_std_keyfun": "std", "chash_bucketonly_keyfun": "bucketonly"}.get(
                props["chash_keyfun"]["fun"]
            )
            if keyfun is None:
                raise RuntimeError(
                    "a custom keyfun runs on Riak's nodes only: ask any of them, with route=proxy"
                )
            kept = (time.monotonic() + 60, props["n_val"], keyfun)
            self.properties[bucket_type, bucket] = kept
        return kept[1:]

    def ask(self, uuid, method, path, body=None, headers={}):
        """One request to one node, on a connection that is kept. A broken one is opened anew for
        reads only."""
        kept = self.connections.get(uuid)
        if kept is None or (kept.host, kept.port) != self.endpoint(uuid):
            kept = self.connections[uuid] = http.client.HTTPConnection(
                *self.endpoint(uuid), timeout=10
            )
        try:
            kept.request(method, path, body, headers)
            answer = kept.getresponse()
            return answer, answer.read()
        except (OSError, http.client.HTTPException):
            kept.close()
            del self.connections[uuid]
            raise

    def request(self, method, bucket_type, bucket, key, body=None, headers={}):
        path = (
            f"/riak/primary/clusters/default/types/{quote(bucket_type, '')}"
            f"/buckets/{quote(bucket, '')}/keys/{quote(key, '')}"
        )
        for _ in range(5):
            choice = [
                u
                for u in self.primaries(bucket_type, bucket, key)
                if u in self.up and self.endpoint(u)
            ]
            if not choice:
                time.sleep(0.5)
                self.refresh()
                continue
            uuid = random.choice(choice)
            try:
                answer, data = self.ask(
                    uuid, method, path, body, {"X-Ringtail-Route": "local", **headers}
                )
            except (OSError, http.client.HTTPException) as broken:
                # Nothing was sent, or nothing can have changed: another primary may be asked.
                if method == "GET" or isinstance(broken, ConnectionRefusedError):
                    self.refresh()
                    continue
                raise
            if answer.headers["X-Ringtail-Node"] != uuid:
                raise RuntimeError(f"{self.endpoint(uuid)} is not the node it should be")
            misdirected = answer.status == 421
            if misdirected:
                self.properties.pop((bucket_type, bucket), None)
            if misdirected or answer.headers["X-Ringtail-Topology"] != self.token:
                self.refresh()
            if not misdirected and answer.status != 503:
                return answer, data, self.members[uuid]["name"]
        raise RuntimeError("no primary served the request")


def check(file):
    """Compares this file's arithmetic with the test vectors."""
    with open(file) as vectors:
        vectors = json.load(vectors)
    for vector in vectors:
        hash_ = key_hash(
            *(bytes.fromhex(vector[part]) for part in ("type", "bucket", "key")), vector["keyfun"]
        )
        assert str(hash_) == vector["hash"], vector
        assert positions(hash_, vector["ring_size"], vector["n_val"]) == vector["positions"], vector
    print(f"{len(vectors)} vectors agree")


def main(seed):
    cluster = Cluster(seed)
    print(f"{len(cluster.members)} nodes, {cluster.ring_size} partitions, token {cluster.token}")
    served = {}
    for number in range(100):
        key = f"python/{number} +é".encode()
        answer, _, _ = cluster.request(
            "PUT",
            b"default",
            b"examples",
            key,
            b"object %d" % number,
            {"Content-Type": "text/plain"},
        )
        assert answer.status == 204, answer.status
        answer, data, node = cluster.request("GET", b"default", b"examples", key)
        assert (answer.status, data) == (200, b"object %d" % number), answer.status
        served[node] = served.get(node, 0) + 1
        cluster.request("DELETE", b"default", b"examples", key)
    for node, count in sorted(served.items()):
        print(f"{count:4} objects read from {node}, a primary")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        check(sys.argv[2])
    elif len(sys.argv) == 2 and sys.argv[1].startswith("http://"):
        main(sys.argv[1])
    else:
        sys.exit(__doc__)
