"""Bit-exact crop and scaling of pictures on the CPU: area average for axes that shrink, bilinear for axes that grow.

docs/reference/bundle-format.md defines both. Shaders compute the same within 2 of 255 (``resampling``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image

from glsl_infer.runtime.pictures.fits import Region, fitted
from glsl_infer.support.ndarray import NDArray

Pixels = NDArray[np.uint8]

_BAND = 1 << 20
"""Number of pixels averaged at a time."""

_PLAIN = {1: "L", 3: "RGB", 4: "CMYK"}
"""Pillow modes that scale each channel independently, by number of channels; RGBA would be multiplied with alpha."""


def fit(image: Image.Image, how: str, height: int, width: int) -> Pixels:
    """Return a picture fitted to ``height`` x ``width`` pixels, uint8 (height, width, channels).

    Args:
        image: of mode L, RGB or RGBA: 1, 3 or 4 channels.
        how: one of ``manifest.FITS``.
        height: in pixels.
        width: in pixels.
    """
    places = fitted(how, image.width, image.height, width, height)
    source, target = places.source, places.target

    def rows(begin: int, end: int) -> Pixels:
        right, top = source.left + source.width, source.top
        part = np.asarray(image.crop((source.left, top + begin, right, top + end)), np.uint8)
        return part.reshape(end - begin, source.width, -1)

    inner = _scaled(rows, source, target.height, target.width)
    if (target.height, target.width) == (height, width):
        return inner
    whole = np.zeros((height, width, inner.shape[2]), np.uint8)
    whole[..., 3:] = 255
    whole[target.top : target.top + target.height, target.left : target.left + target.width] = inner
    return whole


def area_average(pixels: Pixels, size: int) -> Pixels:
    """Shrink uint8 ``(side, side, channels)`` to ``(size, size, channels)`` by the exact area average.

    In units of 1/size of a source pixel all overlaps are integers, so the result is exact: each output pixel is
    ``floor(sum / side**2 + 1/2)`` of the sum of overlap times value. (Pillow's BOX filter is not exact: it gives every
    pixel with its centre inside the window the same weight.)
    """
    height, width = pixels.shape[:2]
    return _average(lambda begin, end: pixels[begin:end], height, width, size, size)


def _scaled(rows: Callable[[int, int], Pixels], source: Region, height: int, width: int) -> Pixels:
    """Scale a region to ``height`` x ``width``; ``rows`` returns the rows of the region in a half-open interval."""
    least = min(source.height, height), min(source.width, width)
    pixels = _average(rows, source.height, source.width, *least)
    if least == (height, width):
        return pixels
    mode = _PLAIN[pixels.shape[2]]
    image = Image.frombytes(mode, (least[1], least[0]), pixels.tobytes())
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR)).reshape(height, width, -1)


def _average(rows: Callable[[int, int], Pixels], tall: int, wide: int, height: int, width: int) -> Pixels:
    """Average ``tall`` x ``wide`` pixels to ``height`` x ``width``; an axis of the same length is unchanged.

    It computes bands of about ``_BAND`` pixels, so that the remainder is never in memory twice.
    """
    if (height, width) == (tall, wide):
        return np.ascontiguousarray(rows(0, tall))
    area = (tall if height < tall else 1) * (wide if width < wide else 1)
    step = max(1, _BAND * height // (tall * wide))
    bands = []
    for begin in range(0, height, step):
        end = min(begin + step, height)
        total: NDArray[np.integer] = rows(begin * tall // height, -(-end * tall // height))
        if height < tall:
            total = _overlap_sums(total, tall, height, range(begin, end))
        if width < wide:
            total = _overlap_sums(total.transpose(1, 0, 2), wide, width, range(width)).transpose(1, 0, 2)
        bands.append(((2 * total + area) // (2 * area)).astype(np.uint8))
    return np.concatenate(bands)


def _overlap_sums(values: NDArray[np.integer], side: int, size: int, windows: range) -> NDArray[np.int64]:
    """Sum the first axis into some of ``size`` equal windows, each value times its overlap in 1/size of a step.

    ``values`` begins at the step in which the first of ``windows`` begins; all windows cover ``side`` steps.
    """
    start = windows[0] * side // size
    out = np.empty((len(windows), *values.shape[1:]), np.int64)
    for place, index in enumerate(windows):
        first, before = divmod(index * side - start * size, size)
        last, after = divmod((index + 1) * side - start * size, size)
        # All of first .. last-1, minus the share of first before the window, plus the share of last inside it.
        window = values[first:last].sum(axis=0, dtype=np.int64) * size
        window -= values[first].astype(np.int64) * before
        if after:
            window += values[last].astype(np.int64) * after
        out[place] = window
    return out
