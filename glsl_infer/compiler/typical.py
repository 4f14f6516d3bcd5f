"""What layers compute for typical pictures, as sums in shaders are followed with it (``lowering.cut_sums``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Array, Graph, reference
from glsl_infer.graph.picture import picture_values

MOST_PICTURES = 8

OCTAVES = 6
"""Sizes of the spots in a picture that stands for a photograph, each half as large as the one before."""


def typical_maps(graph: Graph, pictures: Sequence[NDArray[np.uint8]]) -> dict[str, Array]:
    """Return what every layer of a prepared graph computes that makes a feature map, in float32.

    Args:
        graph: a prepared graph.
        pictures: uint8 (size, size, 3); some of them are looked at. Without any, ``clouds`` stand for them.

    Returns:
        (pictures, height, width, channels) by name, the picture's own values as well.
    """
    if len(pictures):
        chosen = [pictures[index * len(pictures) // MOST_PICTURES] for index in range(MOST_PICTURES)]
    else:
        chosen = [clouds(graph.input.attrs["shape"], seed) for seed in range(MOST_PICTURES)]
    maps: dict[str, list[Array]] = {}
    for picture in chosen:
        values = [(graph.input.name, picture_values(graph.input, picture))]
        for name, value in [*values, *reference.layers(graph, picture, mode="float")]:
            if value.ndim == 3:
                maps.setdefault(name, []).append(np.asarray(value, np.float32))
    return {name: np.stack(values) for name, values in maps.items()}


def clouds(shape: Sequence[int], seed: int) -> NDArray[np.uint8]:
    """Return a picture with large spots and small ones upon them, as photographs have: uint8 (height, width, 3)."""
    rng = np.random.default_rng(seed)
    height, width, channels = shape
    total = np.zeros((height, width, channels), np.float32)
    for octave in range(OCTAVES):
        corners = rng.normal(size=(2**octave + 2, 2**octave + 2, channels)).astype(np.float32)
        rows = _between(corners, np.arange(height) * (2**octave / height))
        total += _between(rows.swapaxes(0, 1), np.arange(width) * (2**octave / width)).swapaxes(0, 1) * 0.5**octave
    picture: NDArray[np.uint8] = np.clip(128.0 + 50.0 * total, 0.0, 255.0).astype(np.uint8)
    return picture


def _between(rows: NDArray[np.float32], places: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return what lies at some places between rows, by linear interpolation."""
    low = places.astype(np.int64)
    share = (places - low).astype(np.float32)[:, None, None]
    between: NDArray[np.float32] = rows[low] + (rows[low + 1] - rows[low]) * share
    return between
