"""A product of two inputs plus a map in one pass: gates of a squeeze-and-excite block and the following sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering.binary import draw
from glsl_infer.ops.operator import Operator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class GatedSum(Operator):
    """``activation(a * b + c)``, elementwise.

    The inputs a and b are maps of the output's shape, or vectors with one value for each channel. c is a map of the
    output's shape.

    Attributes: ``activation``; the range ``scales`` and ``zeros``.
    """

    attrs = {"activation": "linear", "scales": None, "zeros": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the shape of the third input, to which the product of the others is broadcast."""
        if len(inputs) == 3 and len(inputs[2]) == 3 and {1, 3}.issuperset(map(len, inputs)):
            try:
                if np.broadcast_shapes(*inputs[:2]) == tuple(inputs[2]):
                    return inputs[2]
            except ValueError:
                pass
        shapes = ", ".join(map(str, inputs))
        advice = "give two inputs whose product has the shape of the third, a feature map"
        raise ModelError.layer(node.name, f"a product and a sum of shapes {shapes}", advice)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Multiply, add, activate."""
        return node.activation(inputs[0] * inputs[1] + inputs[2])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each slice. Each fragment reads one texel of each map, and two of a vector (16 bits)."""
        draw(node, build, "a * b + c")


OPERATOR = GatedSum()
