"""Enlarge a feature map by integer factors, repeating each pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.lowering.per_slice import Sampling, Template, per_slice
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import AxisWindow, enlarged_reads

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FeatureMap, View


class UpsampleNearest(CopyOperator):
    """Output pixel (y, x) is input pixel (y // size_y, x // size_x). Attribute ``size`` (y, x)."""

    attrs = {"size": (2, 2)}
    moves = True
    repeats = True
    idle = {"size": (1, 1)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height * size_y, width * size_x, channels)."""
        return enlarged_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        return enlarged_reads(*node.attrs["size"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Repeat rows and columns."""
        size_y, size_x = node.attrs["size"]
        return inputs[0].repeat(size_y, axis=0).repeat(size_x, axis=1)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw each slice enlarged."""
        size_y, size_x = node.attrs["size"]

        def shift(source: FeatureMap, view: View) -> dict[str, Sequence[float]]:
            # Sample the centre of the part of the texel that the output pixel covers.
            return {"shift": [0.5 / size_x - 0.5, 0.5 / size_y - 0.5]}

        sampling = Sampling(stride=(1.0 / size_x, 1.0 / size_y))
        per_slice(node, build, Template("copy.frag"), sampling, uniforms=shift)


def enlarged_shape(node: Node, shape: Shape) -> Shape:
    """Return a feature map's shape enlarged by attribute ``size``, or raise ModelError."""
    height, width, channels = feature_map(node, shape)
    size_y, size_x = node.attrs["size"]
    if min(size_y, size_x) < 1:
        raise ModelError.layer(node.name, f"a size of {(size_y, size_x)}", "both factors must be 1 or more")
    return height * size_y, width * size_x, channels


OPERATOR = UpsampleNearest()
