"""Queries of a file's operators as a network: producers and readers of tensors, and small constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.importers.onnx.folding import fold
from glsl_infer.importers.onnx.model import Numbers, Operator, Part

MOST_NUMBERS = 1 << 16
"""Largest number of elements of a constant that is read before the import."""


class Network:
    """The operators of one part of a file, by the tensors between them.

    Attributes:
        part: the operators.
        makers: index of the operator that computes a tensor, by the tensor's name.
        readers: indices of the operators that read a tensor.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.makers: dict[str, int] = {}
        self.readers: dict[str, list[int]] = {}
        self._constants: dict[str, Numbers | None] = {}
        for place, operator in enumerate(part.operators):
            for name in operator.outputs:
                self.makers.setdefault(name, place)
            for name in operator.reads:
                self.readers.setdefault(name, []).append(place)

    def maker(self, name: str, *kinds: str) -> Operator | None:
        """Return the ONNX operator that computes a tensor, if its type is one of ``kinds``."""
        place = self.makers.get(name)
        operator = None if place is None else self.part.operators[place]
        return operator if operator is not None and not operator.domain and operator.kind in kinds else None

    def only_reader(self, name: str) -> tuple[int, Operator] | None:
        """Return (index, operator) of the only reader of a tensor; None for an output, or for several readers."""
        places = self.readers.get(name, [])
        if len(places) != 1 or name in self.part.outputs:
            return None
        return places[0], self.part.operators[places[0]]

    def constant(self, name: str, depth: int = 0) -> Numbers | None:
        """Return a small constant, including the result of operators on small constants; else None."""
        if name in self._constants:
            return self._constants[name]
        self._constants[name] = None  # guards against cycles in a damaged file
        value = self._read(name, depth)
        self._constants[name] = value if value is not None and value.size <= MOST_NUMBERS else None
        return self._constants[name]

    def _read(self, name: str, depth: int) -> Numbers | None:
        try:
            if name in self.part.constants:
                return self.part.constants[name]()
            place = self.makers.get(name)
            if place is None or depth > 64:
                return None
            operator = self.part.operators[place]
            given = [self.constant(read, depth + 1) for read in operator.inputs]
            if any(value is None and read for value, read in zip(given, operator.inputs)):
                return None
            results = fold(operator, given, 8 * MOST_NUMBERS)
            return None if results is None else results[operator.outputs.index(name)]
        except ModelError:
            return None

    def number(self, name: str) -> float | None:
        """Return a scalar constant, or None."""
        value = self.constant(name)
        if value is None or value.size != 1 or value.dtype.kind not in "fiu":
            return None
        return float(np.asarray(value).reshape(-1)[0])

    def replaced(self, changed: dict[int, Operator]) -> Part:
        """Return the part with operators replaced by index. The import drops operators without a reader."""
        operators: Sequence[Operator] = [changed.get(place, each) for place, each in enumerate(self.part.operators)]
        return Part(tuple(operators), self.part.constants, self.part.outputs)
