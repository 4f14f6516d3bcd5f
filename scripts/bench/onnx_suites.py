#!/usr/bin/env python3
"""Run the tests of onnx.backend.test from the package onnx, and write tests/onnx_suites.json.

PYTHONPATH=tests LIBGL_ALWAYS_SOFTWARE=1 GALLIUM_DRIVER=llvmpipe python scripts/bench/onnx_suites.py [NAME ...]

With names, or parts of names, it runs those cases only, and keeps the stored results of all others. The exit code is 1
if a case no longer passes; such a loss must be deliberate. tests/onnx_backend.py defines when a case passes, and
tests/onnx_cases.py defines the sets.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import onnx_cases  # noqa: E402
from onnx_backend import EXCLUDED, FAILED, PASSED, Verdict, judge  # noqa: E402

from glsl_infer.gl.context import Context  # noqa: E402

PAGE = ROOT / "tests/onnx_suites.json"
LONGEST = 150


def line(verdict: Verdict) -> str:
    """Return a verdict as a line of the file."""
    reason = re.sub(r"layer '[^']*': ", "", verdict.reason.split("; these can:")[0])
    return f"{verdict.verdict}: {reason if len(reason) <= LONGEST else reason[: LONGEST - 3] + '...'}"


def summary(results: Mapping[str, str], sets: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the numbers of passed, failed and excluded cases, by folder and by set."""

    def counted(names: list[str]) -> dict[str, int]:
        return dict(sorted(Counter(results[name].partition(":")[0] for name in names).items()))

    kinds = dict.fromkeys(name.partition("/")[0] for name in results)
    return {
        "folders": {folder: counted([name for name in results if name.startswith(f"{folder}/")]) for folder in kinds},
        "sets": {name: counted(members) for name, members in sets.items()},
    }


def main() -> int:
    """Run the cases, compare with the stored results, write the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only cases whose names have one of these in them")
    names = parser.parse_args().names
    before = stored()
    results: dict[str, str] = {}
    sets: dict[str, list[str]] = {name: [] for name in (onnx_cases.MAP, onnx_cases.OPERATOR, onnx_cases.VISION)}
    with Context() as context:
        for case in onnx_cases.cases():
            name = f"{case.kind}/{case.name}"
            if names and name in before and not any(text in name for text in names):
                results[name] = before[name]
            else:
                started = time.monotonic()
                results[name] = line(judge(case, context))
                print(f"{time.monotonic() - started:6.1f} s  {name}: {results[name]}", flush=True)
            for goal in onnx_cases.goals_of(case):
                sets[goal].append(name)
    counts = summary(results, sets)
    print(json.dumps(counts, indent=1))
    lost = [
        name
        for name, text in before.items()
        if text.startswith(PASSED) and not results.get(name, "").startswith(PASSED)
    ]
    for name in lost:
        print(f"passed before: {name}: {results.get(name, 'is no case any more')}")
    cases: dict[str, dict[str, list[str]]] = {outcome: {} for outcome in (PASSED, FAILED, EXCLUDED)}
    for name, text in results.items():
        outcome, _, reason = text.partition(": ")
        cases[outcome].setdefault(reason, []).append(name)
    data = {"onnx": version("onnx"), **counts, "cases": cases}
    PAGE.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if lost else 0


def stored() -> dict[str, str]:
    """Return the results in the file, as ``line`` returns them, by name of the case."""
    cases = json.loads(PAGE.read_text("utf-8"))["cases"] if PAGE.is_file() else {}
    return {
        name: f"{outcome}: {reason}"
        for outcome, reasons in cases.items()
        for reason, names in reasons.items()
        for name in names
    }


if __name__ == "__main__":
    sys.exit(main())
