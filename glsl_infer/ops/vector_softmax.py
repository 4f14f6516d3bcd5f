"""Softmax of a vector inside a network, in 16-bit fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph.host_steps import softmax
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program.layout import FixedPoint, View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

LONGEST = 1024
"""Largest length. Each fragment reads the entire vector twice, so longer ones would take too long."""


class VectorSoftmax(Operator):
    """``exp(x) / sum(exp(x))``. Attribute ``scale`` of the stored vector."""

    attrs = {"scale": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        vector(node, inputs[0])
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute softmax without overflow."""
        return softmax(inputs[0])

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return 0 and 1."""
        return np.zeros(shape), np.ones(shape)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the vector in one quad."""
        source = build.fixed_point(node.inputs[0])
        require_length_limit(node, source)
        target = build.allocate_vector(node, source.length, node.attrs["scale"])
        binding = build.bind(node, source=[Read(View(source.texture, 0, 0))])
        fragment = codegen.fragment(
            "vector_softmax.frag",
            includes=["fixed_point.glsl", "turns.glsl", "late.glsl", "exact_powers.glsl"],
            defines={**whole_vector(build, source), "SCALE": source.scale, "INVERSE_SCALE": 1.0 / target.scale},
        )
        build.draw_tile(node, fragment, View(target.texture, 0, 0), target.size, binding, {})


def require_length_limit(node: Node, source: FixedPoint) -> None:
    """Refuse vectors longer than ``LONGEST``."""
    if source.length > LONGEST:
        advice = f"at most {LONGEST} are supported; use a shorter Dense before it"
        raise ModelError.layer(node.name, f"{node.op.replace('_', ' ')} of {source.length} values", advice)


def whole_vector(build: Builder, source: FixedPoint) -> dict[str, Any]:
    """Return the macros of a shader that reads an entire vector."""
    single = {"SINGLE": 1} if source.length % 2 else {}
    width = round(1.0 / build.texel(source.texture)[0])  # it can share a larger texture
    return {"PAIRS": source.length // 2, "WIDTH": float(width), **single}


OPERATOR = VectorSoftmax()
