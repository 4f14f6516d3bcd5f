"""Placement of tiles in textures: the grids of atlases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from glsl_infer.program.layout import GPU_TILE, MAX_TEXTURE_SIZE, View, slices_of


@dataclass(frozen=True)
class Grid:
    """Arrangement of equal tiles in rows of ``columns`` tiles, and the size of its texture."""

    columns: int
    width: int
    height: int


@dataclass(frozen=True)
class Placement:
    """Textures as (name, width, height), and a view for each tile.

    ``grids`` has, for each texture, all arrangements of its tiles that the function ``grids`` found.
    """

    textures: tuple[tuple[str, int, int], ...]
    views: tuple[View, ...]
    grids: tuple[tuple[Grid, ...], ...]


def place(
    name: str,
    height: int,
    width: int,
    tiles: int,
    gutter: int,
    layout: str,
    columns: Mapping[str, int] = MappingProxyType({}),
) -> Placement | None:
    """Place equal tiles, each with ``gutter`` texels around it. Neighbours share a gutter.

    In ``atlas`` layout they share a texture called ``name``. If it would exceed ``MAX_TEXTURE_SIZE``, they are spread
    evenly over as few textures as possible, ``name.0``, ``name.1`` ... In ``planar`` layout each tile has a texture.
    ``columns`` is the number of columns of some textures, by name; the others get their best grid.

    Returns:
        The placement, or None if a tile exceeds the largest texture.
    """
    texture_count = _count(height, width, tiles, gutter, layout)
    if not texture_count:
        return None
    tiles_per_texture = slices_of(tiles, texture_count)
    textures: list[tuple[str, int, int]] = []
    views: list[View] = []
    arrangements: list[tuple[Grid, ...]] = []
    for first in range(0, tiles, tiles_per_texture):
        texture = name if texture_count == 1 else f"{name}.{len(textures)}"
        tiles_here = min(tiles_per_texture, tiles - first)
        arrangements.append(grids(height, width, tiles_here, gutter))
        grid = next(grid for grid in arrangements[-1] if columns.get(texture, grid.columns) == grid.columns)
        textures.append((texture, grid.width, grid.height))
        for index in range(tiles_here):
            row, column = divmod(index, grid.columns)
            views.append(View(texture, gutter + column * (width + gutter), gutter + row * (height + gutter)))
    return Placement(tuple(textures), tuple(views), tuple(arrangements))


def textures(name: str, height: int, width: int, tiles: int, gutter: int, layout: str) -> tuple[str, ...]:
    """Return the names of the textures of ``place`` with the same arguments; an empty tuple if it returns None."""
    texture_count = _count(height, width, tiles, gutter, layout)
    tiles_per_texture = slices_of(tiles, texture_count) if texture_count else 1
    used = slices_of(tiles, tiles_per_texture) if texture_count else 0
    return (name,) if texture_count == 1 else tuple(f"{name}.{index}" for index in range(used))


def _count(height: int, width: int, tiles: int, gutter: int, layout: str) -> int:
    """Return the number of textures for some tiles; 0 if a tile exceeds the largest texture."""
    most = 1 if layout == "planar" else tiles
    fits = (MAX_TEXTURE_SIZE - gutter) // (width + gutter) * ((MAX_TEXTURE_SIZE - gutter) // (height + gutter))
    return slices_of(tiles, min(most, fits)) if fits >= 1 else 0


@lru_cache(maxsize=1024)  # a program is planned several times
def grids(height: int, width: int, tiles: int, gutter: int) -> tuple[Grid, ...]:
    """Return the arrangements of tiles that fit a texture, without those both wider and higher than another.

    The first covers the fewest GPU tiles; among equal ones it is the squarest.
    """

    def grid(columns: int) -> Grid:
        rows = slices_of(tiles, columns)
        return Grid(columns, columns * (width + gutter) + gutter, rows * (height + gutter) + gutter)

    def cost(shape: Grid) -> tuple[int, int]:
        return slices_of(shape.width, GPU_TILE) * slices_of(shape.height, GPU_TILE), abs(shape.width - shape.height)

    candidates: list[Grid] = []  # of increasing width, so a later one must be lower
    for columns in range(1, tiles + 1):
        candidate = grid(columns)
        if max(candidate.width, candidate.height) <= MAX_TEXTURE_SIZE and (
            not candidates or candidate.height < candidates[-1].height
        ):
            candidates.append(candidate)
    return tuple(sorted(candidates, key=cost))
