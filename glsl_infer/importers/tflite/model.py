"""The content of a TensorFlow Lite file as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Quantization:
    """``real = scales * (stored - zeros)``: one value each, or one per index along ``axis``."""

    scales: NDArray[np.float64]
    zeros: NDArray[np.float64]
    axis: int


@dataclass(frozen=True)
class Level:
    """The storage of a sparse tensor along one axis: all indices, or segments and indices (both are set)."""

    size: int
    segments: NDArray[np.int64] | None = None
    indices: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Sparsity:
    """The levels of a sparse tensor, outermost first.

    Attributes:
        order: the axis of each level. Values from the rank on are blocks.
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
        name: as in the file.
        shape: with the batch axis.
        free: axes after the first whose size the file leaves open.
        type: TensorFlow Lite's name, such as ``FLOAT32``.
        data: bytes of a constant; None for a computed tensor.
        quantization: None for real values.
        sparsity: None for dense tensors.
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
    """One operation: its type (``CONV_2D``, or the name of a custom operator), and its input and output tensors.

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
    """The content of a file.

    Attributes:
        name: of the file, without the extension.
        tensors: all tensors.
        operators: in order of execution.
        inputs, outputs: (name, tensor) of each.
        others: the signatures of other functions, which are not imported.
    """

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    others: tuple[str, ...] = ()
