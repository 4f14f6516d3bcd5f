"""Sum of vectors in 16-bit fixed point, or an activation of one; ``optimize.vectors_apart`` inserts it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class VectorSum(Operator):
    """``activation(sum of all inputs)``. Attributes: ``activation``; ``scale`` of the stored vector."""

    attrs = {"activation": "linear", "scale": None}
    on_parts = "each"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the inputs' common length."""
        if len({vector(node, shape) for shape in inputs}) != 1:
            raise ModelError.layer(node.name, f"an addition of shapes {list(inputs)}", "give equal ones")
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Add, then activate."""
        return node.activation(reduce(np.add, inputs))

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the activation on the interval of the sum."""
        low, high = (np.asarray(reduce(np.add, ends), np.float64) for ends in zip(*inputs))
        return node.activation.range(low, high)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the vector in one quad."""
        sources = [build.fixed_point(name) for name in node.inputs]
        if len(sources) > MAX_TEXTURES:
            advice = f"at most {MAX_TEXTURES} can be added at once; add in steps"
            raise ModelError.layer(node.name, f"{len(sources)} inputs", advice)
        target = build.allocate_vector(node, build.shapes[node.name][0], node.attrs["scale"])
        constants = fold.pair_constants(node.activation, build.shapes[node.name][0])
        separate_draws = bool(codegen.uniforms(constants, 0))
        width = 1 if separate_draws else target.size[0]
        for first in range(0, target.size[0], width):
            binding = build.bind(node, source=[Read(View(source.texture, first, 0)) for source in sources])
            terms = [
                f"sum += {codegen.number(source.scale)} * decode({binding.fetch('source', k)});"
                for k, source in enumerate(sources)
            ]
            fragment = codegen.fragment(
                "vector_sum.frag",
                includes=["fixed_point.glsl"],
                activation=node.activation,
                constants=constants,
                lines={"declarations": binding.declarations(), "terms": terms},
                defines={"INVERSE_SCALE": 1.0 / target.scale},
            )
            uniforms = codegen.uniforms(constants, first)
            build.draw_tile(node, fragment, View(target.texture, first, 0), (width, 1), binding, uniforms)


OPERATOR = VectorSum()
