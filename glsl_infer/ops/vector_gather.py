"""Selected elements of vectors in any order: slices and splits of vectors in 16-bit fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.ops.vector_concat import ElementSource, draw_elements

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class VectorGather(Operator):
    """Attributes: ``channels``, indices of the elements in the concatenated inputs; ``scale`` of the stored vector."""

    attrs = {"channels": (), "scale": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (number of indices,)."""
        length, channels = sum(vector(node, shape) for shape in inputs), node.attrs["channels"]
        if not channels or min(channels) < 0 or max(channels) >= length:
            raise ModelError.layer(
                node.name,
                f"the numbers {list(channels)[:8]} of a vector of {length}",
                f"take some of 0 to {length - 1}",
            )
        return (len(channels),)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Select the elements."""
        return np.concatenate(inputs)[list(node.attrs["channels"])]

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return the bounds of the selected elements."""
        low, high = (np.concatenate(bounds)[list(node.attrs["channels"])] for bounds in zip(*inputs))
        return low, high

    def passes(self, node: Node, build: Builder) -> None:
        """Draw a quad for each run of texels."""
        lengths = [build.fixed_point(name).length for name in node.inputs]
        elements = [ElementSource(source, number) for source, length in enumerate(lengths) for number in range(length)]
        draw_elements(node, build, [elements[channel] for channel in node.attrs["channels"]])


OPERATOR = VectorGather()
