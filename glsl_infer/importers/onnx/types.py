"""Element types of a file's tensors: a graph computes floats, but divisions of integers differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glsl_infer.importers.onnx.file import schema
from glsl_infer.importers.onnx.model import Operator

FLOAT, BOOL, WHOLE = "float32", "bool", "int64"

LOGICAL = (
    "And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not", "Or", "Xor",
)  # fmt: skip
"""Operators with a Boolean result."""

_PLACES = ("ArgMax", "ArgMin", "NonMaxSuppression")


def results(operator: Operator, operand_types: Sequence[str]) -> list[str]:
    """Return the type of each output of an operator, as NumPy's name.

    Args:
        operator: the operator of the file.
        operand_types: the types of its inputs; empty for inputs left out.
    """
    kind, count = operator.kind, max(len(operator.outputs), 1)
    first = operand_types[0] if operand_types else FLOAT
    if operator.domain or kind.startswith(("Dequantize", "Quantize", "QLinear")):
        return [FLOAT] * count
    if kind in LOGICAL:
        return [BOOL] * count
    if kind in _PLACES:
        return [WHOLE] * count
    if kind == "TopK":
        return [first, WHOLE][:count]
    if kind == "Cast":
        return [str(np.dtype(schema().helper.tensor_dtype_to_np_dtype(operator.attributes["to"])))]
    if kind == "CastLike" and len(operand_types) > 1:
        return [operand_types[1]]
    if kind == "Where" and len(operand_types) == 3:
        return [operand_types[1]]
    if kind == "OneHot" and len(operand_types) == 3:
        return [operand_types[2]]
    return [first or FLOAT] * count


def is_whole(kind: str) -> bool:
    """Return whether values of a type are integers or Booleans."""
    return kind.startswith(("int", "uint", "bool"))


def ends(kind: str) -> tuple[int, int]:
    """Return the lowest and the highest value of an integer type, by NumPy's name, such as ``int4``.

    Raises:
        ValueError: the type is not an integer type.
    """
    first, _, bits = kind.partition("int")
    if first not in ("", "u") or not bits.isdecimal():
        raise ValueError(f"values of type {kind}")
    return (0, 2 ** int(bits) - 1) if first else (-(2 ** (int(bits) - 1)), 2 ** (int(bits) - 1) - 1)
