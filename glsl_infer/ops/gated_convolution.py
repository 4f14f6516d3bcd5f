"""A convolution of a map whose channels are multiplied by a vector: the gates of a squeeze-and-excite block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.conv2d import Conv2D

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape


class GatedConvolution(Conv2D):
    """``activation(convolution(input * gates) + bias [+ residual])``.

    Inputs: the feature map, the residual if any, and a vector of a gate from 0 to 1 for each channel of the map.
    Weights and attributes as in ``conv2d``, in one group. The product is not stored: a draw multiplies each texel after
    its fetch (``lowering.taps.Gate``).
    """

    convolves = False  # the compiler would move or split it without its gates

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, filters)."""
        *maps, gates = inputs
        if not maps or gates != maps[0][2:] or node.attrs["groups"] > 1 or node.attrs["alpha"]:
            shapes = ", ".join(map(str, inputs))
            advice = "give a map in one group, and a vector of as many gates as the map has channels"
            raise ModelError.layer(node.name, f"a gated convolution of shapes {shapes}", advice)
        return super().shape(node, maps)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Multiply the input by the gates, and convolve."""
        source, *residuals, gates = inputs
        return super().reference(node, [source * gates, *residuals])


OPERATOR = GatedConvolution()
