"""The passes of operators that put a feature map together of lanes from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Range, View


def gather(node: Node, build: Builder, places: Sequence[tuple[View, int]], kept: Range) -> None:
    """Append one pass for each output slice, which takes its lanes from where they lie.

    Args:
        node: the layer.
        build: the program in the making.
        places: for each channel of the output, the view and the lane (0 to 3) that hold it.
        kept: what the output's bytes stand for.
    """
    target = build.allocate_map(node, scales=kept.scales, zeros=kept.zeros)
    for index, view in enumerate(target.views):
        lanes = places[4 * index : 4 * index + 4]
        reads = list(dict.fromkeys(read for read, _ in lanes))
        binding = build.bind(node, source=[Read(read) for read in reads])
        lines = []
        for k, read in enumerate(reads):
            lines.append(f"t = {binding.fetch('source', k)};")
            lines += [f"y.{'xyzw'[to]} = t.{'xyzw'[at]};" for to, (place, at) in enumerate(lanes) if place == read]
        fragment = codegen.fragment(
            "gather.frag",
            includes=["store.glsl"],
            lines={"declarations": binding.declarations(), "lanes": lines},
        )
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, {}, part=str(index))
