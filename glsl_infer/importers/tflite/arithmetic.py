"""Elementwise operators of two tensors, or of a tensor and a constant -> nodes."""

from __future__ import annotations

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.constants import with_constant
from glsl_infer.importers.tflite.call import Call, Converter
from glsl_infer.importers.tflite.choices import is_whole

OPERATIONS = elementwise.operations(elementwise.TFLITE)


def binary(call: Call) -> list[Node]:
    """Convert an operation on two tensors, or on a tensor and a constant."""
    if len(call.constants) != 2 or None in call.tensors:
        raise call.refused(f"of {len(call.constants)} tensors", "give it two")
    if call.kind == "DIV" and is_whole(call, 0):
        raise call.refused("of whole numbers", "let the CPU divide them")
    if len(call.inputs) == 2:
        return call.activated([_of_two(call)])
    first = call.constants[0] is not None
    value = np.asarray(call.constants[0] if first else call.constants[1])
    operation, source, shape = OPERATIONS[call.kind], call.inputs[0], call.shapes[0]
    try:
        return call.activated(with_constant(call.name, source, shape, operation, value, first=first))
    except ValueError as error:
        raise call.refused(str(error), "give one finite number that is not 0, or one for each channel") from None


def add_several(call: Call) -> list[Node]:
    """Convert an ADD_N."""
    if len(call.inputs) != len(call.constants) or len(call.inputs) < 2:
        raise call.refused("of constants or of one tensor", "give it two tensors or more")
    return [call.node("add", {"activation": "linear"})]


def negated(call: Call) -> list[Node]:
    """Convert a NEG."""
    return with_constant(call.name, call.inputs[0], call.shapes[0], "multiply", np.array([-1.0]))


def _of_two(call: Call) -> Node:
    operation = OPERATIONS[call.kind]
    if operation == "add" and call.shapes[0] == call.shapes[1]:
        return call.node("add", {"activation": "linear"})
    return call.node("binary", {"operation": operation})


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(OPERATIONS, binary),
    "ADD_N": add_several,
    "NEG": negated,
}
