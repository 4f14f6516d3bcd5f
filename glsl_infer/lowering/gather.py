"""Passes that assemble a feature map from arbitrary lanes."""

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
    sources_of_channels: Sequence[tuple[View, int] | None],
    output_range: Range,
    fallback: View | None = None,
) -> None:
    """Append one pass for each output slice, which copies its lanes.

    Args:
        node: the layer.
        build: the program.
        sources_of_channels: view and lane (0 to 3) of the source of each output channel; None for zeros.
        output_range: scales and zero points of the output.
        fallback: view for a slice of zeros alone, because a draw must read something.
    """
    target = build.allocate_map(node, scales=output_range.scales, zeros=output_range.zeros)
    zeros = target.zero_of / 255.0
    for index, view in enumerate(target.views):
        lanes = sources_of_channels[4 * index : 4 * index + 4]
        views = list(dict.fromkeys(source_lane[0] for source_lane in lanes if source_lane is not None))
        all_zeros = not views
        if fallback is not None and all_zeros:
            views = [fallback]
        lines = []
        binding = build.bind(node, source=[Read(source_view) for source_view in views])
        for k, source_view in enumerate(views):
            lines.append(f"t = {binding.fetch('source', k)};")
            lines += [
                f"y.{'xyzw'[lane]} = t.{'xyzw'[source_lane[1]]};"
                for lane, source_lane in enumerate(lanes)
                if source_lane and source_lane[0] == source_view
            ]
        if all_zeros:
            lines.append("y = min(t, 0.0);")  # 0, in a form that a compiler does not remove
        lines += [
            f"y.{'xyzw'[lane]} += {codegen.number(zeros[4 * index + lane])};"
            for lane, source_lane in enumerate(lanes)
            if source_lane is None and zeros[4 * index + lane]
        ]
        fragment = codegen.fragment(
            "gather.frag",
            includes=["store.glsl"],
            lines={"declarations": binding.declarations(), "lanes": lines},
        )
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, {}, part=str(index))
