"""Max pooling with a dilated window: over the taps of a column first, then over those of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

FEW = 4
"""Largest number of taps to compare one by one. More are compared in steps that double the window."""


class Emits(Protocol):
    """Interface of the factory for nodes, as ``Nodes`` of an importer implements it."""

    def emit(self, op: str, *inputs: str, part: str = "", **attrs: Any) -> str:
        """Create a node and return its name."""


def largest_of_taps(
    nodes: Emits,
    source: str,
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> str:
    """Return the name of the node with the maximum of each window.

    Args:
        nodes: factory for the nodes.
        source: a map that includes the padding of the windows.
        shape: its height and width.
        window: rows and columns of taps.
        strides: between windows, (y, x).
        dilations: between taps, (y, x).
    """
    sides = [shape[0], shape[1]]
    for axis in range(2):
        if window[axis] == 1 and strides[axis] == 1:
            continue

        def moved(name: str, begin: int, length: int, stride: int, axis: int = axis) -> str:
            at, size, steps = [0, 0], list(sides), [1, 1]
            at[axis], size[axis], steps[axis] = begin, length, stride
            attrs = {"begin": tuple(at), "size": tuple(size), "strides": tuple(steps)}
            return nodes.emit("spatial_slice", name, part="tap", **attrs)

        apart, step = dilations[axis], strides[axis]
        count = (sides[axis] - (window[axis] - 1) * apart - 1) // step + 1
        given, taps, length = source, 1, sides[axis]
        starts = list(range(window[axis]))
        if window[axis] > FEW:
            while 2 * taps <= window[axis]:
                length -= taps * apart
                pair = moved(given, 0, length, 1), moved(given, taps * apart, length, 1)
                given = nodes.emit("binary", *pair, part="maximum", operation="maximum")
                taps *= 2
            starts = sorted({0, window[axis] - taps})  # two runs of taps, which can overlap
        parts = [moved(given, start * apart, count, step) for start in starts]
        source = parts[0]
        for part in parts[1:]:
            source = nodes.emit("binary", source, part, part="maximum", operation="maximum")
        sides[axis] = count
    return source
