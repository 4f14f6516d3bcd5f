"""Standard deviation of each channel over height and width: a vector in 16-bit fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, feature_map
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class GlobalDeviation(Operator):
    """``sqrt(mean((x - mean(x))**2))`` over height and width. Attribute ``scale`` of the stored vector."""

    attrs = {"scale": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (channels,)."""
        return (feature_map(node, inputs[0])[2],)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the standard deviation over the first two axes."""
        deviation: Array = inputs[0].std(axis=(0, 1), dtype=inputs[0].dtype)
        return deviation

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return 0 and half of the input's width, the deviation of values at both ends."""
        low, high = inputs[0]
        return np.zeros_like(high), (high - low) / 2.0

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the two halves of each slice. Each fragment reads the map twice: for the mean, and for the squares."""
        source = build.feature_map(node.inputs[0])
        target = build.allocate_vector(node, source.channels, node.attrs["scale"])
        factor = fold.slices(np.abs(source.scale_of) / (255.0 * target.scale))
        fragment = ""
        for index, view in enumerate(source.views):
            for half in range(2 if source.channels - 4 * index > 2 else 1):
                binding = build.bind(node, source=[Read(view, stride=(0.0, 0.0))])
                fragment = fragment or codegen.fragment(
                    "global_deviation.frag",
                    includes=["fixed_point.glsl", "turns.glsl", "late.glsl"],
                    lines={"declarations": binding.declarations("source")},
                    defines={"WIDTH": source.width, "HEIGHT": source.height},
                )
                uniforms: dict[str, Sequence[float]] = {
                    **binding.texels("source"),
                    "half_of_slice": [float(half)],
                    "factor": factor[index, 2 * half : 2 * half + 2].tolist(),
                }
                target_view = View(target.texture, 2 * index + half, 0)
                build.draw_tile(node, fragment, target_view, (1, 1), binding, uniforms)


OPERATOR = GlobalDeviation()
