"""What a TensorFlow Lite file holds, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Quantization:
    """``real = scales * (stored - zeros)``: one number each, or one for each index along ``axis``."""

    scales: NDArray[np.float64]
    zeros: NDArray[np.float64]
    axis: int


@dataclass(frozen=True)
class Level:
    """How a sparse tensor is stored along one axis: all indices, or segments and indices (of which both are given)."""

    size: int
    segments: NDArray[np.int64] | None = None
    indices: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Sparsity:
    """The levels of a sparse tensor, outermost first.

    Attributes:
        order: the axis of each level; those from the rank on are blocks.
        block_axes: the axis that each block divides.
        levels: one for each entry of ``order``.
    """

    order: tuple[int, ...]
    block_axes: tuple[int, ...]
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor.

    Attributes:
        name: as the file has it.
        shape: with the batch axis.
        free: axes, besides the first, whose size the file leaves open.
        type: TensorFlow Lite's name, ``FLOAT32`` for example.
        data: bytes of a constant; None of what operators compute.
        quantization: None of numbers that are what they stand for.
        sparsity: None of dense tensors.
    """

    name: str
    shape: tuple[int, ...]
    free: tuple[int, ...]
    type: str
    data: memoryview | None
    quantization: Quantization | None = None
    sparsity: Sparsity | None = None


@dataclass(frozen=True)
class Operator:
    """One operation: its kind (``CONV_2D``, or the name of a custom one), and the tensors it reads and makes.

    An input of -1 is left out.
    """

    kind: str
    custom: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    custom_options: bytes = b""


@dataclass(frozen=True)
class Model:
    """A file.

    Attributes:
        name: of the file, without its ending.
        tensors: all of them.
        operators: in order of execution.
        inputs, outputs: (name, tensor) of each.
        others: the signatures of other functions, which are not read.
    """

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    others: tuple[str, ...] = ()
