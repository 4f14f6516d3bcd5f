"""What layers compute for typical pictures, as sums in shaders are followed with it (``lowering.truncation``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Array, Graph, Node, reference
from glsl_infer.graph.picture import is_picture
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering.typical import PICTURES
from glsl_infer.program.layout import Range
from glsl_infer.support.side_by_side import in_order

OCTAVES = 6
"""Sizes of the spots in a picture that stands for a photograph, each half as large as the one before."""

MOST_BYTES = 768 << 20
"""Of maps that are kept at a time: of a network with large ones fewer pictures are looked at, down to ``FEWEST``."""

FEWEST = 2


def typical_maps(graph: Graph, samples: Sequence[Inputs]) -> dict[str, Array]:
    """Return what those layers of a prepared graph compute in float32 whose maps a kernel reads, or is added to.

    Args:
        graph: a prepared graph.
        samples: what the network is given, as ``reference.run`` takes it; some of them are looked at. Without any,
            ``clouds`` stand for its inputs.

    Returns:
        (samples, height, width, channels) by name, the inputs' own values as well: of ``PICTURES`` samples, of fewer
        where their maps are large, or of all where there are fewer.
    """
    read = {name for node in graph.nodes if "kernel" in node.weights for name in node.inputs}
    shapes = {name: graph.shapes[name] for name in read if len(graph.shapes[name]) == 3}
    of_one = sum(4 * math.prod(shape) for shape in shapes.values())
    count = min(PICTURES, max(FEWEST, MOST_BYTES // max(of_one, 1)))
    chosen: list[Inputs]
    if len(samples):
        places = dict.fromkeys(index * len(samples) // count for index in range(count))
        chosen = [samples[place] for place in places]
    else:
        chosen = [
            {node.name: _stand_in(node, graph.shapes[node.name], seed) for node in graph.inputs}
            for seed in range(count)
        ]
    maps = {name: np.empty((len(chosen), *shape), np.float32) for name, shape in shapes.items()}

    def keep(index: int) -> None:
        for name, value in reference.all_values(graph, chosen[index], mode="float", wanted=maps):
            if name in maps:
                maps[name][index] = value

    for _ in in_order(keep, range(len(chosen))):
        pass
    return maps


def _stand_in(node: Node, shape: Sequence[int], seed: int) -> NDArray[Any]:
    """Return ``clouds`` for a picture, and numbers over its range for any other input."""
    if is_picture(node):
        return clouds(shape, seed)
    if "scale" in node.attrs:  # of 256 stored steps, of which 32,768 go either way
        high = np.full(shape[-1], 64.0 * node.attrs["scale"])
        low = -high
    else:
        low, high = Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"])).ends(shape[-1])
    numbers: NDArray[Any] = np.random.default_rng(seed).uniform(low, high, shape)
    return numbers


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
