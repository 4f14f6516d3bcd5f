"""LSTM, GRU and plain recurrent layers, converted to nodes for the CPU. A sequence has a batch of 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.constants import shortest
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.slice_concat_pad import as_view, concatenated, sliced
from glsl_infer.importers.onnx.view import View, fresh

_STATE, _CELL, _PEEPHOLES = 5, 6, 7
"""Input indices of the initial states, and of the weights from the cell to the gates."""

_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (0, 1, 2), "RNN": (0,)}
"""Index in the file of each gate, in the order of the nodes: input, forget, cell, output; update, reset, new."""

_OPS = {"LSTM": "lstm", "GRU": "gru", "RNN": "recurrent"}
_DIRECTIONS = {"forward": "forward", "reverse": "reverse", "bidirectional": "both"}
_DEFAULT_FUNCTIONS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_ACTIVATIONS = {
    **{name.lower(): text for name, text in elementwise.activations(elementwise.ONNX).items()},
    "elu": "elu(1)",
    "hardsigmoid": "piecewise_linear(0.2,0.5)",
    "leakyrelu": "leaky_relu(0.01)",
}
"""Activations by their names in lower case, with the parameters that the operators have by default."""


def _sequence(call: Call) -> list[View]:
    """Return the outputs of all steps, and those of the last step."""
    view, attrs = call.view(), dict(call.operator.attributes)
    batch_first = bool(call.attribute("layout", 0))
    if batch_first:
        view = view.transposed((1, 0, 2))
    if len(view.shape) != 3 or view.shape[1] != 1:
        raise call.refused(f"a sequence of shape {view.shape}", "give one sequence: (length, 1, width)")
    direction = _DIRECTIONS.get(str(call.attribute("direction", "forward")), "")
    functions = _functions(call)
    if not direction or functions is None:
        what = f"direction '{attrs.get('direction', 'forward')}' with the activations {attrs.get('activations')}"
        raise call.refused(what, f"use {', '.join(_DEFAULT_FUNCTIONS[call.kind])}, the same in both directions")
    if attrs.get("clip") or attrs.get("input_forget") or call.has(_PEEPHOLES):
        raise call.refused("with a clip, input_forget or peepholes", "leave them out")
    if call.has(4) and (call.constant(4, "lengths").reshape(-1) != view.shape[0]).any():
        raise call.refused("of fewer steps than there are", "give no lengths of sequences")
    options: dict[str, Any] = {"direction": direction, **functions}
    if call.kind == "GRU":
        options["reset_after"] = bool(attrs.get("linear_before_reset", 0))
    source = relayout.in_file_order(call.nodes, view, (view.shape[0], view.shape[2]))
    weights, states = _weights(call), _states(call, batch_first)
    hidden = weights["recurrent"].shape[1]
    cells = len(call.operator.outputs) > 2
    if cells:
        options["cells"] = True
    node = call.nodes.emit(_OPS[call.kind], source, *states, part="steps", weights=weights, **options)
    length, count, width = call.nodes.shape(node)
    all_steps = fresh(node, (length, count, 1, width))
    steps = sliced(call, all_steps, 3, range(hidden)) if cells else all_steps
    last_states = [_last(call, steps, direction)]
    if cells:
        last_states.append(_last(call, sliced(call, all_steps, 3, range(hidden, width)), direction))
    if batch_first:
        return [steps.transposed((2, 0, 1, 3)), *(view.transposed((1, 0, 2)) for view in last_states)]
    return [steps, *last_states]


def _functions(call: Call) -> dict[str, str] | None:
    """Return the attributes of a recurrent layer for its activations, or None if it has others."""
    default = _DEFAULT_FUNCTIONS[call.kind]
    names = [str(name).lower() for name in call.attribute("activations", ()) or default]
    by_direction = [names[first : first + len(default)] for first in range(0, len(names), len(default))]
    *gates, function = by_direction[0]
    if (
        any(other != by_direction[0] for other in by_direction)
        or not set(names) <= _ACTIVATIONS.keys()
        or set(gates[1:]) - {function}
    ):
        return None
    if call.attribute("activation_alpha", ()) or call.attribute("activation_beta", ()):
        parameters = [call.attribute(f"activation_{key}", ()) for key in ("alpha", "beta")]
        if set(names) & {"elu", "leakyrelu"} or any(len(set(numbers)) != 1 for numbers in parameters):
            return None
        text = f"piecewise_linear({shortest(parameters[0][0]):.9g},{shortest(parameters[1][0]):.9g})"
        texts = {**_ACTIVATIONS, "hardsigmoid": text}
    else:
        texts = dict(_ACTIVATIONS)
    return {"function": texts[function], **({"gates": texts[gates[0]]} if gates else {})}


def _last(call: Call, steps: View, direction: str) -> View:
    """Return the last step of each direction: (directions, batch, hidden)."""
    end = steps.shape[0] - 1
    by_direction = [
        sliced(call, sliced(call, steps, 1, range(index, index + 1)), 0, range(step, step + 1))
        for index, step in enumerate({"forward": [end], "reverse": [0], "both": [end, 0]}[direction])
    ]
    last = concatenated(call, by_direction, 1)
    return View(last.node, last.stored, last.axes[1:])


def _states(call: Call, batch_first: bool) -> list[str]:
    """Return the nodes of the initial states if the network computes one of them, else []."""
    indices = (_STATE, _CELL) if call.kind == "LSTM" else (_STATE,)
    if not any(call.has(index) and not call.is_constant(index) for index in indices):
        return []
    like = next(call.view(index) for index in indices if call.has(index) and not call.is_constant(index))
    states = []
    for index in indices:
        value = call.operands[index] if call.has(index) else None
        if not isinstance(value, View):
            value = as_view(call, np.zeros(like.shape) if value is None else value, like)
        value = value.transposed((1, 0, 2)) if batch_first else value
        if len(value.shape) != 3 or value.shape[1] != 1:
            raise call.refused(f"a state of shape {value.shape}", "give the state of one sequence")
        states.append(relayout.in_file_order(call.nodes, value, (value.shape[0], value.shape[2])))
    return states


def _weights(call: Call) -> dict[str, NDArray[Any]]:
    gates = _GATES[call.kind]
    kernel, recurrent = (call.finite(call.constant(index, "weights"), "weights") for index in (1, 2))
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
    for index, name in ((_STATE, "first"), (_CELL, "first_cell")):
        if not call.is_constant(index) or not all(map(call.is_constant, filter(call.has, (_STATE, _CELL)))):
            continue
        state = call.finite(call.constant(index, "a state at the beginning"), "a state")
        if state.any():
            weights[name] = state.reshape(count, hidden)
    return weights


CONVERTERS: dict[str, Converter] = {"GRU": _sequence, "LSTM": _sequence, "RNN": _sequence}
