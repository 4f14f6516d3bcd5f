"""Maps of 8 bits along a curve, simulated: a byte stands for a square, so that steps are fine where numbers are small.

A byte b stands for ``unit * (b - zero) * |b - zero|``. Rounding to steps in even distances is what shaders do today.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Array, Graph, Node
from glsl_infer.program.layout import Range, per_channel
from precision_parts.decomposed import Stored

WAYS = ("straight", "one-sided", "signed", "both")
"""Which maps are along the curve: none, those that are never negative, all others, or all."""

NOISE = 0.05
"""Of a step, by which numbers are moved before they are rounded: runs differ by chance then, and can be averaged."""


def chosen(graph: Graph, way: str) -> set[str]:
    """Return the layers of a prepared graph that are along the curve in one of ``WAYS``: of 8 bits, and no outputs."""
    maps = [node for node in graph.nodes if node.attrs.get("bits") == 8 and len(graph.shapes[node.name]) == 3]
    inside = [node for node in maps if node.attrs.get("scales") and node.name not in graph.output_layers]
    wanted = {"straight": (), "one-sided": (True,), "signed": (False,), "both": (True, False)}[way]
    return {node.name for node in inside if (not any(node.attrs["zeros"])) in wanted}


def along(node: Node, value: Array) -> NDArray[np.float64]:
    """Round a map along the curve, over the range that it has in even steps.

    One zero point for all channels, which padding wants, stays one for all.
    """
    unit, zero = _unit_and_zero(node, value.shape[-1])
    steps = np.asarray(value, np.float64) / unit
    rounded = np.clip(np.floor(np.sign(steps) * np.sqrt(np.abs(steps)) + zero + 0.5), 0.0, 255.0) - zero
    return np.asarray(unit * rounded * np.abs(rounded))


def _unit_and_zero(node: Node, channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest units with which both ends are within reach, and the zero points, (channels,) each."""
    low, high = Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"])).ends(channels)
    zeros = np.arange(256.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(high > 0.0, high / (255.0 - zeros) ** 2, 0.0)
        below = np.where(low < 0.0, -low / zeros**2, 0.0)
    units = np.maximum(above, below)
    shared = len({*per_channel(node.attrs["zeros"], channels).tolist()}) == 1
    best = units.argmin(axis=0)
    if shared:
        best = np.full(channels, int((units / (high - low)).sum(axis=1).argmin()))
    return units[best, np.arange(channels)], best.astype(np.float64)


def stored(names: Collection[str], rng: np.random.Generator) -> Stored:
    """Return what rounds the layers named along the curve, and others as shaders do; numbers of 8 bits are moved."""

    def store(node: Node, value: Array) -> Array:
        moved = np.asarray(value, np.float64)
        if node.attrs["bits"] == 8:  # 0 stays: behind a ReLU it has no noise
            moved = moved + (moved != 0.0) * rng.uniform(-NOISE, NOISE, moved.shape) * node.attrs["scales"] / 255.0
        return along(node, moved) if node.name in names else node.operator.store(node, moved)

    return store
