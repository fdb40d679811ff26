"""Erlang expressions as text, and what an evaluation prints."""

import re


def binary(data):
    """Bytes as an Erlang binary literal, whatever is in them."""
    if isinstance(data, str):
        data = data.encode()
    return "<<" + ",".join(str(byte) for byte in data) + ">>"


def bucket(bucket_type, name):
    """A bucket as riak_core names it: a binary for the type `default`, else a pair."""
    if bucket_type == b"default":
        return binary(name)
    return "{%s,%s}" % (binary(bucket_type), binary(name))


def string(printed):
    """The text of a string that was printed by ~p, which breaks long ones over lines."""
    printed = printed.strip()
    if printed == "[]":
        return ""
    pieces = re.findall(r'"((?:[^"\\]|\\.)*)"', printed, re.S)
    if not pieces:
        raise ValueError("not a string: " + printed[:200])
    escapes = {"n": "\n", "t": "\t", "r": "\r", "s": " "}
    return re.sub(r"\\(.)", lambda m: escapes.get(m.group(1), m.group(1)), "".join(pieces))
