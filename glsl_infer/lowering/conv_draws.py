"""The draws of a convolution: what each binds, and where it fetches the taps of its window.

A draw that reads a few slices has a coordinate for each of them (``taps.Coordinates``). One that reads more has a
coordinate for each texture: tiles of one texture lie at fixed places from each other, so that a tap is that coordinate
plus a constant. Eight textures hold any number of slices then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glsl_infer.lowering import rolled
from glsl_infer.lowering.bindings import Binding, Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Coordinates, Product, Tap, moved

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder

MOST_COORDINATES = 8
"""Most slices with a coordinate each: so many textures ES 2.0 promises, and more would not fit the varyings."""

MOST_STEPS = 17
"""Most values that the coordinates of all taps take, those of x and those of y together.

A shader keeps them from tap to tap, and Mesa's compiler for VideoCore IV has 32 registers for a thread. A 9x9 window
has 18 of one slice.
"""

MOST_COLUMNS_ALIVE: Mapping[int, int] = {8: 12, 16: 6}
"""Most x coordinates that taps by tiles have in common before each tile begins with its own. They are fewer where
weights in a texture meet maps of 16 bits: a 1x1 over 24 slices of those in rows of 10 does not compile with more."""

MOST_ROWS_ALIVE = 16
"""Most y coordinates that columns of tiles have in common: with 20, a 1x1 over 1536 channels of 12x12 pixels does not
compile."""

SOURCE = "source"


@dataclass(frozen=True)
class Draw:
    """One draw.

    Attributes:
        binding: what it reads.
        declarations: lines that declare that.
        coordinates: lines that declare the coordinates of its taps.
        taps: of all slots; the same object where the text is the same.
        by_tiles: whether its coordinates are one for each texture.
        loop: its taps as a loop, where they can be one and are by tiles.
        across: how many x coordinates its taps by tiles have.
    """

    binding: Binding
    declarations: Sequence[str]
    coordinates: Sequence[str]
    taps: Sequence[Tap]
    by_tiles: bool
    loop: rolled.Loop | None = None
    across: int = 0


def draws(
    node: Node,
    build: Builder,
    columns: Columns,
    reads: Sequence[Mapping[str, Sequence[Read]]],
    *,
    slots: range | None = None,
    common: bool = True,
    in_order: bool = False,
    most: int = MOST_COORDINATES,
    alive: int = MOST_COLUMNS_ALIVE[8],
) -> list[Draw]:
    """Return the draws of a layer, one for each item of ``reads``.

    Args:
        node: the layer.
        build: the program in the making.
        columns: how the kernel's columns follow one another.
        reads: of each draw, what it reads, by roles; those of the role ``source`` are one for each slot.
        slots: of the columns; all, if not given.
        common: see ``Coordinates``.
        in_order: whether taps must stay in the order of the columns.
        most: slices that may have a coordinate each.
        alive: see ``MOST_COLUMNS_ALIVE``.
    """
    chosen = range(columns.slots) if slots is None else slots
    taps = list(columns.taps(chosen))
    kernel = (columns.kernel_height, columns.kernel_width)
    if len(chosen) <= most:
        bindings = [build.bind(node, **roles) for roles in reads]
        coordinates = Coordinates(bindings, SOURCE, kernel, common=common)
        # Fetches of weights in between leave a compiler no reason to keep them all (``common`` is False there).
        if not common or coordinates.steps <= MOST_STEPS or columns.taps_per_slot == 1:
            texels = [SOURCE] if columns.taps_per_slot > 1 else []
            alike: dict[object, list[Tap]] = {}  # draws with the same names in their texts have the same taps
            drawn: list[Draw] = []
            for binding in bindings:
                declarations, lines = binding.declarations(*texels), coordinates.lines(binding)
                sources = range(len(chosen))
                names = tuple((binding.sampler(SOURCE, at), binding.coordinate(SOURCE, at)) for at in sources)
                text = (names, *declarations, *lines)
                if text not in alike:
                    alike[text] = [
                        coordinates.tap(binding, slot - chosen[0], row, column, products)
                        for slot, row, column, products in taps
                    ]
                drawn.append(Draw(binding, declarations, lines, alike[text], by_tiles=False))
            return drawn
    # What draws read differs in place alone, and mostly not even in that: then they have one text, made once.
    drawn, known = [], dict[object, Draw]()
    for roles in reads:
        first = roles[SOURCE][0].view
        apart = [(read.view.texture, read.view.x - first.x, read.view.y - first.y) for read in roles[SOURCE]]
        key = (tuple(apart), tuple((role, len(others)) for role, others in roles.items()))
        if key in known:
            heads = _heads(roles[SOURCE]).values()
            drawn.append(replace(known[key], binding=build.bind(node, **{**roles, SOURCE: list(heads)})))
        else:
            known[key] = _by_tiles(node, build, roles, taps, chosen, columns, in_order=in_order, alive=alive)
            drawn.append(known[key])
    return drawn


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
    *,
    in_order: bool,
    alive: int,
) -> Draw:
    first, dilations = slots[0], columns.dilations
    tiles = roles[SOURCE]
    heads = _heads(tiles)
    textures = list(heads)
    binding = build.bind(node, **{**roles, SOURCE: list(heads.values())})
    places = []
    for slot, row, column, products in taps:
        read = tiles[slot - first]
        head = heads[read.view.texture]
        across, down = (size for size in build.texel(read.view.texture))
        x = (read.view.x - head.view.x + column * dilations[1]) * across
        y = (read.view.y - head.view.y + row * dilations[0]) * down
        places.append((slot, textures.index(read.view.texture), x, y, products))
    # An x that several tiles have in common is kept from the first of them to the last. Where there are too many, each
    # tile begins with one that waits for the sum, so that no compiler can tell that it has it already.
    # A window reads its tile several times, so that this costs next to nothing there. Without one, tiles of a column
    # follow one another if they may, and the column begins with it.
    window = len(taps) > len(tiles)
    across = len({(index, x) for _, index, x, _, _ in places})
    anew = window or across > alive
    rows = Counter(index for index, _ in {(index, y) for _, index, _, y, _ in places})  # of each texture
    by_columns = anew and not window and not in_order and max(rows.values()) <= MOST_ROWS_ALIVE
    if by_columns:
        places.sort(key=lambda place: place[1:4])
    fetched = []
    before: object = None
    for slot, index, x, y, products in places:
        first_x, top = (binding.axis(SOURCE, axis, index) for axis in "xy")
        part = (index, x) if by_columns else slot
        begins = first_x if anew and part != before else ""
        fetched.append(
            Tap(binding.sampler(SOURCE, index), moved("left" if anew else first_x, x), moved(top, y), products, begins)
        )
        before = part
    loop = None
    if in_order and len(textures) == 1:
        corner = tiles[0].view
        apart = [(read.view.x - corner.x, read.view.y - corner.y) for read in tiles]
        loop = rolled.loop_by_tiles(columns, slots, apart, binding, build.texel(corner.texture))
    left = ["float left;"] if anew else []
    return Draw(binding, binding.declarations(), left, fetched, by_tiles=True, loop=loop, across=across)
