"""Execution counts of a program's instructions: 1, or the product of the trip counts of their loops.

The compiler unrolls some loops. A loop in the machine code has a branch back to its first instruction, and one from its
head to the instruction after it. Trip counts are not in the machine code: they are constants of the shader
(``shader_check.Loop``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from glsl_infer.bundle.shader_check import Loop

_BRANCH = re.compile(r"0x\w+ branch\S* (-?\d+)")
_FETCH = re.compile(r"0x\w+ load_tmu")
_BYTES, _DELAY = 8, 4
"""Bytes of an instruction; distance from a branch to the base of its offset: three more instructions are executed."""


@dataclass(frozen=True)
class Executed:
    """Instructions executed and texels fetched for a fragment."""

    instructions: int
    fetches: int


@dataclass(frozen=True)
class _Stays:
    """A loop of the machine code: its first and last instruction, and the branches of its head.

    ``leave`` jumps to the instruction after the loop. ``go_on`` skips that jump while iterations remain. Each is None
    if absent.
    """

    first: int
    last: int
    leave: int | None
    go_on: int | None


def executed(listing: Sequence[str], written: Sequence[Loop]) -> Executed:
    """Return the instructions and fetches executed for a fragment; see ``executions`` for the arguments."""
    times = executions(listing, written)
    return Executed(sum(times), sum(count for count, line in zip(times, listing) if _FETCH.match(line)))


def executions(listing: Sequence[str], written: Sequence[Loop]) -> list[int]:
    """Return how often each instruction is executed for a fragment; both sides of a conditional branch count.

    Args:
        listing: a line for each instruction.
        written: the shader's loops. ``_which`` decides which of them the compiler unrolled.
    """
    branches = {
        at: at + _DELAY + int(match[1]) // _BYTES for at, line in enumerate(listing) if (match := _BRANCH.match(line))
    }
    stay = sorted(
        (_loop(target, at + _DELAY - 1, branches) for at, target in branches.items() if target <= at),
        key=lambda loop: (loop.first, -loop.last),
    )
    times = [1] * len(listing)
    for loop, turns in zip(stay, _which(stay, written)):
        for at in range(loop.first, min(loop.last + 1, len(listing))):
            times[at] *= _times(loop, at, turns)
    return times


def _loop(first: int, last: int, branches: dict[int, int]) -> _Stays:
    inside = sorted(at for at in branches if first <= at < last)
    leave = next((at for at in inside if branches[at] > last), None)
    go_on = None if leave is None else next((at for at in inside if branches[at] == leave + _DELAY), None)
    return _Stays(first, last, leave, go_on)


def _times(loop: _Stays, at: int, turns: int) -> int:
    """Return the executions of an instruction: the trip count, in the head one more, and 1 in the exit."""
    if loop.leave is None or at >= loop.leave + _DELAY:
        return turns
    if loop.go_on is not None and at >= loop.go_on + _DELAY:
        return 1
    return turns + 1


def _which(stay: Sequence[_Stays], written: Sequence[Loop]) -> Sequence[int]:
    """Return the trip counts of the loops in the machine code.

    They are nested as in the shader. If several choices fit, the one with the most computation is used, because
    compilers unroll short loops.
    """
    around = [sum(other.first <= loop.first and loop.last < other.last for other in stay) for loop in stay]
    best, turns = -1, [1] * len(stay)
    for chosen in itertools.combinations(range(len(written)), len(stay)):
        computed = sum(written[at].executed for at in chosen)
        if computed > best and [_around(at, chosen, written) for at in chosen] == around:
            best, turns = computed, [written[at].turns for at in chosen]
    return turns


def _around(at: int, chosen: Sequence[int], written: Sequence[Loop]) -> int:
    """Return the number of chosen loops around a loop."""
    depth, count = written[at].depth, 0
    for before in range(at - 1, -1, -1):
        if written[before].depth < depth:
            depth = written[before].depth
            count += before in chosen
    return count
