#!/usr/bin/env python3
"""Runs the conformance cases: black-box tests of nodes with Ringtail, by HTTP and by console.

    run.py [--archive FILE] [--engine nif|port] [-k TEXT] [--list] [-v]

By default against a cluster of stand-in nodes that it starts itself. With RINGTAIL_NODES set,
against that cluster; see README.md beside this file. Prints a line a case and, last, `N passed,
N failed`. Exit status 0 if none failed.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from conform import runner  # noqa: E402

if __name__ == "__main__":
    sys.exit(
        runner.main(
            runner.parser("Conformance cases of Ringtail."),
            runner.load(HERE, "cases"),
            runner.run,
            standin_options="backend => riak_kv_eleveldb_backend",
        )
    )
