"""Greedy sharing: each tensor in turn takes a free object, or a new one. Earlier choices are never revised.

There are two orders, and neither is always better. In order of execution, an object may have to grow. In order of
sizes, a tensor may take an object that a later, smaller tensor could have had alone.
"""

from __future__ import annotations

import bisect
import math
import sys
from collections.abc import Callable, Sequence

from glsl_infer.compiler.memory.objects import Lifetime, PlannedObjects, Size, Tensor, within

Rank = Callable[[Tensor, Size, int], tuple[int, ...]]
"""Function of a tensor, an object's size and its necessary growth; the object with the least result is taken."""


def in_order(tensors: Sequence[Tensor], most_larger: int) -> PlannedObjects:
    """Share in order of execution: each tensor takes the free object nearest to it in size.

    Args:
        tensors: all tensors, numbered from 0.
        most_larger: see ``memory.plan_textures``.
    """
    order = sorted(tensors, key=lambda tensor: (tensor.lifetime[0], tensor.index))
    return _share(order, lambda tensor, size, growth: (abs(math.prod(size) - tensor.area), growth), most_larger)


def by_size(tensors: Sequence[Tensor], most_larger: int) -> PlannedObjects:
    """Share from the largest tensor to the smallest: each takes the free object with the least growth.

    Objects of one dimension never grow. Among objects with the same growth, the tensor takes the smallest.

    Args:
        tensors: all tensors, numbered from 0.
        most_larger: see ``memory.plan_textures``.
    """
    order = sorted(tensors, key=lambda tensor: (-tensor.area, tensor.index))
    return _share(order, lambda tensor, size, growth: (growth, math.prod(size)), most_larger)


def _share(order: Sequence[Tensor], rank: Rank, most_larger: int) -> PlannedObjects:
    """Give each tensor in turn the free object with the least rank, or a new object if none may grow to its size."""
    members: list[list[Tensor]] = []
    sizes: list[Size] = []
    steps: list[list[Lifetime]] = []  # lifetimes of each object's tensors, in order; they never overlap
    smallest_areas: list[int] = []  # area of each object's smallest tensor
    for tensor in order:
        best: tuple[tuple[int, ...], int, Size] | None = None  # rank, object, its new size
        for index, size in enumerate(sizes):
            if meets(tensor.lifetime, steps[index]):
                continue
            larger, _ = within(size, tensor.choices)
            growth = math.prod(larger) - math.prod(size)
            smallest = min(tensor.area, smallest_areas[index])
            if growth >= tensor.area or (most_larger and math.prod(larger) > most_larger * smallest):
                continue
            key = (*rank(tensor, size, growth), index)
            if best is None or key < best[0]:
                best = key, index, larger
        if best is None:
            members.append([tensor])
            sizes.append(tensor.choices[0])
            steps.append([tensor.lifetime])
            smallest_areas.append(tensor.area)
        else:
            _, index, size = best
            sizes[index] = size
            members[index].append(tensor)
            bisect.insort(steps[index], tensor.lifetime)
            smallest_areas[index] = min(smallest_areas[index], tensor.area)
    return PlannedObjects(members, sizes)


def meets(lifetime: Lifetime, others: Sequence[Lifetime]) -> bool:
    """Return whether a lifetime overlaps one of several others, which are in order and do not overlap each other."""
    index = bisect.bisect_right(others, (lifetime[1], sys.maxsize))
    return index > 0 and others[index - 1][1] >= lifetime[0]
