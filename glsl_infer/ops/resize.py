"""Resize a feature map to any size, with the nearest pixel or linear interpolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering.per_slice import Sampling, Template, per_slice
from glsl_infer.ops.operator import Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FeatureMap, View

METHODS = ("nearest", "bilinear")
CONVENTIONS: Mapping[str, str] = {
    "half_pixel": "pixel centres lie at 0.5, 1.5 ...: (i + 0.5) * in / out - 0.5",
    "align_corners": "the corner pixels' centres meet: i * (in - 1) / (out - 1)",
    "asymmetric": "the first pixels' corners meet: i * in / out",
}
"""Position of output index i in the input, for lengths ``out`` and ``in``."""


class Resize(Operator):
    """Attributes: ``size`` (height, width); ``method``, one of ``METHODS``; ``convention``, one of ``CONVENTIONS``.

    Positions beyond the outermost centres have the edge's value. ``nearest`` with ``half_pixel`` and ``align_corners``
    selects the nearest centre, and the later one of two equally near; with ``asymmetric`` it selects the centre at or
    before the position. These are TensorFlow's ``ResizeNearestNeighbor`` with ``half_pixel_centers``, with
    ``align_corners``, and with neither. ``scales`` and ``zeros`` are the input's.
    """

    attrs = {"size": None, "method": "bilinear", "convention": "half_pixel", "scales": None, "zeros": None}
    keeps_range = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, channels)."""
        channels = feature_map(node, inputs[0])[2]
        size, method, convention = (node.attrs[key] for key in ("size", "method", "convention"))
        if min(size) < 1 or method not in METHODS or convention not in CONVENTIONS:
            raise ModelError.layer(
                node.name,
                f"a resize to {tuple(size)} by '{method}', '{convention}'",
                f"give 1 pixel or more, one of {', '.join(METHODS)} and one of {', '.join(CONVENTIONS)}",
            )
        return size[0], size[1], channels

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Resize rows, then columns."""
        x = inputs[0]
        for axis, length in enumerate(node.attrs["size"]):
            x = _resized(x, axis, length, node.attrs["method"], node.attrs["convention"])
        return x

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the size is unchanged."""
        return tuple(node.attrs["size"]) == tuple(shape[:2])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw each slice at its new size."""
        height, width = node.attrs["size"]
        source = build.feature_map(node.inputs[0])
        method, convention = node.attrs["method"], node.attrs["convention"]
        rows = line(source.height, height, convention, method)
        columns = line(source.width, width, convention, method)

        def tile_uniforms(source: FeatureMap, view: View) -> dict[str, Sequence[float]]:
            return {
                "last": [source.width - 1, source.height - 1],
                "step": [columns[0], rows[0]],
                "start": [columns[1], rows[1]],
                "parts": [columns[2], rows[2]],
                "inverse": [1.0 / columns[2], 1.0 / rows[2]],
            }

        per_slice(
            node,
            build,
            Template(
                "resize.frag",
                {"NEAREST": 1} if method == "nearest" else {},
                rounding=["y = floor(mix(top, bottom, share.y) * 65280.0 + 0.51) * (1.0 / 65280.0);"],
            ),
            Sampling(stride=(source.width / width, source.height / height), corners=True),
            uniforms=lambda source, view: {
                **tile_uniforms(source, view),
                "count": [width / source.width, height / source.height],
            },
        )


def line(input_length: int, output_length: int, convention: str, method: str) -> tuple[int, int, int]:
    """Return integers (step, start, denominator): index i is at ``(step * i + start) / denominator`` of the input.

    For ``nearest``, the position is shifted so that its floor is the selected index.
    """
    if convention == "half_pixel":
        step, start = Fraction(input_length, output_length), Fraction(input_length - output_length, 2 * output_length)
    elif convention == "align_corners" and output_length > 1:
        step, start = Fraction(input_length - 1, output_length - 1), Fraction(0)
    elif convention == "align_corners":
        step, start = Fraction(0), Fraction(0)
    else:
        step, start = Fraction(input_length, output_length), Fraction(0)
    if method == "nearest" and convention != "asymmetric":
        start += Fraction(1, 2)
    denominator = int(np.lcm(step.denominator, start.denominator))
    return int(step * denominator), int(start * denominator), denominator


def _resized(x: Array, axis: int, output_length: int, method: str, convention: str) -> Array:
    """Return a map resized along one axis; other arguments as for ``line``."""
    input_length = x.shape[axis]
    step, start, denominator = line(input_length, output_length, convention, method)
    numerators: NDArray[np.int64] = step * np.arange(output_length) + start
    left_index = numerators // denominator
    low = x.take(np.clip(left_index, 0, input_length - 1), axis=axis)
    if method == "nearest":
        return low
    high = x.take(np.clip(left_index + 1, 0, input_length - 1), axis=axis)
    shape = [1] * x.ndim
    shape[axis] = -1
    fraction: Array = ((numerators - left_index * denominator) / denominator).astype(x.dtype).reshape(shape)
    return low + (high - low) * fraction


OPERATOR = Resize()
