"""Sharing of textures between layers: lifetimes and memory plan of a program's textures.

A program is lowered twice: once with a texture for each layer, from which ``plan`` computes the shares, and once more
with these shares. Textures alive in the same layer are never shared, so a draw never reads its render target.
Every job clears its texture, so the gutters of one layer never contain values of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from glsl_infer.compiler import memory
from glsl_infer.compiler.joined_jobs import Colour, Grids, Unit, units
from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.program import CompiledNetwork, MemoryUse
from glsl_infer.program.layout import Share, textures_of
from glsl_infer.program.placement import Grid

MEMORY = ("auto", *memory.METHODS)
"""Memory methods; ``auto`` is the one with the fewest bytes. See ``memory``."""

NAIVE = "naive"

MOST_FOR_FLOW = 500
"""Largest number of layers for which ``auto`` tries ``flow``, whose time grows faster than the square of the layers."""

MOST_LARGER = 12
"""Largest ratio of a shared texture to each layer's own. It is limited because a job clears and stores all texels."""


def lifetimes(program: CompiledNetwork) -> dict[str, tuple[int, int]]:
    """Return the index of the node that draws each target texture, and of the last node that reads it.

    A node that only renames tiles counts as a reader. Outputs are read after the last node. An unread texture lives
    until the next drawing node. A job begins where the target changes, so that node would not begin a job if it shared
    the texture.
    """
    index = {node.name: number for number, node in enumerate(program.graph.nodes)}
    drawing = list(dict.fromkeys(entry.layer for entry in program.passes))
    following = {layer: index[after] for layer, after in zip(drawing, drawing[1:])}
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
        MissingExtraError: ``flow`` without networkx.
    """
    if method not in MEMORY:
        raise InputError(f"memory '{method}'; choose one of {', '.join(MEMORY)}")
    plans: dict[str, list[tuple[list[Unit], memory.Plan]]] = {}
    uses: list[MemoryUse] = []
    layers = len({entry.layer for entry in program.passes})
    for known in memory.METHODS if method != NAIVE else (NAIVE,):  # dry runs use only naive
        if known == "flow" != method and layers > MOST_FOR_FLOW:
            uses.append(MemoryUse(known, None, None, False, f"tried for at most {MOST_FOR_FLOW} layers"))
            continue
        try:
            plans[known] = _plans(program, grids, known)
        except MissingExtraError as error:
            if method == known:
                raise
            uses.append(MemoryUse(known, None, None, False, str(error)))
            continue
        size = sum(part.total for _, part in plans[known])
        uses.append(MemoryUse(known, size, sum(len(part.objects) for _, part in plans[known]), False))
    done = [use for use in uses if use.texture_bytes is not None]
    chosen = min(done, key=lambda use: use.texture_bytes or 0).method if method == "auto" else method
    uses = [replace(use, chosen=use.method == chosen) for use in uses]
    shares: dict[str, Share] = {}
    number = 0
    for some, part in plans[chosen]:
        members: dict[int, list[int]] = defaultdict(list)
        for index, place in enumerate(part.placement):
            members[place].append(index)
        for place, indices in members.items():
            if len(indices) == 1 and len(some[indices[0]].names) == 1:
                continue
            width, height = part.objects[place]
            for index in indices:
                for name, (x, y) in zip(some[index].names, some[index].corners):
                    columns = _grid(grids[name], part.sizes[index], some[index]).columns
                    # Names of layers contain no "~" here, so the name is free.
                    shares[name] = Share(f"shared~{number}", width, height, columns, some[index].clear, x, y)
            number += 1
    return shares, tuple(uses)


def _grid(possible: Sequence[Grid], size: tuple[int, ...], unit: Unit) -> Grid:
    """Return the grid of a texture: the first one in a unit of several textures, else the one of the planned size."""
    if len(unit.names) > 1:
        return possible[0]
    return next(grid for grid in possible if (grid.width, grid.height) == size)


def _plans(program: CompiledNetwork, grids: Grids, method: str) -> list[tuple[list[Unit], memory.Plan]]:
    """Return the textures of each clear colour and their plan: all jobs of a texture clear to one colour."""
    alive = lifetimes(program)
    coloured: dict[Colour, list[Unit]] = defaultdict(list)
    for unit in units(program, grids):
        coloured[unit.clear].append(unit)
    return [
        (
            some,
            memory.plan_textures(
                [unit.sizes for unit in some],
                [
                    (min(alive[name][0] for name in unit.names), max(alive[name][1] for name in unit.names))
                    for unit in some
                ],
                method,
                most_larger=MOST_LARGER,
            ),
        )
        for some in coloured.values()
    ]
