"""The passes of elementwise operators: one a slice, the sum of one tile of every input, then an activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glsl_infer import activations, codegen
from glsl_infer.errors import ModelError
from glsl_infer.program import Quad

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering import Builder

MAX_INPUTS = 8
"""Each may lie in a texture of its own, and ES 2.0 promises 8."""


def pointwise(node: Node, build: Builder, activation: str) -> None:
    """Append the passes of ``activation(sum of all inputs)``.

    Raises:
        ModelError: the result does not fit 8 bits, or there are more than ``MAX_INPUTS`` inputs.
    """
    build.require_8_bits(node, activation)
    inputs = [build.feature_map(name) for name in node.inputs]
    if len(inputs) > MAX_INPUTS:
        advice = f"at most {MAX_INPUTS} can be added at once; add in steps"
        raise ModelError.layer(node.name, f"{len(inputs)} inputs", advice)
    target = build.allocate_map(node)
    textures = [one.views[0].texture for one in inputs]
    units = list(dict.fromkeys(textures))
    samplers = [f"source{unit}" for unit in range(len(units))]
    terms = [
        f"sum += texture2D({samplers[units.index(texture)]}, {codegen.coordinate(index)});"
        for index, texture in enumerate(textures)
    ]
    for index, view in enumerate(target.views):
        unused = range(min(4, target.channels - 4 * index), 4)
        zero = codegen.number(activations.activation(activation).zero)
        fragment = codegen.fragment(
            "pointwise.frag",
            includes=["store.glsl"],
            activation=activation,
            lines={
                "declarations": codegen.declarations(len(inputs), samplers),
                "terms": terms,
                "pad_lanes": [f"sum.{'xyzw'[lane]} = {zero};" for lane in unused],
            },
        )
        build.draw(
            node,
            fragment,
            target.views[0].texture,
            samplers=list(zip(samplers, units)),
            sources=[(units.index(texture), 1.0, 1.0) for texture in textures],
            quads=[
                Quad(
                    view.x,
                    view.y,
                    target.width,
                    target.height,
                    tuple((one.views[index].x, one.views[index].y) for one in inputs),
                )
            ],
            uniforms={},
            part=index if unused else None,
        )
