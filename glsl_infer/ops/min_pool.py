"""Minimum pooling: the smallest value of each window, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.lowering.per_slice import Template
from glsl_infer.ops.max_pool import MOST_UNROLLED, MaxPool, draw_windows

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node
    from glsl_infer.lowering.builder import Builder


class MinPool(MaxPool):
    """The smallest value of each window; attributes as of ``max_pool``."""

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the minimum over each window."""
        smallest: Array = -super().reference(node, [-inputs[0]])
        return smallest

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the windows of each slice, with coordinates clamped to the map."""
        if min(build.feature_map(node.inputs[0]).scales) < 0:
            raise ModelError.layer(
                node.name,
                "a minimum of an image whose larger bytes are smaller values",
                "let a convolution come first, or rescale by a positive factor",
            )
        draw_windows(node, build, Template("max_pool.frag", {"SMALLEST": 1}), MOST_UNROLLED)


OPERATOR = MinPool()
