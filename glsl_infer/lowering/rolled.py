"""The taps of a convolution as a loop, for drivers whose compilers take long over long shaders (``gl.llvmpipe``).

A turn of the loop is a row of the kernel's taps on one slice. It fetches the same texels in the same order as the lines
that stand one after the other, and adds up the same products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glsl_infer.lowering.bindings import Binding
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Tap

MOST_TURNS = 1024
"""Above what any layer takes: the loop ends earlier, and a compiler that knew when would unroll it."""

LEAST_COLUMNS = 64
"""Columns of weights from which on there is a loop. llvmpipe compiles 76 in a fifth to a quarter of the time and draws
them in 1.14 to 1.22 of it; 37 take 0.4 to 0.5 of the compiler's time, but 1.26 to 1.4 of a frame's."""

ROLE = "source"


@dataclass(frozen=True)
class Loop:
    """A loop over all taps of a draw.

    Attributes:
        turns: how many there are.
        taps: what the first turn fetches, in order.
        before: lines before the loop.
        between: the line before each of the taps; may be empty.
        after: lines at the end of a turn.
    """

    turns: int
    taps: tuple[Tap, ...]
    before: tuple[str, ...]
    between: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def columns(self) -> int:
        """Columns of weights that a turn uses."""
        return sum(len(tap.products) for tap in self.taps)

    def lines(self, tap_lines: Callable[[Tap], Sequence[str]], ended: str) -> list[str]:
        """Return the text.

        Args:
            tap_lines: gives the lines that fetch a texel and add its products. The columns of products are those of the
                first turn; the next has the next columns.
            ended: an expression that is true at the beginning of the turn after the last, and of which no compiler can
                know when.
        """
        body = [line for tap, before in zip(self.taps, self.between) for line in (before, *tap_lines(tap)) if line]
        return [
            *self.before,
            f"for (int turn = 0; turn < {MOST_TURNS}; turn++) {{",
            f"    if ({ended}) break;",
            *(f"    {line}" for line in (*body, *self.after)),
            "}",
        ]


def loop(columns: Columns, binding: Binding) -> Loop | None:
    """Return the loop over the taps of one draw; None where there had better be none.

    Args:
        columns: of the layer.
        binding: of the draw.
    """
    slots = range(columns.slots)
    samplers = {binding.sampler(ROLE, slot) for slot in slots}
    operands = {tuple(product.lane for product in products) for *_, products in columns.taps(slots)}
    if columns.count < LEAST_COLUMNS or columns.taps_per_slot == 1 or len(samplers) > 1 or len(operands) > 1:
        return None
    (sampler,) = samplers
    taps, between = [], []
    for _, row, column, products in columns.taps(slots[:1]):
        if row == 0:
            x = f"x{column}" if column else "at.x"
            before = f"x{column - 1}" if column > 1 else "at.x"
            between.append(f"float {x} = {before} + {binding.texel(ROLE)}.x;" if column else "")
            taps.append(Tap(sampler, x, "at.y", products))
    height = columns.kernel_height
    after = [f"at.y += {binding.texel(ROLE)}.y;"]
    for slot in slots[1:]:
        after.append(f"if (turn == {slot * height - 1}) at = {binding.coordinate(ROLE, slot)};")
    start = f"vec2 at = {binding.coordinate(ROLE, 0)};"
    return Loop(columns.slots * height, tuple(taps), (start,), tuple(between), tuple(after))
