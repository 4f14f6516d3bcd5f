"""Pytest plugin of scripts/bench/mutate.py: run a list of tests in its order, and write a line of JSON for each.

``MUTATION_TASK`` names a JSON file: ``tests``, ``limits`` (seconds of each), ``enough`` (number of failed test
functions after which the run ends; 0: run all), ``until`` (end time), ``out``, and ``imported`` (a folder filled by
mutation_parts/imported.py).
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sitecustomize as hook

TASK = json.loads(Path(os.environ["MUTATION_TASK"]).read_text("utf-8"))
OUT = Path(TASK["out"]).open("a", encoding="utf-8")  # noqa: SIM115  open as long as the process
_failures: dict[str, str] = {}


def _write(**fields: Any) -> None:
    OUT.write(json.dumps(fields) + "\n")
    OUT.flush()


def _cpu() -> float:
    """Return the CPU seconds of this process and of its ended children."""
    used = [resource.getrusage(scope) for scope in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def pytest_configure() -> None:
    """Import the mutant first; if the import fails, the mutant does not count."""
    if "module" in hook.SETTINGS:
        try:
            importlib.import_module(hook.SETTINGS["module"])
        except Exception as error:
            _write(unusable=repr(error)[:200])
            os._exit(3)


def pytest_sessionstart() -> None:
    """Compile imported networks in the process that tests them."""
    if TASK.get("imported"):
        from mutation_parts import imported

        imported.install(Path(TASK["imported"]))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Count the tests of a file as failed if it cannot be collected."""
    if report.failed:
        for test in TASK["tests"]:
            if test.partition("::")[0] == report.nodeid:
                _write(test=test, failed="collection", cpu=0.0, wall=0.0)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of the list, in its order."""
    index_of_test = {test: index for index, test in enumerate(TASK["tests"])}
    items[:] = sorted(
        (item for item in items if item.nodeid in index_of_test), key=lambda item: index_of_test[item.nodeid]
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Run the tests until enough functions have failed or the time is over."""
    signal.signal(signal.SIGALRM, _too_long)
    failed: set[str] = set()
    waiting = list(session.items)
    while waiting:
        item = waiting.pop(0)
        if TASK["enough"]:
            waiting = [test for test in waiting if function(test.nodeid) not in failed]
        if time.time() > TASK["until"] or (TASK["enough"] and len(failed) >= TASK["enough"]):
            break
        before, began = _cpu(), time.perf_counter()
        _write(start=item.nodeid)
        hook.begin(item.nodeid)
        signal.setitimer(signal.ITIMER_REAL, TASK["limits"].get(item.nodeid, 120.0))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=waiting[0] if waiting else None)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        hook.begin("")
        outcome = _failures.pop(item.nodeid, "")
        _write(test=item.nodeid, failed=outcome, cpu=_cpu() - before, wall=time.perf_counter() - began)
        if outcome and outcome != "skipped":
            failed.add(function(item.nodeid))
    session._setupstate.teardown_exact(None)
    _write(done=True)
    return True


def function(test: str) -> str:
    """Return the function of a test without its parameters."""
    return test.partition("[")[0]


def _too_long(signal_number: int, frame: object) -> Iterator[None]:
    pytest.fail("timeout", pytrace=False)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Store the reason of a failed test."""
    if report.failed:
        last = str(report.longrepr).strip().splitlines()[-1:] if report.longrepr else [""]
        _failures.setdefault(report.nodeid, f"{report.when}: {last[0]}"[:160] if last else report.when)
    elif report.skipped and not hasattr(report, "wasxfail"):
        _failures.setdefault(report.nodeid, "skipped")
