"""A part of every channel: crop, every n-th row or column, mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.lowering.slicewise import slicewise
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import Reach

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class SpatialSlice(CopyOperator):
    """Pixel (y, x) of the output is pixel ``begin + strides * (y, x)`` of the input.

    Attributes: ``begin`` (y, x); ``size`` (height, width) of the output; ``strides`` (y, x), negative to mirror.
    """

    attrs = {"begin": (0, 0), "size": None, "strides": (1, 1)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, channels) of the part."""
        *given, channels = feature_map(node, inputs[0])
        size = node.attrs["size"]
        for begin, count, stride, length in zip(node.attrs["begin"], size, node.attrs["strides"], given):
            last = begin + stride * (count - 1)
            if count < 1 or not stride or min(begin, last) < 0 or max(begin, last) >= length:
                raise ModelError.layer(
                    node.name,
                    f"a part of {size[0]}x{size[1]} pixels from {node.attrs['begin']} with strides "
                    f"{node.attrs['strides']} of a map of {given[0]}x{given[1]}",
                    "the part must lie within the map and have a pixel",
                )
        return size[0], size[1], channels

    def reads(self, node: Node) -> tuple[Reach, Reach] | None:
        """Return which pixels of its input one depends on."""
        (top, left), (down, across) = node.attrs["begin"], node.attrs["strides"]
        return ((down, top, top), (across, left, left)) if min(down, across) > 0 else None

    def merged(self, node: Node, before: Node) -> Node:
        """Return the part of a part."""
        inner, outer = before.attrs, node.attrs
        places = tuple(first + step * at for first, step, at in zip(inner["begin"], inner["strides"], outer["begin"]))
        steps = tuple(step * own for step, own in zip(inner["strides"], outer["strides"]))
        return replace(node.with_attrs(begin=places, strides=steps), inputs=before.inputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Take the pixels."""
        rows, columns = (
            [begin + stride * index for index in range(count)]
            for begin, stride, count in zip(node.attrs["begin"], node.attrs["strides"], node.attrs["size"])
        )
        part: Array = inputs[0][rows][:, columns]
        return part

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the part is the whole map."""
        return tuple(node.attrs["size"]) == tuple(shape[:2]) and tuple(node.attrs["strides"]) == (1, 1)

    def passes(self, node: Node, build: Builder) -> None:
        """Copy every slice from where the part lies."""
        (top, left), (stride_y, stride_x) = node.attrs["begin"], node.attrs["strides"]
        slicewise(
            node,
            build,
            "copy.frag",
            offset=(left, top),
            stride=(float(stride_x), float(stride_y)),
            uniforms=lambda source, view: {"shift": [0.0, 0.0]},
        )


OPERATOR = SpatialSlice()
