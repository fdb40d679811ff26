"""What a log of cargo test, Common Test (through rebar3), EUnit or one of our own scripts says of
its tests."""

import re

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

CARGO_BEGINS = re.compile(r"\s+(?:Running .* \(\S*?(\w+)-[0-9a-f]{16}\)|Doc-tests (\w+))$")
CARGO_RESULT = re.compile(r"test result: \S+ (\d+) passed; (\d+) failed;")
CARGO_LISTED = re.compile(r"    (\S.*)")
CT_CASE = re.compile(r"%%% (\w+) ==> (.+): (FAILED|SKIPPED)")
CT_PASSED = re.compile(r" *All (\d+) tests passed")
CT_RESULT = re.compile(r" *(?=(?:Failed|Skipped) \d+ )")
EUNIT_CASE = re.compile(r"FAILED \{(\w+),(\w+),\d+\}")
EUNIT_FAILED = re.compile(r" *Failed: (\d+)\..* Passed: (\d+)\.")
EUNIT_PASSED = re.compile(r" *Test passed\.")
OWN_CASE = re.compile(r"FAIL  (.*?)(?: +[0-9.]+ s)?$")
OWN_RESULT = re.compile(r"(?:[a-z-]+: )?(\d+) passed, (\d+) failed$")


class Log:
    def __init__(self, lines):
        self.lines = lines
        self.passed, self.failed, self.names = 0, 0, []
        self.died = False
        self._running = None  # the program that cargo started and that has not counted yet
        self._listing = False  # inside cargo's closing list of names
        for line in lines:
            self._take(line)
        self._finished()

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return cls([ESCAPE.sub("", line.rstrip("\n")) for line in file])

    def judge(self, status, counts=True):
        """A step that broke without counting a failed test (it does not compile, say) counts as one
        failed."""
        if status and not self.failed:
            self.died = True
            self._fail("it ended with status %d" % status)
        elif not status and counts and not self.passed and not self.failed:
            self._fail("it ran no test")
        if self.failed and not self.names:
            self.names.append("which ones is in the log")

    # ---- A line ----

    def _take(self, line):
        if found := CARGO_BEGINS.match(line):
            self._finished()
            self._running = found.group(1) or "documentation of " + found.group(2)
        elif found := CARGO_RESULT.match(line):
            self._count(*found.groups())
            self._running, self._listing = None, False
        elif self._running:
            self._cargo(line)
        elif found := CT_CASE.match(line):
            self._name(
                "%s:%s" % found.group(1, 2), "" if found.group(3) == "FAILED" else " (skipped)"
            )
        elif found := CT_PASSED.match(line):
            self._count(found.group(1), 0)
        elif CT_RESULT.match(line):
            # What a failed preparation skipped has failed too.
            for word, number in re.findall(r"(Failed|Skipped|Passed) (\d+)", line):
                self._count(*((number, 0) if word == "Passed" else (0, number)))
        elif found := EUNIT_FAILED.match(line):
            self._count(found.group(2), found.group(1))
        elif EUNIT_PASSED.match(line):
            self._count(1, 0)
        elif found := EUNIT_CASE.match(line):
            self._name("%s:%s" % found.groups())
        elif found := OWN_RESULT.match(line):
            self._count(*found.groups())
        elif found := OWN_CASE.match(line):
            self._name(found.group(1))

    def _cargo(self, line):
        # The first list with this heading shows what each test wrote, the last one names them.
        if line == "failures:":
            self._listing = True
        elif self._listing and (found := CARGO_LISTED.match(line)):
            self._name("%s: %s" % (self._running, found.group(1)))
        elif line and not line.startswith("    "):
            self._listing = False

    def _finished(self):
        if self._running:
            self._fail("%s: it ended before it had counted its tests" % self._running)
        self._running, self._listing = None, False

    def _count(self, passed, failed):
        self.passed += int(passed)
        self.failed += int(failed)

    def _fail(self, name):
        self._count(0, 1)
        self._name(name)

    def _name(self, name, more=""):
        if name + more not in self.names:
            self.names.append(name + more)
