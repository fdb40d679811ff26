"""Riak's placement of keys, written again from its rules, so that a case never asks Ringtail what
Ringtail should say."""

import hashlib
import struct

RING_TOP = 2**160


def _binary(data):
    return b"m" + struct.pack(">I", len(data)) + data


def _pair(first, second):
    return b"h\x02" + first + second


def key_hash(bucket_type, bucket, key, keyfun="std"):
    """SHA-1 of the external term format of {Bucket, Key}, or of Bucket alone, as an integer."""
    name = (
        _binary(bucket)
        if bucket_type == b"default"
        else _pair(_binary(bucket_type), _binary(bucket))
    )
    term = name if keyfun == "bucketonly" else _pair(name, _binary(key))
    return int.from_bytes(hashlib.sha1(b"\x83" + term).digest(), "big")


def primaries(owners, n, place):
    """The owners of the n partitions after the one that `place` falls into: [(index, node)].

    `owners` is the cluster preflist in ring order: [(index, node)].
    """
    size = len(owners)
    first = place // (RING_TOP // size) + 1
    return [owners[(first + i) % size] for i in range(min(n, size))]
