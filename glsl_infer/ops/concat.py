"""Concatenation of channels. Only views are put together, so it costs the GPU nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import ViewOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder


class Concat(ViewOperator):
    """Channels of all inputs, in order. Slices of 4 channels stay whole: see ``concat_copy`` for where they cannot."""

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, sum of channels)."""
        return concatenated_shape(node, inputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Join the last axes."""
        return np.concatenate(inputs, axis=-1)

    def passes(self, node: Node, build: Builder) -> None:
        """Refuse: there is no shader yet."""
        raise ModelError.layer(
            node.name, "a concat has no shader", "add the maps in place of concatenating them"
        )  # GPU side follows


def concatenated_shape(node: Node, inputs: Sequence[Shape]) -> Shape:
    """Return the shape of feature maps joined by their channels, or raise ModelError when they do not fit."""
    maps = [feature_map(node, shape) for shape in inputs]
    if not maps or len({shape[:2] for shape in maps}) != 1:
        raise ModelError.layer(
            node.name, f"a concatenation of shapes {list(inputs)}", "give feature maps of equal height and width"
        )
    return maps[0][0], maps[0][1], sum(shape[2] for shape in maps)


OPERATOR = Concat()
