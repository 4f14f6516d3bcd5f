"""The passes of elementwise operators: one tile of every input, summed, then an activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, cut_sums, fold
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.graph import Node
    from glsl_infer.graph.activations import Activation
    from glsl_infer.lowering.builder import Builder


MOST_CHANGED = 0.5 / 255.0
"""Of the range, by which a function of 0 may change where its sum starts higher for cuts.

A root, a logarithm and a negative power change by far more. Sums that start at 0 exactly go without then: of bytes that
are 0 they are 0 with cuts, too.
"""


def pointwise(node: Node, build: Builder) -> None:
    """Append the passes of the node's activation of the sum of all inputs.

    Raises:
        ModelError: there are more than ``MAX_TEXTURES`` inputs.
    """
    inputs = [build.feature_map(name) for name in node.inputs]
    if len(inputs) > MAX_TEXTURES:
        advice = f"at most {MAX_TEXTURES} can be added at once; add in steps"
        raise ModelError.layer(node.name, f"{len(inputs)} inputs", advice)
    target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
    out = fold.output(node.activation, node.attrs, target.channels)
    addends = [fold.addend(source, out) for source in inputs]
    factors = [fold.slices(factor) for factor, _ in addends]
    start = out.offset + sum(added for _, added in addends)
    offset = fold.slices(start, out.pad)
    lost = cut_sums.most_lost([factor for factor, _ in addends])
    unit = 1.0 if node.activation.scales or node.activation.clips else target.scale_of
    turned = (start == 0.0) & (_near_0(node.activation, lost) > MOST_CHANGED * unit)
    cut_offset = offset + fold.slices(np.where(turned, 0.0, lost))
    plain = all((factor == 1.0).all() for factor, _ in addends) and not offset.reshape(-1)[: target.channels].any()
    for index, view in enumerate(target.views):
        binding = build.bind(node, source=[Read(source.views[index]) for source in inputs])
        unused = range(min(4, target.channels - 4 * index), 4)
        terms = [
            f"sum += {binding.fetch('source', k)};" if plain else f"sum += factor{k} * {binding.fetch('source', k)};"
            for k in range(len(inputs))
        ]
        uniforms = {f"factor{k}": factor[index].tolist() for k, factor in enumerate(factors)}
        uniforms["offset"] = offset[index].tolist()
        uniforms["cut_offset"] = cut_offset[index].tolist()
        uniforms = {} if plain else uniforms
        declared = [] if plain else [f"uniform vec4 factor{k};" for k in range(len(inputs))]
        fragment = codegen.fragment(
            "pointwise.frag",
            includes=["store.glsl", "cut_sums.glsl"],
            activation=out.activation,
            constants=out.constants,
            saturates=True,
            lines={
                "declarations": [*binding.declarations(), *declared],
                "terms": terms,
                "pad_lanes": [f"sum.{'xyzw'[lane]} = {codegen.number(out.pad)};" for lane in unused],
            },
            defines={} if plain else {"OFFSET": 1},
        )
        build.draw_tile(
            node,
            fragment,
            view,
            (target.width, target.height),
            binding,
            {**uniforms, **out.uniforms(index)},
            part=str(index) if unused else None,
        )


def _near_0(activation: Activation, lost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far a function gets from its value at 0 on the way that cuts take from a sum, (channels,)."""
    with np.errstate(over="ignore"):
        change: NDArray[np.float64] = np.abs(activation(lost) - activation(np.zeros_like(lost)))
    return change
