"""The passes of elementwise operators: one tile of every input, summed, then an activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, cut_sums, fold
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder


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
    offset = fold.slices(out.offset + sum(added for _, added in addends), out.pad)
    cut_offset = offset + fold.slices(cut_sums.most_lost([factor for factor, _ in addends]))
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
