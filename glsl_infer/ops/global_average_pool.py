"""Global average pooling: from a feature map to a vector of 16-bit fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, feature_map
from glsl_infer.program import quantize
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class GlobalAveragePool(Operator):
    """The mean over height and width. Attribute ``scale``: that of the stored vector (set by fixed_point)."""

    attrs = {"scale": None}
    averages = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (channels,)."""
        return (feature_map(node, inputs[0])[2],)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Average the first two axes."""
        mean: Array = inputs[0].mean(axis=(0, 1), dtype=inputs[0].dtype)
        return mean

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round to 16-bit fixed point."""
        return quantize.store16(exact, node.attrs["scale"])

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return the input's bounds: a mean lies within them."""
        return inputs[0]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the two halves of every slice; see ``average_to_vector``."""
        average_to_vector(node, build)


def average_to_vector(node: Node, build: Builder, *, whole: bool = True) -> None:
    """Append the draws that write each channel's mean as a 16-bit number, two to a texel along one row.

    Texel t holds values 2t and 2t + 1. A slice has four channels, so there are two kinds of draw: one writes lanes
    0 and 1, the other lanes 2 and 3.

    With ``whole`` all pixels are averaged; otherwise every pixel gives its own values, one pixel after the other.
    """
    source = build.feature_map(node.inputs[0])
    height, width = (source.height, source.width) if whole else (1, 1)
    pixels = [(0, 0)] if whole else [(x, y) for y in range(source.height) for x in range(source.width)]
    target = build.allocate_vector(node, len(pixels) * source.channels, node.attrs["scale"])
    factor = fold.slices(source.scale_of / (255.0 * height * width * target.scale))
    offset = fold.slices(-source.scale_of * source.zero_of / (255.0 * target.scale))
    fragment = codegen.fragment(
        "global_average.frag",
        includes=["fixed_point.glsl", "turns.glsl"],
        defines={"WIDTH": width, "HEIGHT": height},
    )
    for half in range(2):
        lanes = slice(2 * half, 2 * half + 2)
        for index, view in enumerate(source.views):
            if 4 * index + 2 * half >= source.channels:
                continue
            for number, pixel in enumerate(pixels):
                binding = build.bind(node, source=[Read(view, pixel, (0.0, 0.0))])
                uniforms = {
                    "half_of_slice": [float(half)],
                    "factor": factor[index, lanes].tolist(),
                    "offset": offset[index, lanes].tolist(),
                    **binding.texels("source"),
                }
                place = View(target.texture, number * source.channels // 2 + 2 * index + half, 0)
                build.draw_tile(node, fragment, place, (1, 1), binding, uniforms)


OPERATOR = GlobalAveragePool()
