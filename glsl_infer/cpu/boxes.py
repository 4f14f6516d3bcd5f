"""CPU operators of detectors. Boxes are rows of four values, (top, left, bottom, right)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, require_rank
from glsl_infer.graph.node import Array, Shape
from glsl_infer.support.ndarray import NDArray

NO_BOX = -1.0
"""Padding of the output if there are fewer boxes than requested."""

LARGEST_CHANGE = 4.135166556742356
"""Logarithm of 1000/16, the largest factor by which a proposal may grow."""


def suppress(boxes: Array, scores: Array, most: int, overlap: float, least: float) -> NDArray[np.int64]:
    """Return the indices of boxes, best first, without those that overlap a better one.

    Args:
        boxes: (n, 4), as two opposite corners in any order.
        scores: (n,).
        most: largest number of boxes to return.
        overlap: intersection over union above which the box with the lower score is removed.
        least: score up to which boxes are removed.
    """
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = (high - low).prod(axis=1)
    candidates = np.argsort(-scores, kind="stable")
    candidates = candidates[scores[candidates] > least]
    chosen: list[int] = []
    while len(candidates) and len(chosen) < most:
        best, candidates = int(candidates[0]), candidates[1:]
        chosen.append(best)
        sides = np.minimum(high[best], high[candidates]) - np.maximum(low[best], low[candidates])
        shared = np.maximum(sides, 0).prod(axis=1)
        union = areas[best] + areas[candidates] - shared
        candidates = candidates[~(shared > overlap * union)]
    return np.asarray(chosen, np.int64)


def _suppression_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    boxes, scores = require_rank(shapes[0], 2, "boxes"), require_rank(shapes[1], 1, "scores")
    if boxes != (*scores, 4):
        raise ValueError(f"boxes of shape {boxes} with scores of shape {scores}; give (n, 4) and (n,)")
    return (int(attrs["most"]),)


def _suppression(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    chosen = suppress(inputs[0], inputs[1], attrs["most"], attrs["overlap"], attrs["least_score"])
    result = np.full(attrs["most"], NO_BOX, inputs[0].dtype)
    result[: len(chosen)] = chosen
    return result


def _psroi_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    channels, (rows, columns) = require_rank(shapes[0], 3, "a map")[2], attrs["bins"]
    boxes = require_rank(shapes[1], 2, "boxes")
    if boxes[1] != 4 or channels % (rows * columns) or attrs["samples"] < 1:
        raise ValueError(
            f"boxes of shape {boxes} and {channels} channels for {rows} x {columns} bins; "
            "give (n, 4), and a multiple of the bins"
        )
    return boxes[0], rows, columns, channels // (rows * columns)


def _psroi_align(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the mean of the bilinear samples of each bin of each box, (boxes, rows, columns, channels)."""
    features, boxes = inputs[0], inputs[1] * inputs[1].dtype.type(attrs["scale"])
    (rows, columns), samples = attrs["bins"], attrs["samples"]
    maps_of_bins = features.reshape(*features.shape[:2], rows, columns, -1)
    result = np.empty((len(boxes), rows, columns, maps_of_bins.shape[-1]), features.dtype)
    steps = (np.arange(samples) + 0.5) / samples
    for index, (top, left, bottom, right) in enumerate(boxes):
        height, width = max(bottom - top, 1e-3) / rows, max(right - left, 1e-3) / columns
        for row, column in np.ndindex(rows, columns):
            y, x = top + (row + steps) * height, left + (column + steps) * width
            result[index, row, column] = _bilinear(maps_of_bins[:, :, row, column], y, x).mean(axis=(0, 1))
    return result


def _bilinear(plane: Array, y: Array, x: Array) -> Array:
    """Return a map (height, width, channels) at rows ``y`` and columns ``x``, (len(y), len(x), channels)."""
    height, width = plane.shape[:2]
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    down, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    fy = (y - top)[:, None, None].astype(plane.dtype)
    fx = (x - left)[None, :, None].astype(plane.dtype)
    upper = plane[top][:, left] * (1 - fx) + plane[top][:, right] * fx
    lower = plane[down][:, left] * (1 - fx) + plane[down][:, right] * fx
    between: Array = upper * (1 - fy) + lower * fy
    return between


def _proposals_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    scores, deltas = require_rank(shapes[0], 3, "scores"), require_rank(shapes[1], 3, "deltas")
    anchors = len(attrs["anchors"]) // 4
    if len(attrs["anchors"]) % 4 or scores[2] != anchors or deltas != (*scores[:2], 4 * anchors):
        raise ValueError(
            f"{anchors} anchors with scores of shape {scores} and deltas of shape {deltas}; "
            "give (height, width, anchors) and (height, width, 4 * anchors)"
        )
    return int(attrs["most"]), 4


def _proposals(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the best boxes without overlap, clipped to the image, (most, 4), with zeros after the last one."""
    scores, boxes = inputs[0].reshape(-1), _proposed_boxes(attrs, inputs[1], inputs[0].shape)
    height, width = attrs["picture"]
    boxes = np.clip(boxes, 0, np.asarray([height, width, height, width], scores.dtype))
    is_large = (boxes[:, 2:] - boxes[:, :2] >= attrs["least_side"]).all(axis=1)
    order = np.argsort(-np.where(is_large, scores, -np.inf), kind="stable")[: attrs["considered"]]
    order = order[is_large[order]]
    chosen = order[suppress(boxes[order], scores[order], attrs["most"], attrs["overlap"], -np.inf)]
    result = np.zeros((attrs["most"], 4), scores.dtype)
    result[: len(chosen)] = boxes[chosen]
    return result


def _proposed_boxes(attrs: Attrs, deltas: Array, shape: Shape) -> Array:
    """Return the anchors of all pixels, translated and scaled by deltas, (pixels * anchors, 4).

    Args:
        attrs: attributes of the operator.
        deltas: change of each anchor: of its centre, in sizes, and the logarithm of the factor of its size.
        shape: (rows, columns, anchors) of the map.
    """
    rows, columns, count = shape
    anchors = np.asarray(attrs["anchors"], deltas.dtype).reshape(count, 4)
    y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    shifts = np.stack([y, x, y, x], axis=-1).reshape(rows * columns, 1, 4) * attrs["stride"]
    translated = (anchors + shifts).reshape(-1, 4).astype(deltas.dtype)
    changes = deltas.reshape(-1, 4)
    size = translated[:, 2:] - translated[:, :2]
    centre = translated[:, :2] + size / 2 + changes[:, :2] * size
    half = size * np.exp(np.minimum(changes[:, 2:], LARGEST_CHANGE)) / 2
    return np.concatenate([centre - half, centre + half], axis=1)


KERNELS: Mapping[str, Kernel] = {
    "non_max_suppression": Kernel(
        "Non-maximum suppression: indices of the boxes (n, 4) with the best scores (n,) without overlap; then -1.",
        (2, 2),
        _suppression_shape,
        _suppression,
        {"most": None, "overlap": 0.5, "least_score": -3.0e38},
    ),
    "psroi_align": Kernel(
        "Position-sensitive pooling: for each bin (i, j) of n boxes the mean of bilinear samples of its channels. The "
        "map has bins * channels; bin (i, j) has the channels from (i * columns + j) * channels on.",
        (2, 2),
        _psroi_shape,
        _psroi_align,
        {"bins": None, "scale": 1.0, "samples": 2},
    ),
    "proposals": Kernel(
        "Boxes (most, 4) of a region proposal network: anchors translated by deltas, clipped to the image, without "
        "small and overlapping ones; then zeros.",
        (2, 2),
        _proposals_shape,
        _proposals,
        {
            "anchors": None,
            "stride": None,
            "picture": None,
            "considered": 6000,
            "most": 300,
            "overlap": 0.7,
            "least_side": 0.0,
        },
    ),
}
"""The kernels by operator name."""
