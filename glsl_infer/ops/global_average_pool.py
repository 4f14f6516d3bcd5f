"""Global average pooling: from a feature map to a vector of 16-bit fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer import codegen, quantize
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program import Quad

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder


class GlobalAveragePool(Operator):
    """The mean over height and width. Attribute ``scale``: that of the stored vector (set by fixed_point)."""

    attrs = {"scale": None}

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

    def interval(self, node: Node, shape: Shape, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the input's bounds: a mean lies within them."""
        return low, high

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the two halves of every slice; see ``average_to_vector``."""
        average_to_vector(node, build)


def average_to_vector(node: Node, build: Builder) -> None:
    """Append the draws that write the mean of each channel as 16-bit pairs along one row of texels.

    Texel t holds channels 2t and 2t + 1. A slice has four, so there are two draws: one writes lanes
    0 and 1 of all slices, the other lanes 2 and 3.
    """
    source = build.feature_map(node.inputs[0])
    target = build.allocate_vector(node, source.channels, node.attrs["scale"])
    fragment = codegen.fragment(
        "global_average.frag",
        includes=["fixed_point.glsl"],
        defines={
            "WIDTH": source.width,
            "HEIGHT": source.height,
            "INVERSE_COUNT": 1.0 / (255.0 * source.height * source.width),
            "INVERSE_SCALE": 1.0 / target.scale,
        },
    )
    for half in range(2):
        quads = [
            Quad(2 * index + half, 0, 1, 1, ((view.x, view.y),))
            for index, view in enumerate(source.views)
            if 4 * index + 2 * half < source.channels
        ]
        if quads:
            build.draw(
                node,
                fragment,
                target.texture,
                samplers=[("source", source.views[0].texture)],
                sources=[(0, 0.0, 0.0)],
                quads=quads,
                uniforms={"half_of_slice": [float(half)], "texel": build.texel(source.views[0].texture)},
            )


OPERATOR = GlobalAveragePool()
