"""Elementwise operations of two vectors in 16-bit fixed point; ``optimize.vectors_apart`` inserts them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph.elementwise import DRAWN
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.bindings import Binding
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FixedPoint

LARGEST = 2.0**20
"""Limit of a result's bounds: a quotient is unbounded if the divisor can be 0."""


class VectorBinary(Operator):
    """``operation`` (one of ``elementwise.DRAWN``) of two vectors of equal length, or of a vector and a single element.

    Attributes: ``operation``; ``activation`` of the result; ``scale`` of the stored vector.
    """

    attrs = {"operation": None, "activation": "linear", "scale": None}
    on_parts = "each"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the shape of the longer input."""
        if node.attrs["operation"] not in DRAWN:
            raise ModelError.layer(
                node.name, f"an operation '{node.attrs['operation']}'", f"there are: {', '.join(DRAWN)}"
            )
        lengths = {vector(node, shape) for shape in inputs}
        if len(inputs) != 2 or len(lengths - {1}) > 1:
            raise ModelError.layer(
                node.name,
                f"{with_article(node.attrs['operation'])} of shapes {' and '.join(map(str, inputs))}",
                "give two vectors of one length, or one with a single number",
            )
        return (max(lengths),)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the operation, then activate."""
        with np.errstate(divide="ignore"):  # infinities saturate, like other values outside the range
            return node.activation(DRAWN[node.attrs["operation"]].compute(inputs[0], inputs[1]))

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the activation on the interval of results."""
        low, high = DRAWN[node.attrs["operation"]].range(*inputs)
        return node.activation.range(np.clip(low, -LARGEST, LARGEST), np.clip(high, -LARGEST, LARGEST))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the vector in one quad, or a quad for each texel if the activation has per-channel parameters."""
        sources = [build.fixed_point(name) for name in node.inputs]
        expression = DRAWN[node.attrs["operation"]].glsl
        if re.search(r"\b(log|pow)\(", expression):  # their exact forms are functions of vec4
            expression = "({}).xy".format(re.sub(r"\b[ab]\b", r"\g<0>.xyxy", expression))
        length = build.shapes[node.name][0]
        target = build.allocate_vector(node, length, node.attrs["scale"])
        constants = fold.pair_constants(node.activation, length)
        width = 1 if codegen.uniforms(constants, 0) else target.size[0]
        for first in range(0, target.size[0], width):
            binding = build.bind(node, source=[_read(source, first, length) for source in sources])
            operands = [_operand(binding, k, source) for k, source in enumerate(sources)]
            fragment = codegen.fragment(
                "vector_binary.frag",
                includes=["fixed_point.glsl"],
                activation=node.activation,
                constants=constants,
                lines={"declarations": binding.declarations()},
                defines={
                    "INVERSE_SCALE": 1.0 / target.scale,
                    "FIRST": operands[0],
                    "SECOND": operands[1],
                    "RESULT": expression,
                },
            )
            uniforms = codegen.uniforms(constants, first)
            build.draw_tile(node, fragment, View(target.texture, first, 0), (width, 1), binding, uniforms)


def _read(source: FixedPoint, first: int, length: int) -> Read:
    """Return the read of an operand for a draw of the texels from ``first`` on; ``length`` is that of the result.

    A vector of one element is read at its only texel, whose second element is 0.
    """
    if source.length > 1 or length == 1:
        return Read(View(source.texture, first, 0))
    return Read(View(source.texture, 0, 0), stride=(0.0, 0.0))


def _operand(binding: Binding, index: int, source: FixedPoint) -> str:
    """Return the vec2 expression of an operand's two elements."""
    lanes = ".xx" if source.length == 1 else ""
    return f"decode({binding.fetch('source', index)}){lanes} * {codegen.number(source.scale)}"


OPERATOR = VectorBinary()
