#!/usr/bin/env python3
"""Runs the conformance cases: black-box tests of a node with Ringtail in it, by HTTP and by its console.

    run.py [--archive FILE] [--engine nif|port] [-k TEXT] [--list] [-v]

By default against a cluster of stand-in nodes that it starts itself. With RINGTAIL_NODES set, against that cluster; see
README.md beside this file. Prints a line a case and, last, `N passed, N failed`. Exit status 0 if none failed.
"""
import argparse
import glob
import importlib
import os
import subprocess
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from conform.case import TYPE, Case  # noqa: E402
from conform.cluster import Cluster, await_true  # noqa: E402
from conform.real import RealCluster  # noqa: E402
from conform.standin import StandinCluster  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="Conformance cases of Ringtail.")
    parser.add_argument("--archive", help="the archive to install; default: the one that scripts/bundle makes now")
    parser.add_argument("--engine", choices=["nif", "port"], help="what computes hashes and preflists on the nodes")
    parser.add_argument("-k", metavar="TEXT", action="append", help="only cases whose name has this text in it")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    parser.add_argument("-v", action="store_true", help="show the whole traceback of a failure")
    options = parser.parse_args()

    cases = [case for case in load() if not options.k or any(text in name(case) for text in options.k)]
    if not cases:
        parser.error("no case has that in its name")
    if options.list:
        print("\n".join(name(case) for case in cases))
        return 0

    real = "RINGTAIL_NODES" in os.environ
    archive = options.archive
    if archive is None and (not real or os.environ.get("RINGTAIL_PATCHES")):
        archive = bundle()
    cluster = RealCluster(archive) if real else StandinCluster(archive, options="backend => riak_kv_eleveldb_backend")
    try:
        Case.cluster, Case.archive, Cluster.engine = cluster, archive, options.engine
        prepare(cluster)
        result = run(cases, options.v)
    finally:
        cluster.stop()
    print("%d passed, %d failed" % (result.passed, len(result.failed)))
    return 1 if result.failed else 0


def bundle():
    made = subprocess.run([os.path.join(ROOT, "scripts", "bundle")], check=True, capture_output=True, text=True)
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
        await_true(lambda: cluster.rpc(first, "riak_core_bucket_type:activate(%s)" % bucket_type) == "ok",
                   "the bucket type does not become ready")
    for node in cluster.nodes:
        await_true(lambda: cluster.ask(node, "GET", path).status == 200, "%s does not know the bucket type" % node)


# ---- The cases ----

def load():
    loader = unittest.TestLoader()
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.py"))):
        module = importlib.import_module("cases." + os.path.basename(path)[:-3])
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Case) and kind is not Case and kind.__module__ == module.__name__:
                found += [kind(method) for method in loader.getTestCaseNames(kind)]
    return found


def name(case):
    topic = type(case).__module__.split(".")[-1].split("_", 1)[-1].replace("_", " ")
    return "%s: %s" % (topic, (case.shortDescription() or case.id()).rstrip("."))


class Result(unittest.TestResult):
    def __init__(self, verbose):
        super().__init__()
        self.verbose, self.passed, self.failed, self.started = verbose, 0, set(), 0.0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def line(self, word, test, more=""):
        print("%-5s %-90s %6.1f s%s" % (word, name(test), time.monotonic() - self.started, more), flush=True)

    def addSuccess(self, test):
        self.passed += 1
        self.line("ok", test)

    def addSkip(self, test, reason):
        self.line("skip", test, ": " + reason)

    def addFailure(self, test, err):
        self.failed.add(test)
        self.line("FAIL", test)
        lines = traceback.format_exception(*err) if self.verbose else traceback.format_exception_only(*err[:2])
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


if __name__ == "__main__":
    sys.exit(main())
