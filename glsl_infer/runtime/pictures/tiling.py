"""Pictures of any size through a network of one size: positions of tiles, and assembly of their outputs.

Tiles overlap. The output of two neighbours is cut in the middle of their overlap, so that each pixel comes from a tile
with at least ``overlap`` pixels around it, or up to the picture's edge. If the receptive field of the network is no
larger, the result is the same as for the full picture at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass


@dataclass(frozen=True)
class Span:
    """One axis of a tile: reads from pixel ``start`` on, supplies the output of pixels ``first`` to ``last`` - 1."""

    start: int
    first: int
    last: int


@dataclass(frozen=True)
class Tile:
    """One tile: its rows and its columns, in pixels of the picture."""

    rows: Span
    columns: Span


def spans(length: int, size: int, overlap: int, step: int = 1) -> list[Span]:
    """Divide an axis of ``length`` pixels into as few spans of ``size`` as possible, spread evenly.

    A ``length`` below ``size`` takes one span, which reads beyond the end. So can the last span if all must begin at a
    multiple of ``step``.

    Raises:
        InputError: ``overlap`` is negative, or leaves none of a tile between two others.
    """
    most_overlap = (size - 1) // 2
    if not 0 <= overlap <= most_overlap:
        raise InputError(f"an overlap of {overlap} pixels; 0 to {most_overlap} are possible with tiles of {size}")
    if length <= size:
        return [Span(0, 0, length)]
    last_start = -(-(length - size) // step)  # in steps
    most_distance = max(1, (size - 2 * overlap) // step)
    distances = -(-last_start // most_distance)
    starts = [last_start * index // distances * step for index in range(distances + 1)]
    middles = ((start + size + next_start) // 2 for start, next_start in zip(starts, starts[1:]))
    borders = [0, *middles, length]
    return [Span(start, begin, end) for start, begin, end in zip(starts, borders, borders[1:])]


def tiles(height: int, width: int, size: int, overlap: int, step: int = 1) -> list[Tile]:
    """Return the tiles of a picture, row by row. The arguments are those of ``spans``."""
    columns = spans(width, size, overlap, step)
    return [Tile(row, column) for row in spans(height, size, overlap, step) for column in columns]


def cut_out(picture: NDArray[np.uint8], tile: Tile, size: int) -> NDArray[np.uint8]:
    """Return the input pixels of a tile, (size, size, channels). Beyond the picture, its last row and column repeat."""
    rows, columns = (
        np.minimum(span.start + np.arange(size), length - 1)
        for span, length in zip((tile.rows, tile.columns), picture.shape)
    )
    return np.ascontiguousarray(picture[rows[:, None], columns])


def factor_of(output: tuple[int, ...], size: int) -> int:
    """Return the number of output pixels for each input pixel along a side, for an output (height, width, ...).

    Raises:
        InputError: the output is not an image, or the factor is not an integer.
    """
    if len(output) < 2:
        raise InputError("only a model that returns an image runs on tiles (--whole); this one returns a vector")
    height, width = output[:2]
    if height != width or height % size:
        raise InputError(
            f"the model makes {width} x {height} pixels of {size} x {size}; "
            "tiles can be put together where the output is as large, or 2, 3 ... times as large"
        )
    return height // size


def through(
    run: Callable[[Iterator[NDArray[np.uint8]]], Iterable[NDArray[np.generic]]],
    picture: NDArray[np.uint8],
    size: int,
    places: Iterable[Tile],
) -> NDArray[np.generic]:
    """Run every tile of a picture and assemble the outputs.

    Args:
        run: from tiles (size, size, channels) to an image (height, width, ...) of each, in order, that is ``factor_of``
            times as large. It can take a tile before it has yielded the image of the previous one.
        picture: (height, width, channels).
        size: side of the tiles.
        places: all of ``tiles`` for this picture, or an iterator over them that shows progress.

    Raises:
        InputError: see ``factor_of``; or the result does not fit into memory.
    """
    height, width = picture.shape[:2]
    result: NDArray[np.generic] | None = None
    factor = 1
    pending: deque[Tile] = deque()

    def cut() -> Iterator[NDArray[np.uint8]]:
        for tile in places:
            pending.append(tile)
            yield cut_out(picture, tile, size)

    for output in run(cut()):
        tile = pending.popleft()
        if result is None:
            factor = factor_of(output.shape, size)
            result = _empty((factor * height, factor * width, *output.shape[2:]), output.dtype)
        rows, columns = tile.rows, tile.columns
        result[_scaled(rows, factor, 0), _scaled(columns, factor, 0)] = output[
            _scaled(rows, factor, rows.start), _scaled(columns, factor, columns.start)
        ]
    assert result is not None, "an image has at least one tile"
    return result


def _scaled(span: Span, factor: int, origin: int) -> slice:
    """Return the output pixels that a span keeps, relative to ``origin``, as a slice."""
    return slice(factor * (span.first - origin), factor * (span.last - origin))


def _empty(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    try:
        return np.empty(shape, dtype)
    except MemoryError:
        raise InputError(
            f"the result, {shape[1]} x {shape[0]} pixels, does not fit into memory; shrink the image first"
        ) from None
