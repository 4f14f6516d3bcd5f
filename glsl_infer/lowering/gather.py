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


def gather(
    node: Node,
    build: Builder,
    places: Sequence[tuple[View, int] | None],
    kept: Range,
    beside: View | None = None,
) -> None:
    """Append one pass for each output slice, which takes its lanes from where they lie.

    Args:
        node: the layer.
        build: the program in the making.
        places: for each channel of the output, the view and the lane (0 to 3) that hold it; None for zeros.
        kept: what the output's bytes stand for.
        beside: what a slice of zeros alone reads: a draw reads something.
    """
    target = build.allocate_map(node, scales=kept.scales, zeros=kept.zeros)
    zeros = target.zero_of / 255.0
    for index, view in enumerate(target.views):
        lanes = places[4 * index : 4 * index + 4]
        reads = list(dict.fromkeys(place[0] for place in lanes if place is not None))
        empty = not reads
        if beside is not None and empty:
            reads = [beside]
        lines = []
        binding = build.bind(node, source=[Read(read) for read in reads])
        for k, read in enumerate(reads):
            lines.append(f"t = {binding.fetch('source', k)};")
            lines += [
                f"y.{'xyzw'[to]} = t.{'xyzw'[place[1]]};"
                for to, place in enumerate(lanes)
                if place and place[0] == read
            ]
        if empty:
            lines.append("y = min(t, 0.0);")  # 0, and no compiler can know
        lines += [
            f"y.{'xyzw'[to]} += {codegen.number(zeros[4 * index + to])};"
            for to, place in enumerate(lanes)
            if place is None and zeros[4 * index + to]
        ]
        fragment = codegen.fragment(
            "gather.frag",
            includes=["store.glsl"],
            lines={"declarations": binding.declarations(), "lanes": lines},
        )
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, {}, part=str(index))
