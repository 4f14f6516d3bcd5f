"""Select and reorder slices of channels. Only views change, so it needs no pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.channel_gather import ZERO, ChannelGather, whole_slices
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.layout import Range, compact, per_channel

if TYPE_CHECKING:
    from glsl_infer.graph import Node, Shape
    from glsl_infer.lowering.builder import Builder


class ChannelView(ChannelGather, ViewOperator):
    """A ``channel_gather`` of entire slices of 4 channels; ``optimize.replace_by_shape`` inserts it."""

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the ranges of the selected channels. Zeros are stored as bytes of 0, so their zero point is 0."""
        ranges_of_channels, channels = super().range(node, shapes, ranges), node.attrs["channels"]
        if ZERO not in channels:
            return ranges_of_channels
        zeros = np.where(np.asarray(channels) == ZERO, 0.0, per_channel(ranges_of_channels.zeros, len(channels)))
        return Range(ranges_of_channels.scales, compact(zeros.tolist()), ranges_of_channels.bits)

    def passes(self, node: Node, build: Builder) -> None:
        """Select the input's views."""
        source, channels = build.feature_map(node.inputs[0]), node.attrs["channels"]
        # Zeros are the padding lanes of the last slice. In an image these have the alpha instead.
        has_alpha = ZERO in channels and build.shows_alpha(source)
        if has_alpha or not whole_slices(channels, source.channels):
            raise ModelError.layer(
                node.name,
                f"channels {channels} of {source.channels}, which are not whole slices of 4",
                "run glsl_infer.compiler.optimize.optimize on the graph, or use channel_gather",
            )
        output_range = self.range(node, [], [source.range])
        views = tuple(source.views[channel // 4] for channel in channels[::4])
        value = replace(
            source, channels=len(channels), views=views, scales=output_range.scales, zeros=output_range.zeros
        )
        build.set_value(node, value)


OPERATOR = ChannelView()
