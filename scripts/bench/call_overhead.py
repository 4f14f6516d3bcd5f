#!/usr/bin/env python3
"""Measure what Python pays to call OpenGL: PyOpenGL's functions, ctypes with prototypes, and ctypes without.

    python scripts/bench/call_overhead.py [BUNDLE] [--rounds 50] [--json]

The calls are those of one frame of the bundle (default: the shipped model), from a list that was made before; the three
ways take turns, A B C A B C. ``state`` leaves out the calls that draw and clear, whose own work would hide the
difference; ``frame`` is the whole frame as it is submitted. The driver's own work is in all numbers alike: what the
ways differ by is Python's.

PyOpenGL is measured as it comes, with a glGetError after every call: PyOpenGL 3.1.10 cannot import its GLES2 functions
with ``OpenGL.ERROR_CHECKING = False``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.cli.progress import bar
from glsl_infer.errors import InputError
from glsl_infer.runtime.frame import Call
from glsl_infer.runtime.session import Session
from glsl_infer.support.resources import default_model
from glsl_infer.tools.benchmark.measuring import picture_of

DRAWING = ("glDrawArrays", "glClear")
UNCOUNTED = 3
"""Rounds at the beginning."""


def submit(calls: Sequence[Call]) -> float:
    """Make the calls; return the seconds."""
    started = time.perf_counter()
    for function, arguments in calls:
        function(*arguments)
    return time.perf_counter() - started


def measure(path: Path, rounds: int) -> dict[str, Any]:
    """Return how many calls there are, and by way and part the median and the lowest milliseconds of all of them."""
    if rounds < 1:
        raise InputError(f"--rounds {rounds}; at least 1 is needed")
    with Session(path) as session:
        from OpenGL import GLES2

        gl = session.context.gl
        session.run(picture_of(session))
        parts = {
            "state": [call for call in session.frame if call[0].__name__ not in DRAWING],
            "frame": list(session.frame),
        }
        lists: dict[tuple[str, str], list[Call]] = {}
        for part, calls in parts.items():
            lists["PyOpenGL", part] = [(getattr(GLES2, one.__name__), given) for one, given in calls]
            lists["ctypes with prototypes", part] = [(gl.by_name(one), given) for one, given in calls]
            lists["prepared, as the engine does", part] = calls
        seconds: dict[tuple[str, str], list[float]] = {key: [] for key in lists}
        for index in bar(range(UNCOUNTED + rounds), "rounds"):
            for key, calls in lists.items():
                taken = submit(calls)
                gl.Finish()
                if index >= UNCOUNTED:
                    seconds[key].append(taken)
    found: dict[str, Any] = {"calls": {part: len(calls) for part, calls in parts.items()}, "ways": {}}
    for (way, part), values in seconds.items():
        row = {"median": 1e3 * statistics.median(values), "lowest": 1e3 * min(values)}
        found["ways"].setdefault(way, {})[part] = row
    return found


def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    found = measure(args.bundle, args.rounds)
    if args.json:
        print(json.dumps(found, indent=1))
        return
    for part, count in found["calls"].items():
        print(f"{part}: {count:,} calls{'':14} {'median, ms':>10} {'lowest':>10} {'us a call':>10}")
        for way, rows in found["ways"].items():
            row = rows[part]
            print(f"  {way:30} {row['median']:10.3f} {row['lowest']:10.3f} {1e3 * row['median'] / count:10.3f}")


def main() -> int:
    """Parse the arguments, measure, and return the exit code."""
    parser = Parser(description="Measure what Python pays to call OpenGL.")
    parser.add_argument("bundle", nargs="?", type=Path, default=default_model())
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    sys.exit(main())
