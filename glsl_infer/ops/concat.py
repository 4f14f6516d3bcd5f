"""Concatenation of channels. Only views are concatenated, so it needs no pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import CopyOperator, ViewOperator, feature_map
from glsl_infer.program.layout import Range, concatenated_range

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class Concatenation(CopyOperator):
    """Channels of all inputs, in order."""

    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, sum of channels), or the sum of lengths of vectors."""
        if inputs and all(len(shape) == 1 for shape in inputs):
            return (sum(shape[0] for shape in inputs),)
        maps = [feature_map(node, shape) for shape in inputs]
        if not maps or len({shape[:2] for shape in maps}) != 1:
            raise ModelError.layer(
                node.name, f"a concatenation of shapes {list(inputs)}", "give feature maps of equal height and width"
            )
        return maps[0][0], maps[0][1], sum(shape[2] for shape in maps)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Concatenate the last axes."""
        return np.concatenate(inputs, axis=-1)

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the inputs' ranges, channel by channel."""
        return concatenated_range(ranges, [shape[2] for shape in shapes])


class Concat(Concatenation, ViewOperator):
    """A concatenation of entire slices of 4 channels. ``concat_copy`` handles the other cases."""

    on_vectors = "vector_concat"

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether there is only one input."""
        return len(node.inputs) == 1

    def replacement(self, node: Node, shapes: Sequence[Shape]) -> str | None:
        """Return ``concat_copy`` if an input before the last has an incomplete slice, which views cannot represent."""
        return "concat_copy" if any(shape[2] % 4 for shape in shapes[:-1]) else None

    def passes(self, node: Node, build: Builder) -> None:
        """Concatenate the inputs' views."""
        maps = [build.feature_map(name) for name in node.inputs]
        if any(source.channels % 4 for source in maps[:-1]):
            raise ModelError.layer(
                node.name,
                f"a concatenation of {', '.join(str(part.channels) for part in maps)} channels",
                "run glsl_infer.compiler.optimize.optimize on the graph, or use multiples of 4",
            )
        output_range = concatenated_range([source.range for source in maps], [source.channels for source in maps])
        build.set_value(
            node,
            replace(
                maps[0],
                channels=sum(source.channels for source in maps),
                gutter=min(source.gutter for source in maps),
                views=tuple(view for source in maps for view in source.views),
                scales=output_range.scales,
                zeros=output_range.zeros,
            ),
        )


OPERATOR = Concat()
