"""L2 pooling: the root of the mean square of each window; padding does not count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering import fold
from glsl_infer.lowering.rescaled import rescaled
from glsl_infer.ops.average_pool import window_means
from glsl_infer.ops.max_pool import pooled_shape, window_macros, written_out
from glsl_infer.ops.operator import Operator
from glsl_infer.ops.traits import AxisWindow, window_reads

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import View


class L2Pool(Operator):
    """The square root of the mean of the squares of each window.

    Attributes: ``pool`` (y, x), ``strides`` (y, x), ``padding`` (top, bottom, left, right), and its own range. Padding
    does not count, as in ``average_pool``.
    """

    attrs = {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0), "scales": None, "zeros": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, channels) of the windows that fit."""
        return pooled_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return which pixels of its input one depends on."""
        return window_reads(node, *node.attrs["pool"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Take the root of the mean of squares."""
        root: Array = np.sqrt(window_means(node, inputs[0] ** 2))
        return root

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the windows of every slice, in units of the output's range."""
        stride_y, stride_x = node.attrs["strides"]
        top, _, left, _ = node.attrs["padding"]
        source = build.feature_map(node.inputs[0])
        scales = np.broadcast_to(np.asarray(node.attrs["scales"], np.float64), (source.channels,))
        zeros = np.broadcast_to(np.asarray(node.attrs["zeros"], np.float64), (source.channels,))
        factor = source.scale_of / scales
        numbers = {
            "factor": fold.slices(factor),
            "centre": fold.slices(-source.zero_of * factor / 255.0),
            "offset": fold.slices(zeros / 255.0),
        }
        texels = written_out(node.attrs["pool"])
        defines = window_macros(node, texels)

        def uniforms(index: int, view: View) -> dict[str, Sequence[float]]:
            bounds = [*build.position(view), *build.position(view, source.width, source.height)]
            values: dict[str, Sequence[float]] = {name: rows[index].tolist() for name, rows in numbers.items()}
            return {**values, "bounds": bounds} if "BOUNDED" in defines else values

        rescaled(
            node,
            build,
            "l2_pool.frag",
            offset=(-left, -top),
            stride=(float(stride_x), float(stride_y)),
            defines=defines,
            lines={"texels": texels},
            uniforms=uniforms,
        )


OPERATOR = L2Pool()
