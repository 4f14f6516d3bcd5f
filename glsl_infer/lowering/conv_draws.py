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
    slots = range(columns.slots) if slots is None else slots
    if len(slots) <= fetching.own_coordinates:
        bindings = [build.bind(node, **roles) for roles in reads]
        kernel = (columns.kernel_height, columns.kernel_width)
        coordinates = Coordinates(bindings, SOURCE, kernel, common=fetching.common)
        # Between fetches of weights (``common`` False), a compiler does not keep all coordinates.
        if not fetching.common or coordinates.steps <= MOST_STEPS or columns.taps_per_slot == 1:
            return _by_slices(node, build, columns, slots, bindings, coordinates)
    # Draws differ only in the positions of their tiles. Equal distances between these give equal texts, generated once.
    layer_draws: list[Draw] = []
    draw_by_layout: dict[object, Draw] = {}
    for roles in reads:
        first = roles[SOURCE][0].view
        distances = [(read.view.texture, read.view.x - first.x, read.view.y - first.y) for read in roles[SOURCE]]
        layout = (tuple(distances), tuple((role, len(role_reads)) for role, role_reads in roles.items()))
        if layout in draw_by_layout:
            heads = _heads(roles[SOURCE]).values()
            binding = build.bind(node, **{**roles, SOURCE: list(heads)})
            layer_draws.append(replace(draw_by_layout[layout], binding=binding))
        else:
            draw_by_layout[layout] = _by_tiles(node, build, roles, slots, columns, fetching)
            layer_draws.append(draw_by_layout[layout])
    return layer_draws


def _by_slices(
    node: Node, build: Builder, columns: Columns, slots: range, bindings: Sequence[Binding], coordinates: Coordinates
) -> list[Draw]:
    """Return the draws with a coordinate for each slice, one for each of ``bindings``."""
    texels = [SOURCE] if columns.taps_per_slot > 1 else []
    taps_by_names: dict[object, list[Tap]] = {}  # draws with the same names in their text share their taps
    layer_draws = []
    for binding in bindings:
        declarations, lines = binding.declarations(*texels), coordinates.lines(binding)
        names = [(binding.sampler(SOURCE, k), binding.coordinate(SOURCE, k)) for k in range(len(slots))]
        key: object = (tuple(names), *declarations, *lines)
        if key not in taps_by_names:
            slot_gates = gates(node, build, binding)
            taps_by_names[key] = [
                replace(
                    coordinates.tap(binding, slot - slots[0], row, column, products),
                    gate=slot_gates[slot] if slot_gates else None,
                )
                for slot, row, column, products in columns.taps(slots)
            ]
        layer_draws.append(Draw(binding, declarations, lines, taps_by_names[key], by_tiles=False))
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


@dataclass(frozen=True)
class _TileFetch:
    """A fetch relative to the first tile of its texture.

    Attributes:
        slot: slot of the columns.
        texture: index of the texture in the draw.
        x, y: distance from the first tile in texture coordinates.
        products: products of the texel.
    """

    slot: int
    texture: int
    x: float
    y: float
    products: Sequence[Product]


def _by_tiles(
    node: Node,
    build: Builder,
    roles: Mapping[str, Sequence[Read]],
    slots: range,
    columns: Columns,
    fetching: Fetching,
) -> Draw:
    """Return a draw with a coordinate for each texture; for the arguments see ``draws``."""
    tiles = roles[SOURCE]
    heads = _heads(tiles)
    binding = build.bind(node, **{**roles, SOURCE: list(heads.values())})
    fetches = _tile_fetches(build, tiles, heads, slots, columns)
    # An x coordinate shared by several tiles occupies a register from the first of them to the last. If there are too
    # many, each tile computes it again, dependent on the sum, so that a compiler cannot detect the repetition.
    # In a window of several taps this costs almost nothing. For 1x1 windows, tiles are ordered by column if allowed,
    # and each column computes its coordinate once.
    is_window = len(fetches) > len(tiles)
    column_count = len({(fetch.texture, fetch.x) for fetch in fetches})
    restarts = is_window or column_count > fetching.shared_columns
    row_counts = Counter(texture for texture, _ in {(fetch.texture, fetch.y) for fetch in fetches})
    can_sort = not is_window and not fetching.in_order and max(row_counts.values()) <= MOST_ROWS_ALIVE
    by_columns = restarts and can_sort
    if by_columns:
        fetches.sort(key=lambda fetch: (fetch.texture, fetch.x, fetch.y))

    slot_gates = gates(node, build, binding)
    taps = []
    previous_group: object = None
    for fetch in fetches:
        first_x, top = (binding.axis(SOURCE, axis, fetch.texture) for axis in "xy")
        group = (fetch.texture, fetch.x) if by_columns else fetch.slot
        taps.append(
            Tap(
                binding.sampler(SOURCE, fetch.texture),
                shifted("left" if restarts else first_x, fetch.x),
                shifted(top, fetch.y),
                fetch.products,
                left=first_x if restarts and group != previous_group else "",
                gate=slot_gates[fetch.slot] if slot_gates else None,
            )
        )
        previous_group = group
    loop = None
    if fetching.in_order and len(heads) == 1 and not slot_gates:
        corner = tiles[0].view
        distances = [(read.view.x - corner.x, read.view.y - corner.y) for read in tiles]
        loop = rolled.loop_by_tiles(columns, slots, distances, binding, build.texel(corner.texture))
    coordinates = ["float left;"] if restarts else []
    return Draw(binding, binding.declarations(), coordinates, taps, by_tiles=True, loop=loop, across=column_count)


def _tile_fetches(
    build: Builder, tiles: Sequence[Read], heads: Mapping[str, Read], slots: range, columns: Columns
) -> list[_TileFetch]:
    """Return the fetches of a draw, in the order of the columns; ``heads`` are the first tiles of its textures."""
    textures, (step_y, step_x) = list(heads), columns.dilations
    fetches = []
    for slot, row, column, products in columns.taps(slots):
        view = tiles[slot - slots[0]].view
        head = heads[view.texture].view
        texel_width, texel_height = build.texel(view.texture)
        x = (view.x - head.x + column * step_x) * texel_width
        y = (view.y - head.y + row * step_y) * texel_height
        fetches.append(_TileFetch(slot, textures.index(view.texture), x, y, products))
    return fetches
