"""Zeros around a feature map. The optimiser merges it into a convolution if that is its only reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.lowering.per_slice import Sampling, Template, per_slice
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import AxisWindow, padded_reads

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class ZeroPadding(CopyOperator):
    """Attribute ``padding``: (top, bottom, left, right) in pixels, negative to crop."""

    attrs = {"padding": (0, 0, 0, 0)}
    idle = {"padding": (0, 0, 0, 0)}
    only_pads = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape, enlarged by the padding."""
        return padded_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        return padded_reads(node)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Surround the input with zeros."""
        return pad(inputs[0], node.attrs["padding"])

    def padding(self, node: Node) -> int:
        """Return the largest of the four paddings."""
        return max(0, *(int(side) for side in node.attrs["padding"]))

    def passes(self, node: Node, build: Builder) -> None:
        """Copy the input together with its gutter, which is 0."""
        top, _, left, _ = node.attrs["padding"]
        source = build.feature_map(node.inputs[0])
        if has_alpha_lane(build.graph.by_name[node.inputs[0]]) and any(source.zeros):
            raise ModelError.layer(
                node.name,
                "zeros around the image, whose gutter holds bytes of 0",
                "let the next convolution pad, or a 1x1 convolution of the image come first",
            )
        per_slice(
            node,
            build,
            Template("copy.frag"),
            Sampling((-left, -top)),
            uniforms=lambda source, view: {"shift": [0.0, 0.0]},
            clear_pad_lanes=any(source.zeros),
        )


def padded_shape(node: Node, shape: Shape) -> Shape:
    """Return the shape of a map enlarged by the node's ``padding``.

    Raises:
        ModelError: cropping by a negative padding leaves no pixel.
    """
    height, width, channels = feature_map(node, shape)
    top, bottom, left, right = node.attrs["padding"]
    if height + min(top, 0) + min(bottom, 0) < 1 or width + min(left, 0) + min(right, 0) < 1:
        raise ModelError.layer(
            node.name, f"padding {(top, bottom, left, right)} of {height}x{width} pixels", "leave a pixel at least"
        )
    return height + top + bottom, width + left + right, channels


def pad(x: Array, padding: Sequence[int], value: float = 0.0) -> Array:
    """Return ``x`` (height, width, channels) surrounded by a constant.

    ``padding`` is (top, bottom, left, right); negative values crop.
    """
    if not any(padding):
        return x
    if min(padding) < 0:
        top, bottom, left, right = (max(0, -side) for side in padding)
        x = x[top : x.shape[0] - bottom, left : x.shape[1] - right]
    top, bottom, left, right = (max(0, side) for side in padding)
    height, width, channels = x.shape
    padded: Array = np.full((top + height + bottom, left + width + right, channels), value, x.dtype)
    padded[top : top + height, left : left + width] = x  # np.pad takes twice as long
    return padded


OPERATOR = ZeroPadding()
