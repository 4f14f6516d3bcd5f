"""Fusion before the import: dilated convolutions, and moves of values that move the batch to another axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.core.convolutions import dilated_padding, same_padding
from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.tflite.call import AROUND
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.evaluate import MOVES, computed
from glsl_infer.importers.tflite.model import Model, Operator, Tensor


def dilated(model: Model, constants: Constants, producers: Mapping[int, Operator], last: Operator) -> Operator | None:
    """Return the dilated convolution for a convolution between space to batch and batch to space, or None.

    Args:
        model: the file.
        constants: its constants.
        producers: the operator of every tensor.
        last: an operator of the file.
    """

    def operator_before(operator: Operator, *kinds: str) -> Operator | None:
        producer = producers.get(operator.inputs[0]) if operator.inputs else None
        return producer if producer is not None and producer.kind in kinds and not producer.custom else None

    def integers(operator: Operator, position: int) -> list[int]:
        """Return a constant input of an operator; [] if it is not stored in the file."""
        tensor = operator.inputs[position] if position < len(operator.inputs) else -1
        stored = constants.get(tensor) if tensor >= 0 and model.tensors[tensor].data is not None else None
        return [] if stored is None else [int(integer) for integer in stored.reshape(-1)]

    if last.kind != "BATCH_TO_SPACE_ND" or last.custom:
        return None
    convolution = operator_before(last, "CONV_2D", "DEPTHWISE_CONV_2D")
    first = operator_before(convolution, "SPACE_TO_BATCH_ND") if convolution is not None else None
    if convolution is None or first is None or len(convolution.inputs) < 2:
        return None
    block, padding, crops = integers(first, 1), integers(first, 2), integers(last, 2)
    options = convolution.options
    has_strides = not options.get("StrideH") == options.get("StrideW") == 1
    if has_strides or len(block) != 2 or integers(last, 1) != block or not len(padding) == len(crops) == 4:
        return None
    window = model.tensors[convolution.inputs[1]].shape[1:3]
    inner = (0, 0, 0, 0)
    if options.get("Padding") == 0:  # with strides of 1 the size does not matter
        (top, bottom), (left, right) = (same_padding(1024, taps, 1) for taps in window)
        inner = (top, bottom, left, right)
    around = dilated_padding(block, padding, crops, inner)
    attrs = {**options, AROUND: around, "DilationHFactor": block[0], "DilationWFactor": block[1]}
    inputs = (first.inputs[0], *convolution.inputs[1:])
    return replace(convolution, inputs=inputs, outputs=last.outputs, options=attrs)


PLACES = "PLACES"
"""Type of the fused operator for moves of values. Its option ``Places`` has the sources of each output."""

_LONGEST = 28
"""Largest number of operators of a subgraph."""
_MOST_MOVED = 2**22

Piece = tuple[int, "list[Operator]"]
"""(the input tensor of a subgraph, its operators in order)."""


class BatchMoves:
    """The subgraphs of a file that move the batch to another axis, take a part, and move the batch back.

    A subgraph to fuse has one input apart from constants. It is evaluated on the indices of its input's values.

    Args:
        tensors: with known shapes.
        constants: of the file.
        producers: the operator of every tensor.
        positions: index of an operator in the file, by the tensors that it computes.
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        constants: Constants,
        producers: Mapping[int, Operator],
        positions: Mapping[int, int],
    ) -> None:
        self._tensors, self._constants, self._producers, self._positions = tensors, constants, producers, positions

    def fused(self, last: Operator) -> Operator | None:
        """Return the operator that replaces the longest matching subgraph that ends in ``last``, or None."""
        if last.custom or not last.inputs or not last.outputs or last.outputs[0] not in self._producers:
            return None
        return self._batch_back(last) if last.kind in MOVES else None

    def _pieces(self, last: Operator) -> list[Piece]:
        """Return all subgraphs of moves that end in ``last``, longest first."""
        pieces: list[Piece] = []
        chosen: dict[int, Operator] = {}
        open_tensors = set(last.outputs)
        while len(chosen) < _LONGEST:
            top = max(open_tensors, key=lambda index: self._positions.get(index, -1))
            producer = last if top in last.outputs else self._producers.get(top)
            if producer is None or producer.kind not in MOVES or producer.custom or self._positions[top] in chosen:
                break
            chosen[self._positions[top]] = producer
            open_tensors.difference_update(producer.outputs)
            open_tensors.update(index for index in producer.inputs if index >= 0 and index not in self._constants)
            if not open_tensors:
                break
            if len(open_tensors) == 1:
                pieces.append((next(iter(open_tensors)), [chosen[index] for index in sorted(chosen)]))
        return pieces[::-1]

    def _batch_back(self, last: Operator) -> Operator | None:
        """Return the move of values that moves the batch to another axis, takes a part, and moves the batch back."""
        output_shapes = [self._shape(index) for index in last.outputs]
        if any(shape[:1] != (1,) or len(shape) < 2 for shape in output_shapes):
            return None
        for root, operators in self._pieces(last):
            shape = self._shape(root)
            if (
                shape[:1] != (1,)
                or math.prod(shape) > _MOST_MOVED
                or all(self._keeps_batch(operator) for operator in operators)
            ):
                continue
            constants = self._constants_of(operators)
            index = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
            inputs = {root: index, **constants}
            try:
                values = computed(operators, inputs, self._tensors, MOVES)
            except MISFITS:
                continue
            sources = [np.asarray(values[index]) for index in last.outputs]
            if [source.shape for source in sources] == output_shapes:
                indices = [source[0].astype(np.int64) for source in sources]
                return Operator(PLACES, False, (root,), last.outputs, {"Places": indices})
        return None

    def _keeps_batch(self, operator: Operator) -> bool:
        order = self._constants.get(operator.inputs[1]) if operator.kind == "TRANSPOSE" else None
        return order is None or not order.size or int(order.reshape(-1)[0]) == 0

    def _shape(self, index: int) -> tuple[int, ...]:
        return self._tensors[index].shape

    def _constants_of(self, operators: Sequence[Operator]) -> dict[int, NDArray[np.generic]]:
        computed_tensors = {index for operator in operators for index in operator.outputs}
        inputs = {index for operator in operators for index in operator.inputs if index >= 0} - computed_tensors
        return {index: self._constants[index] for index in inputs if index in self._constants}
