"""CPU operators for sequences: LSTM, GRU and plain recurrent layers, in one direction or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, ShapeRule, Weights, require_rank
from glsl_infer.graph.activations import activation
from glsl_infer.graph.node import Array, Shape

DIRECTIONS = {"forward": (False,), "reverse": (True,), "both": (False, True)}
"""For each direction of a layer, whether it begins at the end of the sequence."""

MAX_STEPS = 1 << 16
"""Longest sequence, as a limit against damaged files."""

Step = Callable[[Array, Array, Array], "tuple[Array, Array]"]
"""Takes the input's gate values, the previous output and the previous cell; returns the next output and cell."""


def _shape_rule(gates: int) -> ShapeRule:
    """Return the shape rule of a layer with this number of gates."""

    def shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
        length, width = require_rank(shapes[0], 2, "a sequence")
        if attrs["direction"] not in DIRECTIONS:
            raise ValueError(f"direction '{attrs['direction']}'; there are: {', '.join(DIRECTIONS)}")
        count = len(DIRECTIONS[attrs["direction"]])
        kernel = require_rank(weights.get("kernel", ()), 3, "a kernel")
        hidden = kernel[2] // gates
        expected = {
            "kernel": (count, width, gates * hidden),
            "recurrent": (count, hidden, gates * hidden),
            "bias": (count, gates * hidden),
            "recurrent_bias": (count, gates * hidden),
            "first": (count, hidden),
            "first_cell": (count, hidden),
        }
        wrong = [name for name, size in weights.items() if size != expected[name]]
        if wrong or "recurrent" not in weights or length > MAX_STEPS:
            raise ValueError(f"weights {dict(weights)} on a sequence of shape {shapes[0]}")
        if any(state != (count, hidden) for state in shapes[1:]):
            raise ValueError(f"states of shapes {list(shapes[1:])}; give them the shape {(count, hidden)}")
        return length, count, 2 * hidden if attrs.get("cells") else hidden

    return shape


def _run(attrs: Attrs, weights: Weights, inputs: Sequence[Array], gates: int, step: Callable[[int], Step]) -> Array:
    """Return the outputs (length, directions, hidden) of a sequence, with ``cells`` also the cells in the last axis."""
    x = inputs[0]
    kernel = weights["kernel"].astype(x.dtype)
    hidden = kernel.shape[2] // gates
    directions = DIRECTIONS[attrs["direction"]]
    states = {**weights, **dict(zip(("first", "first_cell"), inputs[1:]))}
    result = np.empty((len(x), len(directions), 2 * hidden if attrs.get("cells") else hidden), x.dtype)
    for direction, backwards in enumerate(directions):
        gate_inputs = x @ kernel[direction]
        if "bias" in weights:
            gate_inputs = gate_inputs + weights["bias"][direction].astype(x.dtype)
        output, cell = (
            states[name][direction].astype(x.dtype) if name in states else np.zeros(hidden, x.dtype)
            for name in ("first", "first_cell")
        )
        cell_step = step(direction)
        for step_index in range(len(x))[:: -1 if backwards else 1]:
            output, cell = cell_step(gate_inputs[step_index], output, cell)
            result[step_index, direction, :hidden] = output
            result[step_index, direction, hidden:] = cell[: result.shape[2] - hidden]
    return result


def _lstm(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the outputs of an LSTM, (length, directions, hidden); see ``_run``."""
    recurrent = weights["recurrent"].astype(inputs[0].dtype)
    gate, function = activation(attrs["gates"]), activation(attrs["function"])

    def step(direction: int) -> Step:
        def cell_step(gate_inputs: Array, output: Array, cell: Array) -> tuple[Array, Array]:
            i, f, c, o = np.split(gate_inputs + output @ recurrent[direction], 4)
            cell = gate(f) * cell + gate(i) * function(c)
            return gate(o) * function(cell), cell

        return cell_step

    return _run(attrs, weights, inputs, 4, step)


def _gru(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the outputs of a GRU, (length, directions, hidden); see ``_run``."""
    dtype = inputs[0].dtype
    recurrent = weights["recurrent"].astype(dtype)
    hidden = recurrent.shape[1]
    bias = weights.get("recurrent_bias", np.zeros((len(recurrent), 3 * hidden))).astype(dtype)
    gate, function = activation(attrs["gates"]), activation(attrs["function"])

    def step(direction: int) -> Step:
        matrix, constant = recurrent[direction], bias[direction]

        def cell_step(gate_inputs: Array, output: Array, cell: Array) -> tuple[Array, Array]:
            summed = output @ matrix[:, : 2 * hidden] + constant[: 2 * hidden]
            update, reset = gate(gate_inputs[: 2 * hidden] + summed).reshape(2, hidden)
            new, inner = gate_inputs[2 * hidden :], constant[2 * hidden :]
            if attrs["reset_after"]:
                new = new + reset * (output @ matrix[:, 2 * hidden :] + inner)
            else:
                new = new + (reset * output) @ matrix[:, 2 * hidden :] + inner
            return update * output + (1 - update) * function(new), cell

        return cell_step

    return _run(attrs, weights, inputs, 3, step)


def _simple_rnn(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the outputs of a simple RNN, (length, directions, hidden); see ``_run``."""
    recurrent, function = weights["recurrent"].astype(inputs[0].dtype), activation(attrs["function"])

    def step(direction: int) -> Step:
        return lambda gate_inputs, output, cell: (function(gate_inputs + output @ recurrent[direction]), cell)

    return _run(attrs, weights, inputs, 1, step)


_WEIGHTS = ("kernel", "recurrent", "bias", "first")

_FUNCTIONS: Mapping[str, str] = {"gates": "sigmoid", "function": "tanh"}
"""Activations of the gates, and of new values and the cell's output."""

KERNELS: Mapping[str, Kernel] = {
    "lstm": Kernel(
        "An LSTM over a sequence (length, width), from a state of zeros, or one in weights or two more inputs "
        "(directions, hidden). The output is (length, directions, hidden). With ``cells`` the cells follow the outputs "
        "in the last axis. Gates are in the order input, forget, cell, output. ``gates`` is the activation of the "
        "gates, and ``function`` that of the cell's input and output.",
        inputs=(1, 3),
        shape=_shape_rule(4),
        compute=_lstm,
        attrs={"direction": "forward", "cells": False, **_FUNCTIONS},
        weights=(*_WEIGHTS, "first_cell"),
        implied=("cells", *_FUNCTIONS),
    ),
    "gru": Kernel(
        "A GRU over a sequence (length, width), with the same initial state as ``lstm``: (length, directions, hidden). "
        "The gates' order is update, reset, new.",
        inputs=(1, 2),
        shape=_shape_rule(3),
        compute=_gru,
        attrs={"direction": "forward", "reset_after": False, **_FUNCTIONS},
        weights=(*_WEIGHTS, "recurrent_bias"),
        implied=tuple(_FUNCTIONS),
    ),
    "recurrent": Kernel(
        "A plain recurrent layer over a sequence (length, width), with the same initial state as ``lstm``: (length, "
        "directions, hidden).",
        inputs=(1, 2),
        shape=_shape_rule(1),
        compute=_simple_rnn,
        attrs={"direction": "forward", "function": "tanh"},
        weights=_WEIGHTS,
    ),
}
"""The kernels by operator name."""
