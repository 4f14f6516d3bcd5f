"""Fits of a picture into the network's picture (docs/reference/bundle-format.md). Integer arithmetic only."""

from __future__ import annotations

from glsl_infer.bundle.manifest import CENTER_CROP, CENTER_SQUARE, LETTERBOX
from glsl_infer.support.records import dataclass


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
    everything, wanted = Region(0, 0, width, height), Region(0, 0, wanted_width, wanted_height)
    if fit == CENTER_SQUARE:
        side = min(width, height)
        return Fitted(_centred(width, height, side, side), wanted)
    wider = width * wanted_height > height * wanted_width
    if fit == CENTER_CROP:
        if wider:
            return Fitted(_centred(width, height, _share(height, wanted_width, wanted_height, width), height), wanted)
        return Fitted(_centred(width, height, width, _share(width, wanted_height, wanted_width, height)), wanted)
    if fit == LETTERBOX:
        if wider:
            inner = wanted_width, _share(height, wanted_width, width, wanted_height)
        else:
            inner = _share(width, wanted_height, height, wanted_width), wanted_height
        return Fitted(everything, _centred(wanted_width, wanted_height, *inner))
    return Fitted(everything, wanted)


def _share(length: int, times: int, by: int, most: int) -> int:
    """Return length * times / by, rounded half up, from 1 to ``most``."""
    return min(most, max(1, (2 * length * times + by) // (2 * by)))


def _centred(width: int, height: int, inner_width: int, inner_height: int) -> Region:
    return Region((width - inner_width) // 2, (height - inner_height) // 2, inner_width, inner_height)
