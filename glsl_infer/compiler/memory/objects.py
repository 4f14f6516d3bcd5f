"""Tensors, their shared objects, and the finished plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BYTES_A_TEXEL = 4
"""Bytes of an RGBA8 texel."""

Size = tuple[int, ...]
"""Size in bytes, as a tuple of one; or width and height in texels."""

Choices = tuple[Size, ...]
"""Possible sizes of a tensor; the first is the best if the tensor does not share."""

Lifetime = tuple[int, int]
"""First and last step of a tensor, both included."""


@dataclass(frozen=True)
class Tensor:
    """Data with a size and a lifetime."""

    index: int
    choices: Choices
    lifetime: Lifetime

    @property
    def area(self) -> int:
        """Size in bytes or texels of the first choice."""
        return math.prod(self.choices[0])

    def meets(self, other: Tensor) -> bool:
        """Return whether both are alive in some step."""
        return self.lifetime[0] <= other.lifetime[1] and other.lifetime[0] <= self.lifetime[1]


@dataclass(frozen=True)
class Plan:
    """Assignment of tensors to shared objects.

    Attributes:
        method: the sharing method.
        objects: size of each object.
        placement: index of each tensor's object.
        sizes: the chosen size of each tensor within its object.
        total: bytes of all objects.
    """

    method: str
    objects: tuple[Size, ...]
    placement: tuple[int, ...]
    sizes: tuple[Size, ...]
    total: int


@dataclass(frozen=True)
class PlannedObjects:
    """Objects before their sizes are final: the tensors of each, and sizes known to suffice (empty if unknown)."""

    tensors: Sequence[Sequence[Tensor]]
    enough: Sequence[Size] = ()

    def plan(self, method: str, unit: int) -> Plan:
        """Return the plan in which each tensor takes the size with the best fit to its object."""
        count = sum(len(members) for members in self.tensors)
        placement, sizes = [0] * count, [(0,)] * count  # type: list[int], list[Size]
        objects = []
        for index, members in enumerate(self.tensors):
            size, chosen = fitted(members)
            if self.enough and math.prod(self.enough[index]) < math.prod(size):
                size = self.enough[index]
                chosen = [
                    next(choice for choice in tensor.choices if covering(size, choice) == size) for tensor in members
                ]
            objects.append(size)
            for tensor, choice in zip(members, chosen):
                placement[tensor.index], sizes[tensor.index] = index, choice
        total = unit * sum(math.prod(size) for size in objects)
        return Plan(method, tuple(objects), tuple(placement), tuple(sizes), total)


def covering(size: Size, other: Size) -> Size:
    """Return the size of an object for both sizes."""
    return tuple(map(max, size, other))


def within(size: Size, choices: Iterable[Size]) -> tuple[Size, Size]:
    """Return the least size to which an object must grow for one of the choices, and the choice."""
    return min(((covering(size, choice), choice) for choice in choices), key=lambda pair: math.prod(pair[0]))


def fitted(members: Sequence[Tensor]) -> tuple[Size, list[Size]]:
    """Return the size of an object and the chosen size of each of its tensors.

    A single tensor takes its first choice. Of several, the largest sets the shape: each of its choices is
    tried, and every other tensor in turn takes the choice with the least growth of the object.
    """
    if len(members) == 1:
        return members[0].choices[0], [members[0].choices[0]]
    order = sorted(members, key=lambda tensor: (-tensor.area, tensor.index))
    best: tuple[Size, dict[int, Size]] | None = None
    for first in order[0].choices:
        size, chosen = first, {order[0].index: first}
        for tensor in order[1:]:
            size, chosen[tensor.index] = within(size, tensor.choices)
        if best is None or math.prod(size) < math.prod(best[0]):
            best = size, chosen
    assert best is not None
    return best[0], [best[1][tensor.index] for tensor in members]
