"""Textures shared by layers.

A job begins where the render target changes. On VideoCore IV, a job takes longer than the draws of many layers. Layers
in sequence are drawn in one job, with their tiles in one texture, if none of them reads another (``units``). Examples
are a block's pooling and its depthwise convolution, or the heads of a detector.

A program is lowered twice: once with a texture for each layer, from which ``plan`` computes the shares, and once more
with these shares. Textures alive in the same layer are never shared, so a draw never reads its render target.
Every job clears its texture, so the gutters of one layer never contain values of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glsl_infer.compiler import memory
from glsl_infer.compiler.gutters import gutters
from glsl_infer.errors import InputError
from glsl_infer.program import CompiledNetwork, MemoryUse, Pass
from glsl_infer.program.layout import (
    GPU_TILE,
    MAX_TEXTURE_SIZE,
    FeatureMap,
    FixedPoint,
    Share,
    SixteenBitMap,
    slices_of,
    textures_of,
)
from glsl_infer.program.placement import Grid

MEMORY = ("auto", *memory.METHODS)
"""Memory methods; ``auto`` is the one with the fewest bytes. See ``memory``."""

NAIVE = "naive"

MOST_LARGER = 12
"""Largest ratio of a shared texture to each layer's own. It is limited because a job clears and stores all texels."""


def lifetimes(program: CompiledNetwork) -> dict[str, tuple[int, int]]:
    """Return the index of the node that draws each target texture, and of the last node that reads it.

    A node that only renames tiles counts as a reader. Outputs are read after the last node. An unread texture lives
    until the next drawing node. A job begins where the target changes, so that node would not begin a job if it shared
    the texture.
    """
    index = {node.name: position for position, node in enumerate(program.graph.nodes)}
    drawing = list(dict.fromkeys(entry.layer for entry in program.passes))
    following = {layer: index[next_layer] for layer, next_layer in zip(drawing, drawing[1:])}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for entry in program.passes:
        first.setdefault(entry.target, index[entry.layer])
        for name in (entry.target, *entry.textures):
            last[name] = max(last.get(name, 0), index[entry.layer])
        last[entry.target] = max(last[entry.target], following.get(entry.layer, 0))
    for node in program.graph.nodes:
        for source in (*node.inputs, node.name):
            for name in textures_of(program.values[source]):
                last[name] = max(last.get(name, 0), index[node.name])
    for layer in program.graph.output_layers:
        for name in textures_of(program.values[layer]):
            last[name] = len(index)
    return {name: (first[name], last[name]) for name in first}


MOST_TILES = 16
"""Largest number of GPU tiles by which a packed texture may exceed its layers' own, since a job clears and stores all.

A tile of 16 kB takes about 20 us on a Pi Zero, and a job 460 us.
"""

Colour = tuple[int, int, int, int]
Size = tuple[int, int]

ZERO_COLOUR: Colour = (0, 0, 0, 0)

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
    packings = [_groups(runs, grids), _groups([run[::-1] for run in runs], grids)]
    groups = min(
        packings,
        key=lambda packing: len(packing) + sum(any(drawn.layer in outputs for drawn in group) for group in packing),
    )
    packed = [_together(group, grids) for group in groups if len(group) > 1]
    packed_names = {name for unit in packed if unit is not None for name in unit.names}
    single = [
        Unit((name,), tuple((grid.width, grid.height) for grid in grids[name]), clear)
        for name, clear in clears.items()
        if name not in packed_names
    ]
    return single + [unit for unit in packed if unit is not None]


@dataclass(frozen=True)
class _Drawn:
    """A layer whose output has a texture of its own.

    Attributes:
        layer, target: names of the layer and of its texture.
        sources: the textures of its inputs.
        in_corner: whether it is a vector, which begins at the first texel of its texture.
        clear: clear colour of the texture; None without padding, as only its tiles are then read.
    """

    layer: str
    target: str
    sources: frozenset[str]
    clear: Colour | None
    in_corner: bool


def _runs(program: CompiledNetwork, clears: Mapping[str, Colour]) -> list[list[_Drawn]]:
    """Return the layers suitable for packing, in runs without any other layer in between."""
    separate, gutter = _drawn_alone(program), gutters(program.graph)
    runs: list[list[_Drawn]] = [[]]
    for passes in _by_layer(program.passes):
        layer, target = passes[0].layer, passes[0].target
        if target not in separate:
            runs.append([])
            continue
        sources = frozenset(name for entry in passes for name in entry.textures)
        clear, in_corner = clears[target] if gutter[layer] else None, isinstance(program.values[layer], FixedPoint)
        runs[-1].append(_Drawn(layer, target, sources, clear, in_corner))
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
    """Return the textures with a single output and nothing else. A vector that is read back stays at its size."""
    targets: dict[str, set[str]] = {}
    layers: dict[str, set[str]] = {}
    for entry in program.passes:
        targets.setdefault(entry.layer, set()).add(entry.target)
        layers.setdefault(entry.target, set()).add(entry.layer)
    return {
        name
        for layer, (name, *further_targets) in targets.items()
        if not further_targets
        and len(layers[name]) == 1
        and isinstance(program.values[layer], (FeatureMap, FixedPoint, SixteenBitMap))
        and not (isinstance(program.values[layer], FixedPoint) and layer in program.graph.output_layers)
        and {*textures_of(program.values[layer])} == {name}
    }


def _tiles(width: int, height: int) -> int:
    return slices_of(width, GPU_TILE) * slices_of(height, GPU_TILE)


def _together(group: Sequence[_Drawn], grids: Grids) -> Unit | None:
    """Return textures stacked in a column or a row, each in its best grid; None if they cannot be one job."""
    names = tuple(drawn.target for drawn in group)
    colours = {drawn.clear for drawn in group} - {None}
    vectors = [index for index, drawn in enumerate(group) if drawn.in_corner]
    if len(colours) > 1 or len(vectors) > 1 or any(drawn.sources.intersection(names) for drawn in group):
        return None
    sizes = [(grids[name][0].width, grids[name][0].height) for name in names]
    arrangements = []
    order = vectors + [index for index in range(len(group)) if index not in vectors]
    for axis in (0, 1):
        offsets = [sum(sizes[earlier][axis] for earlier in order[: order.index(index)]) for index in range(len(sizes))]
        length, breadth = sum(size[axis] for size in sizes), max(size[1 - axis] for size in sizes)
        corners = tuple((offset, 0) if axis == 0 else (0, offset) for offset in offsets)
        arrangements.append(((length, breadth) if axis == 0 else (breadth, length), corners))
    size, corners = min(
        arrangements, key=lambda arrangement: (_tiles(*arrangement[0]), abs(arrangement[0][0] - arrangement[0][1]))
    )
    most_tiles = sum(_tiles(*size) for size in sizes) + MOST_TILES
    if max(size) > MAX_TEXTURE_SIZE or _tiles(*size) > most_tiles:
        return None
    return Unit(names, (size,), colours.pop() or ZERO_COLOUR if colours else ZERO_COLOUR, corners)


def plan(program: CompiledNetwork, grids: Grids, method: str) -> tuple[dict[str, Share], tuple[MemoryUse, ...]]:
    """Plan which textures of a program with a texture for each layer share one.

    Args:
        program: the program, lowered without shares.
        grids: the possible grids of every target; see ``Grids``.
        method: one of ``MEMORY``.

    Returns:
        A share for each shared texture, and the memory use of each method.

    Raises:
        InputError: an unknown method.
    """
    if method not in MEMORY:
        raise InputError(f"memory '{method}'; choose one of {', '.join(MEMORY)}")
    methods = memory.METHODS if method != NAIVE else (NAIVE,)
    plans = {name: _plans(program, grids, name) for name in methods}
    sizes = {name: sum(memory_plan.total for _, memory_plan in planned) for name, planned in plans.items()}
    chosen = min(sizes, key=lambda name: sizes[name]) if method == "auto" else method
    uses = [
        MemoryUse(name, sizes[name], sum(len(memory_plan.objects) for _, memory_plan in planned), name == chosen)
        for name, planned in plans.items()
    ]
    shares: dict[str, Share] = {}
    shared_count = 0
    for group, memory_plan in plans[chosen]:
        members: dict[int, list[int]] = defaultdict(list)
        for index, texture in enumerate(memory_plan.placement):
            members[texture].append(index)
        for texture, indices in members.items():
            if len(indices) == 1 and len(group[indices[0]].names) == 1:
                continue
            # Names of layers contain no "~" here, so the name is free.
            shared_name = f"shared~{shared_count}"
            shared_count += 1
            width, height = memory_plan.objects[texture]
            for index in indices:
                for name, (x, y) in zip(group[index].names, group[index].corners):
                    columns = _grid(grids[name], memory_plan.sizes[index], group[index]).columns
                    shares[name] = Share(shared_name, width, height, columns, group[index].clear, x, y)
    return shares, tuple(uses)


def _grid(grids: Sequence[Grid], size: tuple[int, ...], unit: Unit) -> Grid:
    """Return the grid of a texture: the first one in a unit of several textures, else the one of the planned size."""
    if len(unit.names) > 1:
        return grids[0]
    return next(grid for grid in grids if (grid.width, grid.height) == size)


def _plans(program: CompiledNetwork, grids: Grids, method: str) -> list[tuple[list[Unit], memory.Plan]]:
    """Return the textures of each clear colour and their plan: all jobs of a texture clear to one colour."""
    alive = lifetimes(program)
    coloured: dict[Colour, list[Unit]] = defaultdict(list)
    for unit in units(program, grids):
        coloured[unit.clear].append(unit)
    return [
        (
            group,
            memory.plan_textures(
                [unit.sizes for unit in group],
                [
                    (min(alive[name][0] for name in unit.names), max(alive[name][1] for name in unit.names))
                    for unit in group
                ],
                method,
                most_larger=MOST_LARGER,
            ),
        )
        for group in coloured.values()
    ]
