#!/usr/bin/env python3
"""Measure the work that a driver defers to the first draw: the first frame, program by program.

    python scripts/bench/first_frame.py [BUNDLE] [--json]

Prints, for each program, the CPU time of its draws in the drawing thread, in milliseconds, in the first and in the
second frame, and the number of draws that took 5 ms more in the first. llvmpipe generates machine code during a first
draw, and again for a draw with another kind of state. Its rasteriser threads are not in these times. Mesa's cache of
compiled programs is disabled.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"  # must be set before a driver is loaded

import numpy as np

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.runtime.session import Session
from glsl_infer.support.resources import default_model

COMPILED = 5.0
"""Milliseconds more than in the second frame, from which a draw counts as delayed by a compiler."""


def draws(session: Session) -> list[float]:
    """Return the CPU time of every draw of a frame, in ms, in order."""
    size = session.bundle.manifest.input.size
    session.upload(np.zeros((size, size, 3), np.uint8))
    durations = []
    for function, arguments in session.frame:
        started = time.thread_time()
        function(*arguments)
        if function.__name__ == "glDrawArrays":
            durations.append(1e3 * (time.thread_time() - started))
    session.read_back()
    return durations


def measure(bundle: Path) -> list[dict[str, Any]]:
    """Return a row for each program, sorted by time in the first frame, longest first.

    Raises:
        GlslInferError: the bundle or this machine cannot be used.
    """
    with Session(bundle, cache=False) as session:
        first, second = draws(session), draws(session)
        passes = session.bundle.manifest.passes
    rows: dict[str, dict[str, Any]] = {}
    for entry, before, after in zip(passes, first, second):
        row = rows.setdefault(
            entry.program, {"program": entry.program, "draws": 0, "first_ms": 0.0, "second_ms": 0.0, "compiled": 0}
        )
        row["draws"] += 1
        row["first_ms"] += before
        row["second_ms"] += after
        row["compiled"] += before - after > COMPILED
    return sorted(rows.values(), key=lambda row: -float(row["first_ms"]))


def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    rows = measure(args.bundle)
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'program':24} {'draws':>6} {'first, ms':>10} {'second, ms':>11} {'compiled':>9}")
    for row in rows:
        numbers = f"{row['draws']:6} {row['first_ms']:10.1f} {row['second_ms']:11.1f} {row['compiled']:9}"
        print(f"{row['program']:24} {numbers}")
    print(f"{'all':24} {'':6} {sum(row['first_ms'] for row in rows):10.1f}")


def main() -> int:
    """Parse the arguments, measure, and return the exit code."""
    parser = Parser(description="Measure a first frame, program by program.")
    parser.add_argument("bundle", nargs="?", type=Path, default=default_model())
    parser.add_argument("--json", action="store_true")
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    sys.exit(main())
