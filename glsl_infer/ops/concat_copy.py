"""Concatenation of channels where slices do not stay whole: 4 channels of the output may come from several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.concat import concatenated_shape
from glsl_infer.ops.operator import CopyOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder


class ConcatCopy(CopyOperator):
    """What ``concat`` computes, drawn; ``optimize.copy_unaligned_concats`` puts it where views cannot do it."""

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, sum of channels)."""
        return concatenated_shape(node, inputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Join the last axes."""
        return np.concatenate(inputs, axis=-1)

    def passes(self, node: Node, build: Builder) -> None:
        """Refuse: there is no shader yet."""
        raise ModelError.layer(
            node.name, "a concat_copy has no shader", "give every input but the last a multiple of 4 channels"
        )  # GPU side follows


OPERATOR = ConcatCopy()
