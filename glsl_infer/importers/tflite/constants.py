"""The constants of a file as arrays, also of sparse tensors, and constant folding.

Quantised values are converted to real values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.importers.core import limits
from glsl_infer.importers.core.folding import Folder
from glsl_infer.importers.tflite import evaluate
from glsl_infer.importers.tflite.model import Level, Model, Operator, Sparsity, Tensor


def dense(tensor: Tensor, sparsity: Sparsity, values: NDArray[Any]) -> NDArray[Any]:
    """Return a sparse tensor as a dense array, as DENSIFY does.

    The file lists the nonzero indices level by level. So the number of positions grows with each level, and finally
    equals the number of values.

    Args:
        tensor: the sparse tensor.
        sparsity: the positions of its values.
        values: the values, in the order of the levels.

    Raises:
        ModelError: positions and values do not match the tensor's shape.
    """
    rank = len(tensor.shape)
    problem = ModelError(f"'{tensor.name}': sparse weights that do not fit a shape of {tensor.shape}")
    outer, block_sizes = _level_sizes(tensor, sparsity, problem)
    sizes = [*outer, *block_sizes]
    indices: list[NDArray[np.int64]] = []  # of every position so far, for each level
    count = 1
    for axis, level in zip(sparsity.order, sparsity.levels):
        parents, level_indices = _children(level, sizes[axis], count, values.size, problem)
        indices = [earlier[parents] for earlier in indices] + [level_indices]
        count = len(level_indices)
    if count > values.size:
        raise problem
    by_axis = dict(zip(sparsity.order, indices))
    coordinates = [by_axis[axis] for axis in range(rank)]
    for block, (axis, block_size) in enumerate(zip(sparsity.block_axes, block_sizes)):
        coordinates[axis] = by_axis[axis] * block_size + by_axis[rank + block]
    filled = np.zeros(tensor.shape, values.dtype)
    filled[tuple(coordinates)] = values[:count]
    return filled


def _level_sizes(tensor: Tensor, sparsity: Sparsity, problem: ModelError) -> tuple[list[int], list[int]]:
    """Return the number of blocks along each axis of a tensor, and the size of each block axis.

    An axis without blocks has blocks of size 1.

    Raises:
        ModelError: ``problem``, if the levels do not match the tensor's shape.
    """
    rank, blocks = len(tensor.shape), len(sparsity.block_axes)
    if not rank or sorted(sparsity.order) != list(range(rank + blocks)) or len(sparsity.levels) != rank + blocks:
        raise problem
    if any(not 0 <= axis < rank for axis in sparsity.block_axes):
        raise problem
    counts, block_sizes = list(tensor.shape), [0] * blocks
    for axis, level in zip(sparsity.order, sparsity.levels):
        if axis >= rank:
            block_sizes[axis - rank] = level.size
    for block_size, axis in zip(block_sizes, sparsity.block_axes):
        if block_size < 1 or counts[axis] % block_size:
            raise problem
        counts[axis] //= block_size
    return counts, block_sizes


def _children(
    level: Level, size: int, parents: int, most: int, problem: ModelError
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for every entry of a level, its parent entry and its own index. There are at most ``most`` entries."""
    if level.segments is None or level.indices is None:
        if level.size != size or parents * size > most:
            raise problem
        return np.repeat(np.arange(parents), size), np.tile(np.arange(size), parents)
    counts = np.diff(level.segments)
    fits = len(counts) == parents and (counts >= 0).all() and counts.sum() == len(level.indices) <= most
    if not fits or (len(level.indices) and not 0 <= level.indices.min() <= level.indices.max() < size):
        raise problem
    return np.repeat(np.arange(parents), counts), level.indices


Numbers = NDArray[Any]

TYPES: Mapping[str, str] = {
    "FLOAT32": "<f4",
    "FLOAT16": "<f2",
    "FLOAT64": "<f8",
    "INT8": "i1",
    "UINT8": "u1",
    "INT16": "<i2",
    "UINT16": "<u2",
    "INT32": "<i4",
    "UINT32": "<u4",
    "INT64": "<i8",
    "BOOL": "?",
}
"""NumPy's name of each supported element type."""


class Constants:
    """The constants of one file."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.tensors: Sequence[Tensor] = model.tensors
        self._cache: dict[int, Numbers] = {}
        self._weights = limits.Weights(f"model '{model.name}'")

    def __contains__(self, index: int) -> bool:
        """Return whether the tensor is a constant."""
        return index in self._cache or (index >= 0 and self.tensors[index].data is not None)

    def __getitem__(self, index: int) -> Numbers:
        """Return a constant in the tensor's shape: floats as float32, quantised values as real values.

        Raises:
            ModelError: the size of its data does not match its shape, or all constants together are too large.
        """
        if index not in self._cache:
            tensor = self.tensors[index]
            values = _raw(tensor, self._weights.add)
            if tensor.quantization is not None and values.dtype.kind in "iu":
                self._weights.add(4 * values.size)
                values = _real(tensor, values)
            self._cache[index] = _in_float32(values)
        return self._cache[index]

    def get(self, index: int) -> Numbers | None:
        """Return a constant as ``[]`` does, or None if the tensor is not a constant."""
        if index not in self:
            return None
        return self[index]

    def fold(self, operator: Operator, shape_of: Callable[[int], tuple[int, ...] | None]) -> bool:
        """Compute an operator with constant inputs, or one that depends only on the shape of an input.

        Args:
            operator: the operator of the file.
            shape_of: returns the shape of a computed tensor, with the batch.

        Returns:
            Whether the operator was computed.

        Raises:
            ModelError: the constants do not match.
        """
        if operator.kind not in evaluate.FOLDED or operator.custom or len(operator.outputs) != 1 or not operator.inputs:
            return False
        if operator.options.get("FusedActivationFunction"):
            return False
        (output,) = operator.outputs
        if operator.kind == "SHAPE":
            shape = shape_of(operator.inputs[0])
            if shape is not None:
                self._cache[output] = np.asarray(shape, np.int64)
            return shape is not None
        if operator.kind == "ZEROS_LIKE" and not self.tensors[output].free:
            self._weights.add(4 * math.prod(self.tensors[output].shape))
            self._cache[output] = np.zeros(self.tensors[output].shape, np.float32)
            return True
        inputs = [index for index in operator.inputs if index >= 0]
        if not inputs or not all(index in self for index in inputs):
            return False
        self._cache[output] = self._computed(operator, self.tensors[output], inputs)
        return True

    def _computed(self, operator: Operator, tensor: Tensor, input_tensors: Sequence[int]) -> Numbers:
        """Return the result of an operator on constants, in the shape of the ``tensor`` that it computes.

        Raises:
            ModelError: the constants do not match, or the size of the result is unknown.
        """
        if tensor.free:
            raise ModelError(f"'{tensor.name}': {operator.kind} of constants without a known size")
        size = math.prod(tensor.shape)
        self._weights.add(4 * size)
        try:
            inputs = [self[index] for index in input_tensors]
            if operator.kind == "CAST":
                result: Numbers = inputs[0].astype(TYPES[tensor.type])
            else:
                result, *_ = evaluate.results_of(operator, Folder(8 * size), inputs, [tensor.shape], evaluate.FOLDED)
        except (ValueError, IndexError, TypeError, KeyError, ArithmeticError) as error:
            what = f"{operator.kind} of constants that do not fit ({str(error)[:200]})"
            raise ModelError(f"'{tensor.name}': {what}") from None
        if result.size != size:
            raise ModelError(f"'{tensor.name}': {operator.kind} of constants makes {result.shape}, not {tensor.shape}")
        return _in_float32(result.reshape(tensor.shape))


def _in_float32(values: Numbers) -> Numbers:
    """Return floats of any size as float32, and other values unchanged."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32) if values.dtype.kind == "f" else values


def _raw(tensor: Tensor, count: Callable[[int], None]) -> Numbers:
    """Return the stored values of a tensor, in its shape."""
    assert tensor.data is not None
    size = math.prod(tensor.shape)
    if tensor.sparsity is not None:
        count(4 * size)
        return dense(tensor, tensor.sparsity, _stored(tensor))
    stored = _stored(tensor)
    if stored.size < size or (stored.size != size and tensor.type != "INT4"):
        raise ModelError(f"'{tensor.name}': {stored.size} numbers for a shape of {tensor.shape}; the file is damaged")
    return stored[:size].reshape(tensor.shape)


def _stored(tensor: Tensor) -> Numbers:
    assert tensor.data is not None
    if tensor.type == "INT4":  # two to a byte, the lower half first
        packed = np.frombuffer(tensor.data, np.uint8)
        halves = np.stack([packed & 15, packed >> 4], axis=-1).reshape(-1).astype(np.int8)
        return np.where(halves > 7, halves - 16, halves).astype(np.int8)
    if tensor.type not in TYPES:
        raise ModelError(f"'{tensor.name}': constants of type {tensor.type} cannot be exported")
    kind = np.dtype(TYPES[tensor.type])
    if len(tensor.data) % kind.itemsize:
        raise ModelError(f"'{tensor.name}': {len(tensor.data)} bytes cannot be values of {tensor.type}")
    return np.frombuffer(tensor.data, kind)


def _real(tensor: Tensor, stored: Numbers) -> Numbers:
    """Return the real values of a quantised tensor."""
    quantization = tensor.quantization
    assert quantization is not None
    shape = [1] * stored.ndim
    if quantization.scales.size > 1:
        if not 0 <= quantization.axis < stored.ndim or stored.shape[quantization.axis] != quantization.scales.size:
            raise ModelError(f"'{tensor.name}': {quantization.scales.size} scales for a shape of {tensor.shape}")
        shape[quantization.axis] = quantization.scales.size
    scales, zeros = quantization.scales.reshape(shape), quantization.zeros.reshape(shape)
    with np.errstate(all="ignore"):
        return (scales.astype(np.float32) * (stored.astype(np.int32) - zeros.astype(np.int32))).astype(np.float32)
