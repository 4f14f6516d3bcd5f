"""Enlarging a feature map by whole factors, with bilinear interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import Operator
from glsl_infer.ops.upsample_nearest import enlarged_shape

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder


class UpsampleBilinear(Operator):
    """Linear interpolation along both axes between pixel centres; beyond the outermost centres the edge goes on.

    Output pixel y lies at ``(y + 0.5) / size y - 0.5`` of the input, as ``tf.image.resize`` has it (half-pixel
    centres, no antialiasing, corners not aligned). Attribute ``size`` (y, x).
    """

    attrs = {"size": (2, 2)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height * size y, width * size x, channels)."""
        return enlarged_shape(node, inputs[0])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Interpolate rows, then columns."""
        size_y, size_x = node.attrs["size"]
        return _interpolate(_interpolate(inputs[0], size_y, 0), size_x, 1)

    def passes(self, node: Node, build: Builder) -> None:
        """Refuse: there is no shader yet."""
        raise ModelError.layer(
            node.name, "a upsample_bilinear has no shader", "use interpolation='nearest' or DepthToSpace in its place"
        )  # GPU side follows


def _interpolate(x: Array, size: int, axis: int) -> Array:
    """Enlarge one axis."""
    length = x.shape[axis]
    position = (np.arange(length * size) + 0.5) / size - 0.5
    before = np.floor(position).astype(np.int64)
    shape = [1] * x.ndim
    shape[axis] = -1
    share: Array = (position - before).astype(x.dtype).reshape(shape)
    low = x.take(np.clip(before, 0, length - 1), axis=axis)
    high = x.take(np.clip(before + 1, 0, length - 1), axis=axis)
    return low + (high - low) * share


OPERATOR = UpsampleBilinear()
