"""Another shape for the same values. The optimiser removes it, or replaces it by a flatten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import GraphOnlyOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape


class Reshape(GraphOnlyOperator):
    """Attribute ``shape``: (height, width, channels) or (length,). Values keep their order in memory, as in NumPy."""

    attrs = {"shape": None}
    advice = "it can be exported from a vector to (1, 1, length) and back, or from a 1x1 map to a vector"
    only_reshapes = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the attribute, which must have as many elements as the input."""
        shape = tuple(node.attrs["shape"])
        if math.prod(shape) != math.prod(inputs[0]) or min(shape, default=0) < 1:
            raise ModelError.layer(
                node.name, f"a reshape from {inputs[0]} to {shape}", "both must hold the same number of values"
            )
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Reshape."""
        reshaped: Array = inputs[0].reshape(node.attrs["shape"])
        return reshaped


OPERATOR = Reshape()
