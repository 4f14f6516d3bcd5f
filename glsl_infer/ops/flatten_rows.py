"""Flatten a feature map in an order that is fast to draw: rows of pixels with two channels each.

``optimize.long_vectors`` inserts it before a dense layer, and reorders the layer's weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.global_average_pool import copy_to_vector
from glsl_infer.ops.operator import Bounds, Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class FlattenRows(Operator):
    """Rows ``first`` to ``first + count`` of a map, concatenated, with 2 * width elements each.

    Row ``pair * height + y`` has channels 2 * pair and 2 * pair + 1 of the pixels (0, y), (1, y), ...; a missing second
    channel is 0. Attributes: ``first``, ``count``; ``scale`` of the stored vector.
    """

    attrs = {"first": 0, "count": 1, "scale": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (2 * width * count,)."""
        height, width, channels = feature_map(node, inputs[0])
        first, count = node.attrs["first"], node.attrs["count"]
        rows = height * ((channels + 1) // 2)
        if first < 0 or count < 1 or first + count > rows:
            raise ModelError.layer(
                node.name, f"rows {first} to {first + count} of a map with {rows}", "take rows that it has"
            )
        return (2 * width * count,)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Concatenate the rows."""
        return self._rows(node, inputs[0]).reshape(-1)

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return the bounds over all channels for each element; a missing channel is 0."""
        low, high = (float(bound) for bound in (min(inputs[0][0].min(), 0.0), max(inputs[0][1].max(), 0.0)))
        return np.full(shape, low), np.full(shape, high)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw a quad for each row."""
        copy_to_vector(node, build, node.attrs["first"], node.attrs["count"])

    def _rows(self, node: Node, values: Array) -> Array:
        """Return (count, width, 2)."""
        height, width, channels = values.shape
        even = np.concatenate([values, np.zeros((height, width, channels % 2), values.dtype)], axis=2)
        rows = even.reshape(height, width, -1, 2).transpose(2, 0, 1, 3).reshape(-1, width, 2)
        selected: Array = rows[node.attrs["first"] : node.attrs["first"] + node.attrs["count"]]
        return selected


OPERATOR = FlattenRows()
