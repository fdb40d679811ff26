"""Finds cases, runs them one after the other on the cluster they share, and says a line each."""

import argparse
import importlib
import os
import subprocess
import time
import traceback
import unittest

from .case import TYPE, Case
from .cluster import Cluster, await_true
from .real import RealCluster
from .standin import StandinCluster

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def parser(description):
    made = argparse.ArgumentParser(description=description)
    made.add_argument(
        "--archive", help="the archive to install; default: what scripts/bundle makes"
    )
    made.add_argument("--engine", choices=["nif", "port"], help="what computes hashes")
    made.add_argument("-k", metavar="TEXT", action="append", help="only cases that are named so")
    made.add_argument("--list", action="store_true", help="name the cases and stop")
    made.add_argument("-v", action="store_true", help="show the whole traceback of a failure")
    return made


def main(made_parser, found, play, standin_options=""):
    """The exit status. `play(cases, verbose)` runs the chosen ones on the cluster."""
    options = made_parser.parse_args()
    cases = [
        case for case in found if not options.k or any(text in name(case) for text in options.k)
    ]
    if not cases:
        made_parser.error("no case has that in its name")
    if options.list:
        print("\n".join(name(case) for case in cases))
        return 0

    real = "RINGTAIL_NODES" in os.environ
    archive = options.archive
    if archive is None and (not real or os.environ.get("RINGTAIL_PATCHES")):
        archive = bundle()
    cluster = RealCluster(archive) if real else StandinCluster(archive, options=standin_options)
    try:
        Case.cluster, Case.archive, Cluster.engine = cluster, archive, options.engine
        prepare(cluster)
        result = play(cases, options.v)
    finally:
        cluster.stop()
    print("%d passed, %d failed" % (result.passed, len(result.failed)))
    return 1 if result.failed else 0


def bundle():
    made = subprocess.run(
        [os.path.join(ROOT, "scripts", "bundle")], check=True, capture_output=True, text=True
    )
    return os.path.join(ROOT, made.stdout.strip().splitlines()[-1])


def prepare(cluster):
    """Ringtail runs on every node, and the bucket type is there."""
    first = cluster.nodes[0]
    Case.before = {node.name: Case.snapshot(cluster, node) for node in cluster.nodes}
    for node in cluster.nodes:
        cluster.start_ringtail(node)
    cluster.await_serving()
    path = "/types/%s/buckets/x/props" % TYPE.decode()
    if cluster.ask(first, "GET", path).status == 404:
        bucket_type = "<<\"%s\">>" % TYPE.decode()
        cluster.rpc(first, "riak_core_bucket_type:create(%s, [])" % bucket_type)
        activate = "riak_core_bucket_type:activate(%s)" % bucket_type
        await_true(
            lambda: cluster.rpc(first, activate) == "ok", "the bucket type does not become ready"
        )
    for node in cluster.nodes:
        await_true(
            lambda: cluster.ask(node, "GET", path).status == 200,
            "%s does not know the bucket type" % node,
        )


def load(directory, package):
    """The cases of a package's modules, in the order of the files' names."""
    loader, found = unittest.TestLoader(), []
    for file in sorted(os.listdir(os.path.join(directory, package))):
        if file.endswith(".py"):
            module = importlib.import_module("%s.%s" % (package, file[:-3]))
            kinds = [
                kind
                for kind in vars(module).values()
                if isinstance(kind, type)
                and issubclass(kind, Case)
                and kind.__module__ == module.__name__
            ]
            found += [kind(method) for kind in kinds for method in loader.getTestCaseNames(kind)]
    return found


def topic(case):
    """Its own word for it, or its file's name."""
    named = type(case).__module__.split(".")[-1].split("_", 1)[-1].replace("_", " ")
    return getattr(case, "topic", named)


def name(case):
    """What the case says of itself, as one line."""
    said = " ".join((case._testMethodDoc or case.id()).split())
    return "%s: %s" % (topic(case), said.rstrip("."))


class Result(unittest.TestResult):
    def __init__(self, verbose):
        super().__init__()
        self.verbose, self.passed, self.failed, self.started = verbose, 0, set(), 0.0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def line(self, word, test, more=""):
        elapsed = time.monotonic() - self.started
        print("%-5s %-90s %6.1f s%s" % (word, name(test), elapsed, more), flush=True)

    def addSuccess(self, test):
        self.passed += 1
        self.line("ok", test)

    def addSkip(self, test, reason):
        self.line("skip", test, ": " + reason)

    def addFailure(self, test, err):
        self.failed.add(test)
        self.line("FAIL", test)
        lines = (
            traceback.format_exception(*err)
            if self.verbose
            else traceback.format_exception_only(*err[:2])
        )
        print("      " + "".join(lines).strip().replace("\n", "\n      ")[:4000], flush=True)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.failed.add(test)
            print("FAIL  %s %s" % (name(test), subtest.params), flush=True)
            print("      " + str(err[1]).replace("\n", "\n      ")[:2000], flush=True)


def run(cases, verbose):
    """One after the other: they share a cluster."""
    result = Result(verbose)
    suite = unittest.TestSuite()
    suite.addTests(cases)
    started = time.monotonic()
    suite.run(result)
    print("%.0f s" % (time.monotonic() - started))
    return result
