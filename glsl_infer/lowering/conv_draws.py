"""Draws of a convolution: their bindings, and the coordinates of the taps of its window.

A draw with few input slices has a coordinate for each (``taps.Coordinates``). One with more has a coordinate for each
texture. Tiles of a texture are at constant distances, so the coordinate of a tap is that coordinate plus a constant.
Eight textures then hold any number of slices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glsl_infer.lowering import codegen, fold, rolled
from glsl_infer.lowering.bindings import Binding, Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Coordinates, Gate, Product, Tap, shifted

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder

MOST_COORDINATES = 8
"""Largest number of slices with their own coordinate: ES 2.0 guarantees 8 textures, and more do not fit the
varyings."""

MOST_STEPS = 17
"""Largest number of different coordinates of all taps, x and y counted together.

A shader keeps them from tap to tap, and Mesa's compiler for VideoCore IV has 32 registers for a thread. A 9x9 window
over one slice has 18."""

MOST_COLUMNS_ALIVE: Mapping[int, int] = {8: 12, 16: 6}
"""Largest number of x coordinates shared by taps of several tiles, by the bits of the maps. Above it, each tile
computes its own. The limit is lower for weights in a texture with 16-bit maps: a 1x1 convolution over 24 such slices in
rows of 10 does not compile with more."""

MOST_ROWS_ALIVE = 16
"""Largest number of y coordinates shared by columns of tiles. With 20, a 1x1 convolution over 1536 channels of 12x12
pixels does not compile."""

SOURCE, GATE = "source", "gate"


@dataclass(frozen=True)
class Draw:
    """A draw of a convolution.

    Attributes:
        binding: its reads.
        declarations: declarations of samplers and varyings.
        coordinates: declarations of the coordinates of its taps.
        taps: taps of all slots; the same object in draws with the same text.
        by_tiles: whether it has a coordinate for each texture instead of each slice.
        loop: its taps as a loop, if they are regular and ``by_tiles``.
        across: number of x coordinates of its taps, if ``by_tiles``.
    """

    binding: Binding
    declarations: Sequence[str]
    coordinates: Sequence[str]
    taps: Sequence[Tap]
    by_tiles: bool
    loop: rolled.Loop | None = None
    across: int = 0


@dataclass(frozen=True)
class Fetching:
    """Rules for the coordinates of a draw's fetches.

    Attributes:
        common: whether to share coordinates; as in ``Coordinates``.
        in_order: whether taps must stay in the order of the columns.
        own_coordinates: largest number of slices with their own coordinate.
        shared_columns: largest number of x coordinates that taps of several tiles share; one of
            ``MOST_COLUMNS_ALIVE``.
    """

    common: bool = True
    in_order: bool = False
    own_coordinates: int = MOST_COORDINATES
    shared_columns: int = MOST_COLUMNS_ALIVE[8]


WITH_CONSTANTS = Fetching()
"""Fetches of draws whose weights are constants or uniforms."""


def draws(
    node: Node,
    build: Builder,
    columns: Columns,
    reads: Sequence[Mapping[str, Sequence[Read]]],
    slots: range | None = None,
    fetching: Fetching = WITH_CONSTANTS,
) -> list[Draw]:
    """Return the draws of a layer, one for each element of ``reads``.

    Args:
        node: the layer.
        build: the program.
        columns: layout of the kernel's columns.
        reads: reads of each draw, by role. Role ``source`` has one for each slot.
        slots: slots of the columns to draw; by default all.
        fetching: how fetches share coordinates.
    """
    used_slots = range(columns.slots) if slots is None else slots
    taps = list(columns.taps(used_slots))
    kernel = (columns.kernel_height, columns.kernel_width)
    common = fetching.common
    if len(used_slots) <= fetching.own_coordinates:
        bindings = [build.bind(node, **roles) for roles in reads]
        coordinates = Coordinates(bindings, SOURCE, kernel, common=common)
        # Between fetches of weights (``common`` False), a compiler does not keep all coordinates.
        if not common or coordinates.steps <= MOST_STEPS or columns.taps_per_slot == 1:
            texels = [SOURCE] if columns.taps_per_slot > 1 else []
            taps_by_names: dict[object, list[Tap]] = {}  # draws with the same names in their text share their taps
            layer_draws: list[Draw] = []
            for binding in bindings:
                declarations, lines = binding.declarations(*texels), coordinates.lines(binding)
                sources = range(len(used_slots))
                names = tuple((binding.sampler(SOURCE, index), binding.coordinate(SOURCE, index)) for index in sources)
                key: object = (names, *declarations, *lines)
                if key not in taps_by_names:
                    slot_gates = gates(node, build, binding)
                    taps_by_names[key] = [
                        replace(
                            coordinates.tap(binding, slot - used_slots[0], row, column, products),
                            gate=slot_gates[slot] if slot_gates else None,
                        )
                        for slot, row, column, products in taps
                    ]
                layer_draws.append(Draw(binding, declarations, lines, taps_by_names[key], by_tiles=False))
            return layer_draws
    # Draws differ only in the positions of their tiles. Equal distances between these give equal texts, generated once.
    layer_draws, draw_by_layout = [], dict[object, Draw]()
    for roles in reads:
        first = roles[SOURCE][0].view
        distances = [(read.view.texture, read.view.x - first.x, read.view.y - first.y) for read in roles[SOURCE]]
        key = (tuple(distances), tuple((role, len(role_reads)) for role, role_reads in roles.items()))
        if key in draw_by_layout:
            heads = _heads(roles[SOURCE]).values()
            layer_draws.append(replace(draw_by_layout[key], binding=build.bind(node, **{**roles, SOURCE: list(heads)})))
        else:
            draw_by_layout[key] = _by_tiles(node, build, roles, taps, used_slots, columns, fetching)
            layer_draws.append(draw_by_layout[key])
    return layer_draws


def gates(node: Node, build: Builder, binding: Binding) -> list[Gate]:
    """Return the gates of each input slice; empty for a convolution without them."""
    vector = build.gate(node)
    if vector is None:
        return []
    x, y = (binding.axis(GATE, axis) for axis in "xy")
    texel, _ = build.texel(vector.texture)
    zeros = fold.slices(build.feature_map(node.inputs[0]).zero_of / 255.0)
    return [
        Gate(
            binding.sampler(GATE),
            (shifted(x, 2 * index * texel), shifted(x, (2 * index + 1) * texel)),
            y,
            codegen.vec(zero.tolist()),
        )
        for index, zero in enumerate(zeros)
    ]


def _heads(tiles: Sequence[Read]) -> dict[str, Read]:
    """Return the first tile of each texture."""
    heads: dict[str, Read] = {}
    for read in tiles:
        heads.setdefault(read.view.texture, read)
    return heads


def _by_tiles(
    node: Node,
    build: Builder,
    roles: Mapping[str, Sequence[Read]],
    taps: Sequence[tuple[int, int, int, list[Product]]],
    slots: range,
    columns: Columns,
    fetching: Fetching,
) -> Draw:
    first, dilations = slots[0], columns.dilations
    tiles = roles[SOURCE]
    heads = _heads(tiles)
    textures = list(heads)
    binding = build.bind(node, **{**roles, SOURCE: list(heads.values())})
    fetches = []
    for slot, row, column, products in taps:
        read = tiles[slot - first]
        head = heads[read.view.texture]
        texel_width, texel_height = build.texel(read.view.texture)
        x = (read.view.x - head.view.x + column * dilations[1]) * texel_width
        y = (read.view.y - head.view.y + row * dilations[0]) * texel_height
        fetches.append((slot, textures.index(read.view.texture), x, y, products))
    # An x coordinate shared by several tiles occupies a register from the first of them to the last. If there are too
    # many, each tile computes it again, dependent on the sum, so that a compiler cannot detect the repetition.
    # In a window of several taps this costs almost nothing. For 1x1 windows, tiles are ordered by column if allowed,
    # and each column computes its coordinate once.
    window = len(taps) > len(tiles)
    column_count = len({(index, x) for _, index, x, _, _ in fetches})
    restart = window or column_count > fetching.shared_columns
    rows = Counter(index for index, _ in {(index, y) for _, index, _, y, _ in fetches})  # of each texture
    by_columns = restart and not window and not fetching.in_order and max(rows.values()) <= MOST_ROWS_ALIVE
    if by_columns:
        fetches.sort(key=lambda fetch: fetch[1:4])
    taps_by_tile = []
    slot_gates = gates(node, build, binding)
    previous: object = None
    for slot, index, x, y, products in fetches:
        first_x, top = (binding.axis(SOURCE, axis, index) for axis in "xy")
        group = (index, x) if by_columns else slot
        taps_by_tile.append(
            Tap(
                binding.sampler(SOURCE, index),
                shifted("left" if restart else first_x, x),
                shifted(top, y),
                products,
                left=first_x if restart and group != previous else "",
                gate=slot_gates[slot] if slot_gates else None,
            )
        )
        previous = group
    loop = None
    if fetching.in_order and len(textures) == 1 and not slot_gates:
        corner = tiles[0].view
        distances = [(read.view.x - corner.x, read.view.y - corner.y) for read in tiles]
        loop = rolled.loop_by_tiles(columns, slots, distances, binding, build.texel(corner.texture))
    coordinates = ["float left;"] if restart else []
    return Draw(
        binding, binding.declarations(), coordinates, taps_by_tile, by_tiles=True, loop=loop, across=column_count
    )
