"""Concatenation of channels where slices do not stay whole: 4 channels of the output may come from several inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glsl_infer.lowering.gather import gather
from glsl_infer.ops.concat import Concatenation
from glsl_infer.program.layout import concatenated_range

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder


class ConcatCopy(Concatenation):
    """What ``concat`` computes, drawn; ``optimize.replace_by_shape`` puts it where views cannot do it."""

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice, which takes its lanes from where they lie."""
        maps = [build.feature_map(name) for name in node.inputs]
        joint = concatenated_range([source.range for source in maps], [source.channels for source in maps])
        places = [(source.views[channel // 4], channel % 4) for source in maps for channel in range(source.channels)]
        gather(node, build, places, joint)


OPERATOR = ConcatCopy()
