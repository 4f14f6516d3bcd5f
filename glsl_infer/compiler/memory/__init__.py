"""Memory planning for intermediate results: tensors with disjoint lifetimes share an object.

An object is a piece of memory, or a texture. Its size is the maximum of its tensors' sizes. For textures, these are the
maximum width and the maximum height. A tensor keeps its object for all of its lifetime, so a step never overwrites data
still to be read.

    plan([400, 100, 300], [(0, 1), (1, 2), (2, 3)], "greedy").total          # 500: the third takes the first's place
    plan_textures([(20, 10), (5, 40), (20, 10)], [(0, 1), (1, 2), (2, 3)], "greedy").total       # 4 * (200 + 200)

The methods and their sources:

* ``naive``: an object for each tensor.
* ``greedy``: in order of execution, each tensor takes the free object nearest in size (Lee et al., "On-Device Neural
  Net Inference with Mobile GPUs", 2019, section 5).
* ``by-size``: greedy as well, the largest tensor first (Pisarchyk and Lee, "Efficient Memory Management for Deep
  Neural Net Inference", 2020, shared objects).

Neither greedy method is always the best, so ``sharing`` tries both. The third planner of the first paper, a flow of
minimum cost, saved at most 0.23 % more on 28 networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from glsl_infer.compiler.memory import greedy
from glsl_infer.compiler.memory.objects import BYTES_A_TEXEL, Choices, Lifetime, Plan, PlannedObjects, Size, Tensor
from glsl_infer.errors import InputError

__all__ = ["METHODS", "Lifetime", "Plan", "Size", "plan", "plan_textures"]

Planner = Callable[[Sequence[Tensor], int], PlannedObjects]
"""Function of the tensors and ``most_larger`` of ``plan_textures``."""

PLANNERS: Mapping[str, Planner] = {
    "naive": lambda tensors, most_larger: PlannedObjects([[tensor] for tensor in tensors]),
    "greedy": greedy.in_order,
    "by-size": greedy.by_size,
}
"""Planner of each sharing method; the module's documentation describes them."""

METHODS = tuple(PLANNERS)


def plan(sizes: Sequence[int], lifetimes: Sequence[Lifetime], method: str) -> Plan:
    """Plan shared memory for tensors with sizes in bytes.

    Args:
        sizes: bytes of each tensor, 1 or more.
        lifetimes: (first, last) step of each: it is written in the first, and last read in the last, both included.
        method: one of ``METHODS``.

    Raises:
        InputError: an unknown method; a size below 1, or a lifetime with its last step before its first.
    """
    return _plan([((size,),) for size in sizes], lifetimes, method, 0, unit=1)


def plan_textures(
    sizes: Sequence[Size | Sequence[Size]], lifetimes: Sequence[Lifetime], method: str, *, most_larger: int = 0
) -> Plan:
    """Plan shared RGBA8 textures.

    Args:
        sizes: (width, height) of each in texels; or several sizes to choose from, the best one for the tensor alone
            first, because the tiles of an atlas can be arranged in more than one way.
        lifetimes: as for ``plan``.
        method: one of ``METHODS``.
        most_larger: largest ratio of a shared texture to each of its tensors; 0 for no limit. A job clears and stores
            its entire texture, even if it draws only a small part.

    Raises:
        InputError: as for ``plan``.
    """
    return _plan([_choices(size) for size in sizes], lifetimes, method, most_larger, unit=BYTES_A_TEXEL)


def _choices(sizes: Size | Sequence[Size]) -> Choices:
    """Return one size, or a sequence of sizes, as a tuple of sizes."""
    several: list[Size] = []
    single: list[int] = []
    for size in sizes:
        if isinstance(size, int):
            single.append(size)
        else:
            several.append(size)
    return tuple(several) or (tuple(single),)


def _plan(
    choices: Sequence[Choices], lifetimes: Sequence[Lifetime], method: str, most_larger: int, *, unit: int
) -> Plan:
    """Check the arguments, and plan with one of ``PLANNERS``; ``unit`` is the number of bytes for one of a size."""
    if method not in PLANNERS:
        raise InputError(f"memory method '{method}'; choose one of {', '.join(METHODS)}")
    if len(choices) != len(lifetimes):
        raise InputError(f"{len(choices)} sizes and {len(lifetimes)} lifetimes; give one of each for every tensor")
    for index, (sizes, lifetime) in enumerate(zip(choices, lifetimes)):
        if any(length < 1 for size in sizes for length in size):
            size = " x ".join(map(str, sizes[0]))
            raise InputError(f"tensor {index}: a size of {size}; give 1 or more")
        if lifetime[0] > lifetime[1]:
            raise InputError(
                f"tensor {index}: lives from step {lifetime[0]} to {lifetime[1]}; give the first step first"
            )
    tensors = [Tensor(index, sizes_of, lifetime) for index, (sizes_of, lifetime) in enumerate(zip(choices, lifetimes))]
    return PLANNERS[method](tensors, most_larger).plan(method, unit)
