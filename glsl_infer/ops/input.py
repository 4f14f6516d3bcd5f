"""A picture, or a feature map of numbers in 8 bits: ``(height, width, channels)``, and what its bytes stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph.picture import CENTER_SQUARE, FITS, PICTURE_CHANNELS, SCALES, ZEROS, picture_range
from glsl_infer.ops.operator import Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class InputOperator(Operator):
    """A byte stands for ``scales * (byte - zeros) / 255``: over [0, 1] unless the attributes say otherwise.

    Attributes: ``shape`` (height, width, channels); ``fit``, how any picture becomes this one, or None where the input
    is no picture but numbers; ``scales`` and ``zeros``, tuples of length 1 or channels. Those of numbers may be None
    until ``prepare`` learns them. ``zeros`` of a picture may be fractional or lie outside 0 to 255, and ``scales``
    negative, but not 0. Its only input array is what the input holds, as values.
    """

    attrs = {"shape": None, "fit": CENTER_SQUARE, "scales": SCALES, "zeros": ZEROS}
    is_input = True
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the declared shape."""
        shape = feature_map(node, tuple(node.attrs["shape"]))
        fit = node.attrs.get("fit", CENTER_SQUARE)
        if fit is not None and fit not in FITS:
            raise ModelError.layer(node.name, f"the fit '{fit}'", f"use one of {', '.join(FITS)}")
        if fit is not None and shape[2] not in PICTURE_CHANNELS:
            raise ModelError.layer(
                node.name, f"a picture of {shape[2]} channels", "use 1, 3 or 4 channels, or make the input numbers"
            )
        for name, values in zip(("scales", "zeros"), picture_range(node)):
            if len(values) not in (1, shape[-1]) or not np.isfinite(values).all():
                raise ModelError.layer(
                    node.name, f"{name} {values} of an input of {shape}", "give one number, or one for each channel"
                )
        if 0.0 in picture_range(node)[0]:
            raise ModelError.layer(node.name, "a scale of 0", "the values of byte 0 and byte 255 must differ")
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the input, given as values; see ``input_values``."""
        return inputs[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Make the texture that the runner uploads to; nothing is drawn."""
        scales, zeros = picture_range(node)
        build.allocate_map(node, scales=scales, zeros=zeros, kind="input")


OPERATOR = InputOperator()
