"""Which layers draw into one texture side by side, so that they are one job.

A job begins where the target changes, and on VideoCore IV it takes longer than what many layers draw. Layers one after
another that do not read each other, a block's pooling and its depthwise convolution, say, or a detector's heads, can
have tiles in one texture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from glsl_infer.program import CompiledNetwork, Pass
from glsl_infer.program.layout import GPU_TILE, MAX_TEXTURE_SIZE, FeatureMap, FineMap, slices_of, textures_of
from glsl_infer.program.placement import Grid

MOST_TILES = 16
"""GPU tiles that a texture may have more than those in it would have alone: a job clears and stores all of them.

A tile of 16 kB takes some 20 us on a Pi Zero, a job 460."""

Grids = Mapping[str, Sequence[Grid]]
"""The ways to arrange the tiles of a texture, by its name; a vector has one."""


@dataclass(frozen=True)
class Unit:
    """Textures that are drawn in one job.

    Attributes:
        names: of the textures.
        sizes: (width, height) of all of them together; of one alone those of all its grids.
        corners: (x, y) of each.
    """

    names: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    corners: tuple[tuple[int, int], ...] = ((0, 0),)


def units(program: CompiledNetwork, grids: Grids) -> list[Unit]:
    """Return the target textures of a program with a texture for each layer, together where they can be one job."""
    alone = _drawn_alone(program)
    halves = {name: _half(value) for name, value in alone.items()}
    clears = {texture.name: texture.clear for texture in program.textures}
    read = {name for entry in program.passes for name in entry.textures}
    groups: list[list[str]] = []
    open_: list[str] = []
    for passes in _by_layer(program.passes):
        target = passes[0].target
        if target not in alone:
            open_ = []
            continue
        sources = {name for entry in passes for name in entry.textures}
        fits = open_ and not sources & {*open_} and clears[target] == clears[open_[0]]
        # A shader is told of one distance between the two tiles of 16 bits for each texture that it reads.
        alike = len({halves[name] for name in (target, *open_)}) == 1 or not read & {target, *open_}
        if fits and alike and _together([*open_, target], grids) is not None:
            open_.append(target)
        else:
            open_ = [target]
            groups.append(open_)
    joined = {name for group in groups if len(group) > 1 for name in group}
    single = [texture.name for texture in program.textures if texture.kind == "target" and texture.name not in joined]
    made = [Unit((name,), tuple((grid.width, grid.height) for grid in grids[name])) for name in single]
    return made + [unit for group in groups if len(group) > 1 and (unit := _together(group, grids)) is not None]


def _by_layer(passes: Sequence[Pass]) -> list[list[Pass]]:
    layers: list[list[Pass]] = []
    for entry in passes:
        if not layers or layers[-1][0].layer != entry.layer:
            layers.append([])
        layers[-1].append(entry)
    return layers


def _drawn_alone(program: CompiledNetwork) -> dict[str, Union[FeatureMap, FineMap]]:
    """Return the feature maps that lie in one texture each, which nothing else draws into, by that texture."""
    targets: dict[str, set[str]] = {}
    layers: dict[str, set[str]] = {}
    for entry in program.passes:
        targets.setdefault(entry.layer, set()).add(entry.target)
        layers.setdefault(entry.target, set()).add(entry.layer)
    found: dict[str, Union[FeatureMap, FineMap]] = {}
    for layer, names in targets.items():
        value, name = program.values[layer], next(iter(names))
        one = len(names) == 1 and len(layers[name]) == 1 and {*textures_of(value)} == names
        if one and isinstance(value, (FeatureMap, FineMap)):
            found[name] = value
    return found


def _half(value: Union[FeatureMap, FineMap]) -> float:
    """Return how far apart the two tiles of a slice of 16 bits lie; -1 where there is one tile alone."""
    if isinstance(value, FeatureMap):
        return 0.0
    return value.views[1].y - value.views[0].y if len(value.views) > 1 else -1.0


def _tiles(width: int, height: int) -> int:
    return slices_of(width, GPU_TILE) * slices_of(height, GPU_TILE)


def _together(names: Sequence[str], grids: Grids) -> Unit | None:
    """Return textures above each other or beside each other, each in its best grid; None where that is too large."""
    sizes = [(grids[name][0].width, grids[name][0].height) for name in names]
    ways = []
    for axis in (0, 1):
        begins = [sum(size[axis] for size in sizes[:index]) for index in range(len(sizes))]
        long, wide = sum(size[axis] for size in sizes), max(size[1 - axis] for size in sizes)
        corners = tuple((begin, 0) if axis == 0 else (0, begin) for begin in begins)
        ways.append(((long, wide) if axis == 0 else (wide, long), corners))
    size, corners = min(ways, key=lambda way: (_tiles(*way[0]), abs(way[0][0] - way[0][1])))
    most = sum(_tiles(*size) for size in sizes) + MOST_TILES
    if max(size) > MAX_TEXTURE_SIZE or _tiles(*size) > most:
        return None
    return Unit(tuple(names), (size,), corners)
