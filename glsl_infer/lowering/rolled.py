"""Loops over the taps of a convolution with weights in a texture, for compilers that handle loops well.

An iteration is one tap of one slice. The loop has the same fetches and products, in the same order, as the unrolled
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Binding
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Tap, shifted

MOST_TURNS = 1024
"""Bound of the loop in the shader, within the guaranteed range of ``int``. Loops end earlier by a condition, because a
compiler would unroll a loop with a known end."""

ROLE = "source"

MOST_STRAIGHT = 800
"""Largest number of unrolled fetches, except on devices with ordered fetches.

SwiftShader, which browsers use without a GPU, crashes with some 1,100 (1,040 worked). On VideoCore IV a loop halves the
number of threads."""


@dataclass(frozen=True)
class Loop:
    """A loop over all taps of a draw.

    Attributes:
        turns: number of iterations.
        tap: tap of the first iteration.
        before: line before the loop.
        after: lines at the end of an iteration, which advance the coordinate.
    """

    turns: int
    tap: Tap
    before: str
    after: tuple[str, ...]

    def lines(self, tap_lines: Callable[[Tap], Sequence[str]], end_condition: str) -> list[str]:
        """Return the text of the loop.

        Args:
            tap_lines: returns the lines that fetch a texel and add its products. The products have the columns of the
                first iteration; later iterations use the following columns.
            end_condition: expression that becomes true after the last iteration, and that a compiler cannot evaluate.
        """
        return [
            self.before,
            f"for (int turn = 0; turn < {MOST_TURNS}; turn++) {{",
            f"    if ({end_condition}) break;",
            *(f"    {line}" for line in (*tap_lines(self.tap), *self.after)),
            "}",
        ]


def loop_always(fetches: int) -> Sequence[str]:
    """Return the lines that enable the loop on all devices without ordered fetches; empty for few fetches.

    Args:
        fetches: number of fetches without a loop.
    """
    return ("#ifndef LATE_FETCH", "#define ROLLED_FETCHES", "#endif") if fetches > MOST_STRAIGHT else ()


def loop(columns: Columns, binding: Binding, slots: range | None = None) -> Loop | None:
    """Return the loop over the taps of a draw; None if they are irregular, or there is only one.

    Args:
        columns: layout of the layer's columns.
        binding: of the draw.
        slots: slots that it reads; by default all.
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
    positions: Sequence[tuple[int, int]],
    binding: Binding,
    texel: Sequence[float],
) -> Loop | None:
    """Return the loop over the taps of a draw with one coordinate for all tiles of a texture.

    None if the tiles are not a grid of rows, or the taps are irregular.

    Args:
        columns: layout of the layer's columns.
        slots: slots that the draw reads.
        positions: of their tiles relative to the first, (x, y) in texels.
        binding: of the draw.
        texel: width and height of a texel in texture coordinates.
    """
    taps = list(columns.taps(slots))
    turns, first_products = len(taps), taps[0][3]
    grid = _grid(positions)
    lanes = [product.lane for product in first_products]
    if not 1 < turns < MOST_TURNS or grid is None or any([p.lane for p in tap[3]] != lanes for tap in taps):
        return None
    height, width = columns.kernel_height, columns.kernel_width
    step_y, step_x = columns.dilations
    row_end = f"taps > {codegen.number(width - 0.5)}" if width > 1 else ""
    tile_end = f"rows > {codegen.number(height - 0.5)}" if height > 1 else row_end
    declarations = [f"vec2 tile = {binding.coordinate(ROLE)};"]
    steps = []
    if width > 1:
        declarations.append("float taps = 0.0;")
        steps += [f"at.x += {codegen.number(step_x * texel[0])};", "taps += 1.0;"]
    if height > 1:
        declarations.append("float rows = 0.0;")
        next_row = f"at = vec2(tile.x, at.y + {codegen.number(step_y * texel[1])});"
        steps += [_after(row_end, next_row), _after(row_end, "rows += 1.0;")]
    if grid.across:
        steps.append(_after(tile_end, f"tile.x += {codegen.number(grid.across * texel[0])};"))
    if grid.row_ends:
        x = shifted(binding.axis(ROLE, "x"), grid.left * texel[0])
        last_turns = [f"turn == {(end + 1) * columns.taps_per_slot - 1}" for end in grid.row_ends]
        steps.append(
            _after(" || ".join(last_turns), f"tile = vec2({x}, tile.y + {codegen.number(grid.down * texel[1])});")
        )
    steps.append(_after(tile_end, "at = tile;"))
    if height > 1 and width > 1:
        steps.append(_after(row_end, "taps = 0.0;"))
    if tile_end:
        steps.append(_after(tile_end, f"{'rows' if height > 1 else 'taps'} = 0.0;"))
    declarations.append("vec2 at = tile;")
    tap = Tap(binding.sampler(ROLE), "at.x", "at.y", first_products)
    return Loop(turns, tap, " ".join(declarations), tuple(steps))


def _after(condition: str, statement: str) -> str:
    """Return a GLSL statement under a condition; an empty one is always true."""
    return f"if ({condition}) {statement}" if condition else statement


@dataclass(frozen=True)
class _Grid:
    """Tiles in rows.

    Attributes:
        across: distance of a tile from the previous one in its row, in texels.
        down: distance of a row from the previous one.
        left: x at which all rows but the first begin, relative to the first tile.
        row_ends: indices of the last tiles of rows, without the last row.
    """

    across: int
    down: int
    left: int
    row_ends: Sequence[int]


def _grid(positions: Sequence[tuple[int, int]]) -> _Grid | None:
    """Return the grid of tiles at some positions (x, y); None if rows begin at different x or have different steps."""
    pairs = list(zip(positions, positions[1:]))
    row_ends = [index for index, (tile, following) in enumerate(pairs) if following[1] != tile[1]]
    across = {following[0] - tile[0] for index, (tile, following) in enumerate(pairs) if index not in row_ends}
    down = {pairs[index][1][1] - pairs[index][0][1] for index in row_ends}
    left = {pairs[index][1][0] for index in row_ends}
    if max(len(across), len(down), len(left)) > 1:
        return None
    return _Grid(next(iter(across), 0), next(iter(down), 0), next(iter(left), 0), row_ends)


def _steps(columns: Columns, binding: Binding, slots: int) -> list[str]:
    """Return the lines that advance to the next tap of a row, the next row, and the next slice."""
    height, width = columns.kernel_height, columns.kernel_width
    lines = [f"at.x += {binding.texel(ROLE)}.x;"] if width > 1 else []
    for slot in range(slots):
        first_turn = slot * columns.taps_per_slot
        if slot:
            lines.append(f"if (turn == {first_turn - 1}) at = {binding.coordinate(ROLE, slot)};")
        row_ends = [f"turn == {first_turn + row * width - 1}" for row in range(1, height)]
        if row_ends:
            left_x, texel_height = binding.axis(ROLE, "x", slot), f"{binding.texel(ROLE)}.y"
            lines.append(f"if ({' || '.join(row_ends)}) at = vec2({left_x}, at.y + {texel_height});")
    return lines
