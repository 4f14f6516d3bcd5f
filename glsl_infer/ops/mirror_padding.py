"""Padding with the map's own values: mirrored, or the edge repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering.per_slice import Sampling, Template, per_slice
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import AxisWindow, padded_reads

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

MODES: Mapping[str, int] = {"reflect": 1, "symmetric": 0, "edge": 0}
"""Number of edge pixels that are not repeated, by NumPy's name of the mode."""


class MirrorPadding(CopyOperator):
    """Attributes: ``padding`` (top, bottom, left, right) in pixels, and ``mode``.

    ``reflect`` mirrors without the edge pixel, ``symmetric`` with it, and ``edge`` repeats the edge pixel. A mirrored
    part is at most as long as the map.
    """

    attrs = {"padding": (0, 0, 0, 0), "mode": "reflect"}
    moves = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape, enlarged by the padding."""
        height, width, channels = feature_map(node, inputs[0])
        mode, (top, bottom, left, right) = node.attrs["mode"], node.attrs["padding"]
        if mode not in MODES:
            raise ModelError.layer(node.name, f"padding by '{mode}'", f"use one of: {', '.join(MODES)}")
        fits = mode == "edge" or (max(top, bottom) <= height - MODES[mode] and max(left, right) <= width - MODES[mode])
        if min(top, bottom, left, right) < 0 or not fits:
            raise ModelError.layer(
                node.name,
                f"padding of {(top, bottom, left, right)} by '{mode}' around {height}x{width} pixels",
                "give 0 or more, and no more than there is to mirror",
            )
        return height + top + bottom, width + left + right, channels

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        return padded_reads(node)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Pad as ``numpy.pad`` does."""
        top, bottom, left, right = node.attrs["padding"]
        return np.pad(inputs[0], ((top, bottom), (left, right), (0, 0)), mode=node.attrs["mode"])

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether all paddings are 0."""
        return not any(node.attrs["padding"])

    def passes(self, node: Node, build: Builder) -> None:
        """Copy each slice, with coordinates mirrored or clamped at the edges."""
        top, _, left, _ = node.attrs["padding"]
        mode = node.attrs["mode"]
        per_slice(
            node,
            build,
            Template("mirror_padding.frag", {"edge": {"HELD": 1}, "symmetric": {"REPEATED": 1}}.get(mode, {})),
            Sampling((-left, -top), corners=True),
        )


OPERATOR = MirrorPadding()
