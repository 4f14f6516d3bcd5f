"""The largest or the smallest channel of each pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.across_channels import ROLE, all_slices
from glsl_infer.ops.operator import Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

OPERATIONS = ("max", "min")
"""Operations, each with the name of its GLSL function."""


class ChannelExtreme(Operator):
    """The largest or the smallest channel of each pixel.

    Attributes of a node: ``operation``, ``max`` or ``min``; the range ``scales`` and ``zeros``.
    """

    attrs = {"operation": "max", "scales": None, "zeros": None}
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, 1)."""
        height, width, _ = feature_map(node, inputs[0])
        if node.attrs["operation"] not in OPERATIONS:
            raise ModelError.layer(
                node.name, f"an operation '{node.attrs['operation']}'", f"there are: {', '.join(OPERATIONS)}"
            )
        return height, width, 1

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the extreme of the last axis."""
        extreme_of = np.max if node.attrs["operation"] == "max" else np.min
        extreme: Array = extreme_of(inputs[0], axis=-1, keepdims=True)
        return extreme

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass that reads all slices."""
        slices = all_slices(build.feature_map(node.inputs[0]), centred=True)
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        binding = build.bind(node, **{ROLE: slices.reads})
        slice_values = [f"({text}){slices.repeated(index)}" for index, text in enumerate(slices.numbers(binding, "y"))]
        glsl_function = node.attrs["operation"]
        fragment = codegen.fragment(
            "channel_extreme.frag",
            includes=["store.glsl", "late.glsl"],
            lines={
                "declarations": binding.declarations(ROLE),
                "slices": [
                    f"y = {slice_values[0]};",
                    *(f"y = {glsl_function}(y, {text});" for text in slice_values[1:]),
                ],
            },
            defines={"TAKE": glsl_function},
        )
        factor, zero = slices.unit / target.scale_of[0], target.zero_of[0] / 255.0
        uniforms = {**binding.texels(ROLE), "factor": [float(factor)], "offset": [float(zero)]}
        build.draw_tile(node, fragment, target.views[0], (target.width, target.height), binding, uniforms)


OPERATOR = ChannelExtreme()
