"""The picture: ``(height, width, channels)`` of bytes, and the values that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph.picture import SCALES, ZEROS, picture_range
from glsl_infer.ops.operator import Operator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class Input(Operator):
    """A byte stands for ``scales * (byte - zeros) / 255``: over [0, 1] unless the attributes say otherwise.

    Attributes: ``shape`` (height, width, channels); ``scales`` and ``zeros``, tuples of length 1 or channels.
    ``zeros`` may be fractional or lie outside 0 to 255, and ``scales`` negative, but not 0.
    Its only input array is the picture itself, as values.
    """

    attrs = {"shape": None, "scales": SCALES, "zeros": ZEROS}
    is_input = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the declared shape."""
        shape = tuple(node.attrs["shape"])
        for name, values in zip(("scales", "zeros"), picture_range(node)):
            if len(values) not in (1, shape[-1]) or not np.isfinite(values).all():
                raise ModelError.layer(
                    node.name, f"{name} {values} of a picture of {shape}", "give one number, or one for each channel"
                )
        if 0.0 in picture_range(node)[0]:
            raise ModelError.layer(node.name, "a scale of 0", "the values of byte 0 and byte 255 must differ")
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the picture, given as values; see ``picture_values``."""
        return inputs[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Make the texture that the runner uploads the picture to; nothing is drawn."""
        height, width, channels = self.shape(node, [])
        if channels != 3 or height != width:
            raise ModelError.layer(
                node.name, f"an input of {height}x{width}x{channels}", "the picture must be square with 3 channels"
            )
        scales, zeros = picture_range(node)
        build.allocate_map(node, scales=scales, zeros=zeros, kind="input")


OPERATOR = Input()
