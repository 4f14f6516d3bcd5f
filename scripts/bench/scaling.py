#!/usr/bin/env python3
"""Measure how long a large picture takes into the network's input texture: scaled by the CPU, and by shaders.

    python scripts/bench/scaling.py [BUNDLE] [--size 640x480 ...] [--rounds 15] [--json]

Both begin with bytes in memory and end when the GPU has them scaled (glFinish); they take turns. Printed are medians in
ms, the median ratio, and how far the results are apart, in steps of 255.
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

import numpy as np
from PIL import Image

from glsl_infer.cli.execution import Parser, add_debug, execute, picture_size
from glsl_infer.cli.progress import bar
from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session
from glsl_infer.support.resources import default_model

SIZES = ((640, 480), (1280, 720), (1920, 1080))


def measure(bundle: Path, sizes: Sequence[tuple[int, int]], rounds: int) -> list[dict[str, Any]]:
    """Return for each size the median milliseconds of both ways, the median ratio, and the largest difference."""
    if rounds < 1:
        raise InputError(f"--rounds {rounds}; at least 1 is needed")
    rows = []
    with Session(bundle) as session:
        size, finish = session.bundle.manifest.input.size, session.context.gl.Finish
        for width, height in sizes:
            picture = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
            times: list[tuple[float, float]] = []
            for index in bar(range(1 + rounds), f"{width}x{height}"):
                started = time.perf_counter()
                scaled = preprocess.to_square(Image.fromarray(picture), size)
                session.upload(scaled)
                finish()
                middle = time.perf_counter()
                session.upload(picture)
                finish()
                if index:  # the first compiles the shaders
                    times.append((middle - started, time.perf_counter() - middle))
            rows.append(
                {
                    "width": width,
                    "height": height,
                    "cpu_ms": 1e3 * statistics.median(cpu for cpu, _ in times),
                    "shaders_ms": 1e3 * statistics.median(gpu for _, gpu in times),
                    "ratio": statistics.median(gpu / cpu for cpu, gpu in times),
                    "steps_off": int(np.abs(session.input_pixels().astype(int) - scaled).max()),
                }
            )
    return rows


def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    rows = measure(args.bundle, args.size, args.rounds)
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'picture':>11} {'CPU, ms':>8} {'shaders':>8} {'ratio':>6} {'off':>4}")
    for row in rows:
        name = f"{row['width']}x{row['height']}"
        print(f"{name:>11} {row['cpu_ms']:8.2f} {row['shaders_ms']:8.2f} {row['ratio']:6.2f} {row['steps_off']:4}")


def main() -> int:
    """Parse the arguments, measure, and return the exit code."""
    parser = Parser(description="Measure scaling by CPU and by shaders.")
    parser.add_argument("bundle", nargs="?", type=Path, default=default_model())
    parser.add_argument("--size", nargs="+", type=picture_size, default=SIZES, metavar="WIDTHxHEIGHT")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    sys.exit(main())
