"""Part of each channel: a crop, every n-th row or column, a mirror image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError
from glsl_infer.lowering.per_slice import Sampling, Template, per_slice
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import AxisWindow

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class SpatialSlice(CopyOperator):
    """Output pixel (y, x) is input pixel ``begin + strides * (y, x)``.

    Attributes: ``begin`` (y, x); ``size`` (height, width) of the output; ``strides`` (y, x), negative to mirror.
    """

    attrs = {"begin": (0, 0), "size": None, "strides": (1, 1)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, channels) of the part."""
        *map_size, channels = feature_map(node, inputs[0])
        size = node.attrs["size"]
        for begin, count, stride, length in zip(node.attrs["begin"], size, node.attrs["strides"], map_size):
            last = begin + stride * (count - 1)
            if count < 1 or not stride or min(begin, last) < 0 or max(begin, last) >= length:
                raise ModelError.layer(
                    node.name,
                    f"a part of {size[0]}x{size[1]} pixels from {node.attrs['begin']} with strides "
                    f"{node.attrs['strides']} of a map of {map_size[0]}x{map_size[1]}",
                    "the part must be within the map and have a pixel",
                )
        return size[0], size[1], channels

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        (top, left), (down, across) = node.attrs["begin"], node.attrs["strides"]
        return ((down, top, top), (across, left, left)) if min(down, across) > 0 else None

    def merged(self, node: Node, producer: Node) -> Node:
        """Return a single slice equal to two consecutive ones."""
        first, second = producer.attrs, node.attrs
        begin = tuple(
            begin + stride * index for begin, stride, index in zip(first["begin"], first["strides"], second["begin"])
        )
        strides = tuple(stride * factor for stride, factor in zip(first["strides"], second["strides"]))
        return replace(node.with_attrs(begin=begin, strides=strides), inputs=producer.inputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Select the pixels."""
        rows, columns = (
            [begin + stride * index for index in range(count)]
            for begin, stride, count in zip(node.attrs["begin"], node.attrs["strides"], node.attrs["size"])
        )
        result: Array = inputs[0][rows][:, columns]
        return result

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the part is the entire map."""
        return tuple(node.attrs["size"]) == tuple(shape[:2]) and tuple(node.attrs["strides"]) == (1, 1)

    def passes(self, node: Node, build: Builder) -> None:
        """Copy each slice from the position of the part."""
        (top, left), (stride_y, stride_x) = node.attrs["begin"], node.attrs["strides"]
        per_slice(
            node,
            build,
            Template("copy.frag"),
            Sampling((left, top), (float(stride_x), float(stride_y))),
            uniforms=lambda source, view: {"shift": [0.0, 0.0]},
        )


OPERATOR = SpatialSlice()
