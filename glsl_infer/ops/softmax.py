"""Softmax. Runners apply it on the CPU at the end of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.graph.host_steps import SOFTMAX, softmax
from glsl_infer.ops.operator import GraphOnlyOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape


class Softmax(GraphOnlyOperator):
    """``exp(x) / sum(exp(x))`` over the last axis."""

    advice = "softmax is supported of vectors, over the channels of feature maps, and at the end of a network"
    elementwise = True
    on_vectors = "vector_softmax"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        return inputs[0]

    def host_step(self, node: Node) -> str:
        """Return the host step."""
        return SOFTMAX

    def replacement(self, node: Node, shapes: Sequence[Shape]) -> str | None:
        """Return the operator for the channels of a map."""
        return "channel_softmax" if len(shapes[0]) == 3 else None

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute softmax without overflow."""
        return softmax(inputs[0])


OPERATOR = Softmax()
