"""Runs steps of tests, each with its output in a log of its own, and says what failed."""

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
import time

from log import Log

# What these add to the code path, a riak_core say, would be taken for ours or for the stand-in's.
UNWANTED = ("ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS")
# A log is no terminal, but rebar3 colours what it says there too.
PLAIN = {"REBAR_COLOR": "none", "CARGO_TERM_COLOR": "never", "NO_COLOR": "1", "TERM": "dumb"}
# The last lines of a step that died are shown: what broke often stands there.
TAIL = 15
SCREEN_S = 0.5


@dataclasses.dataclass
class Step:
    """`counts`: whether tests run in it. One that only prepares ends everything when it fails."""

    name: str
    command: list
    counts: bool = True

    def log_name(self):
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") + ".log"


def main(steps, description):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", nargs="*", help="only steps whose name has this in it")
    parser.add_argument(
        "--steps", help="a file of other steps, [[name, [command, argument...], counts]...] in JSON"
    )
    parser.add_argument("--logs", default="_build/test-logs", help="where the logs are written")
    options = parser.parse_args()
    if options.steps:
        with open(options.steps, encoding="utf-8") as file:
            steps = [Step(*given) for given in json.load(file)]
    chosen = [
        step
        for step in steps
        if not step.counts
        or not options.text
        or any(text.lower() in step.name.lower() for text in options.text)
    ]
    if not any(step.counts for step in chosen):
        parser.error("no step has that in its name")
    return run(chosen, options.logs)


def run(steps, logs):
    os.makedirs(logs, exist_ok=True)
    passed, failed, failures = 0, 0, []
    for step in steps:
        path = os.path.join(logs, step.log_name())
        print("== %s" % step.name, flush=True)
        started = time.monotonic()
        status = execute(step, path, started)
        log = Log.read(path)
        log.judge(status, step.counts)
        passed, failed = passed + log.passed, failed + log.failed
        if step.counts or log.failed:
            print(
                "   %d passed, %d failed, %.0f s"
                % (log.passed, log.failed, time.monotonic() - started),
                flush=True,
            )
        if log.died:
            print("".join("   | %s\n" % line for line in log.lines[-TAIL:]), end="", flush=True)
        if log.failed:
            failures.append((step, path, log))
            if not step.counts:
                break
    for step, path, log in failures:
        print("\nfailed in %s, whose log is %s:" % (step.name, path))
        print("\n".join("    " + name for name in log.names))
    print("\n%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


def execute(step, path, started):
    """The status that the command ended with. A terminal is shown where it is meanwhile."""
    environment = {
        name: value for name, value in os.environ.items() if name not in UNWANTED
    } | PLAIN
    with open(path, "wb") as output:
        try:
            process = subprocess.Popen(
                step.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        except OSError as error:
            output.write(("%s\n" % error).encode())
            return 127
        try:
            return wait(process, path, started)
        except KeyboardInterrupt:
            # It got the same signal and ends what it started.
            process.wait()
            raise


def wait(process, path, started):
    if not sys.stdout.isatty():
        return process.wait()
    while True:
        try:
            status = process.wait(SCREEN_S)
            print("\r\x1b[K", end="", flush=True)
            return status
        except subprocess.TimeoutExpired:
            show(path, time.monotonic() - started)


def show(path, seconds):
    """One line of a terminal: for how long, and what was said last."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
        lines = file.read().decode("utf-8", "replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    text = "   %4.0f s  %s" % (seconds, "".join(c if c.isprintable() else " " for c in said))
    print("\r\x1b[K" + text[: os.get_terminal_size().columns - 1], end="", flush=True)
