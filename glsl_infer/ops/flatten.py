"""Flatten: convert a feature map to a vector in 16-bit fixed point, pixel by pixel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.global_average_pool import pixels_to_vector
from glsl_infer.ops.operator import Bounds, Operator, feature_map
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class Flatten(Operator):
    """Attribute ``scale`` of the stored vector, which ``fixed_point`` sets."""

    attrs = {"scale": None}
    only_reshapes = True
    on_parts = "rows"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (number of elements,)."""
        return (math.prod(inputs[0]),)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Flatten in Keras' order: rows, columns, channels."""
        return inputs[0].reshape(-1)

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Repeat the input's bounds for each pixel."""
        low, high = inputs[0]
        return np.tile(low, shape[0] // len(low)), np.tile(high, shape[0] // len(high))

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the input is a vector."""
        return len(shape) == 1

    def passes(self, node: Node, build: Builder) -> None:
        """Copy each pixel, as an average over one pixel."""
        height, width, channels = feature_map(node, build.shapes[node.inputs[0]])
        problem = f"flattening a map of {height}x{width} pixels and {channels} channels"
        if channels % 2 and height * width > 1:
            raise ModelError.layer(node.name, problem, "make the number of channels even, or the map 1x1 pixels")
        if height * width * channels > 2 * MAX_TEXTURE_SIZE:
            raise ModelError.layer(
                node.name,
                problem,
                f"at most {2 * MAX_TEXTURE_SIZE} values are supported, more only in front of Dense; pool more, or "
                "use GlobalAveragePooling2D",
            )
        pixels_to_vector(node, build)


OPERATOR = Flatten()
