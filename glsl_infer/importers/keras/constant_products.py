"""Products of a map's channels, or of a vector, and a constant matrix -> a 1x1 convolution or a dense layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call, Converter, is_tensor
from glsl_infer.importers.keras.weights import array
from glsl_infer.importers.shared.transposed import PLAIN


def by_matrix(call: Call) -> list[Node]:
    """Convert a product of the last axis and a constant matrix; by shaders if textures can store the tensor.

    Raises:
        ModelError: the product is of another form.
    """
    kernel = _matrix(call)
    bias = np.zeros(kernel.shape[1], np.float32)
    if len(call.shapes[0]) == 3:
        return [call.node("conv2d", dict(PLAIN), kernel=kernel[None, None], bias=bias)]
    if len(call.shapes[0]) == 1:
        return [call.node("dense", {"activation": "linear"}, kernel=kernel, bias=bias)]
    return [call.node("linear", {}, kernel=kernel)]


def by_matrix_or(other: Converter) -> Converter:
    """Return a converter of such products of maps and vectors that leaves all other calls to ``other``."""

    def convert(call: Call) -> list[Node]:
        try:
            return by_matrix(call) if len(call.shapes) == 1 and len(call.shapes[0]) in (1, 3) else other(call)
        except ModelError:
            return other(call)

    return convert


def _refusal(call: Call) -> ModelError:
    kind = type(call.layer).__name__
    return call.refused(f"{kind} of this kind", "multiply the last axis of a tensor by a constant (channels, outputs)")


def _matrix(call: Call) -> NDArray[np.float32]:
    """Return the constant as (channels, outputs)."""
    values = list(call.arguments[0] if isinstance(call.arguments[0], (list, tuple)) else call.arguments)
    if len(values) != 2 or not is_tensor(values[0]) or is_tensor(values[1]):
        raise _refusal(call)
    constant = array(values[1])
    while type(call.layer).__name__ == "Matmul" and constant.ndim > 2 and constant.shape[0] == 1:
        constant = constant[0]
    summed = _SUMMED[type(call.layer).__name__](call.layer, len(call.shapes[0]) + 1)
    if constant.ndim != 2 or summed is None or constant.shape[summed] != call.shapes[0][-1]:
        raise _refusal(call)
    return np.ascontiguousarray(constant if summed == 0 else constant.T)


def _of_tensordot(operation: Any, rank: int) -> int | None:
    if operation.axes == 1:
        return 0
    if isinstance(operation.axes, int) or len(operation.axes) != 2:
        return None
    left, right = ([axes] if isinstance(axes, int) else list(axes) for axes in operation.axes)
    return int(right[0]) % 2 if len(left) == len(right) == 1 and left[0] % rank == rank - 1 else None


def _of_einsum(operation: Any, rank: int) -> int | None:
    terms, _, result = str(operation.subscripts).replace(" ", "").partition("->")
    given, _, other = terms.partition(",")
    if len(given) != rank or len(set(given)) != rank or len(other) != 2 or given[-1] not in other:
        return None
    summed = other.index(given[-1])
    new = other[1 - summed]
    return summed if new not in given and result == given[:-1] + new else None


_SUMMED: Mapping[str, Any] = {
    "Dot": lambda operation, rank: 0,
    "Einsum": _of_einsum,
    "Matmul": lambda operation, rank: 0,
    "Tensordot": _of_tensordot,
}
"""Function of an operation and the rank of its tensor: the summed axis of the constant, or None if unsupported."""
