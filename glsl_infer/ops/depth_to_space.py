"""Depth to space (pixel shuffle): groups of channels become blocks of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import AxisWindow, enlarged_reads

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.bindings import Binding
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Range


ORDERS = ("depth_column_row", "column_row_depth")
"""Order of the input channels: the channels of a pixel adjacent, or the pixels of a channel."""


class DepthToSpace(CopyOperator):
    """Attribute ``block``, an integer or (y, x): the channels of pixel (y, x) become a block of pixels.

    With blocks of (v, h) and c output channels, channel k of pixel (y * v + i, x * h + j) is channel (i * h + j) * c +
    k of pixel (y, x) for ``order`` ``depth_column_row``. This is ``tf.nn.depth_to_space`` for NHWC, and DCR in ONNX.
    For ``column_row_depth`` it is channel k * v * h + i * h + j, as in PyTorch's pixel shuffle, and CRD in ONNX.
    """

    attrs = {"block": 2, "order": ORDERS[0]}
    implied = ("order",)
    equal_scales = True
    moves = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height * block, width * block, channels / block**2)."""
        height, width, channels = feature_map(node, inputs[0])
        down, across = block_of(node)
        order = node.attrs.get("order", ORDERS[0])
        if min(down, across) < 1 or channels % (down * across) or order not in ORDERS:
            raise ModelError.layer(
                node.name,
                f"depth to space of {channels} channels in blocks of {down}x{across} by the order '{order}'",
                f"the channels must be a multiple of the block's pixels, and the order one of {', '.join(ORDERS)}",
            )
        return height * down, width * across, channels // (down * across)

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        return enlarged_reads(*block_of(node))

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Split the last axis and move its parts to rows and columns."""
        height, width, _ = inputs[0].shape
        down, across = block_of(node)
        if node.attrs["order"] == ORDERS[0]:
            blocks = inputs[0].reshape(height, width, down, across, -1)
        else:
            blocks = np.moveaxis(inputs[0].reshape(height, width, -1, down, across), 2, 4)
        result: Array = blocks.transpose(0, 2, 1, 3, 4).reshape(height * down, width * across, -1)
        return result

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether blocks are single pixels."""
        return block_of(node) == (1, 1)

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the input's range, which must be equal for all channels, because a channel becomes part of several."""
        if len(ranges[0].scales) > 1 or len(ranges[0].zeros) > 1:
            raise ModelError.layer(
                node.name,
                "depth to space of channels with different ranges",
                "follow the concatenation with a convolution or an activation",
            )
        return ranges[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice, which selects the lanes of a pixel by its position in the block."""
        source = build.feature_map(node.inputs[0])
        down, across = block_of(node)
        target = build.allocate_map(node, scales=source.scales, zeros=source.zeros)
        for index, view in enumerate(target.views):
            channels = _channels_of_phases(node, target.channels, index)
            slices = sorted({channel // 4 for phase_channels in channels for channel in phase_channels})
            reads = [Read(source.views[input_slice], stride=(1.0 / across, 1.0 / down)) for input_slice in slices]
            binding = build.bind(node, source=reads)
            fragment = codegen.fragment(
                "depth_to_space.frag",
                includes=["store.glsl"],
                lines={"declarations": binding.declarations("source"), "phases": _lines(binding, slices, channels)},
                defines={
                    "BLOCK": float(down) if down == across else codegen.vec([across, down]),
                    "ACROSS": float(across),
                    "TEXEL": binding.texel("source"),
                },
            )
            first = source.views[slices[0]]
            uniforms = {"origin": [float(first.x), float(first.y)], **binding.texels("source")}
            build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms, part=str(index))


def _channels_of_phases(node: Node, channels: int, index: int) -> list[list[int]]:
    """Return, for each position in a block, the input channels of output slice ``index``.

    ``channels`` is the number of output channels.
    """
    down, across = block_of(node)
    phases, output_channels = down * across, range(4 * index, min(4 * index + 4, channels))
    if node.attrs["order"] == ORDERS[0]:  # the channels of a position are adjacent
        return [[phase * channels + channel for channel in output_channels] for phase in range(phases)]
    return [[channel * phases + phase for channel in output_channels] for phase in range(phases)]


def _lines(binding: Binding, slices: Sequence[int], channels: Sequence[Sequence[int]]) -> list[str]:
    """Return the lines that fetch the input slices, and add their lanes if the pixel has the right position in a block.

    A factor of 0 or 1 replaces a choice: for choices between texels, vc4's compiler keeps flags over a thread switch,
    which loses them (docs/engineering/videocore.md).
    """
    lines = []
    for read_index, input_slice in enumerate(slices):
        lines.append(f"t = {binding.fetch('source', read_index, shift='shift')};")
        for phase, phase_channels in enumerate(channels):
            lines += [
                f"y.{lane} += max(1.0 - abs(phase - {phase}.0), 0.0) * t.{'xyzw'[channel % 4]};"
                for lane, channel in zip("xyzw", phase_channels)
                if channel // 4 == input_slice
            ]
    return lines


def block_of(node: Node) -> tuple[int, int]:
    """Return height and width of a block."""
    block = node.attrs["block"]
    return (int(block), int(block)) if isinstance(block, (int, float)) else (int(block[0]), int(block[1]))


OPERATOR = DepthToSpace()
