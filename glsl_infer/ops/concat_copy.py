"""Concatenation of channels where slices do not stay whole: 4 channels of the output may come from several inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.concat import Concatenation
from glsl_infer.program.layout import joined

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder


class ConcatCopy(Concatenation):
    """What ``concat`` computes, drawn; ``optimize.copy_unaligned_concats`` puts it where views cannot do it."""

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
                "concat_copy.frag",
                includes=["store.glsl"],
                lines={"declarations": binding.declarations(), "lanes": lines},
            )
            build.draw_tile(node, fragment, view, (target.width, target.height), binding, {}, part=str(index))


OPERATOR = ConcatCopy()
