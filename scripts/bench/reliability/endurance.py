#!/usr/bin/env python3
"""Run a model for thousands of frames, and check for growth of memory, GL objects and open files.

    python scripts/bench/reliability/endurance.py [BUNDLE] [--frames 10000] [--samples 100] [--plot FILE.png] [--json]

Frames use ``Session.run`` and ``Session.stream`` in turn. Every hundredth uses a temporary session on the same context.
The default BUNDLE is a tiny one of tests/. Samples are resident memory (VmRSS), GL objects of the context (by
``glIsTexture`` and similar calls), /proc/self/fd, and threads. After a warm-up of 1,000 frames, the numbers of objects
and files must not grow, and memory (means of the first and the last quarter) by at most 4 MiB. Every result must equal
the first one of its image. Otherwise the exit code is 1. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
import tiny  # noqa: E402

from glsl_infer import bundle as bundles  # noqa: E402
from glsl_infer.bundle import Bundle  # noqa: E402
from glsl_infer.cli.progress import bar  # noqa: E402
from glsl_infer.errors import GlslInferError, InputError  # noqa: E402
from glsl_infer.gl.context import Context  # noqa: E402
from glsl_infer.runtime.session import Session  # noqa: E402
from glsl_infer.tools.benchmark import plots  # noqa: E402

GROWTH = 4 << 20
"""Bytes that resident memory can grow after the warm-up, for reserves of allocators."""
WARM_UP = 1000
"""Frames before the first sample."""
REOPEN = 100
"""Frames between two temporary sessions."""
MAX_GL_NAME = 4096
"""Number of GL names to query. Drivers use the lowest free name."""


def endure(bundle: Bundle, frames: int, samples: int) -> dict[str, Any]:
    """Run the frames and return the samples and the values that grew, as plain data.

    Raises:
        InputError: fewer than 100 frames, or samples that are not 10 to ``frames``.
    """
    if frames < 100:
        raise InputError(f"--frames {frames}; at least 100 are needed")
    if not 10 <= samples <= frames:
        raise InputError(f"--samples {samples}; give 10 to {frames}")
    size = bundle.manifest.input.size
    rng = np.random.default_rng(3)
    pictures = [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(10)]
    rows: list[dict[str, float]] = []
    wrong = done = sessions = 0
    started = time.perf_counter()
    with Context() as context, Session(bundle, context=context, cache=False) as session:
        expected = [session.run(picture) for picture in pictures]

        def count_wrong(results: list[Any]) -> int:
            return sum(not np.array_equal(result, reference) for result, reference in zip(results, expected))

        def work(until: int) -> None:
            nonlocal wrong, done, sessions
            while done < until:
                if done // len(pictures) % 2:
                    wrong += count_wrong(list(session.stream(pictures)))
                else:
                    wrong += count_wrong([session.run(picture) for picture in pictures])
                done += len(pictures)
                if done % REOPEN == 0:
                    with Session(bundle, context=context, cache=False) as another:
                        wrong += count_wrong([another.run(pictures[0])])
                    sessions += 1

        work(WARM_UP)
        for sample in bar(range(samples), "samples", "endurance"):
            work(WARM_UP + frames * (sample + 1) // samples)
            rows.append(sample_of(context, done - WARM_UP))
    grown = growth(rows)
    is_stable = grown["rss_bytes"] <= GROWTH and grown["gl_objects"] <= 0 and grown["files"] <= 0
    return {
        "frames": done - WARM_UP,
        "sessions": sessions,
        "seconds": round(time.perf_counter() - started, 1),
        "wrong_results": wrong,
        "grown": grown,
        "flat": is_stable,
        "samples": rows,
    }


def plot(result: dict[str, Any], path: Path) -> None:
    """Write the samples as three lines, one below the other.

    Raises:
        InputError: the file cannot be written.
    """
    figure = plots.figure_of(9.0, 6.0)
    rows = result["samples"]
    panels = (
        ("rss_bytes", "resident memory, MiB", 1 << 20),
        ("gl_objects", "GL objects", 1),
        ("files", "open files", 1),
    )
    for index, (key, label, unit) in enumerate(panels):
        axes = figure.add_subplot(3, 1, index + 1)
        axes.plot([row["frames"] for row in rows], [row[key] / unit for row in rows], color=plots.BLUE)
        axes.set_ylim(0, 1.2 * max(row[key] / unit for row in rows))
        axes.set_ylabel(label, fontsize=8)
    axes.set_xlabel("frames")
    plots.save(figure, path)


def sample_of(context: Context, frames: int) -> dict[str, float]:
    """Return the memory, GL objects, open files and threads of this process after a number of frames."""
    return {
        "frames": frames,
        "rss_bytes": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        "gl_objects": _objects(context),
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "threads": threading.active_count(),
    }


def growth(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the growth between the means of the first and of the last quarter.

    Single samples can include a temporary session.
    """
    quarter = max(1, len(rows) // 4)
    return {
        key: statistics.fmean(row[key] for row in rows[-quarter:])
        - statistics.fmean(row[key] for row in rows[:quarter])
        for key in rows[0]
        if key != "frames"
    }


def _objects(context: Context) -> int:
    """Return the number of objects of the context among the first ``MAX_GL_NAME`` names."""
    context.make_current()
    gl = context.gl
    kinds = (gl.IsTexture, gl.IsFramebuffer, gl.IsBuffer, gl.IsProgram, gl.IsShader)
    return sum(bool(is_one(name)) for is_one in kinds for name in range(1, MAX_GL_NAME))


def print_growth(first: Mapping[str, Any], last: Mapping[str, Any]) -> None:
    """Print the memory, GL objects, files and threads of the first sample and of the last."""
    print(f"  memory {first['rss_bytes'] / 2**20:.1f} -> {last['rss_bytes'] / 2**20:.1f} MiB")
    print(
        f"  GL objects {first['gl_objects']} -> {last['gl_objects']}, files {first['files']} -> {last['files']}, "
        f"threads {first['threads']} -> {last['threads']}"
    )


def main() -> int:
    """Run, print and plot; return the exit code."""
    parser = argparse.ArgumentParser(
        description="Check for growth of memory, GL objects and open files over thousands of frames."
    )
    parser.add_argument("bundle", nargs="?", type=Path)
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--plot", type=Path, metavar="FILE.png")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    try:
        if arguments.plot is not None:
            plots.check(arguments.plot)
        with tempfile.TemporaryDirectory() as folder:
            path = arguments.bundle or tiny.write_tiny(Path(folder))
            result = endure(bundles.read(path), arguments.frames, arguments.samples)
        if arguments.plot is not None:
            plot(result, arguments.plot)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if arguments.json:
        print(json.dumps(result))
    else:
        first, last = result["samples"][0], result["samples"][-1]
        print(f"{result['frames']} frames and {result['sessions']} more sessions in {result['seconds']} s")
        print_growth(first, last)
        print(f"  {result['wrong_results']} wrong results; {'flat' if result['flat'] else 'NOT FLAT'}")
    return 0 if result["flat"] and not result["wrong_results"] else 1


if __name__ == "__main__":
    sys.exit(main())
