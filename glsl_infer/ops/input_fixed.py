"""An input in 16-bit fixed point: a vector, or a feature map whose channels are a multiple of 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import Bounds, Operator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class InputFixed(Operator):
    """A 16-bit input. The value of a stored integer n is ``n * scale / 256``.

    Attributes: ``shape``, (length,) of a vector or (height, width, channels); ``low`` and ``high``, bounds of the
    values, None until ``prepare`` learns them; ``scale``, a power of two, set by ``prepare``.
    """

    attrs = {"shape": None, "low": None, "high": None, "scale": None}
    is_input = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the declared shape."""
        shape = tuple(node.attrs["shape"])
        if len(shape) not in (1, 3) or min(shape) < 1 or (len(shape) == 3 and shape[2] % 4):
            raise ModelError.layer(
                node.name, f"numbers of shape {shape} in 16 bits", "use a vector, or a map of 4, 8, 12 ... channels"
            )
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the input's values."""
        return inputs[0]

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return the declared bounds."""
        low, high = node.attrs["low"], node.attrs["high"]
        return np.full(shape[-1], float(low)), np.full(shape[-1], float(high))

    def passes(self, node: Node, build: Builder) -> None:
        """Allocate the texture for the runner's upload, without draws."""
        shape, scale = self.shape(node, []), node.attrs["scale"]
        if len(shape) == 1:
            build.allocate_vector(node, shape[0], scale, kind="input")
        else:
            build.allocate_fixed_map(node, 1, scale, kind="input")


OPERATOR = InputFixed()
