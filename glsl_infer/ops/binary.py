"""Elementwise operations of two operands with broadcasting: products (gates), differences, quotients, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph.elementwise import DRAWN
from glsl_infer.lowering.binary import draw
from glsl_infer.ops.operator import Operator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class Binary(Operator):
    """``operation`` (one of ``elementwise.DRAWN``) of two inputs with broadcasting.

    The output is a feature map (height, width, channels). An operand has the same shape, or a height, width or channel
    count of 1, or is a vector (channels,), such as the gates of a squeeze-and-excite block. Attributes: ``operation``;
    ``activation`` of the result; the range ``scales`` and ``zeros``.
    """

    attrs = {"operation": None, "activation": "linear", "scales": None, "zeros": None}
    broadcasts = True
    on_vectors = "vector_binary"
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the broadcast shape."""
        if node.attrs["operation"] not in DRAWN:
            raise ModelError.layer(
                node.name, f"an operation '{node.attrs['operation']}'", f"there are: {', '.join(DRAWN)}"
            )
        try:
            shape = np.broadcast_shapes(*inputs)
        except ValueError:
            shape = ()
        ranks = [len(operand_shape) for operand_shape in inputs]
        if len(inputs) != 2 or (ranks != [1, 1] and (len(shape) != 3 or not {1, 3}.issuperset(ranks))):
            raise ModelError.layer(
                node.name,
                f"{with_article(node.attrs['operation'])} of shapes {' and '.join(map(str, inputs))}",
                "give two feature maps of one shape, or one with a height, width or number of channels of 1, or a "
                "feature map and a vector with a number for each channel, or two vectors of one length",
            )
        return tuple(int(size) for size in shape)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the operation, then activate."""
        with np.errstate(divide="ignore"):  # infinities saturate, like other values outside the range
            return node.activation(DRAWN[node.attrs["operation"]].compute(inputs[0], inputs[1]))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each slice, which reads a tile of each operand, or two texels of a vector."""
        draw(node, build, DRAWN[node.attrs["operation"]].glsl)


OPERATOR = Binary()
