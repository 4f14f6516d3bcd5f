"""Concatenation of channels in which an output slice can have channels of several inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glsl_infer.lowering.gather import gather
from glsl_infer.ops.concat import Concatenation
from glsl_infer.program.layout import concatenated_range

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder


class ConcatCopy(Concatenation):
    """The function of ``concat`` with passes. ``optimize.replace_by_shape`` inserts it if views are not enough."""

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice, which copies its lanes."""
        maps = [build.feature_map(name) for name in node.inputs]
        output_range = concatenated_range([source.range for source in maps], [source.channels for source in maps])
        sources = [(source.views[channel // 4], channel % 4) for source in maps for channel in range(source.channels)]
        gather(node, build, sources, output_range)


OPERATOR = ConcatCopy()
