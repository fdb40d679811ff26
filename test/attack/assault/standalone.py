"""A VM without Riak that serves the cluster's routes beside it, as Riak Explorer does."""

import os
import shutil
import tarfile
import tempfile

from conform import erl, http
from conform.cluster import await_true
from conform.standin import Controller, quoted

# Clients that stall must lose their places while an attack lasts.
PAUSE_MS = 5000


class Standalone:
    CLUSTER = "attacked"

    def __init__(self, archive, seeds):
        """`archive` is ours; `seeds` are addresses of the cluster's nodes."""
        self.directory = tempfile.mkdtemp(prefix="ringtail-attack-")
        self.controller = None
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(self.directory)
            self.controller = Controller(self.directory)
            clusters = "[{%s, [%s]}]" % (self.CLUSTER, ", ".join(quoted(seed) for seed in seeds))
            self.url = erl.string(
                self.controller.evaluate(
                    "put(vm, element(2, {ok, _} = standin_bare:start(#{patches => [%s], "
                    "env => [{ringtail, [{client_pause, %d}, {clusters, %s}]}]}))), "
                    "standin_bare:url(get(vm))" % (quoted(self.directory), PAUSE_MS, clusters)
                )
            )
            said = self.rpc("ringtail:start()")
            if said != "ok":
                raise RuntimeError("ringtail:start() without Riak said %s" % said)
            await_true(self.serves, "the VM without Riak does not serve the cluster")
        except BaseException:
            self.stop()
            raise

    def __repr__(self):
        return "the VM without Riak"

    def serves(self):
        path = "/explore/clusters/%s/preflist" % self.CLUSTER
        return http.ask(self.url, "GET", path).status == 200

    def rpc(self, expression):
        """The value of an Erlang expression in the VM, as ~p prints it."""
        return self.controller.evaluate(
            "{ok, Tokens, _} = erl_scan:string(%s), {ok, Forms} = erl_parse:parse_exprs(Tokens), "
            "element(2, standin_bare:rpc(get(vm), erl_eval, exprs, [Forms, []]))"
            % quoted(expression.rstrip(".") + ".")
        )

    def stop(self):
        if self.controller:
            try:
                self.controller.evaluate("catch standin_bare:stop(get(vm))")
            except (RuntimeError, OSError):
                pass  # it ended before
            self.controller.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def possible(archive):
    return archive is not None and os.path.exists(archive)
