"""Maximum pooling: the largest value of each window, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering.per_slice import Sampling, Template, per_slice
from glsl_infer.ops.operator import CopyOperator, Operator, feature_map
from glsl_infer.ops.traits import AxisWindow, window_reads

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class Pooling(Operator):
    """Base of poolings with the attributes ``pool``, ``strides`` and ``padding``."""

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, channels), with the number of windows as height and width."""
        return pooled_shape(node, inputs[0])

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        return window_reads(node, *node.attrs["pool"])


class MaxPool(Pooling, CopyOperator):
    """The largest value of each window.

    Attributes: ``pool`` (y, x), ``strides`` (y, x), ``padding`` (top, bottom, left, right). Padding is excluded, as if
    it were minus infinity.
    """

    attrs = {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}
    idle = {"pool": (1, 1), "strides": (1, 1)}

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the maximum over each window."""
        top, bottom, left, right = node.attrs["padding"]
        x = inputs[0]
        x = np.pad(x, ((top, bottom), (left, right), (0, 0)), constant_values=x.dtype.type(-np.inf))
        largest: Array = windows(x, node.attrs["pool"], node.attrs["strides"]).max(axis=(-2, -1))
        return largest

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the windows of each slice, with coordinates clamped to the map."""
        if min(build.feature_map(node.inputs[0]).scales) < 0:
            raise ModelError.layer(
                node.name,
                "a maximum of an image whose larger bytes are smaller values",
                "let a convolution come first, or rescale by a positive factor",
            )
        draw_windows(node, build, Template("max_pool.frag"), MOST_UNROLLED)


MOST_IN_LOOPS = 9
"""Largest window, in texels, whose loops every compiler unrolls."""

MOST_WRITTEN_OUT = 49
"""Largest window, in texels, for which VideoCore IV has enough registers if all fetches are written out."""

MOST_UNROLLED = 64
"""Largest window of a maximum, in texels, for which VideoCore IV has enough registers if its loops are unrolled."""


def written_out(pool: Sequence[int]) -> list[str]:
    """Return the lines that fetch all texels of a window (height, width); empty if loops are as good."""
    if not MOST_IN_LOOPS < pool[0] * pool[1] <= MOST_WRITTEN_OUT:
        return []
    return [*["add_texel();"] * pool[1], "next_row();"] * pool[0]


def window_macros(node: Node, texels: Sequence[str] = (), most: int = MOST_WRITTEN_OUT) -> dict[str, int | float | str]:
    """Return the macros of a pooling's template; ``texels`` and ``most`` as in ``draw_windows``."""
    pool_y, pool_x = node.attrs["pool"]
    macros: dict[str, int | float | str] = {"POOL_WIDTH": pool_x, "POOL_HEIGHT": pool_y}
    if texels:
        macros["UNROLLED"] = 1
    if pool_y * pool_x > most:
        macros["EXTRA_FETCH"] = 1
    if any(node.attrs["padding"]):
        macros["BOUNDED"] = 1
    return macros


def draw_windows(node: Node, build: Builder, template: Template, most: int = MOST_WRITTEN_OUT) -> None:
    """Append the draws of a pooling.

    Args:
        node: the layer.
        build: the program.
        template: the shader, without the macros of the window; ``texels`` are lines of ``written_out``.
        most: number of texels above which loops must not be unrolled.
    """
    top, _, left, _ = node.attrs["padding"]
    stride_y, stride_x = node.attrs["strides"]
    defines = {**window_macros(node, template.lines.get("texels", ()), most), **template.defines}
    sampling = Sampling((-left, -top), (float(stride_x), float(stride_y)), corners="BOUNDED" in defines)
    per_slice(node, build, replace(template, defines=defines), sampling)


def pooled_shape(node: Node, shape: Shape) -> Shape:
    """Return the output shape of a pooling with attributes ``pool``, ``strides`` and ``padding``.

    Raises:
        ModelError: the window does not fit, or could be entirely in the padding.
    """
    height, width, channels = feature_map(node, shape)
    (pool_y, pool_x), (stride_y, stride_x) = node.attrs["pool"], node.attrs["strides"]
    top, bottom, left, right = node.attrs["padding"]
    if min(pool_y, pool_x, stride_y, stride_x) < 1 or min(top, bottom, left, right) < 0:
        raise ModelError.layer(
            node.name,
            f"windows of {pool_y}x{pool_x}, strides {stride_y}x{stride_x}, padding {(top, bottom, left, right)}",
            "windows and strides must be 1 or more, padding 0 or more",
        )
    if max(top, bottom) >= pool_y or max(left, right) >= pool_x:
        raise ModelError.layer(
            node.name,
            f"padding {(top, bottom, left, right)} around windows of {pool_y}x{pool_x}",
            "pad less than a window, so that every window meets the map",
        )
    out_height = (height + top + bottom - pool_y) // stride_y + 1
    out_width = (width + left + right - pool_x) // stride_x + 1
    if out_height < 1 or out_width < 1:
        raise ModelError.layer(
            node.name,
            f"windows of {pool_y}x{pool_x} on {height}x{width} pixels",
            "the input is too small; use a larger image or smaller windows",
        )
    return out_height, out_width, channels


def windows(x: Array, pool: Sequence[int], strides: Sequence[int]) -> Array:
    """Return a view (out height, out width, channels, pool height, pool width) of ``x``, which is already padded."""
    all_windows: Array = np.lib.stride_tricks.sliding_window_view(x, (pool[0], pool[1]), axis=(0, 1))
    return all_windows[:: strides[0], :: strides[1]]


OPERATOR = MaxPool()
