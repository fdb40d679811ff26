#!/usr/bin/env python3
"""Attacks nodes with Ringtail, and a VM without Riak that serves them: odd input, stalls, floods.

    run.py [--archive FILE] [--engine nif|port] [-k TEXT] [--list] [-v]

By default against a cluster of stand-in nodes; see README.md beside this file. Prints a line a case
and, last, `N passed, N failed`. Exit status 0 if none failed.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "conformance")]
sys.dont_write_bytecode = True

from conform import runner  # noqa: E402
from assault import standalone  # noqa: E402
from assault.attack import PROBE, Attack  # noqa: E402
from assault.health import Health, Vm  # noqa: E402
from assault.neighbour import Neighbour  # noqa: E402


def play(cases, verbose):
    cluster = Attack.cluster
    try:
        if standalone.possible(Attack.archive):
            seeds = [node.url for node in cluster.nodes]
            Attack.standalone = standalone.Standalone(Attack.archive, seeds)
        prepare(cluster)
        return runner.run(with_health(cases), verbose)
    finally:
        if Health.neighbour:
            Health.neighbour.end()
        if Attack.standalone:
            Attack.standalone.stop()
        if Attack.maker:
            Attack.maker.doCleanups()


def prepare(cluster):
    """What Health compares with, and the client that is to be served all the time."""
    # No attack changes the ring.
    owners = cluster.owners()
    cluster.owners = lambda *_: owners
    first = Health("preparation")
    first.setUp()
    first.made.clear()  # it stays until the end
    Health.sentinel = first.victim()
    Health.neighbour = Neighbour(first.ways, first.object_bucket, first.victim(PROBE), PROBE)
    Health.neighbour.start()
    Health.vms = [
        Vm(node.name, node.url, lambda text, node=node: cluster.rpc(node, text))
        for node in cluster.nodes
    ]
    if Attack.standalone:
        Health.vms.append(Vm("the VM without Riak", Attack.standalone.url, Attack.standalone.rpc))


def with_health(cases):
    """After the last case of each file: how all are."""
    mixed = []
    for case, following in zip(cases, cases[1:] + [None]):
        mixed.append(case)
        if following is None or runner.topic(following) != runner.topic(case):
            mixed.append(Health(runner.topic(case)))
    return mixed


if __name__ == "__main__":
    sys.exit(runner.main(runner.parser("Attacks on Ringtail."), runner.load(HERE, "attacks"), play))
