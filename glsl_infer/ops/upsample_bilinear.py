"""Enlarge a feature map by integer factors with bilinear interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering.per_slice import Sampling, Template, per_slice
from glsl_infer.ops.operator import Operator
from glsl_infer.ops.traits import AxisWindow, enlarged_reads
from glsl_infer.ops.upsample_nearest import enlarged_shape

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FeatureMap, View


class UpsampleBilinear(Operator):
    """Linear interpolation between pixel centres along both axes; the edge extends beyond the outermost centres.

    Output pixel y is at ``(y + 0.5) / size_y - 0.5`` of the input, as in ``tf.image.resize`` (half-pixel centres, no
    antialiasing, corners not aligned). Attributes: ``size`` (y, x); ``scales`` and ``zeros`` are the input's.
    """

    attrs = {"size": (2, 2), "scales": None, "zeros": None}
    keeps_range = True
    interpolates = True
    idle = {"size": (1, 1)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height * size_y, width * size_x, channels)."""
        return enlarged_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        (down, _, _), (across, _, _) = enlarged_reads(*node.attrs["size"])
        return (down, down / 2 - 1.5, down / 2 + 0.5), (across, across / 2 - 1.5, across / 2 + 0.5)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Interpolate rows, then columns."""
        size_y, size_x = node.attrs["size"]
        return _interpolate(_interpolate(inputs[0], size_y, 0), size_x, 1)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw each slice enlarged."""
        size_y, size_x = node.attrs["size"]

        def size_of(_: FeatureMap, view: View) -> dict[str, Sequence[float]]:
            return {"source_size": [1.0 / texel for texel in build.texel(view.texture)]}

        per_slice(
            node,
            build,
            Template(
                "upsample_bilinear.frag",
                {"SIZE": f"vec2({size_x}.0, {size_y}.0)", "INVERSE": 1.0 / (4 * size_x * size_y)},
                rounding=["y = floor(sum * (INVERSE * 65280.0) + (0.5 + 0.25 * INVERSE)) * (1.0 / 65280.0);"],
            ),
            Sampling(stride=(1.0 / size_x, 1.0 / size_y), corners=True),
            uniforms=size_of,
        )


def _interpolate(x: Array, size: int, axis: int) -> Array:
    """Enlarge one axis."""
    length = x.shape[axis]
    position = (np.arange(length * size) + 0.5) / size - 0.5
    left_index = np.floor(position).astype(np.int64)
    shape = [1] * x.ndim
    shape[axis] = -1
    fraction: Array = (position - left_index).astype(x.dtype).reshape(shape)
    low = x.take(left_index.clip(min=0), axis=axis)
    high = x.take((left_index + 1).clip(max=length - 1), axis=axis)
    return low + (high - low) * fraction


OPERATOR = UpsampleBilinear()
