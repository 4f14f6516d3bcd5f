"""What the bytes of a network's picture stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.node import Node

SCALES, ZEROS = (1.0,), (0.0,)
"""What an input without these attributes means: byte / 255."""


def picture_range(node: Node) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (scales, zeros) of an input node, each of length 1 or channels; defaults where it does not say."""
    return tuple(node.attrs.get("scales", SCALES)), tuple(node.attrs.get("zeros", ZEROS))


def with_picture_range(node: Node, scales: Sequence[float], zeros: Sequence[float]) -> Node:
    """Return the input node with another meaning of its bytes, written as briefly as it can be.

    Equal numbers become one, and the default is left out, so that networks on [0, 1] are written as ever.
    """
    given = dict(zip(("scales", "zeros"), (tuple(scales), tuple(zeros))))
    given = {key: values[:1] if len(set(values)) == 1 else values for key, values in given.items()}
    attrs = {key: value for key, value in node.attrs.items() if key not in given}
    if given != {"scales": SCALES, "zeros": ZEROS}:
        attrs.update(given)
    return replace(node, attrs=attrs)


def picture_values(node: Node, picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return what the bytes of a picture stand for: float64 of its shape."""
    scales, zeros = (np.asarray(values, np.float64) for values in picture_range(node))
    values: NDArray[np.float64] = scales * (picture - zeros) / 255.0
    return values
