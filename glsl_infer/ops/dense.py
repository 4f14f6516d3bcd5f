"""A dense layer as in Keras. ``fixed_point.split_dense`` converts it to products and sums for shaders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import GraphOnlyOperator, vector

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape


class Dense(GraphOnlyOperator):
    """``activation(x @ kernel + bias)``; kernel (inputs, outputs). Attribute ``activation``."""

    attrs = {"activation": "linear"}
    weights = ("kernel", "bias")
    advice = "run glsl_infer.compiler.ranges.prepare on the graph"
    has_kernel = True
    staged = True
    on_parts = "products"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (outputs,)."""
        length = vector(node, inputs[0])
        if node.weights["kernel"].shape[0] != length:
            raise ModelError.layer(
                node.name, f"a kernel of {node.weights['kernel'].shape} on {length} values", "check the weights"
            )
        return (node.weights["kernel"].shape[1],)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Multiply, add the bias, and activate."""
        x = inputs[0]
        kernel, bias = (node.weights[name].astype(x.dtype, copy=False) for name in ("kernel", "bias"))
        out = x @ kernel + bias
        return node.activation(out)


OPERATOR = Dense()
