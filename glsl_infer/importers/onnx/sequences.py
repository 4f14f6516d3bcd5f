"""LSTM, GRU and plain recurrent layers -> nodes of the CPU."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.parts import joined, taken
from glsl_infer.importers.onnx.view import View, fresh

_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (0, 1, 2), "RNN": (0,)}
"""Where each gate of ours stands in the file: input, forget, cell, output; update, reset, new."""

_OPS = {"LSTM": "lstm", "GRU": "gru", "RNN": "recurrent"}
_DIRECTIONS = {"forward": "forward", "reverse": "reverse", "bidirectional": "both"}
_USUAL = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}


def _sequence(call: Call) -> list[View]:
    """Return the outputs of all steps, and those of the last one."""
    view, attrs = call.view(), dict(call.operator.attributes)
    first = bool(call.attribute("layout", 0))
    if first:
        view = view.transposed((1, 0, 2))
    if len(view.shape) != 3 or view.shape[1] != 1:
        raise call.refused(f"a sequence of shape {view.shape}", "give one sequence: (length, 1, width)")
    direction = _DIRECTIONS.get(str(call.attribute("direction", "forward")), "")
    functions = tuple(str(name).lower() for name in attrs.get("activations", ()))
    usual = _USUAL[call.kind] * (2 if direction == "both" else 1)
    plain = call.kind == "RNN" and len(set(functions)) == 1 and functions[0] in ("relu", "tanh", "sigmoid")
    if not direction or (functions not in ((), usual) and not plain):
        raise call.refused(f"direction '{attrs.get('direction')}' with {functions}", f"use {', '.join(usual)}")
    if attrs.get("clip") or attrs.get("input_forget") or any(call.has(place) for place in (7,)):
        raise call.refused("with a clip, input_forget or peepholes", "leave them out")
    if call.has(4) and (call.constant(4, "lengths").reshape(-1) != view.shape[0]).any():
        raise call.refused("of fewer steps than there are", "give no lengths of sequences")
    options: dict[str, Any] = {"direction": direction}
    if call.kind == "GRU":
        options["reset_after"] = bool(attrs.get("linear_before_reset", 0))
    if plain:
        options["function"] = functions[0]
    source = relayout.in_file_order(call.nodes, view, (view.shape[0], view.shape[2]))
    node = call.nodes.emit(_OPS[call.kind], source, part="steps", weights=_weights(call), **options)
    length, count, hidden = call.nodes.shape(node)
    steps = fresh(node, (length, count, 1, hidden))
    ends = [
        taken(call, taken(call, steps, 1, range(place, place + 1)), 0, range(at, at + 1))
        for place, at in enumerate({"forward": [length - 1], "reverse": [0], "both": [length - 1, 0]}[direction])
    ]
    last = joined(call, ends, 1)
    last = View(last.node, last.stored, last.axes[1:])
    return [steps.transposed((2, 0, 1, 3)), last.transposed((1, 0, 2))] if first else [steps, last]


def _weights(call: Call) -> dict[str, NDArray[Any]]:
    gates = _GATES[call.kind]
    kernel, recurrent = (call.finite(call.constant(place, "weights"), "weights") for place in (1, 2))
    count, hidden = len(kernel), recurrent.shape[2]

    def sorted_gates(array: NDArray[Any]) -> NDArray[Any]:
        parts = array.reshape(count, len(gates), hidden, *array.shape[2:])
        return parts[:, list(gates)].reshape(array.shape)

    weights = {
        "kernel": sorted_gates(kernel).transpose(0, 2, 1),
        "recurrent": sorted_gates(recurrent).transpose(0, 2, 1),
    }
    if call.has(3):
        bias = call.finite(call.constant(3, "a bias"), "a bias").reshape(count, 2, -1)
        own, other = (sorted_gates(bias[:, half]) for half in (0, 1))
        if call.kind == "GRU":
            weights["recurrent_bias"] = other
        weights["bias"] = own if call.kind == "GRU" else own + other
    for place, name in ((5, "first"), (6, "first_cell")):
        if not call.has(place):
            continue
        state = call.finite(call.constant(place, "a state at the begin"), "a state")
        if state.any():
            weights[name] = state.reshape(count, hidden)
    return weights


CONVERTERS: dict[str, Converter] = {"GRU": _sequence, "LSTM": _sequence, "RNN": _sequence}
