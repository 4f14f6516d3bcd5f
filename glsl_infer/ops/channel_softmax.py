"""Softmax over the channels of each pixel inside a network.

``softmax`` becomes this operator if another layer reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.host_steps import softmax
from glsl_infer.lowering import codegen
from glsl_infer.lowering.across_channels import ROLE, all_slices
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program import quantize
from glsl_infer.program.layout import Range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

SHARES = Range()
"""From 0 to 1."""


class ChannelSoftmax(Operator):
    """``exp(x) / sum(exp(x))`` over the channels."""

    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        return feature_map(node, inputs[0])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute softmax without overflow."""
        return softmax(inputs[0])

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round to 8 bits over [0, 1]."""
        return quantize.round_to_8_bits(exact, np.asarray(SHARES.scales), np.asarray(SHARES.zeros))

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return [0, 1]."""
        return SHARES

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each slice, which reads all slices twice: for the maximum and for the sum."""
        source = build.feature_map(node.inputs[0])
        slices = all_slices(source, centred=False)
        target = build.allocate_map(node, scales=SHARES.scales, zeros=SHARES.zeros)
        for index, view in enumerate(target.views):
            binding = build.bind(node, own=[Read(source.views[index])], **{ROLE: slices.reads})
            largest = enumerate(slices.numbers(binding, "x"))
            repeated = [f"({text}){slices.repeated(index)}" for index, text in largest]
            unused = range(min(4, target.channels - 4 * index), 4)
            fragment = codegen.fragment(
                "channel_softmax.frag",
                includes=["store.glsl", "late.glsl"],
                lines={
                    "declarations": binding.declarations(ROLE),
                    "largest": [f"x = {repeated[0]};", *(f"x = max(x, {text});" for text in repeated[1:])],
                    "own": [f"y = own_factor * {binding.fetch('own')} + own_offset;"],
                    "sums": [
                        f"sum -= exp(UNIT * ({text} - most)){slices.mask(index)};"
                        for index, text in enumerate(slices.numbers(binding, "sum"))
                    ],
                    "pad_lanes": [f"y.{'xyzw'[lane]} = 0.0;" for lane in unused],
                },
                defines={"UNIT": slices.unit},
            )
            uniforms = {**binding.texels(ROLE), **slices.slice_uniforms(index)}
            size = (target.width, target.height)
            build.draw_tile(node, fragment, view, size, binding, uniforms, part=str(index) if unused else None)


OPERATOR = ChannelSoftmax()
