"""Concatenation of channels where slices do not stay whole: 4 channels of the output may come from several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.layout import Range, joined
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.concat import concatenated_shape
from glsl_infer.ops.operator import CopyOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class ConcatCopy(CopyOperator):
    """What ``concat`` computes, drawn; ``optimize.copy_unaligned_concats`` puts it where views cannot do it."""

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, sum of channels)."""
        return concatenated_shape(node, inputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Join the last axes."""
        return np.concatenate(inputs, axis=-1)

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the inputs' ranges, channel by channel."""
        return joined(ranges, [shape[2] for shape in shapes])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice, which takes its lanes from where they lie."""
        maps = [build.feature_map(name) for name in node.inputs]
        joint = joined([one.range for one in maps], [one.channels for one in maps])
        target = build.allocate_map(node, scales=joint.scales, zeros=joint.zeros)
        places = [(one.views[channel // 4], channel % 4) for one in maps for channel in range(one.channels)]
        for index, view in enumerate(target.views):
            lanes = places[4 * index : 4 * index + 4]
            reads = list(dict.fromkeys(read for read, _ in lanes))
            binding = build.bind(node, source=[Read(read) for read in reads])
            lines = []
            for k, read in enumerate(reads):
                lines.append(f"t = {binding.fetch('source', k)};")
                lines += [f"y.{'xyzw'[to]} = t.{'xyzw'[at]};" for to, (one, at) in enumerate(lanes) if one == read]
            fragment = codegen.fragment(
                "concat_copy.frag", lines={"declarations": binding.declarations(), "lanes": lines}
            )
            build.draw_tile(node, fragment, view, (target.width, target.height), binding, {}, part=str(index))


OPERATOR = ConcatCopy()
