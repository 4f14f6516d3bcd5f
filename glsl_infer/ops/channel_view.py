"""Slices of channels picked and put in order. Only views are picked, so it costs the GPU nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.channel_gather import ChannelGather, whole_slices
from glsl_infer.ops.operator import ViewOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder


class ChannelView(ChannelGather, ViewOperator):
    """A ``channel_gather`` of whole slices of 4 channels; ``optimize.replace_by_shape`` makes it of one."""

    def passes(self, node: Node, build: Builder) -> None:
        """Pick the input's views."""
        source, channels = build.feature_map(node.inputs[0]), node.attrs["channels"]
        if not whole_slices(channels, source.channels):
            raise ModelError.layer(
                node.name,
                f"channels {channels} of {source.channels}, which are no whole slices of 4",
                "run glsl_infer.compiler.optimize.optimize on the graph, or use channel_gather",
            )
        kept = source.range.picked(channels)
        views = tuple(source.views[channel // 4] for channel in channels[::4])
        value = replace(source, channels=len(channels), views=views, scales=kept.scales, zeros=kept.zeros)
        build.set_value(node, value)


OPERATOR = ChannelView()
