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
class _MachineLoop:
    """A loop of the machine code: its first and last instruction, and the branches of its head.

    ``leave`` jumps to the instruction after the loop. ``stay`` skips that jump while iterations remain. Each is None
    if absent.
    """

    first: int
    last: int
    leave: int | None
    stay: int | None


def executed(listing: Sequence[str], shader_loops: Sequence[Loop]) -> Executed:
    """Return the instructions and fetches executed for a fragment; see ``executions`` for the arguments."""
    times = executions(listing, shader_loops)
    return Executed(sum(times), sum(count for count, line in zip(times, listing) if _FETCH.match(line)))


def executions(listing: Sequence[str], shader_loops: Sequence[Loop]) -> list[int]:
    """Return how often each instruction is executed for a fragment; both sides of a conditional branch count.

    Args:
        listing: a line for each instruction.
        shader_loops: the shader's loops. ``_trip_counts`` decides which of them the compiler unrolled.
    """
    branches = {
        index: index + _DELAY + int(match[1]) // _BYTES
        for index, line in enumerate(listing)
        if (match := _BRANCH.match(line))
    }
    machine_loops = sorted(
        (_loop(target, index + _DELAY - 1, branches) for index, target in branches.items() if target <= index),
        key=lambda loop: (loop.first, -loop.last),
    )
    times = [1] * len(listing)
    for loop, trips in zip(machine_loops, _trip_counts(machine_loops, shader_loops)):
        for index in range(loop.first, min(loop.last + 1, len(listing))):
            times[index] *= _times(loop, index, trips)
    return times


def _loop(first: int, last: int, branches: dict[int, int]) -> _MachineLoop:
    inside = sorted(index for index in branches if first <= index < last)
    leave = next((index for index in inside if branches[index] > last), None)
    stay = None if leave is None else next((index for index in inside if branches[index] == leave + _DELAY), None)
    return _MachineLoop(first, last, leave, stay)


def _times(loop: _MachineLoop, index: int, trips: int) -> int:
    """Return the executions of an instruction: the trip count, in the head one more, and 1 in the exit."""
    if loop.leave is None or index >= loop.leave + _DELAY:
        return trips
    if loop.stay is not None and index >= loop.stay + _DELAY:
        return 1
    return trips + 1


def _trip_counts(machine_loops: Sequence[_MachineLoop], shader_loops: Sequence[Loop]) -> Sequence[int]:
    """Return the trip counts of the loops in the machine code.

    They are nested as in the shader. If several choices fit, the one with the most computation is used, because
    compilers unroll short loops.
    """
    depths = [
        sum(other.first <= loop.first and loop.last < other.last for other in machine_loops) for loop in machine_loops
    ]
    best, trips = -1, [1] * len(machine_loops)
    for chosen in itertools.combinations(range(len(shader_loops)), len(machine_loops)):
        computed = sum(shader_loops[index].executed for index in chosen)
        if computed > best and [_enclosing(index, chosen, shader_loops) for index in chosen] == depths:
            best, trips = computed, [shader_loops[index].turns for index in chosen]
    return trips


def _enclosing(index: int, chosen: Sequence[int], shader_loops: Sequence[Loop]) -> int:
    """Return the number of chosen loops around a loop."""
    depth, count = shader_loops[index].depth, 0
    for before in range(index - 1, -1, -1):
        if shader_loops[before].depth < depth:
            depth = shader_loops[before].depth
            count += before in chosen
    return count
