"""Sum of feature maps that is not fused into a convolution as its residual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.lowering.pointwise import pointwise
from glsl_infer.ops.operator import Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Shape
    from glsl_infer.lowering.builder import Builder


class Add(Operator):
    """Attributes: ``activation``, applied to the sum; the range ``scales`` and ``zeros``."""

    attrs = {"activation": "linear", "scales": None, "zeros": None}
    adds = True
    on_vectors = "vector_sum"
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the inputs' common shape."""
        if len(inputs) < 2 or len(set(inputs)) != 1:
            raise ModelError.layer(node.name, f"an addition of shapes {list(inputs)}", "give two or more equal ones")
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Add, then activate."""
        return node.activation(reduce(np.add, inputs))

    def parts(self, node: Node, shapes: Sequence[Shape]) -> tuple[Node, ...]:
        """Split a sum with too many inputs for one pass: each partial sum is an input of the next."""
        reads, sums = node.inputs, list[Node]()
        while len(reads) > MAX_TEXTURES:
            name = f"{node.name}-sum{len(sums) + 1}"
            sums.append(Node(name, node.op, reads[:MAX_TEXTURES], {**node.attrs, "activation": "linear"}))
            reads = (name, *reads[MAX_TEXTURES:])
        return (*sums, replace(node, inputs=reads)) if sums else ()

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each slice, which reads one tile of each input."""
        feature_map(node, build.shapes[node.inputs[0]])
        pointwise(node, build)


OPERATOR = Add()
