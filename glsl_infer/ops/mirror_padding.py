"""The map goes on beyond its edges: mirrored, or with the edge's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering.slicewise import slicewise
from glsl_infer.ops.operator import CopyOperator, feature_map
from glsl_infer.ops.traits import AxisWindow, moved

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

MODES: Mapping[str, int] = {"reflect": 1, "symmetric": 0, "edge": 0}
"""NumPy's name of each mode, and how many pixels of the edge are not repeated."""


class MirrorPadding(CopyOperator):
    """Attributes: ``padding`` (top, bottom, left, right) in pixels, and ``mode``.

    ``reflect`` leaves the edge out of the mirror image, ``symmetric`` repeats it, ``edge`` repeats nothing else. A
    mirror image is at most as long as the map.
    """

    attrs = {"padding": (0, 0, 0, 0), "mode": "reflect"}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape, grown by the padding."""
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
        """Return which pixels of its input one depends on."""
        return moved(node)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Pad as ``numpy.pad`` does."""
        top, bottom, left, right = node.attrs["padding"]
        return np.pad(inputs[0], ((top, bottom), (left, right), (0, 0)), mode=node.attrs["mode"])

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether nothing is padded."""
        return not any(node.attrs["padding"])

    def passes(self, node: Node, build: Builder) -> None:
        """Copy every slice, at coordinates that are mirrored or held at the edges."""
        top, _, left, _ = node.attrs["padding"]
        mode = node.attrs["mode"]
        slicewise(
            node,
            build,
            "mirror_padding.frag",
            offset=(-left, -top),
            defines={"edge": {"HELD": 1}, "symmetric": {"REPEATED": 1}}.get(mode, {}),
            corners=True,
        )


OPERATOR = MirrorPadding()
