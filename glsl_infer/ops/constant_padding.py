"""Padding of a feature map with a constant other than 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import fold, truncation
from glsl_infer.lowering.per_slice import Sampling, Template, rescaled_per_slice
from glsl_infer.ops.operator import Operator
from glsl_infer.ops.traits import AxisWindow, padded_reads
from glsl_infer.ops.zero_padding import pad, padded_shape

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import View


class ConstantPadding(Operator):
    """Attributes: ``padding`` (top, bottom, left, right) in pixels, negative to crop; ``value``; the output's range.

    The range must include the constant and the input's values, so it is calibrated.
    """

    attrs = {"padding": (0, 0, 0, 0), "value": 0.0, "scales": None, "zeros": None}
    idle = {"padding": (0, 0, 0, 0)}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape, enlarged by the padding."""
        if not math.isfinite(node.attrs["value"]):
            raise ModelError.layer(
                node.name, f"padding with {node.attrs['value']}", "give a number, or let a maximum pooling pad"
            )
        return padded_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        return padded_reads(node)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Surround the input with the constant."""
        return pad(inputs[0], node.attrs["padding"], node.attrs["value"])

    def passes(self, node: Node, build: Builder) -> None:
        """Copy all slices into the new range, with the constant outside the map."""
        top, _, left, _ = node.attrs["padding"]
        source = build.feature_map(node.inputs[0])
        scales = np.broadcast_to(np.asarray(node.attrs["scales"], np.float64), (source.channels,))
        zeros = np.broadcast_to(np.asarray(node.attrs["zeros"], np.float64), (source.channels,))
        factor = source.scale_of / scales
        offset = (zeros - source.zero_of * factor) / 255.0
        truncation_error = truncation.truncation_bound([factor])
        constants = {
            "factor": fold.slices(factor),
            "offset": fold.slices(offset),
            "cut_offset": fold.slices(offset + truncation_error),
            "outside": fold.slices(node.attrs["value"] / scales + zeros / 255.0),
        }

        def uniforms(index: int, view: View) -> dict[str, Sequence[float]]:
            edges = [*build.position(view), *build.position(view, source.width, source.height)]
            return {"edges": edges, **{name: rows[index].tolist() for name, rows in constants.items()}}

        rescaled_per_slice(node, build, Template("constant_padding.frag"), Sampling((-left, -top)), uniforms)


OPERATOR = ConstantPadding()
