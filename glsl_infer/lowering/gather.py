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
        source_views = list(dict.fromkeys(source[0] for source in lanes if source is not None))
        all_zeros = not source_views
        if fallback is not None and all_zeros:
            source_views = [fallback]
        binding = build.bind(node, source=[Read(source_view) for source_view in source_views])
        lines = []
        for k, source_view in enumerate(source_views):
            lines.append(f"t = {binding.fetch('source', k)};")
            for lane, source in zip("xyzw", lanes):
                if source is not None and source[0] == source_view:
                    lines.append(f"y.{lane} = t.{'xyzw'[source[1]]};")
        if all_zeros:
            lines.append("y = min(t, 0.0);")  # 0, in a form that a compiler does not remove
        for lane, source, zero in zip("xyzw", lanes, zeros[4 * index :]):
            if source is None and zero:
                lines.append(f"y.{lane} += {codegen.number(zero)};")
        fragment = codegen.fragment(
            "gather.frag",
            includes=["store.glsl"],
            lines={"declarations": binding.declarations(), "lanes": lines},
        )
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, {}, part=str(index))
