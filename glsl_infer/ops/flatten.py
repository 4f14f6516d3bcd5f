"""Flatten: a 1x1 feature map becomes a vector of 16-bit fixed point; a vector stays what it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer import quantize
from glsl_infer.errors import ModelError
from glsl_infer.ops.global_average_pool import average_to_vector
from glsl_infer.ops.operator import Bounds, Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.builder import Builder
    from glsl_infer.graph import Array, Node, Shape


class Flatten(Operator):
    """Attribute ``scale``: that of the stored vector (set by fixed_point)."""

    attrs = {"scale": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (number of values,)."""
        return (math.prod(inputs[0]),)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Lay the values out in Keras' order: rows, columns, channels."""
        return inputs[0].reshape(-1)

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round to 16-bit fixed point."""
        return quantize.store16(exact, node.attrs["scale"])

    def interval(self, node: Node, inputs: Sequence[Bounds]) -> Bounds:
        """Return the input's bounds: it has one pixel."""
        return inputs[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Copy a 1x1 map: the average of one pixel."""
        height, width, _ = feature_map(node, build.shapes[node.inputs[0]])
        if (height, width) != (1, 1):
            raise ModelError.layer(
                node.name, f"flattening a map of {height}x{width} pixels", "use GlobalAveragePooling2D in its place"
            )
        average_to_vector(node, build)


OPERATOR = Flatten()
