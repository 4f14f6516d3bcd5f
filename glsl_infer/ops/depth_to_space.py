"""Depth to space (pixel shuffle): blocks of channels become blocks of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import CopyOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder


class DepthToSpace(CopyOperator):
    """Attribute ``block`` b: pixel (y * b + i, x * b + j) has the channels from (i * b + j) * c on of pixel (y, x).

    c is the number of output channels, input channels / b**2: what ``tf.nn.depth_to_space`` does for NHWC.
    """

    attrs = {"block": 2}

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

    def passes(self, node: Node, build: Builder) -> None:
        """Refuse: there is no shader yet."""
        raise ModelError.layer(
            node.name, "a depth_to_space has no shader", "use UpSampling2D in its place"
        )  # GPU side follows


OPERATOR = DepthToSpace()
