"""Fusion of decomposed functions, normalisations and moves of values.

A subgraph to fuse has one output, and one input apart from constants. It is evaluated on test values, and its results
identify the operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.core.moves import arrangement
from glsl_infer.importers.core.recognition import COARSE, EXACT, activation_like, norm_like
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.evaluate import ELEMENTWISE, MOVES, REDUCTIONS, Compute, computed
from glsl_infer.importers.tflite.model import Operator, Tensor

ACTIVATION, NORMALIZATION, ARRANGEMENT, PLACES = "ACTIVATION", "NORMALIZATION", "ARRANGEMENT", "PLACES"
"""Types of the fused operators, whose options are ``Function``, ``Norm``, ``Arrangement`` and ``Places``."""

_LONGEST = 28
"""Largest number of operators of a subgraph."""
_MOST_SHOWN = 2**20
"""Largest number of elements of a test tensor for a normalisation."""
_MOST_MOVED = 2**22

_NORMS: Mapping[str, Compute] = {**ELEMENTWISE, **REDUCTIONS, "RESHAPE": MOVES["RESHAPE"], "SQUEEZE": MOVES["SQUEEZE"]}
_MADE_OF_FUNCTIONS = frozenset(ELEMENTWISE) - {"CAST", "QUANTIZE", "DEQUANTIZE"}
_PLAIN = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "CONCATENATION", "SPLIT", "SPLIT_V", "SLICE", "STRIDED_SLICE")
"""Moves that are imported directly. Fusing only these has no benefit."""

Piece = tuple[int, "list[Operator]"]
"""(the input tensor of a subgraph, its operators in order)."""


_PLAIN_FUNCTIONS = {
    "ABS": "absolute", "ELU": "elu(1)", "EXP": "exponential", "HARD_SWISH": "hard_silu", "LOGISTIC": "sigmoid",
    "RELU": "relu", "RELU6": "relu(6)", "SQUARE": "square", "TANH": "tanh",
}  # fmt: skip
"""Operators that are a function by themselves. They can be between a normalisation and a change of its shape."""

Found = TypeVar("Found")


def _tried(what: Callable[[], Found]) -> Found | None:
    try:
        return what()
    except MISFITS:
        return None


class FusedPatterns:
    """The decomposed patterns of a file.

    Args:
        tensors: with known shapes.
        constants: of the file.
        makers: the operator of every tensor.
        places: index of an operator in the file, by the tensors that it computes.
    """

    def __init__(
        self, tensors: Sequence[Tensor], constants: Constants, makers: Mapping[int, Operator], places: Mapping[int, int]
    ) -> None:
        self._tensors, self._constants, self._makers, self._places = tensors, constants, makers, places

    def whole(self, last: Operator) -> Operator | None:
        """Return the operator that replaces the longest matching subgraph that ends in ``last``, or None."""
        if last.custom or not last.inputs or not last.outputs or last.outputs[0] not in self._makers:
            return None
        if len(last.outputs) > 1:
            return self._batch_back(last) if last.kind in MOVES else None
        if last.kind in _MADE_OF_FUNCTIONS:
            return self._function(last) or self._norm(last)
        if last.kind in ("RESHAPE", "SQUEEZE"):
            return self._norm(last) or self._norm_before(last) or self._move(last) or self._batch_back(last)
        return (self._move(last) or self._batch_back(last)) if last.kind in MOVES else None

    def _pieces(self, last: Operator, kinds: Mapping[str, Compute]) -> list[Piece]:
        """Return all subgraphs of operators of some types that end in ``last``, longest first."""
        found: list[Piece] = []
        taken: dict[int, Operator] = {}
        waiting = set(last.outputs)
        while len(taken) < _LONGEST:
            top = max(waiting, key=lambda index: self._places.get(index, -1))
            maker = last if top in last.outputs else self._makers.get(top)
            if maker is None or maker.kind not in kinds or maker.custom or self._places[top] in taken:
                break
            taken[self._places[top]] = maker
            waiting.difference_update(maker.outputs)
            waiting.update(index for index in maker.inputs if index >= 0 and index not in self._constants)
            if not waiting:
                break
            if len(waiting) == 1:
                found.append((next(iter(waiting)), [taken[place] for place in sorted(taken)]))
        return found[::-1]

    def _function(self, last: Operator) -> Operator | None:
        for root, operators in self._pieces(last, ELEMENTWISE):
            if len(operators) == 1 and last.kind in _KNOWN:
                continue
            if self._tensors[root].type == "BOOL" or self._shape(root) != self._shape(last.outputs[0]):
                continue
            constants = self._read(operators)
            if any(value.size != 1 for value in constants.values()):
                continue

            def function(
                x: NDArray[np.float64], root: int = root, operators: list[Operator] = operators
            ) -> NDArray[np.float64]:
                scalars = {index: value.reshape(()).astype(np.float64) for index, value in constants.items()}  # noqa: B023
                return self._made(operators, {root: x, **scalars}, ELEMENTWISE, last)

            text = _tried(lambda: activation_like(function, self._numbers(constants), self._tolerance(operators)))  # noqa: B023
            if text is not None:
                return Operator(ACTIVATION, False, (root,), last.outputs, {"Function": text})
        return None

    def _norm(self, last: Operator) -> Operator | None:
        for root, operators in self._pieces(last, _NORMS):
            shape = self._shape(root)
            if not any(operator.kind in REDUCTIONS for operator in operators) or shape != self._shape(last.outputs[0]):
                continue
            if len(shape) not in (2, 3, 4) or shape[0] != 1 or math.prod(shape) > _MOST_SHOWN:
                continue
            constants = self._read(operators)
            inner = shape[1:] if len(shape) != 3 else shape
            fused, operators = self._without_activation(operators)  # noqa: PLW2901

            def function(
                x: NDArray[np.float64], root: int = root, operators: list[Operator] = operators
            ) -> NDArray[np.float64]:
                made = self._made(operators, {root: x.reshape(self._shape(root)), **constants}, _NORMS, last)  # noqa: B023
                return made.reshape(x.shape)

            norm = _tried(
                lambda: norm_like(function, inner, self._numbers(constants), self._tolerance(operators))  # noqa: B023
            )
            if norm is not None:
                options = {"Norm": norm, "FusedActivationFunction": fused}
                return Operator(NORMALIZATION, False, (root,), last.outputs, options)
        return None

    def _without_activation(self, operators: Sequence[Operator]) -> tuple[int, list[Operator]]:
        """Return the number of the fused activation, and the operators without it.

        Converters fuse an activation that follows a change of shape into the sum before the change.
        """
        found = list(operators)
        at = len(found) - 1
        while at > 0 and found[at].kind in ("RESHAPE", "SQUEEZE") and found[at].inputs[0] in found[at - 1].outputs:
            at -= 1
        fused = int(found[at].options.get("FusedActivationFunction", 0) or 0)
        found[at] = replace(found[at], options={**found[at].options, "FusedActivationFunction": 0})
        return fused, found

    def _norm_before(self, last: Operator) -> Operator | None:
        """Return the normalisation that precedes a function and a change of shape."""
        maker = self._makers.get(last.inputs[0]) if last.inputs else None
        function = self._function(maker) if maker is not None and maker.kind in _MADE_OF_FUNCTIONS else None
        text = _PLAIN_FUNCTIONS.get(maker.kind) if maker is not None and function is None else None
        if function is not None:
            root, text = function.inputs[0], str(function.options["Function"])
        elif text is not None and maker is not None and maker.inputs:
            root = maker.inputs[0]
        else:
            return None
        norm = self._norm(replace(last, inputs=(root, *last.inputs[1:])))
        return None if norm is None else replace(norm, options={**norm.options, "Then": text})

    def _move(self, last: Operator) -> Operator | None:
        made = self._shape(last.outputs[0])
        for root, operators in self._pieces(last, MOVES):
            shape = self._shape(root)
            if all(operator.kind in _PLAIN for operator in operators) and all(
                len(self._shape(index)) <= 4 for operator in operators for index in operator.outputs
            ):
                continue
            if {len(shape), len(made)} != {4} or shape[0] != 1 or made[0] != 1 or math.prod(shape) > _MOST_MOVED:
                continue
            constants = self._read(operators)
            index = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
            moved = _tried(lambda: self._made(operators, {root: index, **constants}, MOVES, last))  # noqa: B023
            if moved is None or moved.shape != made:
                continue
            found = arrangement(moved[0].astype(np.int64), shape[1:])
            if found is not None:
                return Operator(ARRANGEMENT, False, (root,), last.outputs, {"Arrangement": found})
        return None

    def _batch_back(self, last: Operator) -> Operator | None:
        """Return the move of values that moves the batch to another axis, takes a part, and moves the batch back."""
        ends = [self._shape(index) for index in last.outputs]
        if any(shape[:1] != (1,) or len(shape) < 2 for shape in ends):
            return None
        for root, operators in self._pieces(last, MOVES):
            shape = self._shape(root)
            if (
                shape[:1] != (1,)
                or math.prod(shape) > _MOST_MOVED
                or all(self._keeps_batch(operator) for operator in operators)
            ):
                continue
            constants = self._read(operators)
            index = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
            known = {root: index, **constants}
            made = _tried(lambda: computed(operators, known, self._tensors, MOVES))  # noqa: B023
            moved = [] if made is None else [np.asarray(made[index]) for index in last.outputs]
            if moved and [each.shape for each in moved] == ends:
                places = [each[0].astype(np.int64) for each in moved]
                return Operator(PLACES, False, (root,), last.outputs, {"Places": places})
        return None

    def _keeps_batch(self, operator: Operator) -> bool:
        order = self._constants.get(operator.inputs[1]) if operator.kind == "TRANSPOSE" else None
        return order is None or not order.size or int(order.reshape(-1)[0]) == 0

    def _made(
        self,
        operators: Sequence[Operator],
        known: Mapping[int, NDArray[np.generic]],
        table: Mapping[str, Compute],
        last: Operator,
    ) -> NDArray[np.float64]:
        result: NDArray[np.float64] = computed(operators, known, self._tensors, table)[last.outputs[0]]
        return result

    def _shape(self, index: int) -> tuple[int, ...]:
        return self._tensors[index].shape

    def _read(self, operators: Sequence[Operator]) -> dict[int, NDArray[np.generic]]:
        made = {index for operator in operators for index in operator.outputs}
        read = {index for operator in operators for index in operator.inputs if index >= 0} - made
        return {index: self._constants[index] for index in read if index in self._constants}

    @staticmethod
    def _numbers(constants: Mapping[int, NDArray[np.generic]]) -> Iterator[float]:
        for value in constants.values():
            if value.size == 1:
                yield float(value.reshape(-1)[0])

    def _tolerance(self, operators: Sequence[Operator]) -> float:
        """Return the tolerance of a subgraph: constants of few bits are rounded."""
        read = {index for operator in operators for index in operator.inputs if index >= 0}
        widened = [self._makers[index] for index in read if index in self._constants and index in self._makers]
        read.update(index for operator in widened for index in operator.inputs if index >= 0)
        few = {self._tensors[index].type for index in read} & {"FLOAT16", "INT8", "UINT8"}
        return COARSE if few else EXACT


_KNOWN = (
    "ABS", "ADD", "CAST", "COS", "DIV", "ELU", "EXP", "FLOOR", "GELU", "HARD_SWISH", "LEAKY_RELU", "LOG",
    "LOGISTIC", "MAXIMUM", "MINIMUM", "MUL", "NEG", "POW", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "RSQRT",
    "SIN", "SQRT", "SQUARE", "SUB", "TANH", "SQUARED_DIFFERENCE",
)  # fmt: skip
"""Operators that do not form a decomposed function by themselves."""
