"""The taps of a convolution with weights in a texture as a loop, for compilers that do well with one (``gl.loops``).

A turn of the loop is one tap on one slice. All turns fetch the same texels in the same order as the lines that stand
one after the other, and add up the same products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glsl_infer.lowering.bindings import Binding
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Tap

MOST_TURNS = 1024
"""What is written as the end, as much as ``int`` has to hold. Loops end earlier: a compiler that knew when would unroll
them."""

ROLE = "source"


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


def loop(columns: Columns, binding: Binding) -> Loop | None:
    """Return the loop over the taps of one draw; None where these differ in more than place, or are one alone.

    Args:
        columns: of the layer.
        binding: of the draw.
    """
    slots = range(columns.slots)
    samplers = {binding.sampler(ROLE, slot) for slot in slots}
    operands = {tuple(product.lane for product in products) for *_, products in columns.taps(slots)}
    turns = columns.slots * columns.taps_per_slot
    if not 1 < turns < MOST_TURNS or len(samplers) > 1 or len(operands) > 1:
        return None
    *_, products = next(columns.taps(slots[:1]))
    first = f"vec2 at = {binding.coordinate(ROLE)};"
    return Loop(turns, Tap(samplers.pop(), "at.x", "at.y", products), first, tuple(_steps(columns, binding)))


def _steps(columns: Columns, binding: Binding) -> list[str]:
    """Return the lines that go to the next tap of a row, to the next row, and to the next slice."""
    height, width = columns.kernel_height, columns.kernel_width
    lines = [f"at.x += {binding.texel(ROLE)}.x;"] if width > 1 else []
    for slot in range(columns.slots):
        before = slot * columns.taps_per_slot
        if slot:
            lines.append(f"if (turn == {before - 1}) at = {binding.coordinate(ROLE, slot)};")
        ends = [f"turn == {before + row * width - 1}" for row in range(1, height)]
        if ends:
            left, step = binding.axis(ROLE, "x", slot), f"{binding.texel(ROLE)}.y"
            lines.append(f"if ({' || '.join(ends)}) at = vec2({left}, at.y + {step});")
    return lines
