"""Converters of LSTM, and of recurrent layers over a sequence.

A bundle does not keep state between frames, so variables of a file start at zero in every frame. The basic LSTM, whose
state is an input and an output of the network, consists of operators with shaders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.tflite.call import Call, Converter
from glsl_infer.importers.tflite.choices import shaped, source

_TANH = 4
"""The number of tanh among the fused activation functions of the format."""
_BASIC = 1
"""The number of the basic LSTM among the kernel types of the format."""
_FUNCTIONS = {1: "relu", _TANH: "tanh"}
_GATES = ("sigmoid", "tanh", "sigmoid", "sigmoid")
"""Functions of a basic LSTM's gates: input, new, forget, output."""
_FORGET = 2
_OUTPUT = 3
_STATES = (18, 19)
"""Indices of the inputs with the first output and the first cell state of an LSTM over a sequence."""
_SUPPORTED = (*range(9), *range(12, 16), *_STATES)
"""Indices of the inputs of an LSTM over a sequence, apart from peepholes, projections and layer norms.

The converters of Keras and PyTorch write no others.
"""

Floats = NDArray[np.float32]


def basic(call: Call) -> list[Node]:
    """Convert one step of a basic LSTM. Its first output is the result, its second the state."""
    if int(call.option("KernelType", 0)) != _BASIC or call.output > 1 or len(call.constants) != 5:
        raise call.refused(
            "a full one, which keeps its state from frame to frame",
            "make the state an input and an output of the network, or give the whole sequence",
        )
    _require_plain(call)
    before, state = source(call, 1, "the output before"), source(call, 4, "the state before")
    weights = call.weights(2, "weights", 2)
    hidden = len(weights) // 4
    bias = call.bias(3, 4 * hidden)
    nodes = [Node(call.name, "concat", (source(call, 0, "an input"), before))]

    def add(part: str, op: str, *read: str, **attrs: object) -> str:
        nodes.append(Node(f"{call.name}-{part}", op, read, attrs))
        return nodes[-1].name

    needed_gates = range(4) if call.output == 0 else range(3)
    gates = []
    for index in needed_gates:
        rows = slice(index * hidden, (index + 1) * hidden)
        gate_weights = {"kernel": np.ascontiguousarray(weights[rows].T), "bias": bias[rows]}
        nodes.append(Node(f"{call.name}-gate{index}", "dense", (call.name,), {"activation": "linear"}, gate_weights))
        gates.append(add(f"gate{index}-open", "activation", nodes[-1].name, function=_GATES[index]))
    new = add("new", "binary", gates[0], gates[1], operation="multiply")
    remembered = add("kept", "binary", gates[_FORGET], state, operation="multiply")
    add("state", "add", new, remembered, activation="linear")
    if call.output == 0:
        bent = add("bent", "activation", nodes[-1].name, function="tanh")
        add("output", "binary", gates[_OUTPUT], bent, operation="multiply")
    return nodes


def simple_sequence(call: Call) -> list[Node]:
    """Convert a simple recurrent layer over an entire sequence, from a state of zeros."""
    function = _FUNCTIONS.get(int(call.option("FusedActivationFunction", 0)))
    if function is None:
        raise call.refused("with another function than tanh and relu", "use tanh or relu")
    kernel, state_kernel = (np.ascontiguousarray(call.weights(index, "weights", 2).T) for index in (1, 2))
    weights: dict[str, Floats] = {"kernel": kernel[None], "recurrent": state_kernel[None]}
    weights["bias"] = call.bias(3, len(state_kernel))[None]
    return _over_sequence(call, "recurrent", {"function": function}, {**weights, **_states(call, {"first": 4})})


def sequence(call: Call) -> list[Node]:
    """Convert an LSTM over an entire sequence, from a state of zeros."""
    _require_plain(call)
    unsupported = [index for index, tensor in enumerate(call.tensors) if index not in _SUPPORTED and tensor is not None]
    if unsupported:
        raise call.refused(
            f"with its inputs {unsupported}", "peepholes, projections and layer norms cannot be exported"
        )
    # Gates in the file, and in the kernel: input, forget, cell, output.
    kernel, recurrent = (
        np.concatenate([call.weights(index, "weights", 2).T for index in range(first, first + 4)], axis=1)
        for first in (1, 5)
    )
    hidden = recurrent.shape[0]
    weights: dict[str, Floats] = {"kernel": kernel[None], "recurrent": recurrent[None]}
    weights["bias"] = np.concatenate([call.bias(index, hidden) for index in range(12, 16)])[None]
    return _over_sequence(call, "lstm", {}, {**weights, **_states(call, dict(zip(("first", "first_cell"), _STATES)))})


def _states(call: Call, indices: Mapping[str, int]) -> dict[str, Floats]:
    """Return the first states that are not zero, by weight; ``indices`` has the index of each input."""
    states: dict[str, Floats] = {}
    for name, index in indices.items():
        value = call.constants[index] if index < len(call.constants) else None
        if value is not None and np.any(value):
            states[name] = np.asarray(value, np.float32).reshape(1, -1)
        elif value is None and index < len(call.tensors) and call.tensors[index] is not None:
            raise call.refused("from a state that the network computes", "begin with zeros")
    return states


def _over_sequence(call: Call, op: str, attrs: dict[str, Any], weights: Mapping[str, Floats]) -> list[Node]:
    """Return the nodes of a recurrent operator over one sequence."""
    long_sizes = [size for size in call.file_shape if size != 1]
    length, width = call.file_shape[0 if call.option("TimeMajor", False) else 1], call.file_shape[-1]
    if len(call.file_shape) != 3 or int(np.prod(long_sizes, initial=1)) != length * width:
        raise call.refused(f"of shape {call.file_shape}", "give one sequence: (1, length, width)")
    return [
        shaped(call.name, source(call, 0, "a sequence"), (length, width)),
        Node(f"{call.name}-sequence", op, (call.name,), attrs, weights),
        shaped(f"{call.name}-shape", f"{call.name}-sequence", call.shape),
    ]


def _require_plain(call: Call) -> None:
    clips = [float(call.option(name, 0.0)) for name in ("CellClip", "ProjClip")]
    if int(call.option("FusedActivationFunction", _TANH)) != _TANH or any(clips):
        raise call.refused(f"with another function than tanh, or clipped at {clips}", "use tanh and no clip")


SEQUENCES: dict[str, Converter] = {
    "LSTM": basic,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": sequence,
    "UNIDIRECTIONAL_SEQUENCE_RNN": simple_sequence,
}
