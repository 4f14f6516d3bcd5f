"""Where tiles lie: the grids of atlases, and textures that layers may share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from glsl_infer.program.layout import GPU_TILE, MAX_TEXTURE_SIZE, View, slices_of


@dataclass(frozen=True)
class Grid:
    """Equal tiles in rows of so many columns, and the texture that holds them."""

    columns: int
    width: int
    height: int


@dataclass(frozen=True)
class Placement:
    """Where tiles lie: (name, width, height) of each texture, and a view for each tile.

    ``grids`` has, for each texture, all ways in which its tiles could be arranged; see ``grids``.
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
    """Place equal tiles, each with ``gutter`` texels around it that neighbours share.

    In ``atlas`` layout they share a texture, called ``name``; where that would exceed ``MAX_TEXTURE_SIZE`` they are
    spread evenly over as few textures as possible, ``name.0``, ``name.1`` ... In ``planar`` each has its own.
    ``columns`` is in how many columns to arrange the tiles of a texture, by its name; others take their best grid.

    Returns:
        The placement, or None when not even one tile fits a texture.
    """
    count = _count(height, width, tiles, gutter, layout)
    if not count:
        return None
    each = slices_of(tiles, count)
    textures: list[tuple[str, int, int]] = []
    views: list[View] = []
    possible: list[tuple[Grid, ...]] = []
    for first in range(0, tiles, each):
        texture = name if count == 1 else f"{name}.{len(textures)}"
        number = min(each, tiles - first)
        possible.append(grids(height, width, number, gutter))
        grid = next(grid for grid in possible[-1] if columns.get(texture, grid.columns) == grid.columns)
        textures.append((texture, grid.width, grid.height))
        for index in range(number):
            row, column = divmod(index, grid.columns)
            views.append(View(texture, gutter + column * (width + gutter), gutter + row * (height + gutter)))
    return Placement(tuple(textures), tuple(views), tuple(possible))


def textures(name: str, height: int, width: int, tiles: int, gutter: int, layout: str) -> tuple[str, ...]:
    """Return the names of the textures that ``place`` would put tiles into; none where it returns None."""
    count = _count(height, width, tiles, gutter, layout)
    each = slices_of(tiles, count) if count else 1
    used = slices_of(tiles, each) if count else 0
    return (name,) if count == 1 else tuple(f"{name}.{number}" for number in range(used))


def _count(height: int, width: int, tiles: int, gutter: int, layout: str) -> int:
    """Return over how many textures tiles are spread; 0 where not even one fits."""
    most = 1 if layout == "planar" else tiles
    fits = (MAX_TEXTURE_SIZE - gutter) // (width + gutter) * ((MAX_TEXTURE_SIZE - gutter) // (height + gutter))
    return slices_of(tiles, min(most, fits)) if fits >= 1 else 0


@lru_cache(maxsize=1024)  # a program is planned several times
def grids(height: int, width: int, tiles: int, gutter: int) -> tuple[Grid, ...]:
    """Return the ways to arrange tiles that fit a texture, less those that are larger both ways than another.

    The first has as few GPU tiles as possible, then is as square as possible.
    """

    def grid(columns: int) -> Grid:
        rows = slices_of(tiles, columns)
        return Grid(columns, columns * (width + gutter) + gutter, rows * (height + gutter) + gutter)

    def cost(made: Grid) -> tuple[int, int]:
        return slices_of(made.width, GPU_TILE) * slices_of(made.height, GPU_TILE), abs(made.width - made.height)

    least: list[Grid] = []  # wider and wider, so that another is worth a place only where it is lower
    for columns in range(1, tiles + 1):
        candidate = grid(columns)
        if max(candidate.width, candidate.height) <= MAX_TEXTURE_SIZE and (
            not least or candidate.height < least[-1].height
        ):
            least.append(candidate)
    return tuple(sorted(least, key=cost))
