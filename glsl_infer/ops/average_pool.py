"""Average pooling: the mean of each window, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering.per_slice import Template
from glsl_infer.ops.max_pool import Pooling, draw_windows, windows, written_out
from glsl_infer.ops.zero_padding import pad

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node
    from glsl_infer.lowering.builder import Builder


class AveragePool(Pooling):
    """The mean of each window.

    Attributes: ``pool`` (y, x), ``strides`` (y, x), ``padding`` (top, bottom, left, right). Padding is excluded:
    windows at the edge divide by the number of their pixels within the map. ``scales`` and ``zeros`` are the input's.
    """

    attrs = {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0), "scales": None, "zeros": None}
    keeps_range = True
    idle = {"pool": (1, 1), "strides": (1, 1)}

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Divide the sum of each window by the number of its pixels within the map."""
        return window_means(node, inputs[0])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the windows of every slice."""
        rounding = ["y = floor(mean * 256.0 + (0.5 + 0.25 / area)) * (1.0 / 65280.0);"]
        texels = {"texels": written_out(node.attrs["pool"])}
        draw_windows(node, build, Template("average_pool.frag", lines=texels, rounding=rounding))


def window_means(node: Node, x: Array) -> Array:
    """Return the mean of each pooling window, of its pixels within the map."""

    def sums(values: Array) -> Array:
        padded = pad(values, node.attrs["padding"])
        total: Array = windows(padded, node.attrs["pool"], node.attrs["strides"]).sum(axis=(-2, -1))
        return total

    mean: Array = sums(x) / sums(np.ones((*x.shape[:2], 1), x.dtype))
    return mean


OPERATOR = AveragePool()
