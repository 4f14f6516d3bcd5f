"""An activation that could not be fused into the operator before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.activations import activation
from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import Operator
from glsl_infer.pointwise import pointwise

if TYPE_CHECKING:
    from glsl_infer.builder import Builder
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.layout import Range


class ActivationOperator(Operator):
    """Attributes: ``function``, a name in ``glsl_infer.activations``; the range ``scales`` and ``zeros``."""

    attrs = {"function": "linear", "scales": None, "zeros": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        try:
            activation(node.attrs["function"])
        except ValueError as error:
            raise ModelError.layer(node.name, str(error), "use one of those") from None
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Apply the function."""
        return activation(node.attrs["function"]).reference(inputs[0])

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the range that was chosen; a vector has none, for it is stored in 16 bits and has no shader here."""
        if len(shapes[0]) == 1:
            raise ModelError.layer(
                node.name, "an activation of a vector", "put it right behind a Dense, or in front of the pooling"
            )
        return super().range(node, shapes, ranges)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass a slice."""
        pointwise(node, build, node.attrs["function"])


OPERATOR = ActivationOperator()
