"""A cluster that is running already, of real Riak nodes, named by environment variables."""

import os
import shlex
import shutil
import subprocess
import tarfile

from .cluster import Cluster, Node

RPC_S = 180


class RealCluster(Cluster):
    """What the environment says:

    RINGTAIL_NODES      "dev1@10.0.0.1=http://10.0.0.1:8098,dev2@10.0.0.2=http://10.0.0.2:8098"
    RINGTAIL_RPC        command; `COMMAND NODE 'Expr.'` prints the value of Erlang expressions on
                        that node
    RINGTAIL_PATCHES    directories of this machine to install into, separated by colons; absent:
                        the files are there
    RINGTAIL_KILL, RINGTAIL_START   commands; `COMMAND NODE` kills that node, starts it again and
                        waits for riak_kv
    """

    def __init__(self, archive):
        self.command = shlex.split(_needed("RINGTAIL_RPC"))
        self.nodes = [
            Node(*entry.strip().split("=", 1)) for entry in _needed("RINGTAIL_NODES").split(",")
        ]
        self.patches = [part for part in os.environ.get("RINGTAIL_PATCHES", "").split(":") if part]
        self.killer, self.starter = (
            shlex.split(os.environ.get(name, "")) for name in ("RINGTAIL_KILL", "RINGTAIL_START")
        )
        self.can_kill = bool(self.killer and self.starter)
        self.installed = []
        for directory in self.patches:
            self._install(archive, directory)

    def _install(self, archive, directory):
        with tarfile.open(archive) as tar:
            present = [
                name for name in tar.getnames() if os.path.exists(os.path.join(directory, name))
            ]
            if present:
                raise SystemExit(
                    "conformance: %s has files of an installation already (%s...): remove them, or "
                    "leave "
                    "RINGTAIL_PATCHES away to test that one" % (directory, present[0])
                )
            self.installed += [os.path.join(directory, name) for name in tar.getnames()]
            tar.extractall(directory)

    def rpc(self, node, expression):
        name = node if isinstance(node, str) else node.name
        done = subprocess.run(
            self.command + [name, expression.rstrip(".") + "."],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RPC_S,
        )
        if done.returncode != 0:
            raise RuntimeError("on %s: %s" % (name, (done.stderr or done.stdout).strip()[:2000]))
        return done.stdout.strip()

    def kill(self, node):
        subprocess.run(
            self.killer + [node.name],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def start(self, node):
        subprocess.run(
            self.starter + [node.name],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def stop(self):
        """Ringtail is stopped and forgotten by the nodes, and its files are removed."""
        for node in self.nodes:
            self.rpc(node, "catch ringtail:stop()")
            if self.patches:
                self.rpc(node, FORGET)
        for path in self.installed:
            if os.path.exists(path):
                os.remove(path)


# The modules leave the node's memory too, so that the next run loads what it installs.
FORGET = (
    "application:unload(ringtail), [begin code:purge(M), code:delete(M), code:purge(M) end || "
    "{M, _} <- code:all_loaded(), lists:prefix(\"ringtail\", atom_to_list(M))], ok"
)


def _needed(name):
    value = os.environ.get(name)
    if not value:
        raise SystemExit("conformance: set %s too (see test/conformance/README.md)" % name)
    return value
