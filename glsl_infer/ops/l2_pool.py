"""L2 pooling: root of the mean square of each window, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering import fold
from glsl_infer.lowering.per_slice import Sampling, Template, rescaled_per_slice
from glsl_infer.ops.average_pool import window_means
from glsl_infer.ops.max_pool import Pooling, window_macros, written_out

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import View


class L2Pool(Pooling):
    """The square root of the mean of the squares of each window.

    Attributes: ``pool`` (y, x), ``strides`` (y, x), ``padding`` (top, bottom, left, right), and the output's range.
    Padding is excluded, as in ``average_pool``.
    """

    attrs = {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0), "scales": None, "zeros": None}

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the root of the mean square."""
        root: Array = np.sqrt(window_means(node, inputs[0] ** 2))
        return root

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the windows of each slice, in units of the output's range."""
        stride_y, stride_x = node.attrs["strides"]
        top, _, left, _ = node.attrs["padding"]
        source = build.feature_map(node.inputs[0])
        scales = np.broadcast_to(np.asarray(node.attrs["scales"], np.float64), (source.channels,))
        zeros = np.broadcast_to(np.asarray(node.attrs["zeros"], np.float64), (source.channels,))
        factor = source.scale_of / scales
        constants = {
            "factor": fold.slices(factor),
            "centre": fold.slices(-source.zero_of * factor / 255.0),
            "offset": fold.slices(zeros / 255.0),
        }
        texels = written_out(node.attrs["pool"])
        defines = window_macros(node, texels)

        def uniforms(index: int, view: View) -> dict[str, Sequence[float]]:
            bounds = [*build.position(view), *build.position(view, source.width, source.height)]
            values: dict[str, Sequence[float]] = {name: rows[index].tolist() for name, rows in constants.items()}
            return {**values, "bounds": bounds} if "BOUNDED" in defines else values

        rescaled_per_slice(
            node,
            build,
            Template("l2_pool.frag", defines, {"texels": texels}),
            Sampling((-left, -top), (float(stride_x), float(stride_y))),
            uniforms,
        )


OPERATOR = L2Pool()
