"""The taps of a convolution with weights in a texture as a loop, for compilers that do well with one (``gl.loops``).

A turn of the loop is one tap on one slice. All turns fetch the same texels in the same order as the lines that stand
one after the other, and add up the same products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Binding
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Tap

MOST_TURNS = 1024
"""What is written as the end, as much as ``int`` has to hold. Loops end earlier: a compiler that knew when would unroll
them."""

ROLE = "source"

MOST_STRAIGHT = 800
"""Most fetches that stand one after the other where there is a loop as well, on all devices but those that fetch late.

SwiftShader, which a browser has without a GPU, ends its process where there are some 1,100 (1,040 were fine). What
VideoCore IV makes of a loop has half its threads."""


@dataclass(frozen=True)
class Loop:
    """A loop over all taps of a draw.

    Attributes:
        turns: how many there are.
        tap: what the first turn fetches.
        before: the line before the loop.
        after: lines at the end of a turn: where the next one fetches.
    """

    turns: int
    tap: Tap
    before: str
    after: tuple[str, ...]

    def lines(self, tap_lines: Callable[[Tap], Sequence[str]], ended: str) -> list[str]:
        """Return the text.

        Args:
            tap_lines: gives the lines that fetch a texel and add its products. The columns of products are those of the
                first turn; the next has the next columns.
            ended: an expression that is true at the beginning of the turn after the last, and of which no compiler can
                know when.
        """
        return [
            self.before,
            f"for (int turn = 0; turn < {MOST_TURNS}; turn++) {{",
            f"    if ({ended}) break;",
            *(f"    {line}" for line in (*tap_lines(self.tap), *self.after)),
            "}",
        ]


def always(fetches: int) -> Sequence[str]:
    """Return the lines by which a shader has its loop whether a device asks for one or not; none where it need not.

    Args:
        fetches: that it has one after the other without a loop.
    """
    return ("#ifndef LATE_FETCH", "#define ROLLED_FETCHES", "#endif") if fetches > MOST_STRAIGHT else ()


def loop(columns: Columns, binding: Binding, slots: range | None = None) -> Loop | None:
    """Return the loop over the taps of one draw; None where these differ in more than place, or are one alone.

    Args:
        columns: of the layer.
        binding: of the draw.
        slots: that it reads; all, if not given.
    """
    slots = range(columns.slots) if slots is None else slots
    samplers = {binding.sampler(ROLE, index) for index in range(len(slots))}
    operands = {tuple(product.lane for product in products) for *_, products in columns.taps(slots)}
    turns = len(slots) * columns.taps_per_slot
    if not 1 < turns < MOST_TURNS or len(samplers) > 1 or len(operands) > 1:
        return None
    *_, products = next(columns.taps(slots[:1]))
    first = f"vec2 at = {binding.coordinate(ROLE)};"
    return Loop(
        turns, Tap(samplers.pop(), "at.x", "at.y", products), first, tuple(_steps(columns, binding, len(slots)))
    )


def loop_by_tiles(
    columns: Columns,
    slots: range,
    places: Sequence[tuple[int, int]],
    binding: Binding,
    texel: Sequence[float],
) -> Loop | None:
    """Return the loop over the taps of a draw with one coordinate for all tiles of a texture.

    None where its tiles are no grid of rows, or where taps differ in more than place.

    Args:
        columns: of the layer.
        slots: that the draw reads.
        places: of their tiles in texels from that of the first, (x, y).
        binding: of the draw.
        texel: width and height of one, in texture coordinates.
    """
    taps = list(columns.taps(slots))
    turns, first_products = len(taps), taps[0][3]
    grid = _grid(places)
    lanes = [product.lane for product in first_products]
    if not 1 < turns < MOST_TURNS or grid is None or any([p.lane for p in tap[3]] != lanes for tap in taps):
        return None
    (across, down), left, ends = grid
    height, width = columns.kernel_height, columns.kernel_width
    step_y, step_x = columns.dilations
    coordinate, x = binding.coordinate(ROLE), binding.axis(ROLE, "x")
    before = [f"vec2 tile = {coordinate};"]
    after = []
    if width > 1:
        after.append(f"at.x += {codegen.number(step_x * texel[0])};")
    row, tile = "true", "true"
    if width > 1:
        before.append("float taps = 0.0;")
        row = f"taps > {codegen.number(width - 0.5)}"
        after.append("taps += 1.0;")
    if height > 1:
        before.append("float rows = 0.0;")
        tile = f"rows > {codegen.number(height - 0.5)}"
        moves = [f"at = vec2(tile.x, at.y + {codegen.number(step_y * texel[1])});", "rows += 1.0;"]
        after += [move if row == "true" else f"if ({row}) {move}" for move in moves]
    elif width > 1:
        tile = row
    ended = [f"turn == {(end + 1) * columns.taps_per_slot - 1}" for end in ends]
    moves = [f"tile.x += {codegen.number(across * texel[0])};"] if across else []
    after += [move if tile == "true" else f"if ({tile}) {move}" for move in moves]
    if ended:
        start = f"{x} + {codegen.number(left * texel[0])}" if left else x
        after.append(f"if ({' || '.join(ended)}) tile = vec2({start}, tile.y + {codegen.number(down * texel[1])});")
    after.append("at = tile;" if tile == "true" else f"if ({tile}) at = tile;")
    if height > 1 and width > 1:
        after.append(f"if ({row}) taps = 0.0;")
    if tile != "true":
        after.append(f"if ({tile}) {'rows' if height > 1 else 'taps'} = 0.0;")
    before.append("vec2 at = tile;")
    return Loop(turns, Tap(binding.sampler(ROLE), "at.x", "at.y", first_products), " ".join(before), tuple(after))


def _grid(places: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], int, list[int]] | None:
    """Return how tiles follow one another: the steps (x, y), x where further rows begin, and which tiles end a row.

    None where each row does not begin at one place and go on in equal steps.
    """
    ends = [at for at in range(len(places) - 1) if places[at + 1][1] != places[at][1]]
    pairs = list(zip(places, places[1:]))
    across = {after[0] - before[0] for at, (before, after) in enumerate(pairs) if at not in ends}
    down = {pairs[at][1][1] - pairs[at][0][1] for at in ends}
    left = {pairs[at][1][0] for at in ends}
    if max(len(across), len(down), len(left)) > 1:
        return None
    return (next(iter(across), 0), next(iter(down), 0)), next(iter(left), 0), ends


def _steps(columns: Columns, binding: Binding, slots: int) -> list[str]:
    """Return the lines that go to the next tap of a row, to the next row, and to the next slice."""
    height, width = columns.kernel_height, columns.kernel_width
    lines = [f"at.x += {binding.texel(ROLE)}.x;"] if width > 1 else []
    for slot in range(slots):
        before = slot * columns.taps_per_slot
        if slot:
            lines.append(f"if (turn == {before - 1}) at = {binding.coordinate(ROLE, slot)};")
        ends = [f"turn == {before + row * width - 1}" for row in range(1, height)]
        if ends:
            left, step = binding.axis(ROLE, "x", slot), f"{binding.texel(ROLE)}.y"
            lines.append(f"if ({' || '.join(ends)}) at = vec2({left}, at.y + {step});")
    return lines
