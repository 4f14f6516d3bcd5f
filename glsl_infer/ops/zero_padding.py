"""Zeros around a feature map. The optimiser merges it into a convolution that alone reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import CopyOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder


class ZeroPadding(CopyOperator):
    """Attribute ``padding``: (top, bottom, left, right) in pixels."""

    attrs = {"padding": (0, 0, 0, 0)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape, grown by the padding."""
        height, width, channels = feature_map(node, inputs[0])
        top, bottom, left, right = node.attrs["padding"]
        return height + top + bottom, width + left + right, channels

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Put zeros around the input."""
        return pad(inputs[0], node.attrs["padding"])

    def padding(self, node: Node) -> int:
        """Return the widest of the four paddings."""
        return int(max(node.attrs["padding"]))

    def passes(self, node: Node, build: Builder) -> None:
        """Refuse: only padding that a convolution could take over is drawn."""
        raise ModelError.layer(  # GPU side follows
            node.name,
            "a zero_padding in this place has no shader",
            "padding is supported directly in front of a convolution only",
        )


def pad(x: Array, padding: Sequence[int]) -> Array:
    """Return ``x`` (height, width, channels) with zeros around it; ``padding`` is (top, bottom, left, right)."""
    top, bottom, left, right = padding
    return np.pad(x, ((top, bottom), (left, right), (0, 0))) if any(padding) else x


OPERATOR = ZeroPadding()
