"""Where slices lie: views into textures, and the placement of tiles in an atlas.

A slice is 4 channels of a feature map; its tile is the rectangle of texels that holds it. A view names
a tile by its texture and its first texel. Operators read and write views and never ask for more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Union

MAX_TEXTURE_SIZE = 2048
"""Textures are planned for VideoCore IV, whose largest side this is."""

GPU_TILE = 64
"""VideoCore IV renders in tiles of 64x64 pixels; a texture costs whole ones."""


@dataclass(frozen=True)
class View:
    """The tile of one slice: the texture's name and the texel of pixel (0, 0)."""

    texture: str
    x: int
    y: int


@dataclass(frozen=True)
class FeatureMap:
    """A feature map in 8 bits: one view a slice, with ``gutter`` texels of zeros around every tile."""

    height: int
    width: int
    channels: int
    gutter: int
    views: tuple[View, ...]

    def with_views(self, views: tuple[View, ...]) -> FeatureMap:
        """Return the map with its slices elsewhere or in another order."""
        return replace(self, views=views)


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


Value = Union[FeatureMap, FixedPoint]


def slices_of(channels: int, per_texel: int = 4) -> int:
    """Return how many texels a pixel of ``channels`` values takes."""
    return -(-channels // per_texel)


def place_atlas(
    texture: str, height: int, width: int, channels: int, gutter: int
) -> tuple[tuple[int, int], FeatureMap] | None:
    """Place all slices of a map in one texture, neighbours sharing the gutter between them.

    Returns:
        ((texture width, texture height), map), with as few GPU tiles as possible and, among those, as
        square as possible; None when no arrangement fits ``MAX_TEXTURE_SIZE``.
    """
    slices = slices_of(channels)
    step_x, step_y = width + gutter, height + gutter

    def size(columns: int) -> tuple[int, int]:
        return columns * step_x + gutter, slices_of(slices, columns) * step_y + gutter

    def cost(columns: int) -> tuple[int, int]:
        w, h = size(columns)
        return slices_of(w, GPU_TILE) * slices_of(h, GPU_TILE), abs(w - h)

    fitting = [columns for columns in range(1, slices + 1) if max(size(columns)) <= MAX_TEXTURE_SIZE]
    if not fitting:
        return None
    columns = min(fitting, key=cost)
    views = tuple(
        View(texture, gutter + (index % columns) * step_x, gutter + (index // columns) * step_y)
        for index in range(slices)
    )
    return size(columns), FeatureMap(height, width, channels, gutter, views)
