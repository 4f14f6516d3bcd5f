"""Sequences: recurrent layers traced step by step, and vectors longer than the width of a texture."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_networks import File, agreement

from glsl_infer import ops
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.place import cpu_layers
from glsl_infer.graph import Graph
from glsl_infer.importers import onnx as importer
from glsl_infer.support.arrays import in_shape


def graph_of(made: File) -> Graph:
    return importer.imported(made.model(), ends=importer.IoOptions(fits={"": "none"})).survey.whole()


def unrolled(steps: int, kind: str, axis: int = 0) -> File:
    """Return a recurrent layer over the columns of a map, unrolled into operators, as PyTorch traces it."""
    made = File(1)
    x = made.op("Relu", [made.conv(made.input((1, 3, 4, steps)), 6)], (1, 6, 4, steps))
    rows = made.transpose(made.reshape(x, (1, 24, steps)), (2, 0, 1))
    if axis:
        rows = made.transpose(rows, (1, 0, 2))
    weights = made.random(5, 24) if kind == "Gemm" else made.random(24, 5)
    bias, again = made.random(5), made.random(5, 5)
    state, states = "", []
    for step in range(steps):
        one = made.op("Gather", [rows, made.constant(step, "int64")], (1, 24), axis=axis)
        if kind == "Gemm":
            new = made.op("Gemm", [one, weights, bias], (1, 5), transB=1)
        else:
            new = made.op("Add", [made.op("MatMul", [one, weights], (1, 5)), bias], (1, 5))
        total = made.op("Add", [new, made.op("MatMul", [state, again], (1, 5))], (1, 5)) if state else new
        state = made.op("Tanh", [total], (1, 5))
        states.append(made.axes("Unsqueeze", state, [0], (1, 1, 5)))
    made.output(made.op("Concat", states, (steps, 1, 5), axis=0))
    return made


@pytest.mark.parametrize(("kind", "axis"), [("Gemm", 0), ("Gemm", 1), ("MatMul", 0)])
def test_the_weights_of_all_steps_are_there_once(kind: str, axis: int) -> None:
    made = unrolled(7, kind, axis)
    assert agreement(made.model()) <= 2e-5
    graph = graph_of(made)
    sizes = [node.weights["kernel"].size for node in graph.nodes if "kernel" in node.weights]
    assert sizes.count(24 * 5) == 1
    assert not [node.op for node in graph.nodes if ops.get(node.op).on_cpu]


def test_steps_by_other_weights_stay_apart() -> None:
    made = File(2)
    rows = made.reshape(made.input((1, 3, 4, 5)), (3, 1, 20))
    ends = [
        made.op(
            "MatMul", [made.op("Gather", [rows, made.constant(step, "int64")], (1, 20)), made.random(20, 4)], (1, 4)
        )
        for step in range(2)
    ]
    made.output(made.op("Add", ends, (1, 4)))
    assert agreement(made.model()) <= 2e-5


@pytest.mark.parametrize("shape", [(1, 1, 5000), (1, 5000, 2), (1, 5000)])
def test_a_line_longer_than_a_texture_is_several_rows(shape: tuple[int, ...]) -> None:
    made = File(3)
    x = made.input(shape)
    y = x if shape[1] == 1 else made.transpose(x, (0, 2, 1)) if len(shape) == 3 else made.reshape(x, (1, 1, 5000))
    wide = made.op("Conv", [y, made.random(4, made.shapes[y][1], 16)], (1, 4, 1247), strides=[4])
    made.output(made.op("Conv", [wide, made.random(4, 4, 3)], (1, 4, 1245)))
    assert agreement(made.model()) <= 2e-5
    graph = graph_of(made)
    (entry,) = graph.inputs
    height, width, channels = entry.attrs["shape"]
    assert height * width == 5000 and max(height, width) <= 2048
    small = optimize(graph)
    on_cpu = cpu_layers(small)
    places = [node.name in on_cpu for node in small.nodes if node.op == "conv2d"]
    assert places == [True, False]  # only the reader of the entire line
    values = np.arange(5000 * channels, dtype=np.float32).reshape(1, 5000, channels)
    assert (in_shape(values, entry.attrs["shape"]).reshape(-1) == values.reshape(-1)).all()
