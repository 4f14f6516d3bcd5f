"""CPU operator to sample a map between its pixels, at the points of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, require_rank
from glsl_infer.graph.node import Array, Shape

MODES, PADDINGS = ("bilinear", "nearest"), ("zeros", "border", "reflection")


def _grid_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    channels = require_rank(shapes[0], 3, "a map")[2]
    rows, columns, two = require_rank([*shapes, *weights.values()][1], 3, "a grid")
    if two != 2 or attrs["mode"] not in MODES or attrs["padding"] not in PADDINGS:
        raise ValueError(
            f"a grid (…, {two}), mode '{attrs['mode']}' and padding '{attrs['padding']}'; there are: "
            f"(…, 2), {', '.join(MODES)}; {', '.join(PADDINGS)}"
        )
    return rows, columns, channels


def _grid(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return a map sampled at a grid of coordinates from -1 to 1, (..., channels)."""
    x, grid = [*inputs, *(weight.astype(inputs[0].dtype) for weight in weights.values())][:2]
    coordinates = []
    for component, size in ((1, x.shape[0]), (0, x.shape[1])):
        at = grid[..., component]
        at = (at + 1) / 2 * (size - 1) if attrs["align_corners"] else ((at + 1) * size - 1) / 2
        if attrs["padding"] == "reflection":
            at = _reflected(at, size, bool(attrs["align_corners"]))
        coordinates.append(at if attrs["padding"] == "zeros" else np.clip(at, 0, size - 1))
    y, x_positions = coordinates
    if attrs["mode"] == "nearest":
        return _at(x, np.rint(y), np.rint(x_positions))
    top, left = np.floor(y), np.floor(x_positions)
    down, right = (y - top)[..., None], (x_positions - left)[..., None]
    upper = _at(x, top, left) * (1 - right) + _at(x, top, left + 1) * right
    lower = _at(x, top + 1, left) * (1 - right) + _at(x, top + 1, left + 1) * right
    between: Array = upper * (1 - down) + lower * down
    return between


def _reflected(at: Array, size: int, corners: bool) -> Array:
    """Return coordinates mirrored at the centres of the outer pixels (``corners``), or at their outer edges."""
    low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
    if not span:
        return np.zeros_like(at)
    turned = np.abs(at - low) % (2 * span)
    mirrored: Array = np.minimum(turned, 2 * span - turned) + at.dtype.type(low)
    return mirrored


def _at(x: Array, y: Array, z: Array) -> Array:
    """Return pixels of a map, with zeros outside."""
    inside = (y >= 0) & (y < x.shape[0]) & (z >= 0) & (z < x.shape[1])
    pixels = x[np.where(inside, y, 0).astype(np.int64), np.where(inside, z, 0).astype(np.int64)]
    return np.where(inside[..., None], pixels, x.dtype.type(0))


KERNELS: Mapping[str, Kernel] = {
    "grid_sample": Kernel(
        "Samples of a map at points (rows, columns, 2) of (across, down), each from -1 to 1.",
        (1, 2),
        _grid_shape,
        _grid,
        {"mode": "bilinear", "padding": "zeros", "align_corners": False},
        ("grid",),
        range="kept",
    ),
}
"""The kernels by operator name."""
