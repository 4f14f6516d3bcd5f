"""The content of an ONNX file as plain data."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from numpy.typing import NDArray

Numbers = NDArray[Any]

Sizes = tuple[Optional[int], ...]
"""A shape with its batch, and None for an open size."""


@dataclass(frozen=True)
class Declared:
    """The declaration of a tensor in the file.

    Attributes:
        name: as in the file.
        shape: None if the file does not declare it.
        type: NumPy's name, such as ``float32``.
    """

    name: str
    shape: Sizes | None
    type: str


@dataclass(frozen=True)
class Operator:
    """One operation.

    Attributes:
        kind: its type, such as ``Conv``.
        domain: its domain; empty for ONNX itself.
        opset: the file's version of the domain.
        name: its name in the file, possibly empty.
        inputs: names of its input tensors; empty for inputs left out.
        outputs: names of its output tensors; empty for outputs without a reader.
        attributes: numbers, texts, arrays, tuples of them; ``Part`` for a nested graph.
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
        """Its nested graphs."""
        return tuple(value for value in self.attributes.values() if isinstance(value, Part))

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of all tensors read from outside, by it or by a nested graph."""
        return tuple(dict.fromkeys([*filter(None, self.inputs), *(name for part in self.parts for name in part.reads)]))


@dataclass(frozen=True)
class Part:
    """A graph: the file's main graph, or one nested in an operator.

    Attributes:
        operators: in topological order.
        constants: functions that return the stored values, by the tensor's name.
        outputs: names of its output tensors.
    """

    operators: tuple[Operator, ...]
    constants: Mapping[str, Callable[[], Numbers]]
    outputs: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the tensors read from outside."""
        computed = {name for operator in self.operators for name in operator.outputs} | set(self.constants)
        read = [name for operator in self.operators for name in operator.reads]
        return tuple(name for name in dict.fromkeys([*read, *self.outputs]) if name not in computed)


@dataclass(frozen=True)
class Model:
    """The content of a file.

    Attributes:
        name: of the file, without the extension.
        part: its graph.
        inputs: its inputs, without constants.
        outputs: its outputs.
        known: declarations of other tensors, by name.
        tensors: names of the tensors that operators of the main graph compute, as in the file.
    """

    name: str
    part: Part
    inputs: tuple[Declared, ...]
    outputs: tuple[Declared, ...]
    known: Mapping[str, Declared]
    tensors: frozenset[str]


def in_order(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return operators in topological order, otherwise in the given order. Those in a cycle are at the end.

    Some tools append inserted operators at the end of a file, and runtimes sort them.
    """
    makers = {name: index for index, operator in enumerate(operators) for name in operator.outputs if name}
    left = [{makers[name] for name in operator.reads if name in makers} for operator in operators]
    readers: dict[int, list[int]] = {}
    for index, sources in enumerate(left):
        for source in sources:
            readers.setdefault(source, []).append(index)
    ready = [index for index, sources in enumerate(left) if not sources]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for index in readers.get(order[-1], ()):
            left[index].discard(order[-1])
            if not left[index]:
                heapq.heappush(ready, index)
    circle = set(range(len(operators))) - set(order)
    return tuple(operators[index] for index in (*order, *sorted(circle)))


def renamed(part: Part, prefix: str) -> Part:
    """Return a part with a prefix to the names of its own tensors, which may clash with those of its sibling."""
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
    """Return a nested part with the new names of the tensors read from outside."""
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
