"""The ways to one object: Riak's own route at the node that has it, and each kind of ours."""

import dataclasses
import urllib.parse

from conform.case import native, primary


@dataclasses.dataclass
class Way:
    """`path(bucket, key)` is the object's by this way, at `url`."""

    name: str
    url: str
    path: callable

    def __repr__(self):
        return self.name

    @property
    def host(self):
        return urllib.parse.urlsplit(self.url).netloc


def ways(owner, other, standalone=None):
    """The first is Riak's own: what it does is the measure of the others."""
    found = [
        Way("native", owner.url, native),
        Way("owner", owner.url, primary),
        Way("relayed", other.url, primary),
    ]
    if standalone:
        found.append(
            Way(
                "standalone",
                standalone.url,
                lambda bucket, key: primary(bucket, key, standalone.CLUSTER),
            )
        )
    return found
