#!/usr/bin/env python3
"""Cost of well-known networks on a VideoCore IV: passes, programs, instructions times pixels, an estimate, export time.

    python scripts/vc4/networks.py                       # all rows, some minutes; a Markdown table
    python scripts/vc4/networks.py --only mobilenet-0.25-128 --uniform-vectors 216
    python scripts/vc4/networks.py --only x22-385 --draw-cost 45

Weights are random (seeded); batch norms have the statistics of the calibration images. Keras creates the graphs in a
separate process (networks_in_keras.py). The driver is found as by ``glsl-infer vc4``. Uniform arrays have the length of
Mesa's driver for the Raspberry Pi, or that of ``--uniform-vectors``.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/bench"))

import keras_graphs
from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.ranges.precision import AUTO, PRECISIONS
from glsl_infer.errors import GlslInferError
from glsl_infer.graph import Graph
from glsl_infer.lowering.weights_plan import DRAW, LONGEST_ARRAY
from glsl_infer.runtime.pictures.preprocess import open_image
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver, estimate

KERAS = (
    "mobilenet-0.25-128",
    "mobilenet-1.0-224",
    "mobilenet-v2-224",
    "squeezenet-224",
    "resnet20-32",
    "unet-128",
    "srcnn-96",
    "efficientnet-lite0-224",
    "inception-v3-299",
    "resnet50-224",
    "resnet50-v2-224",
    "densenet121-224",
    "densenet169-224",
    "densenet201-224",
    "vgg16-224",
    "vgg19-224",
)
NETWORKS = (*KERAS, "x22-385")
PICTURES = 4
COSTS = ("passes", "jobs", "programs", "of two threads", "weights", "million", "floor", "GPU, ms", "Zero W, ms")
HEADS = ("network", *COSTS, "export, s", "of all cores", "peak, MB")


@dataclass(frozen=True)
class Row:
    """Results of a network; ``millions`` are instructions times pixels, ``floor`` those that its products need.

    ``computing`` is the part of ``zero`` that does not depend on the costs of draws and jobs. ``two_threads``
    programs have two threads or fetch nothing. ``single`` lists layers with one thread, and their share of
    ``millions``. ``seconds`` and ``processor`` (seconds of all cores together) are those of the export. ``peak`` is
    the peak memory of this process in bytes.
    """

    name: str
    passes: int
    jobs: int
    programs: int
    two_threads: int
    modes: str
    millions: float
    floor: float
    computing: float
    zero: float
    seconds: float
    processor: float
    peak: int
    single: Sequence[str]
    problems: Sequence[str]


def pictures(size: int) -> list[NDArray[np.uint8]]:
    """Return windows of the photographs in docs/images."""
    windows = []
    rng = np.random.default_rng(0)
    files = sorted((ROOT / "docs/images").glob("*.jpg"))
    for index in range(PICTURES):
        photograph = open_image(files[index % len(files)])
        side = int(rng.integers(min(photograph.size) // 2, min(photograph.size) + 1))
        left, top = (int(rng.integers(length - side + 1)) for length in photograph.size)
        window = photograph.crop((left, top, left + side, top + side)).resize((size, size))
        windows.append(np.asarray(window.convert("RGB"), np.uint8))
    return windows


def graph_of(name: str, folder: Path) -> Graph:
    """Return a network, created by Keras in a separate process unless it is X22."""
    size = int(name.rpartition("-")[2])
    if name == "x22-385":
        return x22(size, 120)
    np.savez(folder / "pictures.npz", calibration=np.stack(pictures(size)))
    return keras_graphs.run(name, folder)


def row(name: str, driver: Driver, options: Options) -> Row:
    """Export a network and compile it."""
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        graph = graph_of(name, folder)
        shape = graph.shapes[graph.output]
        labels = [str(index) for index in range(shape[0])] if len(shape) == 1 else ()
        began, worked = time.monotonic(), time.process_time()
        bundle, program, _ = build(graph, labels, options=options, calibration=pictures(int(name.rpartition("-")[2])))
        bundles.write(bundle, folder / "network.glslnn", read_back=True)
        seconds, processor = time.monotonic() - began, time.process_time() - worked
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        report = vc4.report(*vc4.measure(folder / "network.glslnn", driver), name)
    modes = [choice.mode for choice in program.choices.values()]
    counts = ", ".join(f"{modes.count(mode)} {mode}" for mode in dict.fromkeys(modes))
    floor = sum(row.least_total or 0 for row in report.rows)
    totals = report.totals
    estimated = estimate.estimate(report, estimate.BOARDS[0])
    return Row(
        name,
        totals["passes"],
        totals["jobs"],
        totals["programs"],
        sum(shader.threads == 2 or not shader.fetches for shader in report.shaders.values()),
        counts,
        report.total / 1e6,
        floor / 1e6,
        estimated.gpu,
        estimated.total,
        seconds,
        processor,
        peak,
        [
            f"{row.layer} ({row.op}): one thread, {row.total / report.total:.2%} of the instructions"
            for row in report.rows
            if row.threads == 1 and row.fetches
        ],
        [f"{problem.layer}: {problem.text}" for problem in report.problems if problem.fatal],
    )


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description="What networks cost a VideoCore IV.", allow_abbrev=False)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--uniform-vectors", type=int, default=LONGEST_ARRAY, help="see glsl-infer export")
    parser.add_argument("--draw-cost", type=float, default=DRAW, help="see glsl-infer export")
    parser.add_argument("--weights", default="auto", help="see glsl-infer export")
    parser.add_argument("--precision", default=AUTO, choices=PRECISIONS, help="see glsl-infer export")
    parser.add_argument("--driver", type=Path, metavar="DIR", help="folder of Mesa's vc4 driver and shim")
    args = parser.parse_args()
    print(f"| {' | '.join(HEADS)} |")
    print(f"| {' | '.join(['---'] * len(HEADS))} |")
    failed = False
    options = Options(
        weights=args.weights,
        uniform_vectors=args.uniform_vectors,
        precision=args.precision,
        draw_cost=args.draw_cost,
    )
    for name in args.only:
        try:
            result = row(name, vc4.find(args.driver), options)
        except GlslInferError as error:
            failed = True
            print(f"| {name} | {error} |", flush=True)
            continue
        failed = failed or bool(result.problems)
        print(
            f"| {name} | {result.passes:,} | {result.jobs} | {result.programs} | {result.two_threads} | "
            f"{result.modes} | {result.millions:.1f} | {result.floor:.1f} | {result.computing:.1f} | "
            f"{result.zero:.0f} | {result.seconds:.0f} | {result.processor:.0f} | {result.peak / 1e6:.0f} |",
            flush=True,
        )
        for problem in (*result.single, *result.problems):
            print(f"{name}: {problem}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
