"""The default: stand-in nodes of our own, started with the archive unpacked as their patches
directory."""

import os
import shutil
import subprocess
import tarfile
import tempfile

from . import erl
from .cluster import Cluster, Node

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
STANDIN = os.path.join(ROOT, "test", "standin")
EBIN = os.path.join(ROOT, "_build", "standin", "ebin")
CONTROL = os.path.join(os.path.dirname(__file__), "control.escript")


class Controller:
    """An emulator that evaluates Erlang and has the stand-in's modules on its code path."""

    def __init__(self, directory):
        self.process = subprocess.Popen(
            ["escript", CONTROL, EBIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=directory,
            text=True,
            encoding="utf-8",
        )

    def evaluate(self, expression):
        """The value of an expression, where C is the cluster that it was given; before it, what it
        wrote."""
        self.process.stdin.write(expression.replace("\n", " ").rstrip(".") + ".\n")
        self.process.stdin.flush()
        written = ""
        while True:
            answer = self.process.stdout.readline()
            if not answer:
                raise RuntimeError("the stand-in's controller ended")
            before, marker, answer = answer.partition("\x01")
            written += before
            if marker:
                break
        kind, _, rest = answer.rstrip("\n").partition(" ")
        value = rest.encode().decode("unicode_escape").encode("latin-1").decode("utf-8")
        if kind != "ok":
            raise RuntimeError(value[:2000])
        return written + value

    def stop(self):
        try:
            self.process.stdin.close()
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()


class StandinCluster(Cluster):
    is_standin = True
    can_kill = True

    def __init__(self, archive, nodes=4, options=""):
        """`options` are more of standin:start_cluster/1, as the inside of an Erlang map."""
        self.directory = tempfile.mkdtemp(prefix="ringtail-conformance-")
        self.controller = None
        try:
            patches = os.path.join(self.directory, "patches")
            os.mkdir(patches)
            with tarfile.open(archive) as tar:
                tar.extractall(patches)
            subprocess.run([os.path.join(STANDIN, "build")], check=True, stdout=subprocess.DEVNULL)
            self._start(patches, nodes, options)
        except BaseException:
            self.stop()
            raise

    def _start(self, patches, nodes, options):
        given = "#{nodes => %d, patches => [%s]%s}" % (
            nodes,
            quoted(patches),
            ", " + options if options else "",
        )
        self.controller = Controller(self.directory)
        self.control("put(cluster, element(2, {ok, _} = standin:start_cluster(%s)))" % given)
        listed = erl.string(
            self.control(
                'lists:flatten([[atom_to_list(N), " ", U, " ", '
                'try standin:url(C, N, https) catch _:_ -> "-" end, "\\n"] || {N, U} <- '
                'standin:urls(C)])'
            )
        )
        self.nodes = [
            Node(name, url, None if https == "-" else https)
            for name, url, https in (line.split(" ") for line in listed.splitlines())
        ]

    def control(self, expression):
        """The value of an expression in the stand-in's controller, where C is the cluster."""
        return self.controller.evaluate(expression)

    def rpc(self, node, expression):
        name = node if isinstance(node, str) else node.name
        return self.control(
            "standin:rpc(C, '%s', standin_node, eval, [%s])"
            % (name, quoted(expression.rstrip(".") + "."))
        )

    def kill(self, node):
        self.control("standin:kill(C, '%s')" % node.name)

    def start(self, node):
        self.control("standin:restart(C, '%s')" % node.name)

    def reset_traffic(self):
        self.control("standin:reset_traffic(C)")

    def traffic(self):
        """Bytes between the nodes since the last reset."""
        return int(self.control("maps:get(total, standin:traffic(C))"))

    def trust(self):
        """The file with the certificate that signed the nodes' own."""
        return erl.string(self.control("maps:get(cacertfile, standin:tls(C))"))

    def stop(self):
        if self.controller:
            self.controller.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def quoted(text):
    """A text as an Erlang string."""
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')
