"""Elementwise comparisons, logic, rounding and selection -> nodes for the CPU."""

from __future__ import annotations

import numpy as np

from glsl_infer.importers.core import elementwise
from glsl_infer.importers.onnx import types
from glsl_infer.importers.onnx.alike import broadcast
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.view import View

_COMPARED = elementwise.comparisons(elementwise.ONNX)

_FUNCTIONS = elementwise.functions(elementwise.ONNX)


def operated(call: Call, operation: str) -> list[View]:
    """Return an operation on two tensors, or on a tensor and a constant, on the CPU."""
    if len(call.given) != 2 or any(value is None for value in call.given):
        raise call.refused(f"of {len(call.given)} tensors", "the file is damaged; give it two")
    first = call.is_constant(0)
    return [
        broadcast(
            call, "tensor_binary", call.given, ("constant",) * 2, operation, operation=operation, constant_first=first
        )
    ]


def unary(call: Call, operation: str, part: str = "") -> list[View]:
    """Return an elementwise function of the first input, on the CPU."""
    view = call.view()
    node = call.nodes.emit("tensor_unary", view.node, part=part or operation, operation=operation)
    return [View(node, view.stored, view.axes)]


def _compared(call: Call) -> list[View]:
    return operated(call, _COMPARED[call.kind])


def _function(call: Call) -> list[View]:
    if types.is_whole(call.type(0)) and call.kind in ("Ceil", "Floor", "Round"):
        return [call.view()]
    return unary(call, _FUNCTIONS[call.kind])


def _remainder(call: Call) -> list[View]:
    return operated(call, "remainder" if call.attribute("fmod", 0) else "modulo")


def _where(call: Call) -> list[View]:
    if len(call.given) != 3 or any(value is None for value in call.given):
        raise call.refused(f"of {len(call.given)} tensors", "the file is damaged; give it three")
    return [broadcast(call, "select", call.given, ("condition", "yes", "no"))]


def cast(call: Call, kind: str) -> list[View]:
    """Return values as another type: truncated for an integer type, 1 or 0 for a Boolean."""
    given = call.type(0)
    if kind == types.BOOL and given != types.BOOL:
        view = call.view()
        node = call.nodes.constant("not_equal", view.node, np.zeros(1))
        return [View(node, view.stored, view.axes)]
    if types.is_whole(kind) and not types.is_whole(given):
        return unary(call, "truncate", "whole")
    return [call.view()]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_COMPARED, _compared),
    **dict.fromkeys(_FUNCTIONS, _function),
    "Mod": _remainder,
    "Where": _where,
}
