#!/usr/bin/env python3
"""Measure what it is worth that the GPU computes a picture while the CPU decodes the next one.

    python scripts/bench/overlap.py PICTURES [BUNDLE] [--rounds 7] [--json]

The pictures of a folder (or one picture) go through the bundle (default: the shipped model) one after the other, by
``Session.stream`` asleep, and by ``Session.stream`` spinning; the three take turns, A B C A B C. Printed are
milliseconds a picture, wall clock and CPU time of all threads, and the wall clock as a ratio to the first way's, which
is taken round by round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.cli.progress import bar
from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures import paths as pictures
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session
from glsl_infer.support.resources import default_model

PICTURES = 50
"""Most pictures of a folder that are used."""


def measure(folder: Path, bundle: Path, rounds: int) -> dict[str, Any]:
    """Return by way the medians a picture in ms, and the median ratio of wall clock to that of one after the other."""
    if rounds < 1:
        raise InputError(f"--rounds {rounds}; at least 1 is needed")
    files = pictures.find([folder])[:PICTURES]
    with Session(bundle) as session:
        size = session.bundle.manifest.input.size

        def decoded() -> Iterator[NDArray[np.uint8]]:
            return (preprocess.load(path, size) for path in files)

        ways: dict[str, Callable[[], object]] = {
            "one after the other": lambda: [session.run(one) for one in decoded()],
            "stream, asleep": lambda: list(session.stream(decoded(), wait="sleep")),
            "stream, spinning": lambda: list(session.stream(decoded(), wait="spin")),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for index in bar(range(1 + rounds), "rounds"):
            for name, way in ways.items():
                started, used = time.perf_counter(), time.process_time()
                way()
                if index:  # the first warms up
                    times[name].append((time.perf_counter() - started, time.process_time() - used))
    each = 1e3 / len(files)
    base = [wall for wall, _ in times["one after the other"]]
    return {
        "pictures": len(files),
        "ways": {
            name: {
                "ms": each * statistics.median(wall for wall, _ in rows),
                "cpu_ms": each * statistics.median(cpu for _, cpu in rows),
                "ratio": statistics.median(wall / first for (wall, _), first in zip(rows, base)),
            }
            for name, rows in times.items()
        },
    }


def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    found = measure(args.pictures, args.bundle, args.rounds)
    if args.json:
        print(json.dumps(found, indent=1))
        return
    print(f"{found['pictures']} pictures{'':12} {'ms each':>8} {'CPU, ms':>8} {'ratio':>6}")
    for name, row in found["ways"].items():
        print(f"{name:24} {row['ms']:8.2f} {row['cpu_ms']:8.2f} {row['ratio']:6.3f}")


def main() -> int:
    """Parse the arguments, measure, and return the exit code."""
    parser = Parser(description="Measure the overlap of CPU and GPU.")
    parser.add_argument("pictures", type=Path)
    parser.add_argument("bundle", nargs="?", type=Path, default=default_model())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    sys.exit(main())
