#!/usr/bin/env python3
"""Compile convolutions of many shapes for a VideoCore IV, and say which run out of registers or fall to one thread.

    python scripts/vc4/convolutions.py                     # all of them: some minutes
    python scripts/vc4/convolutions.py --every 20          # one of 20
    python scripts/vc4/convolutions.py --kernel 3 --slices 16 --weights baked uniform
    python scripts/vc4/convolutions.py --json

Each convolution reads a map of its own and writes two slices. What a compiler makes of a shader depends on shapes, and
hardly on the size of maps: only on how tiles lie in their texture. The driver is found as by
``glsl-infer vc4``. Ends with 1 where a shader fails or has one thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from glsl_infer import bundle as bundles
from glsl_infer.cli.progress import bar
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import GlslInferError
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering import weight_bytes
from glsl_infer.lowering.weights_plan import LONGEST_ARRAY
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver

KERNELS = (1, 2, 3, 5, 7, 9)
SLICES = (1, 2, 4, 6, 8, 9, 12, 16, 24, 32, 48, 64, 128)
WEIGHTS = ("baked", "uniform", "texture", "texture-16", "auto")
KINDS = ("plain", "residual", "strided", "groups", "depthwise", "dilated")
ACTIVATIONS = ("relu(6)", "linear", "piecewise_linear_sigmoid", "sigmoid", "hard_sigmoid", "relu")
FILTERS = 8
SIZES = (16, 5, 33, 16, 12, 56)
"""Of maps, by turns of batches. Small ones and large ones have their tiles in other places."""

DILATION = 3

SIXTEEN = "texture-16"
"""Weights of 16 bits in a texture, where 8 would do."""

MOST_COLUMNS = 4700
"""Shapes with more columns of weights are left out: 3x3 over 512 channels has 4608."""

BATCH = 12
"""Convolutions in a bundle: starting the driver takes longer than compiling one of them."""


@dataclass(frozen=True)
class Case:
    """A convolution: its window, input slices of each output slice, what else there is to it, and where weights go."""

    kernel: int
    slices: int
    kind: str
    weights: str
    activation: str

    @property
    def name(self) -> str:
        """What the layer is called."""
        return f"k{self.kernel}s{self.slices}-{self.kind}-{self.weights}"


@dataclass(frozen=True)
class Result:
    """What a case compiles to: passes for each output slice, and of its longest program what the driver says."""

    case: Case
    taken: str
    passes: float
    instructions: int
    fetches: int
    threads: int
    temporaries: int
    failure: str

    @property
    def bad(self) -> bool:
        """Whether it does not run as it should."""
        return bool(self.failure) or self.threads == 1


def cases() -> Iterator[Case]:
    """Yield all of the sweep; activations take turns."""
    turns = itertools.cycle(ACTIVATIONS)
    for kernel, slices, kind, weights in itertools.product(KERNELS, SLICES, KINDS, WEIGHTS):
        columns = kernel * kernel * (slices if kind != "depthwise" else 1) * 4
        if columns > MOST_COLUMNS or (kind == "depthwise" and slices > 1) or (kind == "dilated" and kernel == 1):
            continue
        yield Case(kernel, slices, kind, weights, next(turns))


def layers(case: Case, before: str, channels: int) -> list[Node]:
    """Return the nodes of a case, the last of which is the convolution; they read ``before`` of some channels."""
    rng = np.random.default_rng(0)
    apart = DILATION if case.kind == "dilated" else 1
    around = ((case.kernel - 1) // 2 * apart, case.kernel // 2 * apart) * 2
    groups = {"groups": 2, "depthwise": FILTERS}.get(case.kind, 1)
    wide = FILTERS if case.kind == "depthwise" else 4 * case.slices * groups

    def convolution(name: str, inputs: tuple[str, ...], shape: tuple[int, ...], **attrs: Any) -> Node:
        kernel = rng.normal(0.0, 1.0 / np.sqrt(np.prod(shape[:3])), shape).astype(np.float32)
        weights = {"kernel": kernel, "bias": rng.normal(0.0, 0.5, shape[3]).astype(np.float32)}
        attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "relu(6)", **attrs}
        return Node(name, "conv2d", inputs, attrs, weights)

    nodes = [Node(f"{case.name}-up", "upsample_nearest", (before,), {"size": (2, 2)})]
    nodes = [] if case.kind != "strided" else nodes
    read = nodes[-1].name if nodes else before
    nodes.append(convolution(f"{case.name}-feed", (read,), (1, 1, channels, wide)))
    inputs: tuple[str, ...] = (nodes[-1].name,)
    if case.kind == "residual":
        nodes.append(convolution(f"{case.name}-side", (read,), (1, 1, channels, FILTERS)))
        inputs = (*inputs, nodes[-1].name)
    stride = 2 if case.kind == "strided" else 1
    shape = (case.kernel, case.kernel, wide // groups, FILTERS)
    options = {
        "strides": (stride, stride),
        "padding": around,
        "groups": groups,
        "dilations": (apart, apart),
        "activation": case.activation,
    }
    return [*nodes, convolution(case.name, inputs, shape, **options)]


def compiled(
    some: Sequence[Case], driver: Driver, uniform_vectors: int, folder: Path, size: int = SIZES[0]
) -> list[Result]:
    """Compile some cases, whose weights go to the same place, in one bundle of pictures of ``size`` pixels."""
    nodes = [Node("image", "input", (), {"shape": (size, size, 3)})]
    for case in some:
        channels = 3 if len(nodes) == 1 else FILTERS
        nodes += layers(case, nodes[-1].name, channels)
    picture = np.random.default_rng(0).integers(0, 256, (size, size, 3), np.uint8)
    options = Options(
        weights=some[0].weights.removesuffix("-16"),
        memory="naive",
        uniform_vectors=uniform_vectors,
    )
    graph = Graph("convolutions", tuple(nodes), nodes[-1].name)
    with mock.patch.object(weight_bytes, "MOST_NOISE", 0.0 if some[0].weights == SIXTEEN else np.inf):
        made, program, _ = build(graph, (), options=options, calibration=[picture])
    path = folder / "convolutions.glslnn"
    bundles.write(made, path)
    _, measured = vc4.measure(path, driver)
    found = []
    for case in some:
        passes = [entry for entry in made.manifest.passes if entry.layer in (case.name, f"{case.name}-products")]
        names = list(dict.fromkeys(entry.program for entry in passes))
        shaders = [measured.programs[name] for name in names if name in measured.programs]
        longest = max(shaders, key=lambda one: one.instructions, default=None)
        failures = [measured.failures[name] for name in names if name in measured.failures]
        choice = program.choices.get(case.name)
        found.append(
            Result(
                case,
                "partial sums" if choice is None else choice.mode,
                len(passes) / (FILTERS // 4),
                longest.instructions if longest else 0,
                longest.fetches if longest else 0,
                min((shader.threads for shader in shaders if shader.fetches), default=0),
                longest.temporaries if longest else 0,
                failures[0] if failures else "",
            )
        )
    return found


def main() -> int:
    """Compile, print; return the exit code."""
    parser = argparse.ArgumentParser(description="Compile many convolutions for a VideoCore IV.", allow_abbrev=False)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one case of N")
    parser.add_argument("--kernel", type=int, nargs="+", default=KERNELS)
    parser.add_argument("--slices", type=int, nargs="+", default=SLICES)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--weights", nargs="+", choices=WEIGHTS, default=WEIGHTS)
    parser.add_argument("--uniform-vectors", type=int, default=LONGEST_ARRAY, help="see glsl-infer export")
    parser.add_argument("--driver", type=Path, metavar="DIR", help="folder of Mesa's vc4 driver and shim")
    parser.add_argument("--json", action="store_true", help="print a row for each as JSON")
    args = parser.parse_args()
    chosen = [
        case
        for case in cases()
        if case.kernel in args.kernel and case.slices in args.slices and case.kind in args.kind
        if case.weights in args.weights
    ][:: args.every]
    alike = [[one for one in chosen if one.weights == mode] for mode in WEIGHTS]
    batches = [some[first : first + BATCH] for some in alike for first in range(0, len(some), BATCH)]
    found: list[Result] = []
    try:
        driver = vc4.find(args.driver)
        with tempfile.TemporaryDirectory() as folder:
            for batch, size in zip(bar(batches, "convolutions"), itertools.cycle(SIZES)):
                found += compiled(batch, driver, args.uniform_vectors, Path(folder), size)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        print_table(found)
    return int(any(one.bad for one in found))


def print_table(found: Sequence[Result]) -> None:
    """Print a line for each, and how many are bad."""
    heads = ("convolution", "weights", "passes", "inst", "fetches", "threads", "temps", "failure")
    print(f"{heads[0]:28} {heads[1]:>12}", *(f"{head:>7}" for head in heads[2:-1]), f" {heads[-1]}")
    for one in found:
        numbers = (one.instructions, one.fetches, one.threads, one.temporaries)
        print(
            f"{one.case.name:28} {one.taken:>12} {one.passes:7.1f}",
            *(f"{number:7}" for number in numbers),
            f" {one.failure}",
        )
    print(f"{len(found)} convolutions, {sum(one.bad for one in found)} of them fail or have one thread")


if __name__ == "__main__":
    sys.exit(main())
