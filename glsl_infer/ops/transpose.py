"""Exchange rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.lowering.per_slice import Template, per_slice
from glsl_infer.ops.operator import CopyOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class Transpose(CopyOperator):
    """Output pixel (y, x) is input pixel (x, y). It has no attributes."""

    moves = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (width, height, channels)."""
        height, width, channels = feature_map(node, inputs[0])
        return width, height, channels

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Swap the first two axes."""
        swapped: Array = inputs[0].swapaxes(0, 1)
        return swapped

    def passes(self, node: Node, build: Builder) -> None:
        """Copy each slice, with swapped coordinates."""
        per_slice(
            node,
            build,
            Template("transpose.frag"),
            uniforms=lambda source, view: {"origin": [float(view.x), float(view.y)]},
        )


OPERATOR = Transpose()
