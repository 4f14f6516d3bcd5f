"""Index of the largest or smallest channel of each pixel, such as a mask of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.across_channels import ROLE, all_slices
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program import quantize
from glsl_infer.program.layout import Range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

NUMBERS = Range((255.0,))
"""A byte is the index of a channel."""


class ChannelArgmax(Operator):
    """The first largest channel, or with attribute ``smallest`` the first smallest channel."""

    attrs = {"smallest": False}
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, 1)."""
        height, width, channels = feature_map(node, inputs[0])
        if channels > 256:
            raise ModelError.layer(
                node.name, f"the number of one of {channels} channels", "a byte holds one of at most 256"
            )
        return height, width, 1

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the first extreme along the last axis."""
        argument_of_extreme = np.argmin if node.attrs["smallest"] else np.argmax
        indices: Array = argument_of_extreme(inputs[0], axis=-1)[..., None].astype(inputs[0].dtype)
        return indices

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Return the indices as stored in bytes."""
        return quantize.round_to_8_bits(exact, np.asarray(NUMBERS.scales), np.asarray(NUMBERS.zeros))

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the range with which a byte is an index."""
        return NUMBERS

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass that reads all slices."""
        slices = all_slices(build.feature_map(node.inputs[0]), centred=False)
        target = build.allocate_map(node, scales=NUMBERS.scales, zeros=NUMBERS.zeros)
        binding = build.bind(node, **{ROLE: slices.reads})
        sign = "-" if node.attrs["smallest"] else ""
        lines = []
        for index, text in enumerate(slices.numbers(binding, "most - number")):
            lines.append(f"x = {sign}({text}){slices.repeated(index)};")
            if index:
                lines.append(f"number = mix(number, vec4({codegen.number(index)}), vec4(lessThan(most, x)));")
            lines.append("most = max(most, x);" if index else "most = x;")
        fragment = codegen.fragment(
            "channel_argmax.frag",
            includes=["store.glsl", "late.glsl"],
            lines={"declarations": binding.declarations(ROLE), "slices": lines},
        )
        size = (target.width, target.height)
        build.draw_tile(node, fragment, target.views[0], size, binding, binding.texels(ROLE))


OPERATOR = ChannelArgmax()
