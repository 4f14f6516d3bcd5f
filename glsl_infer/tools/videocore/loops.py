"""How often the instructions of a program are executed: once, or as often as the loop turns that they stand in.

The compiler unrolls what it can. A loop that stays has a branch back to its first instruction, and one from its head
to behind it. Turns are not in the machine code: they are constants of the shader (``shader_check.Loop``).
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
"""Bytes of an instruction; instructions from a branch to where it counts from: three more are executed."""


@dataclass(frozen=True)
class Executed:
    """What a fragment's program executes: instructions, and texels that it fetches."""

    instructions: int
    fetches: int


@dataclass(frozen=True)
class _Stays:
    """A loop of the machine code: its first and last instruction, and the branches of its head.

    ``leave`` goes behind the loop, ``go_on`` passes over it while there are turns left; None where there is none.
    """

    first: int
    last: int
    leave: int | None
    go_on: int | None


def executed(listing: Sequence[str], written: Sequence[Loop]) -> Executed:
    """Return what a fragment executes of a program: of a condition that takes a branch, everything.

    Args:
        listing: a line for each instruction.
        written: the shader's loops. Those that the compiler unrolled are the least that may be: ``_which``.
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
    fetches = sum(count for count, line in zip(times, listing) if _FETCH.match(line))
    return Executed(sum(times), fetches)


def _loop(first: int, last: int, branches: dict[int, int]) -> _Stays:
    inside = sorted(at for at in branches if first <= at < last)
    leave = next((at for at in inside if branches[at] > last), None)
    go_on = None if leave is None else next((at for at in inside if branches[at] == leave + _DELAY), None)
    return _Stays(first, last, leave, go_on)


def _times(loop: _Stays, at: int, turns: int) -> int:
    """Return how often an instruction is executed: the head once more than it turns, what leaves it once."""
    if loop.leave is None or at >= loop.leave + _DELAY:
        return turns
    if loop.go_on is not None and at >= loop.go_on + _DELAY:
        return 1
    return turns + 1


def _which(stay: Sequence[_Stays], written: Sequence[Loop]) -> Sequence[int]:
    """Return the turns of each loop that stays.

    They stand in each other as in the shader. Where several choices do, the one whose loops compute most: compilers
    unroll what turns little.
    """
    around = [sum(other.first <= loop.first and loop.last < other.last for other in stay) for loop in stay]
    best, turns = -1, [1] * len(stay)
    for chosen in itertools.combinations(range(len(written)), len(stay)):
        computed = sum(written[at].executed for at in chosen)
        if computed > best and [_around(at, chosen, written) for at in chosen] == around:
            best, turns = computed, [written[at].turns for at in chosen]
    return turns


def _around(at: int, chosen: Sequence[int], written: Sequence[Loop]) -> int:
    """Return how many of the chosen loops stand around one of them."""
    depth, count = written[at].depth, 0
    for before in range(at - 1, -1, -1):
        if written[before].depth < depth:
            depth = written[before].depth
            count += before in chosen
    return count
