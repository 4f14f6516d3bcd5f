"""Enlarging a feature map by whole factors, every pixel repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.lowering.slicewise import slicewise
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import AxisWindow, enlarged

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FeatureMap, View


class UpsampleNearest(CopyOperator):
    """Pixel (y, x) of the output is pixel (y // size y, x // size x) of the input. Attribute ``size`` (y, x)."""

    attrs = {"size": (2, 2)}
    idle = {"size": (1, 1)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height * size y, width * size x, channels)."""
        return enlarged_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return which pixels of its input one depends on."""
        return enlarged(*node.attrs["size"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Repeat rows and columns."""
        size_y, size_x = node.attrs["size"]
        return inputs[0].repeat(size_y, axis=0).repeat(size_x, axis=1)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw every slice enlarged."""
        size_y, size_x = node.attrs["size"]

        def shift(source: FeatureMap, view: View) -> dict[str, Sequence[float]]:
            # From the point where a pixel would lie among texel centres to the middle of its part of the texel.
            return {"shift": [0.5 / size_x - 0.5, 0.5 / size_y - 0.5]}

        slicewise(node, build, "copy.frag", stride=(1.0 / size_x, 1.0 / size_y), uniforms=shift)


def enlarged_shape(node: Node, shape: Shape) -> Shape:
    """Return a feature map's shape enlarged by attribute ``size``, or raise ModelError."""
    height, width, channels = feature_map(node, shape)
    size_y, size_x = node.attrs["size"]
    if min(size_y, size_x) < 1:
        raise ModelError.layer(node.name, f"a size of {(size_y, size_x)}", "both factors must be 1 or more")
    return height * size_y, width * size_x, channels


OPERATOR = UpsampleNearest()
