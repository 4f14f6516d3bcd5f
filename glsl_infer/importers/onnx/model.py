"""What an ONNX file holds, as plain data."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from numpy.typing import NDArray

Numbers = NDArray[Any]

Sizes = tuple[Optional[int], ...]
"""A shape with its batch; None for a size that the file leaves open."""


@dataclass(frozen=True)
class Declared:
    """What the file says of a tensor.

    Attributes:
        name: as the file has it.
        shape: None where the file says nothing.
        type: of NumPy, ``float32`` for example.
    """

    name: str
    shape: Sizes | None
    type: str


@dataclass(frozen=True)
class Operator:
    """One operation.

    Attributes:
        kind: its type, ``Conv`` for example.
        domain: whose it is; empty for ONNX itself.
        opset: the version of the domain that the file is written in.
        name: what the file calls it; may be empty.
        inputs: names of the tensors that it reads; empty for what is left out.
        outputs: names of the tensors that it makes; empty for what nobody reads.
        attributes: numbers, texts, arrays, tuples of them; ``Part`` for a graph inside.
    """

    kind: str
    domain: str
    opset: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The graphs inside it."""
        return tuple(value for value in self.attributes.values() if isinstance(value, Part))

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of all tensors that it, or a graph inside it, reads from outside."""
        return tuple(dict.fromkeys([*filter(None, self.inputs), *(name for part in self.parts for name in part.reads)]))


@dataclass(frozen=True)
class Part:
    """A graph: that of the file, or one inside an operator.

    Attributes:
        operators: each after those that it reads.
        constants: functions that return the stored numbers, by tensor.
        outputs: names of tensors.
    """

    operators: tuple[Operator, ...]
    constants: Mapping[str, Callable[[], Numbers]]
    outputs: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of tensors that it reads from outside."""
        made = {name for operator in self.operators for name in operator.outputs} | set(self.constants)
        read = [name for operator in self.operators for name in operator.reads]
        return tuple(name for name in dict.fromkeys([*read, *self.outputs]) if name not in made)


@dataclass(frozen=True)
class Model:
    """A file.

    Attributes:
        name: of the file, without its ending.
        part: its graph.
        inputs: what it reads, without constants.
        outputs: what it makes.
        known: what the file says of other tensors, by name.
        tensors: names of what the operators of the file's own graph make, as they are in the file.
    """

    name: str
    part: Part
    inputs: tuple[Declared, ...]
    outputs: tuple[Declared, ...]
    known: Mapping[str, Declared]
    tensors: frozenset[str]


def in_order(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return operators each after those that it reads, else as they are; those of a circle stand at the end.

    Some tools append what they put in between, and runtimes sort it.
    """
    makers = {name: place for place, operator in enumerate(operators) for name in operator.outputs if name}
    left = [{makers[name] for name in operator.reads if name in makers} for operator in operators]
    readers: dict[int, list[int]] = {}
    for place, sources in enumerate(left):
        for source in sources:
            readers.setdefault(source, []).append(place)
    ready = [place for place, sources in enumerate(left) if not sources]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for place in readers.get(order[-1], ()):
            left[place].discard(order[-1])
            if not left[place]:
                heapq.heappush(ready, place)
    circle = set(range(len(operators))) - set(order)
    return tuple(operators[place] for place in (*order, *sorted(circle)))


def renamed(part: Part, prefix: str) -> Part:
    """Return a part with other names for what it makes itself: parts beside it may have the same."""
    own = {name for operator in part.operators for name in operator.outputs} | set(part.constants)

    def new(name: str) -> str:
        return prefix + name if name and name in own else name

    operators = tuple(
        replace(
            operator,
            inputs=tuple(map(new, operator.inputs)),
            outputs=tuple(map(new, operator.outputs)),
            attributes={
                key: _read_as(value, new) if isinstance(value, Part) else value
                for key, value in operator.attributes.items()
            },
        )
        for operator in part.operators
    )
    constants = {new(name): read for name, read in part.constants.items()}
    return Part(operators, constants, tuple(map(new, part.outputs)))


def _read_as(part: Part, new: Callable[[str], str]) -> Part:
    """Return a part inside another with the new names of what it reads from there."""
    operators = tuple(
        replace(
            operator,
            inputs=tuple(map(new, operator.inputs)),
            attributes={
                key: _read_as(value, new) if isinstance(value, Part) else value
                for key, value in operator.attributes.items()
            },
        )
        for operator in part.operators
    )
    return Part(operators, part.constants, tuple(map(new, part.outputs)))
