"""Identity, such as Dropout at inference. The optimiser removes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.ops.operator import GraphOnlyOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape


class Identity(GraphOnlyOperator):
    """The output is the input."""

    advice = "run glsl_infer.compiler.optimize.optimize on the graph"
    elementwise = True
    idle = {}
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the input."""
        return inputs[0]


OPERATOR = Identity()
