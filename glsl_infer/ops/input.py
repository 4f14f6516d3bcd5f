"""The picture: ``(height, width, channels)`` of bytes, read as value / 255."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import Operator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder


class Input(Operator):
    """Attribute ``shape``: (height, width, channels). Its only input array is the picture itself."""

    attrs = {"shape": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the declared shape."""
        return tuple(node.attrs["shape"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the picture, given as values in [0, 1]."""
        return inputs[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Make the texture that the runner uploads the picture to; nothing is drawn."""
        height, width, channels = self.shape(node, [])
        if channels != 3 or height != width:
            raise ModelError.layer(
                node.name, f"an input of {height}x{width}x{channels}", "the picture must be square with 3 channels"
            )
        build.input_map(node)


OPERATOR = Input()
