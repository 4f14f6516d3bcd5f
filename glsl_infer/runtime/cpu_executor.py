"""Execution of a part of a model on the CPU: NumPy computes its operators, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from glsl_infer import cpu
from glsl_infer.bundle.parts import CpuPart
from glsl_infer.cpu.custom import Functions
from glsl_infer.errors import RunError
from glsl_infer.graph import Node
from glsl_infer.support.ndarray import NDArray


class CpuExecutor:
    """Executor of a CPU part of a bundle, with the user's functions for custom operators.

    Attributes:
        inputs: the tensors that it reads.
        operators: the names of its operators.
        computed: its operators by the names of their outputs.
    """

    def __init__(self, part: CpuPart, functions: Functions) -> None:
        self.inputs, self.operators = part.inputs, part.operators
        self.computed = {node.name: node for node in part.nodes}
        self._outputs, self._functions = part.outputs, functions
        self._values: dict[str, NDArray[np.float32]] = {}

    def put(self, tensors: Mapping[str, Any]) -> None:
        """Store the inputs of a frame, float32 arrays by name."""
        self._values = {name: tensors[name] for name in self.inputs}

    def draw(self) -> None:
        """Compute a frame."""
        for _ in self.layers():
            pass

    def read(self) -> dict[str, NDArray[np.float32]]:
        """Return the outputs of the last frame."""
        return {name: self._values[name] for name in self._outputs}

    def layers(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Compute a frame; yield the name and output of every operator."""
        for name, node in self.computed.items():
            self._values[name] = self._compute(node, [self._values[source] for source in node.inputs])
            yield name, self._values[name]

    def run_layer(self, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
        """Return the output of one operator for the caller's inputs, which are not rounded."""
        return self._compute(self.computed[name], [np.asarray(array, np.float32) for array in inputs])

    def _compute(self, node: Node, inputs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return an operator's output. Invalid attributes in the file are first detected here."""
        try:
            with np.errstate(all="ignore"):
                return np.asarray(cpu.compute(node, inputs, self._functions), np.float32)
        except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
            raise RunError(f"layer '{node.name}' ({node.op}) cannot be computed on the CPU: {error}") from error
