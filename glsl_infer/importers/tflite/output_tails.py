"""The output tail of a TensorFlow Lite model as host steps, as in ``importers.core.output_tail``."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.graph.host_steps import ARGMAX, CONCATENATE, NORMALIZE, ROWS, SIGMOID, SOFTMAX, HostStep
from glsl_infer.importers.core.output_tail import NOTHING, Layers, OutputTail, split_host_steps
from glsl_infer.importers.core.report import CPU, DROPPED, LayerStatus
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.model import Model, Operator, Tensor

_NO_CHANGE = ("DEQUANTIZE", "QUANTIZE", "CAST")
_MOST_ROWS = 256
"""Largest number of operators in output tails that a table lists."""


class OutputTails:
    """The output tails of one file."""

    def __init__(self, model: Model, constants: Constants, makers: Mapping[int, Operator]) -> None:
        self._model, self._constants, self._makers = model, constants, makers

    def of(self, index: int) -> OutputTail[int]:
        """Return the tail of an output tensor. Rows that host steps do not make are computed as a tensor."""
        reached = split_host_steps(index, Layers(self._step, self._is_join, self._inputs))
        if any(_is_rows(self._model.tensors[left]) for left in reached.tensors):
            return OutputTail((index,), ())
        return reached

    def ended(self) -> list[LayerStatus]:
        """Return the report rows for the operators in output tails."""
        verdicts = []
        waiting = [index for _, index in self._model.outputs if self.of(index).tensors != (index,)]
        for _ in range(_MOST_ROWS):
            if not waiting:
                break
            index = waiting.pop()
            step = HostStep(CONCATENATE) if self._is_join(index) else self._step(index)
            if step is None:
                continue
            runs, note = (DROPPED, "") if step == NOTHING else (CPU, f"host step '{step.step}' of an output")
            tensor = self._model.tensors[index]
            verdicts.append(
                LayerStatus(f"{tensor.name:.96}", self._makers[index].kind, tensor.shape[1:], runs, note=note)
            )
            waiting += self._inputs(index)
        return verdicts[::-1]

    def _inputs(self, index: int) -> list[int]:
        """Return the inputs of a tensor's operator, without constants."""
        operator = self._makers[index]
        read = operator.inputs if operator.kind == "CONCATENATION" else operator.inputs[:1]
        return [given for given in read if given >= 0 and given not in self._constants]

    def _is_join(self, index: int) -> bool:
        operator, tensor = self._makers.get(index), self._model.tensors[index]
        if operator is None or operator.kind != "CONCATENATION" or operator.options.get("FusedActivationFunction"):
            return False
        rank = len(tensor.shape)
        whole = len(self._inputs(index)) == len(operator.inputs)
        return whole and _is_rows(tensor) and operator.options.get("Axis") in (rank - 2, -2)

    def _step(self, index: int) -> HostStep | None:
        """Return the host step of a tensor's operator, or None."""
        operator, tensor = self._makers.get(index), self._model.tensors[index]
        if operator is None or operator.custom:
            return None
        given = [self._model.tensors[read] for read in self._inputs(index)]
        if not given:
            return None
        rank = len(given[0].shape)
        if operator.kind == "ARG_MAX" and len(operator.inputs) == 2 and operator.inputs[1] in self._constants:
            axes = self._constants[operator.inputs[1]].reshape(-1).tolist()
            return HostStep(ARGMAX) if axes in ([-1], [rank - 1]) and not _is_rows(given[0]) else None
        if operator.kind == "L2_NORMALIZATION" and not operator.options.get("FusedActivationFunction"):
            return HostStep(NORMALIZE)
        if operator.kind in _NO_CHANGE:
            return NOTHING if _is_rows(tensor) else None
        if operator.kind == "RESHAPE":
            return self._reshape(given[0], tensor)
        if not _is_rows(tensor):
            return None
        if operator.kind == "LOGISTIC":
            return HostStep(SIGMOID)
        return HostStep(SOFTMAX) if operator.kind == "SOFTMAX" and operator.options.get("Beta") == 1.0 else None

    def _reshape(self, given: Tensor, made: Tensor) -> HostStep | None:
        """Return the host step of a reshape to rows, or ``NOTHING`` if the input already is rows of this length."""
        if not _is_rows(made) or len(made.shape) - 1 in made.free:
            return None
        return NOTHING if _is_rows(given) and given.shape[-1] == made.shape[-1] else HostStep(ROWS, made.shape[-1])


def _is_rows(tensor: Tensor) -> bool:
    """Return whether a tensor is an array of rows: (1, rows, columns) or (rows, columns)."""
    shape = tensor.shape
    return len(shape) == 3 or (len(shape) == 2 and shape[0] != 1)
