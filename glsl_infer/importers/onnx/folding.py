"""Constant folding in NumPy, for example of the operators by which exporters compute shapes.

The size of a result is checked before the result is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.importers.onnx.folded_layers import LAYERS
from glsl_infer.importers.onnx.folded_moves import MOVES
from glsl_infer.importers.onnx.folded_numbers import NUMBERS
from glsl_infer.importers.onnx.model import Numbers, Operator
from glsl_infer.importers.onnx.view import View

Folded = Callable[[Sequence[Any], Operator, int], Any]
"""Function of the constants (None if left out), the operator, and the largest number of bytes of a result."""

_MISFITS = (
    *(ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError),
    *(MemoryError, RuntimeError),
)


def fold(operator: Operator, given: Sequence[Any], most: int) -> list[Numbers] | None:
    """Return the results of an operator if they are constant; else None.

    Args:
        operator: the operator of the file.
        given: its inputs: arrays, views, or None if left out.
        most: largest number of bytes of the results.

    Raises:
        ModelError: the constants do not match, or the result is too large.
    """
    if operator.domain:
        return None
    if operator.kind in _OF_SHAPES and len(given) == 1 and isinstance(given[0], View):
        return [_OF_SHAPES[operator.kind](given[0].shape, operator)]
    if operator.kind == "CastLike" and [isinstance(each, View) for each in given] == [False, True]:
        return [np.asarray(given[0], np.float32)]  # the network computes floats
    compute = _FOLDED.get(operator.kind)
    if compute is None or operator.parts or any(isinstance(each, View) for each in given):
        return None
    if not operator.inputs and operator.kind != "Constant":
        return None
    try:
        with np.errstate(all="ignore"):
            result = compute(given, operator, most)
        results = [np.asarray(each) for each in (result if isinstance(result, (list, tuple)) else [result])]
    except _MISFITS as error:
        raise ModelError(f"{operator.kind} of constants that do not fit ({str(error)[:120]})") from None
    if sum(each.nbytes for each in results) > most:
        raise ModelError(f"{operator.kind} of constants makes more numbers than there is room for")
    return results


def _shape(shape: tuple[int, ...], operator: Operator) -> Numbers:
    part = slice(operator.attributes.get("start"), operator.attributes.get("end"))
    return np.asarray(shape[part], np.int64)


def _size(shape: tuple[int, ...], operator: Operator) -> Numbers:
    return np.asarray(math.prod(shape), np.int64)


_OF_SHAPES: Mapping[str, Callable[[tuple[int, ...], Operator], Numbers]] = {"Shape": _shape, "Size": _size}

_FOLDED: Mapping[str, Folded] = {
    **LAYERS,
    **MOVES,
    **NUMBERS,
    "Shape": lambda given, operator, most: _shape(given[0].shape, operator),
    "Size": lambda given, operator, most: _size(given[0].shape, operator),
}
