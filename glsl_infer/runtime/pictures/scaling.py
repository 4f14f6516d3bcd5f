"""Fits of pictures into a network's picture, and bit-exact crop and scaling on the CPU.

Axes that shrink get the area average, axes that grow are bilinear. Fits use integer arithmetic only.

docs/reference/bundle-format.md defines both. Shaders compute the same within 2 of 255 (``resampling``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glsl_infer.bundle.manifest import CENTER_CROP, CENTER_SQUARE, LETTERBOX
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

TYPE_CHECKING = False  # checkers know the name, and the module typing loads slowly
if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]

_BAND = 1 << 20
"""Number of pixels averaged at a time."""

_MODES = {1: "L", 3: "RGB", 4: "CMYK"}
"""Pillow modes that scale each channel independently, by number of channels; RGBA would be multiplied with alpha."""


@dataclass(frozen=True)
class Region:
    """A rectangle of a picture, in pixels."""

    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True)
class Fitted:
    """The source region of a picture, and its scaled place in the network's picture.

    The remainder of the network's picture, if any, is black.
    """

    source: Region
    target: Region


def fitted(fit: str, width: int, height: int, wanted_width: int, wanted_height: int) -> Fitted:
    """Return the regions of a fit for a picture of ``width`` x ``height`` pixels.

    Args:
        fit: one of ``manifest.FITS``.
        width: of the picture, after its orientation.
        height: of the picture.
        wanted_width: of the network's picture.
        wanted_height: of the network's picture.
    """
    source, target = Region(0, 0, width, height), Region(0, 0, wanted_width, wanted_height)
    if fit == CENTER_SQUARE:
        side = min(width, height)
        return Fitted(_centred(width, height, side, side), target)
    wider = width * wanted_height > height * wanted_width
    if fit == CENTER_CROP:
        if wider:
            return Fitted(_centred(width, height, _share(height, wanted_width, wanted_height, width), height), target)
        return Fitted(_centred(width, height, width, _share(width, wanted_height, wanted_width, height)), target)
    if fit == LETTERBOX:
        if wider:
            size = wanted_width, _share(height, wanted_width, width, wanted_height)
        else:
            size = _share(width, wanted_height, height, wanted_width), wanted_height
        return Fitted(source, _centred(wanted_width, wanted_height, *size))
    return Fitted(source, target)


def _share(length: int, numerator: int, denominator: int, limit: int) -> int:
    """Return length * numerator / denominator, rounded half up, from 1 to ``limit``."""
    return min(limit, max(1, (2 * length * numerator + denominator) // (2 * denominator)))


def _centred(width: int, height: int, inner_width: int, inner_height: int) -> Region:
    return Region((width - inner_width) // 2, (height - inner_height) // 2, inner_width, inner_height)


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
        pixels = np.asarray(image.crop((source.left, top + begin, right, top + end)), np.uint8)
        return pixels.reshape(end - begin, source.width, -1)

    scaled = _scaled(rows, source, target.height, target.width)
    if (target.height, target.width) == (height, width):
        return scaled
    canvas = np.zeros((height, width, scaled.shape[2]), np.uint8)
    canvas[..., 3:] = 255
    canvas[target.top : target.top + target.height, target.left : target.left + target.width] = scaled
    return canvas


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
    shrunk_height, shrunk_width = min(source.height, height), min(source.width, width)
    pixels = _average(rows, source.height, source.width, shrunk_height, shrunk_width)
    if (shrunk_height, shrunk_width) == (height, width):
        return pixels
    from PIL import Image  # sessions start sooner without it

    image = Image.frombytes(_MODES[pixels.shape[2]], (shrunk_width, shrunk_height), pixels.tobytes())
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR)).reshape(height, width, -1)


def _average(
    rows: Callable[[int, int], Pixels], source_height: int, source_width: int, height: int, width: int
) -> Pixels:
    """Average ``source_height`` x ``source_width`` pixels to ``height`` x ``width``.

    It computes bands of about ``_BAND`` pixels, so that the remainder is never in memory twice.
    """
    if (height, width) == (source_height, source_width):
        return np.ascontiguousarray(rows(0, source_height))
    area = (source_height if height < source_height else 1) * (source_width if width < source_width else 1)
    step = max(1, _BAND * height // (source_height * source_width))
    bands = []
    for begin in range(0, height, step):
        end = min(begin + step, height)
        total: NDArray[np.integer] = rows(begin * source_height // height, -(-end * source_height // height))
        if height < source_height:
            total = _overlap_sums(total, source_height, height, range(begin, end))
        if width < source_width:
            total = _overlap_sums(total.transpose(1, 0, 2), source_width, width, range(width)).transpose(1, 0, 2)
        bands.append(((2 * total + area) // (2 * area)).astype(np.uint8))
    return np.concatenate(bands)


def _overlap_sums(values: NDArray[np.integer], side: int, size: int, windows: range) -> NDArray[np.int64]:
    """Sum the first axis into some of ``size`` equal windows, each value times its overlap in 1/size of a step.

    ``values`` begins at the step in which the first of ``windows`` begins; all windows cover ``side`` steps.
    """
    start = windows[0] * side // size
    out = np.empty((len(windows), *values.shape[1:]), np.int64)
    for position, index in enumerate(windows):
        first, share_outside = divmod(index * side - start * size, size)
        last, share_inside = divmod((index + 1) * side - start * size, size)
        # All of first .. last-1, minus the share of first before the window, plus the share of last inside it.
        window = values[first:last].sum(axis=0, dtype=np.int64) * size
        window -= values[first].astype(np.int64) * share_outside
        if share_inside:
            window += values[last].astype(np.int64) * share_inside
        out[position] = window
    return out
