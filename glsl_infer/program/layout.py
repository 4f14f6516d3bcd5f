"""Where slices lie: views into textures, and the placement of tiles.

A slice is 4 channels of a feature map; its tile is the rectangle of texels that holds it. A view names
a tile by its texture and its first texel. Operators read and write views and never ask for more, so that
the layout (all slices of a layer in one texture, or a texture for each) is decided here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import numpy as np

from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

LAYOUTS = ("atlas", "planar")
"""``atlas``: all slices of a layer in one texture. ``planar``: a texture for each, the article's way."""

MAX_TEXTURE_SIZE = 2048
"""Textures are planned for VideoCore IV, whose largest side this is."""

TEXTURE_RANKS = (1, 3)
"""Ranks of the tensors that textures hold: vectors and feature maps, without the batch."""

GPU_TILE = 64
"""VideoCore IV renders in tiles of 64x64 pixels; a texture costs whole ones."""


@dataclass(frozen=True)
class View:
    """The tile of one slice: the texture's name and the texel of pixel (0, 0).

    A slice of 16 bits has two tiles: channels 0 and 1 here, 2 and 3 so many texels (``half``) further down; see
    ``FineMap``. In 8 bits ``half`` is 0.
    """

    texture: str
    x: int
    y: int
    half: int = 0


@dataclass(frozen=True)
class Range:
    """What the bytes of a feature map stand for: byte b of channel c is ``scales[c] * (b - zeros[c]) / 255``.

    ``scales`` and ``zeros`` have one number for all channels, or one for each. Zeros are whole numbers from 0 to 255
    (those of the picture may be any), so that 0 itself can be stored. With 16 ``bits`` b has steps of 1/256.
    """

    scales: tuple[float, ...] = (1.0,)
    zeros: tuple[float, ...] = (0.0,)
    bits: int = 8

    def ends(self, channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and the highest value of every channel, (channels,) each."""
        scales, zeros = per_channel(self.scales, channels), per_channel(self.zeros, channels)
        first, last = scales * (0.0 - zeros) / 255.0, scales * (255.0 - zeros) / 255.0
        return np.minimum(first, last), np.maximum(first, last)

    def picked(self, channels: Sequence[int]) -> Range:
        """Return the range of some channels."""
        scales, zeros = (
            numbers if len(numbers) == 1 else tuple(numbers[channel] for channel in channels)
            for numbers in (self.scales, self.zeros)
        )
        return Range(scales, zeros, self.bits)


def joined(ranges: Sequence[Range], channels: Sequence[int]) -> Range:
    """Return the range of feature maps with so many channels each, one after the other; 16 bits if one has them."""
    scales, zeros = (
        tuple(float(x) for given, count in zip(ranges, channels) for x in per_channel(getattr(given, key), count))
        for key in ("scales", "zeros")
    )
    return Range(compact(scales), compact(zeros), max(given.bits for given in ranges))


def compact(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return one number where all are equal, else all."""
    return tuple(numbers[:1]) if len(set(numbers)) == 1 else tuple(numbers)


def per_channel(numbers: Sequence[float], channels: int) -> NDArray[np.float64]:
    """Return ``numbers``, one for all channels or one for each, as (channels,)."""
    return np.broadcast_to(np.asarray(numbers, np.float64), (channels,))


def clear_colours(zeros: Sequence[float], channels: int) -> list[tuple[int, int, int, int]]:
    """Return for every slice the texel that stands for 0 in its channels; lanes beyond the last channel are 0."""
    if len(zeros) == 1 and channels % 4 == 0:
        zero = int(zeros[0])
        return [(zero, zero, zero, zero)] * slices_of(channels)
    padded = [*map(int, per_channel(zeros, channels).tolist()), 0, 0, 0]
    return [(padded[i], padded[i + 1], padded[i + 2], padded[i + 3]) for i in range(0, 4 * slices_of(channels), 4)]


class Ranged:
    """What maps with a range for each channel have in common; see ``Range``."""

    channels: int
    views: tuple[View, ...]
    scales: tuple[float, ...]
    zeros: tuple[float, ...]

    @property
    def bits(self) -> int:
        """8, or 16 where a slice has two tiles."""
        return 16 if any(view.half for view in self.views) else 8

    @property
    def range(self) -> Range:
        """What its bytes stand for."""
        return Range(self.scales, self.zeros, self.bits)

    @property
    def scale_of(self) -> NDArray[np.float64]:
        """Scale of every channel, (channels,)."""
        return per_channel(self.scales, self.channels)

    @property
    def zero_of(self) -> NDArray[np.float64]:
        """Zero point of every channel, (channels,)."""
        return per_channel(self.zeros, self.channels)


@dataclass(frozen=True)
class FeatureMap(Ranged):
    """A feature map: one view a slice, with ``gutter`` texels of 0 around every tile.

    In a bundle it has 8 bits. While a program is built a slice may have 16 (``View.half``), so that operators handle
    both alike; ``stored`` says what such a map is in the bundle.
    """

    height: int
    width: int
    channels: int
    gutter: int
    views: tuple[View, ...]
    scales: tuple[float, ...] = (1.0,)
    zeros: tuple[float, ...] = (0.0,)


@dataclass(frozen=True)
class FineMap(Ranged):
    """A feature map in 16 bits: n of channel c is ``scales[c] * (n / 256 - zeros[c]) / 255``, n from 0 to 65280.

    View 2s holds channels 4s and 4s + 1 of every pixel, view 2s + 1 channels 4s + 2 and 4s + 3, where there are any:
    the high byte of n, the low byte, then those of the other channel.
    """

    height: int
    width: int
    channels: int
    views: tuple[View, ...]
    scales: tuple[float, ...]
    zeros: tuple[float, ...]

    @property
    def bits(self) -> int:
        """Always 16."""
        return 16


@dataclass(frozen=True)
class FixedPoint:
    """Numbers in 16-bit fixed point, two a texel, as multiples of scale/256.

    With ``columns`` 0 a vector: values 2t and 2t+1 lie in texel (t, 0). Otherwise partial sums:
    values 2t and 2t+1 of column c lie in texel (c, t).
    """

    texture: str
    columns: int
    length: int
    scale: float

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the texture."""
        pairs = slices_of(self.length, 2)
        return (self.columns, pairs) if self.columns else (pairs, 1)


@dataclass(frozen=True)
class FixedMap:
    """A feature map in 16-bit fixed point, as multiples of scale/256; ``channels`` is a multiple of 4.

    View 2s holds channels 4s and 4s + 1 of every pixel, view 2s + 1 channels 4s + 2 and 4s + 3.
    """

    height: int
    width: int
    channels: int
    scale: float
    views: tuple[View, ...]


Value = Union[FeatureMap, FineMap, FixedPoint, FixedMap]


def stored(value: Value) -> Value:
    """Return what a value of a program in the making is in the bundle: with a view for every tile."""
    if not isinstance(value, FeatureMap) or value.bits == 8:
        return value
    views = tuple(
        View(view.texture, view.x, view.y + down)
        for index, view in enumerate(value.views)
        for down in ((0, view.half) if value.channels > 4 * index + 2 else (0,))
    )
    return FineMap(value.height, value.width, value.channels, views, value.scales, value.zeros)


def textures_of(value: Value) -> tuple[str, ...]:
    """Return the names of the textures that a value lies in."""
    if isinstance(value, FixedPoint):
        return (value.texture,)
    return tuple(dict.fromkeys(view.texture for view in value.views))


def slices_of(channels: int, per_texel: int = 4) -> int:
    """Return how many texels a pixel of ``channels`` values takes."""
    return -(-channels // per_texel)


@dataclass(frozen=True)
class Share:
    """A place in a shared texture: its name, size and colour, the columns that tiles are arranged in, and where."""

    texture: str
    width: int
    height: int
    columns: int
    clear: tuple[int, int, int, int]
    x: int = 0
    y: int = 0
