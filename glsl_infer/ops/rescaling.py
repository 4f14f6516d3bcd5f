"""A scale and an offset for all channels, or for each. The optimiser folds it into another node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import GraphOnlyOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.ops.traits import Affine


class Rescaling(GraphOnlyOperator):
    """``scales * x + offsets``. Attributes ``scales`` and ``offsets``: tuples of length 1 or channels."""

    # Not named "scale", the attribute of outputs in 16-bit fixed point.
    attrs = {"scales": (1.0,), "offsets": (0.0,)}
    advice = "rescaling is supported on the image, after a dense layer, or on a feature map"
    elementwise = True
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape; the last axis must match the attributes."""
        for name in ("scales", "offsets"):
            if len(node.attrs[name]) not in (1, inputs[0][-1]):
                raise ModelError.layer(
                    node.name,
                    f"{len(node.attrs[name])} {name} on an input of {inputs[0]}",
                    "give one, or one for each channel",
                )
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute ``scales * x + offsets``."""
        dtype = inputs[0].dtype
        out: Array = inputs[0] * np.asarray(node.attrs["scales"], dtype) + np.asarray(node.attrs["offsets"], dtype)
        return out

    def affine(self, node: Node) -> Affine:
        """Return the two attributes."""
        return np.asarray(node.attrs["scales"], np.float64), np.asarray(node.attrs["offsets"], np.float64)

    def merged(self, node: Node, producer: Node) -> Node | None:
        """Return a single node for ``s2 (s1 x + o1) + o2``; None if its factors exceed 32-bit floats."""
        (first_scale, first_offset), (scale, offset) = self.affine(producer), self.affine(node)
        with np.errstate(over="ignore", invalid="ignore"):
            scales, offsets = scale * first_scale, scale * first_offset + offset
            fits = np.isfinite(np.concatenate([scales, offsets], dtype=np.float32, casting="same_kind")).all()
        if not fits:
            return None
        attrs = {"scales": tuple(scales.tolist()), "offsets": tuple(offsets.tolist())}
        return replace(node.with_attrs(**attrs), inputs=producer.inputs)

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether it is a factor of 1 and an offset of 0."""
        return set(node.attrs["scales"]) == {1.0} and set(node.attrs["offsets"]) == {0.0}


OPERATOR = Rescaling()
