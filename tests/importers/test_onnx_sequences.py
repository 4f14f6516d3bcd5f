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


def graph_of(file: File) -> Graph:
    return importer.imported(file.model(), io_options=importer.IoOptions(fits={"": "none"})).survey.whole()


def unrolled(steps: int, kind: str, axis: int = 0) -> File:
    """Return a recurrent layer over the columns of a map, unrolled into operators, as PyTorch traces it."""
    file = File(1)
    x = file.op("Relu", [file.conv(file.input((1, 3, 4, steps)), 6)], (1, 6, 4, steps))
    rows = file.transpose(file.reshape(x, (1, 24, steps)), (2, 0, 1))
    if axis:
        rows = file.transpose(rows, (1, 0, 2))
    weights = file.random(5, 24) if kind == "Gemm" else file.random(24, 5)
    bias, recurrent = file.random(5), file.random(5, 5)
    state, states = "", []
    for step in range(steps):
        output = file.op("Gather", [rows, file.constant(step, "int64")], (1, 24), axis=axis)
        if kind == "Gemm":
            projection = file.op("Gemm", [output, weights, bias], (1, 5), transB=1)
        else:
            projection = file.op("Add", [file.op("MatMul", [output, weights], (1, 5)), bias], (1, 5))
        total = (
            file.op("Add", [projection, file.op("MatMul", [state, recurrent], (1, 5))], (1, 5)) if state else projection
        )
        state = file.op("Tanh", [total], (1, 5))
        states.append(file.axes("Unsqueeze", state, [0], (1, 1, 5)))
    file.output(file.op("Concat", states, (steps, 1, 5), axis=0))
    return file


@pytest.mark.parametrize(("kind", "axis"), [("Gemm", 0), ("Gemm", 1), ("MatMul", 0)])
def test_the_weights_of_all_steps_are_there_once(kind: str, axis: int) -> None:
    network = unrolled(7, kind, axis)
    assert agreement(network.model()) <= 2e-5
    graph = graph_of(network)
    sizes = [node.weights["kernel"].size for node in graph.nodes if "kernel" in node.weights]
    assert sizes.count(24 * 5) == 1
    assert not [node.op for node in graph.nodes if ops.get(node.op).on_cpu]


def test_steps_with_other_weights_stay_separate() -> None:
    file = File(2)
    rows = file.reshape(file.input((1, 3, 4, 5)), (3, 1, 20))
    products = [
        file.op(
            "MatMul", [file.op("Gather", [rows, file.constant(step, "int64")], (1, 20)), file.random(20, 4)], (1, 4)
        )
        for step in range(2)
    ]
    file.output(file.op("Add", products, (1, 4)))
    assert agreement(file.model()) <= 2e-5


@pytest.mark.parametrize("shape", [(1, 1, 5000), (1, 5000, 2), (1, 5000)])
def test_a_line_longer_than_a_texture_is_several_rows(shape: tuple[int, ...]) -> None:
    file = File(3)
    x = file.input(shape)
    y = x if shape[1] == 1 else file.transpose(x, (0, 2, 1)) if len(shape) == 3 else file.reshape(x, (1, 1, 5000))
    first = file.op("Conv", [y, file.random(4, file.shapes[y][1], 16)], (1, 4, 1247), strides=[4])
    file.output(file.op("Conv", [first, file.random(4, 4, 3)], (1, 4, 1245)))
    assert agreement(file.model()) <= 2e-5
    graph = graph_of(file)
    (graph_input,) = graph.inputs
    height, width, channels = graph_input.attrs["shape"]
    assert height * width == 5000 and max(height, width) <= 2048
    small = optimize(graph)
    on_cpu = cpu_layers(small)
    on_cpu_by_convolution = [node.name in on_cpu for node in small.nodes if node.op == "conv2d"]
    assert on_cpu_by_convolution == [True, False]  # only the reader of the entire line
    values = np.arange(5000 * channels, dtype=np.float32).reshape(1, 5000, channels)
    assert (in_shape(values, graph_input.attrs["shape"]).reshape(-1) == values.reshape(-1)).all()
