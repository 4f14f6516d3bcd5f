"""Packing of several layers into one texture, to draw them in one job.

A job begins where the render target changes. On VideoCore IV, a job takes longer than the draws of many layers. Layers
in sequence can have their tiles in one texture if none of them reads another. Examples are a block's pooling and its
depthwise convolution, or the heads of a detector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glsl_infer.compiler.gutters import gutters
from glsl_infer.program import CompiledNetwork, Pass
from glsl_infer.program.layout import GPU_TILE, MAX_TEXTURE_SIZE, FeatureMap, SixteenBitMap, slices_of, textures_of
from glsl_infer.program.placement import Grid

MOST_TILES = 16
"""Largest number of GPU tiles by which a packed texture may exceed its layers' own, since a job clears and stores all.

A tile of 16 kB takes about 20 us on a Pi Zero, and a job 460 us.
"""

Colour = tuple[int, int, int, int]
Size = tuple[int, int]

NOTHING: Colour = (0, 0, 0, 0)

Grids = Mapping[str, Sequence[Grid]]
"""Possible arrangements of the tiles of a texture, by its name; a vector has one."""


@dataclass(frozen=True)
class Unit:
    """Textures drawn in one job.

    Attributes:
        names: names of the textures.
        sizes: (width, height) of all textures together; for a single texture, the sizes of all its grids.
        clear: clear colour of the textures.
        corners: (x, y) of each texture.
    """

    names: tuple[str, ...]
    sizes: tuple[Size, ...]
    clear: Colour
    corners: tuple[Size, ...] = ((0, 0),)


def units(program: CompiledNetwork, grids: Grids) -> list[Unit]:
    """Return the target textures of a program with a texture for each layer, packed into as few jobs as possible.

    Layers are packed greedily, once from the first on and once from the last. The result with fewer jobs is returned. A
    texture with outputs counts twice, because it is read back.
    """
    clears = {texture.name: texture.clear for texture in program.textures if texture.kind == "target"}
    runs, outputs = _runs(program, clears), program.graph.output_layers
    ways = [_groups(runs, grids), _groups([run[::-1] for run in runs], grids)]
    groups = min(ways, key=lambda way: len(way) + sum(any(drawn.layer in outputs for drawn in group) for group in way))
    made = [_together(group, grids) for group in groups if len(group) > 1]
    joined = {name for unit in made if unit is not None for name in unit.names}
    single = [
        Unit((name,), tuple((grid.width, grid.height) for grid in grids[name]), clear)
        for name, clear in clears.items()
        if name not in joined
    ]
    return single + [unit for unit in made if unit is not None]


@dataclass(frozen=True)
class _Drawn:
    """A layer whose feature map has a texture of its own.

    Attributes:
        layer, target: names of the layer and of its texture.
        sources: the textures of its inputs.
        clear: clear colour of the texture; None without padding, as only its tiles are then read.
    """

    layer: str
    target: str
    sources: frozenset[str]
    clear: Colour | None


def _runs(program: CompiledNetwork, clears: Mapping[str, Colour]) -> list[list[_Drawn]]:
    """Return the layers suitable for packing, in runs without any other layer in between."""
    alone, gutter = _drawn_alone(program), gutters(program.graph)
    runs: list[list[_Drawn]] = [[]]
    for passes in _by_layer(program.passes):
        layer, target = passes[0].layer, passes[0].target
        if target not in alone:
            runs.append([])
            continue
        sources = frozenset(name for entry in passes for name in entry.textures)
        runs[-1].append(_Drawn(layer, target, sources, clears[target] if gutter[layer] else None))
    return runs


def _groups(runs: Sequence[Sequence[_Drawn]], grids: Grids) -> list[list[_Drawn]]:
    """Return groups of successive layers, each as long as one job allows."""
    groups: list[list[_Drawn]] = []
    for run in runs:
        for index, drawn in enumerate(run):
            if index and _together([*groups[-1], drawn], grids) is not None:
                groups[-1].append(drawn)
            else:
                groups.append([drawn])
    return groups


def _by_layer(passes: Sequence[Pass]) -> list[list[Pass]]:
    layers: list[list[Pass]] = []
    for entry in passes:
        if not layers or layers[-1][0].layer != entry.layer:
            layers.append([])
        layers[-1].append(entry)
    return layers


def _drawn_alone(program: CompiledNetwork) -> set[str]:
    """Return the textures with a single feature map and nothing else."""
    targets: dict[str, set[str]] = {}
    layers: dict[str, set[str]] = {}
    for entry in program.passes:
        targets.setdefault(entry.layer, set()).add(entry.target)
        layers.setdefault(entry.target, set()).add(entry.layer)
    return {
        name
        for layer, (name, *more) in targets.items()
        if not more
        and len(layers[name]) == 1
        and isinstance(program.values[layer], (FeatureMap, SixteenBitMap))
        and {*textures_of(program.values[layer])} == {name}
    }


def _tiles(width: int, height: int) -> int:
    return slices_of(width, GPU_TILE) * slices_of(height, GPU_TILE)


def _together(group: Sequence[_Drawn], grids: Grids) -> Unit | None:
    """Return textures stacked in a column or a row, each in its best grid; None if they cannot be one job."""
    names = tuple(drawn.target for drawn in group)
    colours = {drawn.clear for drawn in group} - {None}
    if len(colours) > 1 or any(drawn.sources.intersection(names) for drawn in group):
        return None
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
    return Unit(names, (size,), colours.pop() or NOTHING if colours else NOTHING, corners)
