"""Sliding windows: output sizes, and convolution in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape

_PATCHES = 512
"""Output pixels whose patches are gathered at a time. Those of X22 then fit a processor's level 2 cache."""

_PIXELS_AT_ONCE = 8
"""Number of adjacent pixels whose sums become columns of one product, for few filters with a wide kernel.

A (9, 9, 4, 3) kernel is 17 times as fast."""

_FEW_FILTERS = 4
"""Largest number of filters for this: few filters do not fill a processor's vectors."""

_WIDE_KERNEL = 5
"""Least width of a kernel for this: the patches of wide kernels overlap."""


def output_size(node: Node, shape: Shape) -> tuple[int, int]:
    """Return (height, width) of a convolution's output for an input of ``shape``.

    Raises:
        ModelError: kernel, groups and input do not fit together, or strides, dilations or padding are too small.
    """
    height, width, channels = feature_map(node, shape)
    kernel_height, kernel_width, group_channels, filters = node.weights["kernel"].shape
    groups = node.attrs["groups"]
    if group_channels * groups != channels or filters % groups:
        raise ModelError.layer(
            node.name,
            f"a kernel of {node.weights['kernel'].shape} in {groups} groups on {channels} channels",
            "kernel, groups and channels must fit together",
        )
    strides, padding, dilations = node.attrs["strides"], node.attrs["padding"], node.attrs.get("dilations", (1, 1))
    if min(*strides, *dilations) < 1 or min(padding) < 0:
        raise ModelError.layer(
            node.name,
            f"strides {tuple(strides)}, dilations {tuple(dilations)} and padding {tuple(padding)}",
            "strides and dilations must be 1 or more, padding 0 or more",
        )
    return window_size(node, (height, width), dilated((kernel_height, kernel_width), dilations))


def dilated(kernel: Sequence[int], dilations: Sequence[int]) -> tuple[int, int]:
    """Return the (height, width) in pixels of a kernel with dilations."""
    height, width = ((size - 1) * step + 1 for size, step in zip(kernel, dilations))
    return height, width


def window_size(node: Node, size: tuple[int, int], window: tuple[int, int]) -> tuple[int, int]:
    """Return the number of windows along each axis of a padded map, by ``padding`` and ``strides`` of the node.

    Raises:
        ModelError: the padded map is smaller than a window.
    """
    top, bottom, left, right = node.attrs["padding"]
    out_height = (size[0] + top + bottom - window[0]) // node.attrs["strides"][0] + 1
    out_width = (size[1] + left + right - window[1]) // node.attrs["strides"][1] + 1
    if out_height < 1 or out_width < 1:
        raise ModelError.layer(
            node.name,
            f"a {window[0]}x{window[1]} window on {size[0]}x{size[1]} pixels",
            "the input is too small; use a larger image or fewer strided layers",
        )
    return out_height, out_width


def convolve(x: Array, kernel: Array, strides: Sequence[int], groups: int, dilations: Sequence[int] = (1, 1)) -> Array:
    """Convolve padded ``x`` (height, width, channels) without further padding.

    Args:
        x: the input.
        kernel: (kernel height, kernel width, channels / groups, filters).
        strides: (y, x).
        groups: number of equal, consecutive groups of channels and filters.
        dilations: (y, x), distances of taps in pixels.

    Returns:
        (output height, output width, filters) in the type of ``x``.
    """
    kernel_height, kernel_width, group_channels, filters = kernel.shape
    span = dilated((kernel_height, kernel_width), dilations)
    height = (x.shape[0] - span[0]) // strides[0] + 1
    width = (x.shape[1] - span[1]) // strides[1] + 1
    channels = groups * group_channels
    if groups == kernel_height == kernel_width == 1:  # the patches are the map itself
        pixels = x[:: strides[0], :: strides[1]][:height, :width].reshape(height * width, group_channels)
        single: Array = (pixels @ kernel.reshape(group_channels, filters)).reshape(height, width, filters)
        return single
    if groups == dilations[1] == 1:
        pixels_at_once = (
            _PIXELS_AT_ONCE if strides[1] == 1 and filters <= _FEW_FILTERS and kernel_width >= _WIDE_KERNEL else 1
        )
        return _by_rows(x[:, :, :channels], kernel, (height, width), strides, dilations[0], pixels_at_once)
    taps = [(ky * dilations[0], kx * dilations[1]) for ky in range(kernel_height) for kx in range(kernel_width)]
    grouped_kernel = kernel.reshape(-1, groups, filters // groups).transpose(1, 0, 2)
    rows = max(1, _PATCHES // width)
    patches = np.empty((rows, width, groups, len(taps), group_channels), x.dtype)
    out: Array = np.empty((height, width, kernel.shape[3]), np.result_type(x, kernel))
    for top in range(0, height, rows):
        count = min(rows, height - top)
        for tap, (down, right) in enumerate(taps):
            first = strides[0] * top + down
            window = x[first : first + strides[0] * count : strides[0], right : right + strides[1] * width : strides[1]]
            patches[:count, :, :, tap] = window[:, :width, :channels].reshape(count, width, groups, group_channels)
        columns = patches[:count].reshape(count * width, groups, -1).transpose(1, 0, 2)
        out[top : top + count] = (columns @ grouped_kernel).transpose(1, 0, 2).reshape(count, width, filters)
    return out


def _by_rows(
    x: Array, kernel: Array, size: tuple[int, int], strides: Sequence[int], dilation: int, pixels_at_once: int
) -> Array:
    """Convolve in one group, with the adjacent taps of a kernel row copied at once.

    Args:
        x: the input.
        kernel: kernel for all input channels.
        size: (height, width) of the output.
        strides: (y, x).
        dilation: rows between rows of taps.
        pixels_at_once: pixels whose sums are computed from one patch, by as many shifted copies of the kernel.
    """
    height, width = size
    across = -(-width // pixels_at_once)
    windows = _row_windows(x, kernel.shape, (height, across), strides, dilation, pixels_at_once)
    flat = _shifted_kernels(kernel, strides[1], pixels_at_once)
    rows = min(max(1, _PATCHES // across), height)
    patches = np.empty((rows, *windows.shape[1:]), x.dtype)
    out: Array = np.empty((height, width, kernel.shape[3]), np.result_type(x, kernel))
    for top in range(0, height, rows):
        count = min(rows, height - top)
        patches[:count] = windows[top : top + count]
        if width == across * pixels_at_once:
            sums = out[top : top + count].reshape(count * across, flat.shape[1])
            np.matmul(patches[:count].reshape(count * across, -1), flat, out=sums)
        else:
            sums = patches[:count].reshape(count * across, -1) @ flat
            out[top : top + count] = sums.reshape(count, across * pixels_at_once, -1)[:, :width]
    return out


def _row_windows(
    x: Array,
    kernel_shape: Sequence[int],
    size: tuple[int, int],
    strides: Sequence[int],
    dilation: int,
    pixels_at_once: int,
) -> Array:
    """Return a view of the windows of adjacent pixels, (height, windows across, kernel height, values of a row).

    Args:
        x: the input.
        kernel_shape: (kernel height, kernel width, channels, filters).
        size: (height, windows across).
        strides: (y, x).
        dilation: rows between rows of taps.
        pixels_at_once: pixels of a window.
    """
    kernel_height, kernel_width, channels, _ = kernel_shape
    height, across = size
    span = _span(kernel_width, strides[1], pixels_at_once)
    missing = strides[1] * pixels_at_once * (across - 1) + span - x.shape[1]
    x = np.ascontiguousarray(x) if missing <= 0 else np.pad(x, ((0, 0), (0, missing), (0, 0)))
    element = x.itemsize  # computed, because strides of axes of length 1 may be anything
    right, down = channels * element, x.shape[1] * channels * element
    return as_strided(
        x,
        (height, across, kernel_height, span * channels),
        (strides[0] * down, strides[1] * pixels_at_once * right, dilation * down, element),
        writeable=False,
    )


def _shifted_kernels(kernel: Array, stride: int, pixels_at_once: int) -> Array:
    """Return copies of a kernel, each shifted to its pixel, (values of a window, pixels * filters)."""
    kernel_height, kernel_width, channels, filters = kernel.shape
    span = _span(kernel_width, stride, pixels_at_once)
    copies = np.zeros((kernel_height, span, channels, pixels_at_once, filters), kernel.dtype)
    for pixel in range(pixels_at_once):
        copies[:, stride * pixel : stride * pixel + kernel_width, :, pixel] = kernel
    return copies.reshape(-1, pixels_at_once * filters)


def _span(kernel_width: int, stride: int, pixels_at_once: int) -> int:
    """Return the columns that the windows of adjacent pixels cover."""
    return (pixels_at_once - 1) * stride + kernel_width
