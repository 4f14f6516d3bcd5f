"""Channels picked and put in order: some of them, another order, a repetition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering.gather import gather
from glsl_infer.ops.operator import CopyOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Range


ZERO = -1
"""What stands for a channel of zeros."""


class ChannelGather(CopyOperator):
    """Attribute ``channels``: channel c of the output is channel ``channels[c]`` of the input, or 0 where it is -1."""

    attrs = {"channels": None}
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, number of ``channels``)."""
        height, width, channels = feature_map(node, inputs[0])
        wanted = node.attrs["channels"]
        if not wanted or not all(ZERO <= channel < channels for channel in wanted):
            raise ModelError.layer(
                node.name,
                f"channels {wanted} of {channels}",
                f"give one or more of 0 to {channels - 1}, or -1 for zeros",
            )
        return height, width, len(wanted)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Pick along the last axis."""
        wanted = np.asarray(node.attrs["channels"])
        picked: Array = np.take(inputs[0], np.maximum(wanted, 0), axis=-1)
        return np.where(wanted == ZERO, picked.dtype.type(0.0), picked)

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the picked channels' ranges."""
        return _picked(ranges[0], node.attrs["channels"])

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether all channels stay where they are."""
        return tuple(node.attrs["channels"]) == tuple(range(shape[2]))

    def replacement(self, node: Node, shapes: Sequence[Shape]) -> str | None:
        """Return ``channel_view`` where whole slices are picked: views can do it."""
        return "channel_view" if whole_slices(node.attrs["channels"], shapes[0][2]) else None

    def shows_lanes(self, node: Node) -> bool:
        """Return whether there are zeros."""
        return ZERO in node.attrs["channels"]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice."""
        source, channels = build.feature_map(node.inputs[0]), node.attrs["channels"]
        kept = _picked(source.range, channels)
        if ZERO in channels and any(zero != int(zero) or not 0 <= zero <= 255 for zero in kept.zeros):
            raise ModelError.layer(
                node.name,
                "zeros next to values without a zero byte",
                "let a 1x1 convolution of the picture come first, or take the picture over [0, 1]",
            )
        places = [None if channel == ZERO else (source.views[channel // 4], channel % 4) for channel in channels]
        gather(node, build, places, kept, fallback=source.views[0])


def _picked(given: Range, channels: Sequence[int]) -> Range:
    """Return the range of some channels; zeros have that of the first."""
    return given.picked([max(channel, 0) for channel in channels])


def whole_slices(channels: Sequence[int], given: int) -> bool:
    """Return whether ``channels`` of a map with ``given`` channels are slices as they lie, so that views can do it.

    Lanes beyond the last channel hold 0, and so zeros may follow it there.
    """
    kept = [channel for channel in channels if channel != ZERO]
    filled = len(channels) - len(kept)
    if filled and (list(channels[: len(kept)]) != kept or filled > -given % 4 or kept[-1:] != [given - 1]):
        return False
    slices = [tuple(kept[index : index + 4]) for index in range(0, len(kept), 4)]
    ends_alike = len(kept) % 4 == 0 or kept[-1] == given - 1
    return ends_alike and all(
        part[0] % 4 == 0 and part == tuple(range(part[0], part[0] + len(part))) for part in slices
    )


OPERATOR = ChannelGather()
