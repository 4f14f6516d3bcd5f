"""The convolutions for convolutions.py: a reproducible random selection of everything that a layer can be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from glsl_infer.graph import Graph, Node

WEIGHTS = ("baked", "uniform", "texture", "texture-16", "auto")
KINDS = ("plain", "residual", "strided", "groups", "depthwise")
KERNELS = (1, 1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7, 8, 9)
"""Sides of kernels, repeated by frequency."""

ACTIVATIONS = (
    "linear",
    "relu",
    "relu(6)",
    "leaky_relu(0.25)",
    "prelu(0.25,-0.5,1.5,0,0.125,-2,0.5,1)",
    "bent_relu(0.25,0.5,3)",
    "hard_silu",
    "hard_sigmoid",
    "piecewise_linear_sigmoid",
    "piecewise_linear(0.25,0.5,2,-0.25,0.75)",
    "sigmoid",
    "tanh",
    "softsign",
    "elu(1)",
    "selu",
    "softplus",
    "silu",
    "gelu",
    "gelu_tanh",
    "exponential",
    "mish",
    "log_sigmoid",
)
"""Activations in turn. Those undefined below 0 are left out: log, sqrt, rsqrt, reciprocal."""

DILATED_ACTIVATIONS = (
    "absolute",
    "at_least(-0.5)",
    "at_most(0.5)",
    "clip(-1,1)",
    "square",
    "power(3)",
    "celu(0.5)",
    "hard_shrink(0.5)",
    "soft_shrink(0.5)",
    "tanh_shrink",
    "threshold(0.25,0.5)",
    "sparse_plus",
    "squareplus(4)",
)

SIZES = (3, 224, 5, 16, 33, 7, 112, 12, 56, 9, 28, 75, 14, 4, 96, 19, 150, 8, 40, 24)
"""Sides of maps in pixels, one for each batch. Small and large maps have their tiles in different positions."""

FILTERS = 8
MOST_SLICES = 128
MOST_COLUMNS = 4700
"""Limit of columns of weights; 3x3 over 512 channels has 4608."""

MOST_VALUES = 3 << 20
"""Limit of values in an input map; larger maps take long to calibrate, and give the same shaders."""

BATCH = 12
"""Number of convolutions in a bundle: starting the driver takes longer than compiling one."""

BATCHES, DILATED_BATCHES, SHARED_BATCHES = 35, 5, 5
SEED = 21


@dataclass(frozen=True)
class Case:
    """A convolution: its window, input slices of each output slice, its other properties, and the place of its weights.

    Attributes:
        kernel: rows and columns of the window; ``across`` is the number of columns if it differs.
        step: the number that the kind varies. ``strided``: the stride. ``dilated``: texels from tap to tap.
            ``groups``, ``shared``: the number of groups; those of a shared case end within a slice.
        number: distinguishes cases that are otherwise equal.
    """

    kernel: int
    slices: int
    kind: str
    weights: str
    activation: str
    step: int = 2
    across: int = 0
    number: int = 0

    @property
    def window(self) -> tuple[int, int]:
        """Rows and columns of the window."""
        return self.kernel, self.across or self.kernel

    @property
    def name(self) -> str:
        """Name of the layer."""
        rows, columns = self.window
        step = self.step if self.kind in ("strided", "groups", "dilated", "shared") else ""
        return f"c{self.number}-{rows}x{columns}-s{self.slices}-{self.kind}{step}-{self.weights}"


@dataclass(frozen=True)
class Batch:
    """Convolutions in a bundle with images of ``size`` pixels a side. Their weights all have the same place."""

    size: int
    cases: tuple[Case, ...]


def batches(seed: int = SEED) -> Iterator[Batch]:
    """Yield the batches of a seed; dilated convolutions and those of shared slices come last."""
    rng = np.random.default_rng(seed)
    turns = itertools.cycle(ACTIVATIONS)
    number = itertools.count()
    for index in range(BATCHES + DILATED_BATCHES + SHARED_BATCHES):
        size, weights = SIZES[index * 7 % len(SIZES)], WEIGHTS[index % len(WEIGHTS)]
        kinds = KINDS if index < BATCHES else ("dilated",) if index < BATCHES + DILATED_BATCHES else ("shared",)
        turns = turns if index != BATCHES else itertools.cycle(DILATED_ACTIVATIONS)
        cases = [
            _drawn(rng, size, kinds[index % len(kinds)], weights, next(turns), next(number)) for index in range(BATCH)
        ]
        yield Batch(size, tuple(cases))


def _drawn(rng: np.random.Generator, size: int, kind: str, weights: str, activation: str, number: int) -> Case:
    step = int(rng.integers(2, 9 if kind == "shared" else 4))
    side = size * step if kind == "strided" else size
    while True:
        rows = int(rng.choice(KERNELS))
        across = int(rng.choice(KERNELS)) if rng.random() < 0.2 else rows
        slices = 1 if kind == "depthwise" else int(np.exp(rng.uniform(0.0, np.log(MOST_SLICES + 1))))
        if kind == "dilated" and rows * across == 1:
            continue
        channels = 4 * slices * (step if kind in ("groups", "shared") else 1)
        fits = side * side * channels <= MOST_VALUES or slices == 1
        if rows * across * 4 * slices <= MOST_COLUMNS and fits:
            return Case(rows, slices, kind, weights, activation, step, across, number)


def layers(case: Case, before: str, channels: int) -> list[Node]:
    """Return the nodes of a case, ending with the convolution; they read ``before`` with ``channels`` channels."""
    rng = np.random.default_rng(0)
    groups = {"groups": case.step, "shared": case.step, "depthwise": FILTERS}.get(case.kind, 1)
    filters = FILTERS if FILTERS % groups == 0 else 4 * groups
    input_channels = FILTERS if case.kind == "depthwise" else 4 * case.slices * groups
    if case.kind == "shared":
        filters = groups * (1 + case.number % 7)
        input_channels -= groups * (1 + case.number % 3)
    dilation = case.step if case.kind == "dilated" else 1
    spans = [(taps - 1) * dilation for taps in case.window]
    padding = tuple(pixels for span in spans for pixels in (span // 2, span - span // 2))

    def convolution(name: str, inputs: tuple[str, ...], shape: tuple[int, ...], **attrs: Any) -> Node:
        kernel = rng.normal(0.0, 1.0 / np.sqrt(np.prod(shape[:3])), shape).astype(np.float32)
        weights = {"kernel": kernel, "bias": rng.normal(0.0, 0.5, shape[3]).astype(np.float32)}
        attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "relu(6)", **attrs}
        return Node(name, "conv2d", inputs, attrs, weights)

    strided = case.kind == "strided"
    nodes = [Node(f"{case.name}-up", "upsample_nearest", (before,), {"size": (case.step, case.step)})] * strided
    source = nodes[-1].name if nodes else before
    nodes.append(convolution(f"{case.name}-feed", (source,), (1, 1, channels, input_channels)))
    inputs: tuple[str, ...] = (nodes[-1].name,)
    if case.kind == "residual":
        nodes.append(convolution(f"{case.name}-side", (source,), (1, 1, channels, filters)))
        inputs = (*inputs, nodes[-1].name)
    stride = case.step if strided else 1
    options: dict[str, Any] = {"strides": (stride, stride), "padding": padding, "groups": groups}
    if dilation > 1:
        options["dilations"] = (dilation, dilation)
    activation = case.activation
    if activation.startswith("prelu") and filters != FILTERS:
        activation = f"prelu({','.join(['0.25'] * filters)})"
    shape = (*case.window, input_channels // groups, filters)
    return [*nodes, convolution(case.name, inputs, shape, **options, activation=activation)]


def network(batch: Batch) -> Graph:
    """Return the graph of a batch: one convolution after the other."""
    nodes = [Node("image", "input", (), {"shape": (batch.size, batch.size, 3)})]
    channels = 3
    for case in batch.cases:
        nodes += layers(case, nodes[-1].name, channels)
        channels = int(nodes[-1].weights["bias"].size)
    return Graph("convolutions", tuple(nodes), nodes[-1].name)
