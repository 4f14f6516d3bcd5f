"""Test 9: images of increasing size through SRCNN, until memory, time or sizes run out.

The GPU computes an image in tiles. They overlap by the network's receptive field, so no seams are visible, and GPU
memory is constant. Only the image and its result grow, by three bytes a pixel each.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.runtime import images
from glsl_infer.runtime.pictures.tiling import Tile
from glsl_infer.runtime.session import Session
from glsl_infer.support.memory import available
from glsl_infer.support.progress import ProgressCallback

MEGAPIXELS = (0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
"""Sizes of the square images, in megapixels."""

BYTES_A_PIXEL = 6
"""Three bytes of the image, three of the result."""

SHARE = 0.5
"""Largest share of free memory to use: with more, the kernel might kill this or another process."""


@dataclass(frozen=True)
class Largest:
    """The largest image that was processed.

    Attributes:
        megapixels: its size; 0 if not even the smallest fits.
        seconds: its time.
        why: reason for not trying a larger one.
    """

    megapixels: float
    seconds: float
    why: str


def largest(
    session: Session, memory: int, limit: float, progress: ProgressCallback, sizes: Sequence[float] = MEGAPIXELS
) -> Largest:
    """Process larger and larger images.

    Args:
        session: session of SRCNN.
        memory: largest size of image and result together, in bytes.
        limit: time limit of an image in seconds. The time is extrapolated from the previous image.
        progress: called with each size.
        sizes: in megapixels, ascending.
    """
    done, took = 0.0, 0.0
    for size in sizes:
        side = round((size * 1e6) ** 0.5)
        needed = side * side * BYTES_A_PIXEL
        free = available()
        if free is not None and needed > free * SHARE:
            return Largest(done, took, f"{size:g} megapixels take {needed >> 20} MB, and {free >> 20} are free")
        if needed > memory:
            return Largest(done, took, f"{size:g} megapixels take {needed >> 20} MB, and {memory >> 20} may be used")
        if done and took * size / done > limit:
            return Largest(done, took, f"{size:g} megapixels would take more than {limit:g} s")
        progress(f"{size:g} megapixels")
        started = time.perf_counter()
        images.run_whole(session, _picture(side), watch=_quiet)
        done, took = size, time.perf_counter() - started
    return Largest(done, took, "no larger image is in the test")


def _picture(side: int) -> NDArray[np.uint8]:
    """Return a square image of rings. No other array of its size is allocated."""
    picture = np.empty((side, side, 3), np.uint8)
    across = np.arange(side) ** 2
    for y in range(side):
        picture[y] = ((across + y * y) >> 9).astype(np.uint8)[:, None]
    return picture


def _quiet(tiles: Sequence[Tile], _: str) -> Iterable[Tile]:
    return tiles
