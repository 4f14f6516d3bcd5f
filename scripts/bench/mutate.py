#!/usr/bin/env python3
"""Run mutants of the operators and the lowering, and record the tests that kill them.

    python scripts/bench/mutate.py --reach build/reach.json.gz --out build/mutants.json --count 260 --jobs 2
    python scripts/bench/mutate.py --table build/mutants.json

A mutant is one small change of one module: an operator, a constant, a condition, a returned value, an argument, or a
deleted statement. Files stay unchanged: an import hook supplies the changed text to the tests and to their child
processes.

1. If the file of --reach is missing, every test runs once. The file then has, for each test, the executed lines of the
   mutated packages, its CPU seconds (child processes included), and whether it passed. Failed tests are left out.
2. A mutant gets the tests that execute its line: first the cheapest of every test function, then the second of each. It
   is killed when --enough functions fail; if fewer fail, every test runs, also the others of a failed function. A
   mutant that cannot be imported does not count.
3. --out has one entry for each mutant: its text, its state (killed, survived, unfinished), the failed tests, and the
   CPU seconds. --mutants OTHER takes the mutants of an earlier run, and starts with the tests that killed them.

Tests of imported Keras networks need --imported FOLDER, which scripts/bench/mutation_parts/imported.py fills once.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation_parts.mutants import Mutant, modules, of_module, pick
from mutation_parts.results import folder_of, function, sample_killers, table

ROOT = Path(__file__).resolve().parents[2]
HOOK = ROOT / "scripts/bench/mutation_parts/hook"
PACKAGES = ("glsl_infer.ops", "glsl_infer.lowering")
TESTS = ("tests/unit", "tests/importers", "tests/gl")
BEGIN, END = "<!-- mutants: scripts/bench/mutate.py --table -->", "<!-- end of mutants -->"
DID_NOT_RUN = "did not run"
FIRST, LATER = 6.0, 40.0
"""CPU seconds of tests in a process: the first process of a mutant, and each later one."""


@dataclass
class Coverage:
    """Cost and executed lines of every test."""

    seconds: dict[str, float]
    wall: dict[str, float]
    left_out: dict[str, str]
    lines: dict[tuple[str, int], list[str]]
    at_import: set[tuple[str, int]]
    by_module: dict[str, list[str]]

    @classmethod
    def read(cls, path: Path) -> Coverage:
        """Read a file of --reach."""
        stored = _stored(path)
        names = stored["tests"]
        lines = {}
        by_module: dict[str, set[str]] = defaultdict(set)
        for key, indices in stored["lines"].items():
            module, _, line = key.rpartition(":")
            lines[module, int(line)] = [names[index] for index in indices]
            by_module[module].update(lines[module, int(line)])
        ordered = {module: sorted(tests) for module, tests in by_module.items()}
        imported = {(module, line) for module, line in stored["at_import"]}
        return cls(stored["seconds"], stored["wall"], stored["left_out"], lines, imported, ordered)

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant: those of its lines, or of its module if an import executes them."""
        tests = {test for line in mutant.lines for test in self.lines.get((mutant.module, line), ())}
        if tests or (mutant.lines and not any((mutant.module, line) in self.at_import for line in mutant.lines)):
            return sorted(tests)
        return self.by_module.get(mutant.module, [])


@dataclass
class State:
    """A mutant and its results so far."""

    mutant: Mutant
    waiting: list[str]
    most: float
    runs: int = 0
    cpu: float = 0.0
    unusable: str = ""
    killers: dict[str, str] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    last: bool = False

    @property
    def functions(self) -> set[str]:
        """The test functions with a failed test."""
        return {function(test) for test in self.killers}

    def result(self, enough: int, index_of_test: dict[str, int]) -> dict[str, Any]:
        """Return the entry for --out; ``ran`` has indices of tests in the file of --reach."""
        done = not self.waiting or len(self.functions) >= enough
        state = "unusable" if self.unusable else "killed" if self.killers else "survived" if done else "unfinished"
        result = {"state": state, "complete": done, "killers": sample_killers(self.killers) if done else self.killers}
        result |= {"tests": len(self.ran), "cpu": round(self.cpu, 2)}
        result["ran"] = sorted(index_of_test[test] for test in self.ran if test in index_of_test and not done)
        return {**self.mutant.fields(), **result, "reached_seconds": round(self.most, 2), "unusable": self.unusable}


class Runner:
    """Processes with pytest.

    Args:
        arguments: arguments of the command line.
        folder: folder for their files.
    """

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments, self.folder = arguments, folder
        self.ends = time.time() + arguments.seconds
        self._count = 0
        self._lock = threading.Lock()

    def run(
        self, tests: Sequence[str], hook: dict[str, Any], walls: dict[str, float], most: float, enough: int = 0
    ) -> list[dict[str, Any]]:
        """Run tests in one process; return its lines, with ``crash`` for a test during which it ended.

        Args:
            tests: the tests.
            hook: settings of the import hook.
            walls: durations of the tests in seconds.
            most: timeout of the process in seconds.
            enough: number of failed functions after which it ends; other tests of a failed function are skipped. 0 runs
                every test.
        """
        with self._lock:
            self._count += 1
            child = self._count
        files = {name: self.folder / f"{child}-{name}.json" for name in ("hook", "task", "out")}
        files["hook"].write_text(json.dumps({"packages": PACKAGES, **hook}), "utf-8")
        task = {
            "tests": list(tests),
            "limits": {test: max(20.0, 10.0 * walls[test]) for test in tests if test in walls},
            "enough": enough,
            "until": self.ends,
            "out": str(files["out"]),
            "imported": self.arguments.imported and str(self.arguments.imported.resolve()),
        }
        files["task"].write_text(json.dumps(task), "utf-8")
        plugins = ["-p", "mutation_plugin", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider"]
        options = ["-q", *plugins, "--hypothesis-seed=0", "--no-header"]
        command = [sys.executable, "-m", "pytest", *options, *dict.fromkeys(test.partition("::")[0] for test in tests)]
        output = (self.folder / f"{child}-output.txt").open("wb")
        stream = {"stdout": output, "stderr": output, "start_new_session": True}
        environment = self._environment(files, self.folder / f"{child}-hypothesis")
        with output, subprocess.Popen(command, cwd=ROOT, env=environment, **stream) as process:
            try:
                process.wait(min(most, max(1.0, self.ends + 10.0 - time.time())))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        text = files["out"].read_text("utf-8") if files["out"].exists() else ""
        lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        if time.time() > self.ends:
            return lines
        if not lines and "module" in hook:
            return [_failed(test, "collection") for test in tests]
        return [*lines, *_crash(lines)]

    @staticmethod
    def _environment(files: Mapping[str, Path], hypothesis: Path) -> dict[str, str]:
        scripts = [str(ROOT / f"scripts/{name}") for name in ("bench", "docs")]
        paths = [str(HOOK), str(ROOT), *scripts, *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            **os.environ,
            "MUTATION_HOOK": str(files["hook"]),
            "MUTATION_TASK": str(files["task"]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(hypothesis),
            "PYTHONPATH": os.pathsep.join(paths),
        }


def _failed(test: str, why: str) -> dict[str, Any]:
    return {"test": test, "failed": why, "cpu": 0.0, "wall": 0.0}


def _crash(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for the test during which a process ended; none if the process finished its task."""
    if any("done" in line or "unusable" in line for line in lines):
        return []
    started = next((line["start"] for line in reversed(lines) if "start" in line), None)
    if not started or any(line.get("test") == started for line in lines):
        return []
    return [_failed(started, "crash")]


def collect(arguments: argparse.Namespace) -> list[str]:
    """Return the identifiers of all tests; a file whose import ends the process loses only its own tests."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    files = [str(path.relative_to(ROOT)) for name in arguments.tests for path in _test_files(ROOT / name)]

    def collected(names: Sequence[str]) -> list[str]:
        command = [sys.executable, "-m", "pytest", *options, "--tier", arguments.tier, *names]
        environment = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode and len(names) > 1:
            return [test for name in names for test in collected([name])]
        return [line for line in done.stdout.splitlines() if "::" in line and line.startswith("tests/")]

    with ThreadPoolExecutor(arguments.jobs) as pool:
        groups = [files[first : first + 10] for first in range(0, len(files), 10)]
        return [test for tests in pool.map(collected, groups) for test in tests]


def _test_files(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def measure(arguments: argparse.Namespace, runner: Runner) -> None:
    """Run once every test missing in the file of --reach; write the file."""
    stored = _stored(arguments.reach)
    recorded = {*stored["tests"], *(test for test, why in stored["left_out"].items() if why != DID_NOT_RUN)}
    tests = [test for test in collect(arguments) if test not in recorded]
    cover = runner.folder / "cover"
    cover.mkdir()
    results: dict[str, dict[str, Any]] = {}

    def run_group(group: list[str]) -> None:
        while group and time.time() < runner.ends:
            lines = runner.run(group, {"cover": str(cover)}, {}, 400.0)
            ran = {line["test"]: line for line in lines if "test" in line}
            results.update(ran)
            if not ran or any("done" in line for line in lines):
                return
            group = [test for test in group if test not in ran]

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(run_group, _groups(tests, arguments.group)))
    for test in tests:
        line = results.get(test, {"failed": DID_NOT_RUN})
        if line["failed"]:
            stored["left_out"][test] = line["failed"]
        else:
            stored["left_out"].pop(test, None)
            stored["tests"].append(test)
            stored["seconds"][test], stored["wall"][test] = round(line["cpu"], 3), round(line["wall"], 3)
    index_of_test = {test: index for index, test in enumerate(stored["tests"])}
    lines: dict[str, set[int]] = defaultdict(set)
    at_import = {(module, line) for module, line in stored["at_import"]}
    for path in cover.glob("*.json"):
        for test, reached in json.loads(path.read_text("utf-8")).items():
            for module, line in reached:
                if test in index_of_test:
                    lines[f"{module}:{line}"].add(index_of_test[test])
                elif not test:
                    at_import.add((module, line))
    for key, test_indices in lines.items():
        stored["lines"][key] = sorted({*stored["lines"].get(key, ()), *test_indices})
    stored["at_import"] = sorted(at_import)
    arguments.reach.write_bytes(gzip.compress(json.dumps(stored).encode()))
    print(f"{len(stored['tests'])} tests, {len(stored['left_out'])} left out", flush=True)


def _stored(path: Path) -> dict[str, Any]:
    """Return the contents of a file of --reach, empty if it is missing."""
    if not path.exists():
        return {"tests": [], "seconds": {}, "wall": {}, "left_out": {}, "lines": {}, "at_import": []}
    stored: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return stored


def _groups(tests: Iterable[str], most: int) -> list[list[str]]:
    """Return groups of tests, those of tests/gl first, because they take the longest."""
    ordered = sorted(tests, key=lambda test: not test.startswith("tests/gl"))
    return [ordered[first : first + most] for first in range(0, len(ordered), most)]


def in_rounds(tests: Sequence[str], seconds: dict[str, float], first: Sequence[str] = ()) -> list[str]:
    """Return tests in the order in which a mutant gets them: the cheapest of each function, then the second of each."""
    by_function: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: seconds[test]):
        by_function[function(test)].append(test)
    keys = {
        test: (test not in first, round_, seconds[test])
        for group in by_function.values()
        for round_, test in enumerate(group)
    }
    return sorted(keys, key=lambda test: keys[test])


class Queue:
    """Mutants that wait for their next tests: the least often run first, each in one process at a time."""

    def __init__(self, states: Sequence[State], enough: int) -> None:
        self._states, self._enough = states, enough
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """True if every mutant has its result."""
        return all(_over(state, self._enough) for state in self._states)

    @contextmanager
    def next_state(self) -> Iterator[State | None]:
        """Hold a mutant while it runs; None if each is busy or has its result."""
        with self._lock:
            free = [
                state for state in self._states if state.mutant.key not in self._busy and not _over(state, self._enough)
            ]
            state = min(free, key=lambda state: state.runs, default=None)
            if state is not None:
                self._busy.add(state.mutant.key)
        try:
            yield state
        finally:
            if state is not None:
                with self._lock:
                    self._busy.discard(state.mutant.key)


def kill(arguments: argparse.Namespace, runner: Runner, coverage: Coverage) -> dict[str, Any]:
    """Run the mutants until the time is over; return the contents of --out."""
    sources = {name: path.read_text("utf-8") for name, path in modules(ROOT, PACKAGES).items()}
    candidates = [mutant for name, source in sources.items() for mutant in of_module(name, source)]
    states = _states(arguments, coverage, candidates)
    queue = Queue(states, arguments.enough)

    def work() -> None:
        while time.time() < runner.ends - 5.0 and not queue.over:
            with queue.next_state() as state:
                if state is None:
                    time.sleep(0.2)
                else:
                    _run_some(state, runner, coverage, sources[state.mutant.module], arguments.enough)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for done in [pool.submit(work) for _ in range(arguments.jobs)]:
            done.result()
    index_of_test = {name: index for index, name in enumerate(coverage.seconds)}
    return {
        "label": arguments.label,
        "packages": PACKAGES,
        "candidates": len(candidates),
        "seed": arguments.seed,
        "enough": arguments.enough,
        "parts": _costs(coverage),
        "mutants": [state.result(arguments.enough, index_of_test) for state in states],
    }


def _states(arguments: argparse.Namespace, coverage: Coverage, candidates: Sequence[Mutant]) -> list[State]:
    """Return the chosen mutants, or those of --mutants, with their tests in order; with --resume, their results."""
    earlier: dict[str, dict[str, Any]] = {}
    if arguments.mutants:
        stored = json.loads(arguments.mutants.read_text("utf-8"))["mutants"]
        earlier = {mutant["key"]: mutant for mutant in stored if mutant["state"] != "unusable"}
        chosen = [mutant for mutant in candidates if mutant.key in earlier]
        random.Random(0).shuffle(chosen)
        print(f"{len(chosen)} of {len(earlier)} mutants are still there", flush=True)
    else:
        chosen = pick(candidates, arguments.count, arguments.seed)
    names = [*coverage.seconds]
    states = []
    for mutant in chosen:
        tests = [test for test in coverage.of(mutant) if test.startswith(tuple(arguments.tests))]
        before = earlier.get(mutant.key, {})
        order = in_rounds(tests, coverage.seconds, list(before.get("killers", {})))
        state = State(mutant, order, sum(coverage.seconds[test] for test in tests))
        if arguments.resume:
            state.killers, state.cpu, state.runs = before["killers"], before["cpu"], 1
            state.ran = {names[index] for index in before["ran"]}
            state.waiting = [test for test in order if test not in state.ran]
        states.append(state)
    return states


def _over(state: State, enough: int) -> bool:
    return bool(state.unusable) or not state.waiting or len(state.functions) >= enough


def _run_some(state: State, runner: Runner, coverage: Coverage, source: str, enough: int) -> None:
    """Run the next tests of a mutant, in one process."""
    functions = state.functions
    now: list[str] = []
    budget = FIRST if not state.runs else LATER
    for test in state.waiting:
        if function(test) in functions and not state.last:
            continue
        now.append(test)
        budget -= coverage.seconds[test] + 0.02
        if budget < 0:
            break
    if not now:  # the remaining tests belong to failed functions
        if len(functions) > 1 or state.last:
            state.waiting = []
        state.last = True
        return
    hook = {"module": state.mutant.module, "source": state.mutant.apply(source)}
    missing = 0 if state.last else enough - len(functions)
    walls = sum(coverage.wall[test] for test in now)
    ordered = sorted(now, key=lambda test: test.partition("::")[0])
    before = time.perf_counter()
    lines = runner.run(ordered, hook, coverage.wall, 120 + 6 * walls, missing)
    state.runs += 1
    state.unusable = next((line["unusable"] for line in lines if "unusable" in line), "")
    ran = set()
    for line in lines:
        if "test" in line:
            ran.add(line["test"])
            state.cpu += line["cpu"]
            if line["failed"] and line["failed"] != "skipped":
                state.killers[line["test"]] = line["failed"]
    state.ran |= ran
    finished = any("done" in line for line in lines)
    stopped = len(state.functions) >= enough or time.time() > runner.ends
    if finished and not stopped:
        ran.update(test for test in now if state.last or function(test) not in state.functions)
    if not ran and time.time() < runner.ends and time.perf_counter() - before > 1:  # it ended before its first test
        ran.update(now)
    state.waiting = [test for test in state.waiting if test not in ran]


def _costs(coverage: Coverage) -> dict[str, dict[str, float]]:
    """Return tests and CPU seconds of each folder."""
    costs: dict[str, dict[str, float]] = defaultdict(lambda: {"tests": 0, "seconds": 0.0, "left out": 0})
    for test, seconds in coverage.seconds.items():
        costs[folder_of(test)]["tests"] += 1
        costs[folder_of(test)]["seconds"] += seconds
    for test in coverage.left_out:
        costs[folder_of(test)]["left out"] += 1
    return costs


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="FOLDER", help=f"default: {' '.join(TESTS)}")
    parser.add_argument("--tier", default="all", help="tier of the tests, see tests/tiers.py (default: all)")
    parser.add_argument("--reach", type=Path, help="lines and cost of every test; measured if missing")
    parser.add_argument("--out", type=Path, help="results as JSON")
    parser.add_argument("--count", type=int, default=260, help="mutants to choose (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice (default: %(default)s)")
    parser.add_argument("--mutants", type=Path, help="results whose mutants run again, whatever --count and --seed are")
    parser.add_argument("--resume", action="store_true", help="run only tests that --mutants did not run yet")
    parser.add_argument("--label", default="all tests", help="name of the run in tables (default: %(default)s)")
    parser.add_argument("--enough", type=int, default=3, help="functions whose failure ends a mutant (default: 3)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time (default: one a core)")
    parser.add_argument("--seconds", type=float, default=1e9, help="the run stops and writes its results after so many")
    parser.add_argument("--group", type=int, default=40, help="tests that a process of --reach runs (default: 40)")
    parser.add_argument("--measure", action="store_true", help="measure tests that an existing file of --reach lacks")
    parser.add_argument("--imported", type=Path, help="folder that mutation_parts/imported.py filled")
    parser.add_argument("--table", type=Path, nargs="+", metavar="RESULTS", help="print results, and run nothing")
    parser.add_argument("--page", type=Path, help="write the printed table into this Markdown file")
    arguments = parser.parse_args()
    if arguments.table:
        stored = [json.loads(path.read_text("utf-8")) for path in arguments.table]
        runs = [run for content in stored for run in (content if isinstance(content, list) else [content])]
        text = table(runs)
        print(text)
        if arguments.page:
            before, _, after = arguments.page.read_text("utf-8").partition(BEGIN)
            arguments.page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after.partition(END)[2]}", "utf-8")
        return 0
    if arguments.reach is None:
        parser.error("--reach FILE is missing: the file with the lines and the cost of every test")
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        runner = Runner(arguments, Path(folder))
        if arguments.measure or not arguments.reach.exists():
            measure(arguments, runner)
        if arguments.out:
            result = kill(arguments, runner, Coverage.read(arguments.reach))
            arguments.out.write_text(json.dumps(result, indent=1), "utf-8")
            print(table([result]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
