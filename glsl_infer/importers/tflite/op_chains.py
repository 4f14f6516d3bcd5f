"""Fusion of operator chains that converters write for one operator of the engine, before the import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from glsl_infer.importers.core.convolutions import dilated_padding, same_padding
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.model import Model, Operator

UPSAMPLE = "UPSAMPLE_NEAREST"
"""The type of the operator for repeated pixels. Its option ``Size`` has the factors (y, x)."""

AROUND = "Around"
"""Option of a convolution with its padding in pixels: (top, bottom, left, right)."""


class OpChains:
    """The operator chains of a file.

    Args:
        model: the file.
        constants: its constants. Only stored constants are known at this point.
        makers: the operator of every tensor.
    """

    def __init__(self, model: Model, constants: Constants, makers: Mapping[int, Operator]) -> None:
        self._model, self._constants, self._makers = model, constants, makers

    def whole(self, operator: Operator) -> Operator | None:
        """Return the operator that replaces the chain that ends in ``operator``, or None."""
        find = _LAST.get(operator.kind) if not operator.custom and operator.inputs else None
        return find(self, operator) if find is not None else None

    def _before(self, operator: Operator | None, *kinds: str) -> Operator | None:
        """Return the operator that computes the first input, if its type is one of ``kinds``."""
        maker = self._makers.get(operator.inputs[0]) if operator is not None and operator.inputs else None
        return maker if maker is not None and maker.kind in kinds and maker.inputs and not maker.custom else None

    def _numbers(self, operator: Operator, place: int) -> list[int]:
        index = operator.inputs[place] if place < len(operator.inputs) else -1
        stored = self._constants.get(index) if index >= 0 and self._model.tensors[index].data is not None else None
        return [] if stored is None else [int(number) for number in stored.reshape(-1)]

    def repeated(self, last: Operator) -> Operator | None:
        """Return the upsampling for a new axis of length 1 that is repeated and merged into the axis before it."""
        tile = self._before(last, "TILE", "BROADCAST_TO")
        expand = self._before(tile, "EXPAND_DIMS", "RESHAPE")
        if tile is None or expand is None:
            return None
        tensors = self._model.tensors
        source, wide, made = (tensors[index] for index in (expand.inputs[0], expand.outputs[0], last.outputs[0]))
        counts = self._numbers(tile, 1)
        if tile.kind == "BROADCAST_TO" and len(counts) == len(wide.shape):
            counts = [count if size == 1 else 1 for count, size in zip(counts, wide.shape)]
        repeats = [axis for axis, count in enumerate(counts) if count != 1]
        ranks = (len(source.shape), len(wide.shape), len(counts), len(made.shape))
        if ranks != (4, 5, 5, 4) or len(repeats) != 1 or repeats[0] not in (2, 3) or wide.shape[repeats[0]] != 1:
            return None
        (axis,), count = repeats, counts[repeats[0]]
        width = source.shape[2] * (count if axis == 3 else 1)
        if not {2} & {*source.free, *made.free} and made.shape[2] != width:
            return None
        size = (count, 1) if axis == 2 else (1, count)
        return Operator(UPSAMPLE, False, (expand.inputs[0],), last.outputs, {"Size": size})

    def reshaped(self, last: Operator) -> Operator | None:
        """Return the operator that replaces a chain that ends in a change of shape, or None."""
        return self.repeated(last) or self.dense(last)

    def dense(self, last: Operator) -> Operator | None:
        """Return the dense layer of each pixel for a dense layer between two changes of shape."""
        layer = self._before(last, "FULLY_CONNECTED")
        rows = self._before(layer, "RESHAPE")
        if layer is None or rows is None:
            return None
        source, flat, made = (
            self._model.tensors[index].shape for index in (rows.inputs[0], rows.outputs[0], last.outputs[0])
        )
        fits = len(source) > 2 and len(flat) == 2 and source[-1] == flat[-1] and source[:-1] == made[:-1]
        if not fits or {rows.inputs[0]} & set(self._constants_of(rows)):
            return None
        options = {**layer.options, "KeepNumDims": True}
        return replace(layer, inputs=(rows.inputs[0], *layer.inputs[1:]), outputs=last.outputs, options=options)

    def _constants_of(self, operator: Operator) -> list[int]:
        return [index for index in operator.inputs if index in self._constants]

    def dilated(self, last: Operator) -> Operator | None:
        """Return the dilated convolution for a convolution between space to batch and batch to space."""
        convolution = self._before(last, "CONV_2D", "DEPTHWISE_CONV_2D")
        first = self._before(convolution, "SPACE_TO_BATCH_ND")
        if convolution is None or first is None or len(convolution.inputs) < 2:
            return None
        block, padding = self._numbers(first, 1), self._numbers(first, 2)
        crops = self._numbers(last, 2)
        options = convolution.options
        plain = options.get("StrideH") == options.get("StrideW") == 1
        if not plain or len(block) != 2 or self._numbers(last, 1) != block or not len(padding) == len(crops) == 4:
            return None
        window = self._model.tensors[convolution.inputs[1]].shape[1:3]
        inner = (0, 0, 0, 0)
        if options.get("Padding") == 0:  # with strides of 1 the size does not matter
            (top, bottom), (left, right) = (same_padding(1024, taps, 1) for taps in window)
            inner = (top, bottom, left, right)
        around = dilated_padding(block, padding, crops, inner)
        attrs = {**options, AROUND: around, "DilationHFactor": block[0], "DilationWFactor": block[1]}
        inputs = (first.inputs[0], *convolution.inputs[1:])
        return replace(convolution, inputs=inputs, outputs=last.outputs, options=attrs)


_LAST: Mapping[str, Callable[[OpChains, Operator], Operator | None]] = {
    "RESHAPE": OpChains.reshaped,
    "BATCH_TO_SPACE_ND": OpChains.dilated,
}
