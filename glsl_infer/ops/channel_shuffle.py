"""Channel shuffle: reorder slices. Only views change, so it needs no pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import ViewOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Range


class ChannelShuffle(ViewOperator):
    """Reorders slices of four channels.

    Attribute: ``step``, the distance between consecutive output slices in the input (see ``shuffle_order``).
    """

    attrs = {"step": None}
    moves = True
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape, if its channels suit the step."""
        channels = feature_map(node, inputs[0])[2]
        try:
            shuffle_order(channels, node.attrs["step"])
        except ValueError as error:
            raise ModelError.layer(node.name, str(error), "choose another step or number of channels") from None
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Reorder the last axis in groups of four."""
        return inputs[0][..., _channels(inputs[0].shape[-1], node.attrs["step"])]

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the input's range in the new order."""
        return ranges[0].picked(_channels(shapes[0][2], node.attrs["step"]))

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the slices keep their order."""
        order = shuffle_order(shape[-1], node.attrs["step"])
        return order == tuple(range(len(order)))

    def passes(self, node: Node, build: Builder) -> None:
        """Reorder the input's views."""
        source = build.feature_map(node.inputs[0])
        order = shuffle_order(source.channels, node.attrs["step"])
        output_range = source.range.picked(_channels(source.channels, node.attrs["step"]))
        views = tuple(source.views[s] for s in order)
        build.set_value(node, replace(source, views=views, scales=output_range.scales, zeros=output_range.zeros))


def _channels(channels: int, step: int) -> list[int]:
    return [4 * s + lane for s in shuffle_order(channels, step) for lane in range(4)]


def shuffle_order(channels: int, step: int) -> tuple[int, ...]:
    """Return the input slice of each output slice: ``(step*i) mod d + (step*i) div d`` for d = channels / 4.

    With at most ``step`` slices, the order is unchanged.

    Raises:
        ValueError: ``channels`` is not a multiple of 4, or the formula is not a permutation of the slices.
    """
    slices, remainder = divmod(channels, 4)
    if remainder or step < 1 or (slices > step and slices % step):
        raise ValueError(
            f"channel shuffle of {channels} channels with step {step}: needs a multiple of 4 channels, "
            f"and a multiple of {4 * step} if there are more than {4 * step}"
        )
    if slices <= step:
        return tuple(range(slices))
    return tuple((step * i) % slices + (step * i) // slices for i in range(slices))


OPERATOR = ChannelShuffle()
