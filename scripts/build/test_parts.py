#!/usr/bin/env python3
"""Run parts of the test suite in parallel, and print the complete output of each when it ends.

    python scripts/build/test_parts.py TIER=test test-engine test-keras    # targets of the Makefile and a variable

List the longest part first. At the end come a table of the parts, the ten slowest files, and a total in the form of
pytest's last line. The exit code is 1 if a part failed, 2 if no part is given.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

CLOSING = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+, )*\d+ [a-z]+) in [\d.]+s", re.MULTILINE)
"""The last line of a pytest run, such as "3 passed, 1 skipped in 0.52s"."""

SLOW_FILE = re.compile(r"^ *(\d+\.\d) s  (\S+\.py)$", re.MULTILINE)
"""A line of tests/conftest.py's ten slowest files."""

KINDS = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warning", "error")
PLURALS = ("warning", "error")
"""Words that pytest writes with an s for more than one."""


@dataclass(frozen=True)
class Done:
    """A finished part.

    Attributes:
        name: name of the part.
        code: its exit code, negative if a signal ended it.
        output: its complete output.
        wall: elapsed seconds.
        cpu: seconds of CPU time, its child processes included.
    """

    name: str
    code: int
    output: str
    wall: float
    cpu: float

    @property
    def counts(self) -> Counter[str]:
        """Number of passed, failed and other tests, in all pytest runs of the part."""
        counts: Counter[str] = Counter()
        for line in CLOSING.findall(self.output):
            for count, outcome in re.findall(r"(\d+) ([a-z]+)", line):
                counts[outcome.rstrip("s") if outcome.rstrip("s") in PLURALS else outcome] += int(count)
        return counts


class Lanes:
    """Parts that run at the same time.

    Args:
        command: the command of a part, without its name.
        report: called with each finished part, one call at a time.
    """

    def __init__(self, command: Sequence[str], report: Callable[[Done], None]) -> None:
        self._command, self._report = list(command), report
        self._waiting: list[str] = []
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, parts: Sequence[str], jobs: int) -> None:
        """Run all parts, ``jobs`` at a time, in their order."""
        self._waiting = list(parts)
        threads = [threading.Thread(target=self._lane) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def stop(self) -> None:
        """Start no other part, and end the running ones; their output so far is reported."""
        self._waiting = []
        self._stopped = True
        for process in list(self._running.values()):
            os.killpg(process.pid, signal.SIGTERM)

    def _lane(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                name = self._waiting.pop(0)
                print(f"{name}: begins", flush=True)  # a log without output for minutes looks stuck
            done = self._run_part(name)
            with self._lock:
                self._report(done)

    def _run_part(self, name: str) -> Done:
        with tempfile.TemporaryFile() as file:
            began = time.monotonic()
            process = subprocess.Popen(
                [*self._command, name], stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            self._running[name] = process
            if self._stopped:  # stopped during the start
                os.killpg(process.pid, signal.SIGTERM)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)  # otherwise Popen would wait for it again
            del self._running[name]
            wall = time.monotonic() - began
            file.seek(0)
            output = file.read().decode("utf-8", errors="replace")
        return Done(name, process.returncode, output, wall, usage.ru_utime + usage.ru_stime)


def show(done: Done) -> None:
    """Print the output of a part."""
    rule = "#" * 30
    print(f"{rule} {done.name} {rule}\n{done.output.rstrip()}\n{done.name}: {result(done)}\n", flush=True)


def result(done: Done) -> str:
    """Return the result and the duration of a part as text."""
    end = "passed" if done.code == 0 else f"FAILED with exit code {done.code}"
    return f"{end}, {done.wall:.0f} s, {done.cpu:.0f} s of CPU time"


def summary(parts: Sequence[Done], wall: float) -> str:
    """Return the table of the parts, the ten slowest files and the total."""
    lines = ["parts:", *(f"  {done.name:15} {result(done)}" for done in parts), "slowest files:"]
    files = [(float(seconds), name, done.name) for done in parts for seconds, name in SLOW_FILE.findall(done.output)]
    lines += [f"{seconds:8.1f} s  {name} ({part})" for seconds, name, part in sorted(files, reverse=True)[:10]]
    counts = sum((done.counts for done in parts), Counter())
    cpu = sum(done.cpu for done in parts)
    summary = ", ".join(
        f"{counts[outcome]} {outcome}{'s' * (outcome in PLURALS and counts[outcome] > 1)}"
        for outcome in KINDS
        if counts[outcome]
    )
    summary = summary or "no tests ran"
    lines.append(f"all parts: {cpu:.0f} s of CPU time")
    return "\n".join([*lines, f"===== {summary} in {wall:.2f}s ({int(wall) // 60}:{int(wall) % 60:02} minutes) ====="])


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="+", metavar="PART", help="a target of the Makefile, or NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=3, metavar="N", help="parts at a time (default: 3)")
    args = parser.parse_args()
    if args.jobs < 1:
        parser.error(f"--jobs {args.jobs}; give 1 or more")
    ended: list[Done] = []

    def report(done: Done) -> None:
        ended.append(done)
        show(done)

    root = Path(__file__).resolve().parents[2]
    variables = [word for word in args.parts if "=" in word]
    lanes = Lanes(["make", "--no-print-directory", "-C", str(root), *variables], report)

    def stop(*_: object) -> None:
        stopped.append(True)
        lanes.stop()

    stopped: list[bool] = []
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    began = time.monotonic()
    lanes.run([word for word in args.parts if "=" not in word], args.jobs)
    print(summary(ended, time.monotonic() - began), flush=True)
    return 1 if stopped or any(done.code for done in ended) else 0


if __name__ == "__main__":
    sys.exit(main())
