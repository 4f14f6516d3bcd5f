"""An activation that is not fused into the operator before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.graph.activations.sigmoids import SIGMOID
from glsl_infer.graph.host_steps import SIGMOID as SIGMOID_STEP
from glsl_infer.lowering.pointwise import pointwise
from glsl_infer.ops.operator import Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class ActivationOperator(Operator):
    """Attributes: ``function``, an activation in text form (``graph.activations``); range ``scales`` and ``zeros``."""

    attrs = {"function": "linear", "scales": None, "zeros": None}
    activates = True
    on_vectors = "vector_sum"
    elementwise = True
    idle = {"function": "linear"}
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        try:
            function = node.activation
        except ValueError as error:
            raise ModelError.layer(
                node.name, str(error), "docs/reference/graph-format.md lists the allowed values"
            ) from None
        if not function.fits(inputs[0][-1]):
            raise ModelError.layer(
                node.name,
                f"'{function.name}' with {function.channels} numbers on {inputs[0][-1]} channels",
                "give one number, or one for each channel",
            )
        return inputs[0]

    def host_step(self, node: Node) -> str:
        """Return the host step of a sigmoid."""
        return SIGMOID_STEP if node.activation == SIGMOID else ""

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Apply the function."""
        return node.activation(inputs[0])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each slice."""
        feature_map(node, build.shapes[node.inputs[0]])
        pointwise(node, build)


OPERATOR = ActivationOperator()
