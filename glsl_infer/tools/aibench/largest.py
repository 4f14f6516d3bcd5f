"""Test 9: ever larger pictures through SRCNN, until memory, the time or the pictures end.

A picture goes through the GPU in tiles that overlap by what the network looks around, so that no seam shows and the
GPU's memory does not grow. What grows is the picture and its result: three bytes a pixel each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.runtime import images
from glsl_infer.runtime.pictures.tiling import Tile
from glsl_infer.runtime.session import Session
from glsl_infer.support.memory import available

MEGAPIXELS = (0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
"""Sizes that are tried, squares."""

BYTES_A_PIXEL = 6
"""Three of the picture, three of the result."""

SHARE = 0.5
"""Of the memory that is free: with more, the kernel might end this process or another."""

Tell = Callable[[str], object]


@dataclass(frozen=True)
class Largest:
    """The largest picture that was done.

    Attributes:
        megapixels: its size; 0 if not even the smallest was.
        seconds: what it took.
        why: why no larger one was tried.
    """

    megapixels: float
    seconds: float
    why: str


def largest(session: Session, memory: int, limit: float, tell: Tell, sizes: Sequence[float] = MEGAPIXELS) -> Largest:
    """Run larger and larger pictures.

    Args:
        session: of SRCNN.
        memory: bytes that picture and result may take.
        limit: seconds that a picture may take, as far as the one before tells.
        tell: hears of each size.
        sizes: in megapixels, growing.
    """
    done, took = 0.0, 0.0
    for size in sizes:
        side = round((size * 1e6) ** 0.5)
        needed = side * side * BYTES_A_PIXEL
        there = available()
        if there is not None and needed > there * SHARE:
            return Largest(done, took, f"{size:g} megapixels take {needed >> 20} MB, and {there >> 20} are free")
        if needed > memory:
            return Largest(done, took, f"{size:g} megapixels take {needed >> 20} MB, and {memory >> 20} may be used")
        if done and took * size / done > limit:
            return Largest(done, took, f"{size:g} megapixels would take more than {limit:g} s")
        tell(f"{size:g} megapixels")
        started = time.perf_counter()
        images.run_whole(session, _picture(side), watch=_quiet)
        done, took = size, time.perf_counter() - started
    return Largest(done, took, "no larger picture is in the test")


def _picture(side: int) -> NDArray[np.uint8]:
    """Return a square picture that is not all alike: rings. Nothing but the picture takes memory."""
    made = np.empty((side, side, 3), np.uint8)
    across = np.arange(side) ** 2
    for y in range(side):
        made[y] = ((across + y * y) >> 9).astype(np.uint8)[:, None]
    return made


def _quiet(tiles: Sequence[Tile], _: str) -> Iterable[Tile]:
    return tiles
