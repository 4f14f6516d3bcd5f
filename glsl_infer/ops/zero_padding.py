"""Zeros around a feature map. The optimiser merges it into the convolution behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.ops.operator import GraphOnlyOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape


class ZeroPadding(GraphOnlyOperator):
    """Attribute ``padding``: (top, bottom, left, right) in pixels."""

    attrs = {"padding": (0, 0, 0, 0)}
    advice = "padding is supported directly in front of a convolution only"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape, grown by the padding."""
        height, width, channels = feature_map(node, inputs[0])
        top, bottom, left, right = node.attrs["padding"]
        return height + top + bottom, width + left + right, channels

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Put zeros around the input."""
        return pad(inputs[0], node.attrs["padding"])


def pad(x: Array, padding: Sequence[int]) -> Array:
    """Return ``x`` (height, width, channels) with zeros around it; ``padding`` is (top, bottom, left, right)."""
    top, bottom, left, right = padding
    return np.pad(x, ((top, bottom), (left, right), (0, 0))) if any(padding) else x


OPERATOR = ZeroPadding()
