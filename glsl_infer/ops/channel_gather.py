"""Select and reorder channels, with repetitions and zeros."""

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
"""Channel number for zeros."""


class ChannelGather(CopyOperator):
    """Attribute ``channels``: output channel c is input channel ``channels[c]``, or 0 for -1."""

    attrs = {"channels": None}
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, number of ``channels``)."""
        height, width, channels = feature_map(node, inputs[0])
        selected = node.attrs["channels"]
        if not selected or not all(ZERO <= channel < channels for channel in selected):
            raise ModelError.layer(
                node.name,
                f"channels {selected} of {channels}",
                f"give one or more of 0 to {channels - 1}, or -1 for zeros",
            )
        return height, width, len(selected)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Select along the last axis."""
        selected = np.asarray(node.attrs["channels"])
        picked: Array = np.take(inputs[0], np.maximum(selected, 0), axis=-1)
        return np.where(selected == ZERO, picked.dtype.type(0.0), picked)

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the ranges of the selected channels."""
        return _picked(ranges[0], node.attrs["channels"])

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the channels keep their order."""
        return tuple(node.attrs["channels"]) == tuple(range(shape[2]))

    def replacement(self, node: Node, shapes: Sequence[Shape]) -> str | None:
        """Return ``channel_view`` if entire slices are selected, which views can represent."""
        return "channel_view" if whole_slices(node.attrs["channels"], shapes[0][2]) else None

    def shows_lanes(self, node: Node) -> bool:
        """Return whether some channels are zeros."""
        return ZERO in node.attrs["channels"]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice."""
        source, channels = build.feature_map(node.inputs[0]), node.attrs["channels"]
        output_range = _picked(source.range, channels)
        if ZERO in channels and any(zero != int(zero) or not 0 <= zero <= 255 for zero in output_range.zeros):
            raise ModelError.layer(
                node.name,
                "zeros next to values without a zero byte",
                "let a 1x1 convolution of the image come first, or take the image over [0, 1]",
            )
        sources = [None if channel == ZERO else (source.views[channel // 4], channel % 4) for channel in channels]
        gather(node, build, sources, output_range, fallback=source.views[0])


def _picked(source_range: Range, channels: Sequence[int]) -> Range:
    """Return the range of the selected channels; zeros have the range of the first channel."""
    return source_range.picked([max(channel, 0) for channel in channels])


def whole_slices(channels: Sequence[int], source_channels: int) -> bool:
    """Return whether some channels of a map are unchanged slices, which views can represent.

    Zeros can follow the last channel, because padding lanes are 0.
    """
    nonzero = [channel for channel in channels if channel != ZERO]
    zeros = len(channels) - len(nonzero)
    if zeros and (
        list(channels[: len(nonzero)]) != nonzero
        or zeros > -source_channels % 4
        or nonzero[-1:] != [source_channels - 1]
    ):
        return False
    slices = [tuple(nonzero[index : index + 4]) for index in range(0, len(nonzero), 4)]
    same_end = len(nonzero) % 4 == 0 or nonzero[-1] == source_channels - 1
    return same_end and all(
        channels_of_slice[0] % 4 == 0
        and channels_of_slice == tuple(range(channels_of_slice[0], channels_of_slice[0] + len(channels_of_slice)))
        for channels_of_slice in slices
    )


OPERATOR = ChannelGather()
