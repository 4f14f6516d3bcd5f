"""Operators of two tensors, or of a tensor and a constant, value by value -> nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.shared.constant_maps import beside_map
from glsl_infer.importers.tflite.call import Call, Converter, function
from glsl_infer.importers.tflite.choices import is_whole

OPERATIONS = elementwise.operations(elementwise.TFLITE)

Doubles = NDArray[np.float64]


def binary(call: Call) -> list[Node]:
    """Convert an operation on two tensors, or on one and a constant."""
    if len(call.constants) != 2 or None in call.tensors:
        raise call.refused(f"of {len(call.constants)} tensors", "give it two")
    if call.kind == "DIV" and is_whole(call, 0):
        raise call.refused("of whole numbers", "let the CPU divide them")
    if len(call.inputs) == 2:
        return call.activated([_of_two(call)])
    first = call.constants[0] is not None
    value = np.asarray(call.constants[0] if first else call.constants[1])
    of_maps = beside_map(call.name, call.inputs[0], call.shapes[0], OPERATIONS[call.kind], value, first=first)
    if of_maps:
        return call.activated(of_maps)
    constant = _per_channel(call, value)
    if call.kind in ("MAXIMUM", "MINIMUM"):
        return _limited(call, constant)
    affine = _affine(call.kind, constant, first)
    if affine is None and call.kind == "DIV" and first:
        inverse = function(call.name, call.inputs[0], "reciprocal")
        return call.activated([*inverse, _rescaled(f"{call.name}-scaled", call.name, constant, np.zeros(1))])
    if affine is None:
        raise call.refused("by 0, or of a constant and a tensor", "give one that can be scaled or shifted")
    return call.activated([_rescaled(call.name, call.inputs[0], *affine)])


def add_several(call: Call) -> list[Node]:
    """Convert an ADD_N."""
    if len(call.inputs) != len(call.constants) or len(call.inputs) < 2:
        raise call.refused("of constants or of one tensor", "give it two tensors or more")
    return [call.node("add", {"activation": "linear"})]


def negated(call: Call) -> list[Node]:
    """Convert a NEG."""
    return [_rescaled(call.name, call.inputs[0], np.array([-1.0]), np.array([0.0]))]


def _of_two(call: Call) -> Node:
    operation = OPERATIONS[call.kind]
    if operation == "add" and call.shapes[0] == call.shapes[1]:
        return call.node("add", {"activation": "linear"})
    return call.node("binary", {"operation": operation})


def _per_channel(call: Call, value: NDArray[np.generic]) -> Doubles:
    """Return a constant as one number, or one for each channel."""
    shape = call.shapes[0]
    numbers = np.asarray(value, np.float64)
    channels = shape[-1]
    fits = numbers.size in (1, channels) and (numbers.size == 1 or numbers.shape[-1] == channels)
    if not fits or not np.isfinite(numbers).all():
        raise call.refused(
            f"a constant of shape {numbers.shape} on an input of {shape}", "give one finite number, or one a channel"
        )
    return numbers.reshape(-1)


def _affine(kind: str, constant: Doubles, first: bool) -> tuple[Doubles, Doubles] | None:
    """Return (scales, offsets) of the operation on a constant; None where it is no such."""
    unit, nothing = np.ones(1), np.zeros(1)
    if kind == "ADD":
        return unit, constant
    if kind == "SUB":
        return (-unit, constant) if first else (unit, -constant)
    if kind == "MUL":
        return constant, nothing
    if kind == "DIV" and not first and constant.all():
        return 1.0 / constant, nothing
    return None


def _rescaled(name: str, source: str, scales: Doubles, offsets: Doubles) -> Node:
    attrs = {"scales": tuple(scales.tolist()), "offsets": tuple(offsets.tolist())}
    return Node(name, "rescaling", (source,), attrs)


def _limited(call: Call, limit: Doubles) -> list[Node]:
    """Return a largest or smallest value: of one number an activation; of one a channel a ReLU that is moved there."""
    if limit.size == 1:
        bound = float(limit[0])
        low = f"at_least({bound!r})" if bound else "relu"
        return function(call.name, call.inputs[0], low if call.kind == "MAXIMUM" else f"at_most({bound!r})")
    sign = np.array([1.0 if call.kind == "MAXIMUM" else -1.0])
    name = call.name
    before = _rescaled(name, call.inputs[0], sign, -sign * limit)
    (bent,) = function(f"{name}-relu", name, "relu")
    return [before, bent, _rescaled(f"{name}-back", bent.name, sign, limit)]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(OPERATIONS, binary),
    "ADD_N": add_several,
    "NEG": negated,
}
