#!/usr/bin/env python3
"""Measure what a driver puts off until something is drawn: the first frame, program by program.

    python scripts/bench/first_frame.py [BUNDLE] [--json]

Printed is the CPU time, in milliseconds, that the thread which draws spends in the draws of each program: in the first
frame, in the second, and in how many draws of the first it was 5 ms more. llvmpipe makes machine code then, and makes
it again for a draw whose state is of another kind; its own threads rasterise, and are not in these times. Nothing
compiled is taken from Mesa's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"  # before a driver is loaded

import numpy as np

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.runtime.session import Session
from glsl_infer.support.resources import default_model

COMPILED = 5.0
"""Milliseconds more than in the second frame by which a draw is taken to have waited for a compiler."""


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
    """Return a row for each program, those that take the first frame longest first.

    Raises:
        GlslInferError: the bundle, or this machine, will not do.
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
