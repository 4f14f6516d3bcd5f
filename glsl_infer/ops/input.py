"""An input image, or an input feature map in 8 bits: ``(height, width, channels)`` and the range of its bytes."""

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
    """An 8-bit input. The value of a byte is ``scales * (byte - zeros) / 255``, by default in [0, 1].

    Attributes: ``shape`` (height, width, channels); ``fit``, the method to fit any image to this size, or None for an
    array of numbers; ``scales`` and ``zeros``, tuples of length 1 or channels. Those of numbers are None until
    ``prepare`` learns them. ``zeros`` of an image can be fractional or outside 0 to 255, and ``scales`` negative, but
    not 0. The only input array of ``reference`` is the input's values.
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
                node.name, f"an image of {shape[2]} channels", "use 1, 3 or 4 channels, or make the input numbers"
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
        """Return the input's values, as of ``input_values``."""
        return inputs[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Allocate the texture for the runner's upload, without draws."""
        scales, zeros = picture_range(node)
        build.allocate_map(node, scales=scales, zeros=zeros, kind="input")


OPERATOR = InputOperator()
