"""Softmax. At the end of a network it is dropped: runners return logits, ``Classifier`` applies it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.ops.operator import GraphOnlyOperator
from glsl_infer.program.host_steps import softmax

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape


class Softmax(GraphOnlyOperator):
    """``exp(x) / sum(exp(x))`` over the last axis."""

    advice = "softmax is supported at the end of a network only"
    elementwise = True
    needless_at_end = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute it without overflow."""
        return softmax(inputs[0])


OPERATOR = Softmax()
