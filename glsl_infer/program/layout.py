"""Values of a program, and the views through which operators access their textures.

A slice is 4 channels of a feature map, and its tile is the rectangle of texels with its values. A view is the texture
and the first texel of a tile. Operators read and write views only, so the layout (all slices of a layer in one texture,
or a texture for each) is decided here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import numpy as np

from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

LAYOUTS = ("atlas", "planar")
"""``atlas``: one texture for all slices of a layer. ``planar``: one for each slice, as in the article."""

MAX_TEXTURE_SIZE = 2048
"""Largest side of a planned texture in texels: the limit of VideoCore IV."""

TEXTURE_RANKS = (1, 3)
"""Ranks of tensors in textures: vectors and feature maps, without the batch axis."""

GPU_TILE = 64
"""Side of the tiles, in pixels, in which VideoCore IV renders. The size of a texture is rounded up to tiles."""


@dataclass(frozen=True)
class View:
    """Tile of a slice: the name of its texture, and the texel of pixel (0, 0).

    A 16-bit slice has two tiles: channels 0 and 1 at (x, y), channels 2 and 3 ``half`` texels below.
    ``SixteenBitMap`` has the encoding. For 8 bits ``half`` is 0.
    """

    texture: str
    x: int
    y: int
    half: int = 0


@dataclass(frozen=True)
class Range:
    """Scales and zero points of a feature map: byte b of channel c has the value ``scales[c] * (b - zeros[c]) / 255``.

    ``scales`` and ``zeros`` have one element for all channels, or one for each. Zero points are integers from 0 to 255,
    so that the value 0 can be stored (those of an input image can have any value). With 16 ``bits``, b has steps of
    1/256.
    """

    scales: tuple[float, ...] = (1.0,)
    zeros: tuple[float, ...] = (0.0,)
    bits: int = 8

    def ends(self, channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and the highest storable value of each channel, (channels,) each."""
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


def concatenated_range(ranges: Sequence[Range], channels: Sequence[int]) -> Range:
    """Return the range of concatenated feature maps with these channel counts; 16 bits if any of them has 16 bits."""
    scales, zeros = (
        tuple(
            float(value)
            for source, count in zip(ranges, channels)
            for value in per_channel(getattr(source, key), count)
        )
        for key in ("scales", "zeros")
    )
    return Range(compact(scales), compact(zeros), max(source.bits for source in ranges))


def compact(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return a single element if all are equal, else all elements."""
    return tuple(numbers[:1]) if len(set(numbers)) == 1 else tuple(numbers)


def per_channel(numbers: Sequence[float], channels: int) -> NDArray[np.float64]:
    """Return ``numbers``, one for all channels or one for each, as an array (channels,)."""
    return np.broadcast_to(np.asarray(numbers, np.float64), (channels,))


def clear_colours(zeros: Sequence[float], channels: int) -> list[tuple[int, int, int, int]]:
    """Return the texel that encodes 0 in each slice; lanes beyond the last channel are 0."""
    if len(zeros) == 1 and channels % 4 == 0:
        zero = int(zeros[0])
        return [(zero, zero, zero, zero)] * slices_of(channels)
    padded = [*map(int, per_channel(zeros, channels).tolist()), 0, 0, 0]
    return [(padded[i], padded[i + 1], padded[i + 2], padded[i + 3]) for i in range(0, 4 * slices_of(channels), 4)]


class Ranged:
    """Base class of maps with a range for each channel; ``Range`` has the encoding."""

    channels: int
    views: tuple[View, ...]
    scales: tuple[float, ...]
    zeros: tuple[float, ...]

    @property
    def bits(self) -> int:
        """8, or 16 if a slice has two tiles."""
        return 16 if any(view.half for view in self.views) else 8

    @property
    def range(self) -> Range:
        """Scales and zero points."""
        return Range(self.scales, self.zeros, self.bits)

    @property
    def scale_of(self) -> NDArray[np.float64]:
        """Scale of each channel, (channels,)."""
        return per_channel(self.scales, self.channels)

    @property
    def zero_of(self) -> NDArray[np.float64]:
        """Zero point of each channel, (channels,)."""
        return per_channel(self.zeros, self.channels)

    @property
    def largest(self) -> float:
        """Bound of the magnitude of all values."""
        return float((np.abs(self.scale_of) * (255.0 + np.abs(self.zero_of)) / 255.0).max())


@dataclass(frozen=True)
class FeatureMap(Ranged):
    """A feature map with one view for each slice, and ``gutter`` texels of 0 around each tile.

    It has 8 bits in a bundle. During lowering it can have 16 (``View.half``), so that operators handle both alike.
    ``stored`` converts a 16-bit map to its form in the bundle.
    """

    height: int
    width: int
    channels: int
    gutter: int
    views: tuple[View, ...]
    scales: tuple[float, ...] = (1.0,)
    zeros: tuple[float, ...] = (0.0,)


@dataclass(frozen=True)
class SixteenBitMap(Ranged):
    """A 16-bit feature map: n of channel c has the value ``scales[c] * (n / 256 - zeros[c]) / 255``, n from 0 to 65280.

    View 2s holds channels 4s and 4s + 1 of each pixel, view 2s + 1 channels 4s + 2 and 4s + 3 if they exist. A texel
    has the high and the low byte of one channel, then those of the other.
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
    """A vector or partial sums in 16-bit fixed point, in multiples of scale/256, two values for each texel.

    With ``columns`` 0 it is a vector: values 2t and 2t+1 are in texel (t, 0). Otherwise it holds partial sums: values
    2t and 2t+1 of column c are in texel (c, t).
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
    """A feature map in 16-bit fixed point, in multiples of scale/256; ``channels`` is a multiple of 4.

    View 2s holds channels 4s and 4s + 1 of each pixel, view 2s + 1 channels 4s + 2 and 4s + 3.
    """

    height: int
    width: int
    channels: int
    scale: float
    views: tuple[View, ...]


Value = Union[FeatureMap, SixteenBitMap, FixedPoint, FixedMap]


def stored(value: Value) -> Value:
    """Return the form of a value in the bundle, with a view for each tile."""
    if not isinstance(value, FeatureMap) or value.bits == 8:
        return value
    views = tuple(
        View(view.texture, view.x, view.y + down)
        for index, view in enumerate(value.views)
        for down in ((0, view.half) if value.channels > 4 * index + 2 else (0,))
    )
    return SixteenBitMap(value.height, value.width, value.channels, views, value.scales, value.zeros)


def textures_of(value: Value) -> tuple[str, ...]:
    """Return the names of the textures of a value."""
    if isinstance(value, FixedPoint):
        return (value.texture,)
    return tuple(dict.fromkeys(view.texture for view in value.views))


def tile_bytes(value: Value) -> int:
    """Return the bytes of a value's texels, without gutters."""
    if isinstance(value, FixedPoint):
        width, height = value.size
        return 4 * width * height
    return 4 * len(value.views) * value.height * value.width


def slices_of(channels: int, per_texel: int = 4) -> int:
    """Return the number of texels for the ``channels`` values of a pixel."""
    return -(-channels // per_texel)


@dataclass(frozen=True)
class Share:
    """A region of a texture that layers share: name, size and clear colour of the texture, columns of tiles, origin."""

    texture: str
    width: int
    height: int
    columns: int
    clear: tuple[int, int, int, int]
    x: int = 0
    y: int = 0
