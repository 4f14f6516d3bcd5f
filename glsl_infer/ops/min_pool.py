"""Minimum pooling: the smallest value of each window, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.max_pool import MOST_UNROLLED, draw_windows, pooled_shape
from glsl_infer.ops.max_pool import OPERATOR as MAX_POOL
from glsl_infer.ops.operator import CopyOperator
from glsl_infer.ops.traits import AxisWindow, window_reads

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class MinPool(CopyOperator):
    """The smallest value of each window; attributes as of ``max_pool``."""

    attrs = {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}
    idle = {"pool": (1, 1), "strides": (1, 1)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, channels), with the number of windows as height and width."""
        return pooled_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        return window_reads(node, *node.attrs["pool"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the minimum over each window."""
        smallest: Array = -MAX_POOL.reference(node, [-inputs[0]])
        return smallest

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the windows of each slice, with coordinates clamped to the map."""
        if min(build.feature_map(node.inputs[0]).scales) < 0:
            raise ModelError.layer(
                node.name,
                "a minimum of an image whose larger bytes are smaller values",
                "let a convolution come first, or rescale by a positive factor",
            )
        draw_windows(node, build, "max_pool.frag", macros={"SMALLEST": 1}, most=MOST_UNROLLED)


OPERATOR = MinPool()
