"""The picture: ``(height, width, channels)`` of bytes, and the values that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import Operator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

SCALES, ZEROS = (1.0,), (0.0,)
"""What an input without these attributes means: byte / 255."""


class Input(Operator):
    """A byte stands for ``scales * (byte - zeros) / 255``: over [0, 1] unless the attributes say otherwise.

    Attributes: ``shape`` (height, width, channels); ``scales`` and ``zeros``, tuples of length 1 or channels.
    ``zeros`` may be fractional or lie outside 0 to 255, and ``scales`` negative, but not 0.
    Its only input array is the picture itself, as values.
    """

    attrs = {"shape": None, "scales": SCALES, "zeros": ZEROS}

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


def picture_range(node: Node) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (scales, zeros) of an input node, each of length 1 or channels; defaults where it does not say."""
    return tuple(node.attrs.get("scales", SCALES)), tuple(node.attrs.get("zeros", ZEROS))


def with_picture_range(node: Node, scales: Sequence[float], zeros: Sequence[float]) -> Node:
    """Return the input node with another meaning of its bytes, written as briefly as it can be.

    Equal numbers become one, and the default is left out, so that networks on [0, 1] are written as ever.
    """
    given = dict(zip(("scales", "zeros"), (tuple(scales), tuple(zeros))))
    given = {key: values[:1] if len(set(values)) == 1 else values for key, values in given.items()}
    attrs = {key: value for key, value in node.attrs.items() if key not in given}
    if given != {"scales": SCALES, "zeros": ZEROS}:
        attrs.update(given)
    return replace(node, attrs=attrs)


def picture_values(node: Node, picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return what the bytes of a picture stand for: float64 of its shape."""
    scales, zeros = (np.asarray(values, np.float64) for values in picture_range(node))
    values: NDArray[np.float64] = scales * (picture - zeros) / 255.0
    return values


OPERATOR = Input()
