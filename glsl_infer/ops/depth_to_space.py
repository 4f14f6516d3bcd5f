"""Depth to space (pixel shuffle): blocks of channels become blocks of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import CopyOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Range


class DepthToSpace(CopyOperator):
    """Attribute ``block`` b: pixel (y * b + i, x * b + j) has the channels from (i * b + j) * c on of pixel (y, x).

    c is the number of output channels, input channels / b**2: what ``tf.nn.depth_to_space`` does for NHWC.
    """

    attrs = {"block": 2}
    equal_scales = True
    idle = {"block": 1}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height * block, width * block, channels / block**2)."""
        height, width, channels = feature_map(node, inputs[0])
        block = node.attrs["block"]
        if block < 1 or channels % block**2:
            raise ModelError.layer(
                node.name,
                f"depth to space of {channels} channels in blocks of {block}x{block}",
                "the channels must be a multiple of the square of the block",
            )
        return height * block, width * block, channels // block**2

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Split the last axis and move its parts beside rows and columns."""
        height, width, channels = inputs[0].shape
        block = node.attrs["block"]
        parts = inputs[0].reshape(height, width, block, block, channels // block**2)
        moved: Array = parts.transpose(0, 2, 1, 3, 4).reshape(height * block, width * block, -1)
        return moved

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the input's range, which must be one for all channels: they become channels of several pixels."""
        if len(ranges[0].scales) > 1 or len(ranges[0].zeros) > 1:
            raise ModelError.layer(
                node.name,
                "depth to space of channels with different ranges",
                "follow the concatenation with a convolution or an activation",
            )
        return ranges[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice; every pixel takes its lanes by where it lies in its block."""
        source = build.feature_map(node.inputs[0])
        block = node.attrs["block"]
        target = build.allocate_map(node, scales=source.scales, zeros=source.zeros)
        for index, view in enumerate(target.views):
            lanes = range(min(4, target.channels - 4 * index))
            channels = [[phase * target.channels + 4 * index + lane for lane in lanes] for phase in range(block**2)]
            slices = sorted({channel // 4 for phase in channels for channel in phase})
            reads = [Read(source.views[index], stride=(1.0 / block, 1.0 / block)) for index in slices]
            binding = build.bind(node, source=reads)
            lines = []
            for place, source_slice in enumerate(slices):
                lines.append(f"t = {binding.fetch('source', place, shift='shift')};")
                # A factor of 0 or 1: for choices between texels, vc4's compiler keeps flags over a thread switch, which
                # loses them (docs/videocore.md).
                for number, phase in enumerate(channels):
                    lines += [
                        f"y.{lane} += max(1.0 - abs(phase - {number}.0), 0.0) * t.{'xyzw'[channel % 4]};"
                        for lane, channel in zip("xyzw", phase)
                        if channel // 4 == source_slice
                    ]
            fragment = codegen.fragment(
                "depth_to_space.frag",
                includes=["store.glsl"],
                lines={"declarations": binding.declarations("source"), "phases": lines},
                defines={"BLOCK": float(block), "TEXEL": binding.texel("source")},
            )
            first = source.views[slices[0]]
            uniforms = {"origin": [float(first.x), float(first.y)], **binding.texels("source")}
            build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms, part=str(index))


OPERATOR = DepthToSpace()
