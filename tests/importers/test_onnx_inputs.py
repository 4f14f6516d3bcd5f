"""Inputs whose sizes are open or wrong in the file, inputs as constants, and states of recurrent layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import pytest
from onnx_networks import File, TensorProto, helper, onnx, run

from glsl_infer.errors import InputError
from glsl_infer.graph import reference
from glsl_infer.importers import onnx as importer
from glsl_infer.tools.validate.job import ABOUT, outputs_file
from glsl_infer.tools.validate.onnx_outputs import work

Shapes = dict[str, tuple[int, ...]]


def retyped(model: Any, name: str, kind: int, shape: list[Any]) -> None:
    """Change the type and shape of an input."""
    index = [value.name for value in model.graph.input].index(name)
    model.graph.input[index].CopyFrom(helper.make_tensor_value_info(name, kind, shape))


def compared(model: Any, feeds: dict[str, Any], constants: tuple[str, ...] = ()) -> importer.Imported:
    """Import a model for the shapes of arrays, compare it with ONNX Runtime, and return the import."""
    io_options = importer.IoOptions(
        fits={name: "none" for name, value in feeds.items() if value.ndim in (3, 4) and name not in constants},
        shapes={name: value.shape for name, value in feeds.items() if name not in constants},
        constants={name: feeds[name] for name in constants},
    )
    imported = importer.imported(model, io_options=io_options)
    graph = imported.survey.whole()
    values = {name: imported.stored_input(name, value) for name, value in feeds.items() if name not in constants}
    assert {node.name for node in graph.inputs} == set(values)
    outputs = reference.run(graph, values, mode="float")
    for output, expected in zip(graph.outputs, run(model, feeds)):
        returned = imported.file_output(output.name, outputs[output.name])
        assert returned.shape == expected.shape
        assert np.abs(returned - expected).max() <= 2e-5 * max(1.0, np.abs(expected).max())
    return imported


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def rows_of(file: File, x: str) -> str:
    """Add a convolution of sound frames (1, length)."""
    line = file.axes("Unsqueeze", x, [1], (1, 1, 64))
    y = file.op("Conv", [line, file.random(6, 1, 5), file.random(6)], (1, 6, 60))
    return file.op("ReduceMean", [y], (1, 6, 1), axes=[2])


def test_a_size_of_any_axis() -> None:
    file = File(1)
    file.output(rows_of(file, file.input((1, 64))))
    model = file.model()
    retyped(model, "x", TensorProto.FLOAT, ["batch", "samples"])
    compared(model, {"x": random(1, 48)})


def test_a_wrong_size_is_replaced() -> None:
    """CenterFace declares 10 images of 32x32 but computes one of any size; other declared shapes are wrong as well."""
    file = File(2)
    file.output(file.op("Relu", [file.conv(file.input((1, 3, 16, 24)), 4)], (1, 4, 16, 24)))
    model = file.model()
    values = {"x": random(1, 3, 16, 24)}
    expected = run(model, values)
    retyped(model, "x", TensorProto.FLOAT, [10, 3, 32, 32])
    model.graph.value_info.append(helper.make_tensor_value_info(model.graph.node[0].output[0], 1, [10, 4, 32, 32]))
    with pytest.raises(InputError, match="--input-shape"):
        importer.imported(model).survey.whole()
    io_options = importer.IoOptions(fits={"": "none"}, shapes={"": (1, 3, 16, 24)})
    imported = importer.imported(model, io_options=io_options)
    (name,) = imported.outputs
    outputs = reference.run(imported.survey.whole(), {"x": imported.stored_input("x", values["x"])}, mode="float")
    assert np.abs(imported.file_output(name, outputs[name]) - expected[0]).max() < 2e-5


def gained(file: File) -> Any:
    """Return the model of a sound times an integer gain that depends on its sampling rate."""
    x, rate = file.input((1, 64)), file.input((), "rate")
    factor = file.op("Cast", [rate], (), to=1)
    fast = file.op("Equal", [rate, file.constant(16000, "int64")], ())
    branches = []
    for name, value in (("fast", 1e-4), ("slow", 1e-3)):
        tensor = onnx.numpy_helper.from_array(np.float32(value))
        nodes = [helper.make_node("Constant", [], [f"{name}-c"], value=tensor),
                 helper.make_node("Mul", [factor, f"{name}-c"], [name])]  # fmt: skip
        branches.append(helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, 1, None)]))
    gain = file.op("If", [fast], (), then_branch=branches[0], else_branch=branches[1])
    file.output(file.op("Mul", [rows_of(file, x), gain], (1, 6, 1)))
    model = file.model()
    retyped(model, "rate", TensorProto.INT64, [])
    return model


@pytest.mark.parametrize("rate", [16000, 8000])
def test_an_input_that_is_a_constant(rate: int) -> None:
    imported = compared(gained(File(3)), {"x": random(1, 64), "rate": np.asarray(rate, np.int64)}, ("rate",))
    assert imported.constants["rate"] == rate


@pytest.mark.parametrize(
    ("shapes", "constants", "message"),
    [
        ({}, {}, "'rate': an input of type int64; .* give its value: --constant rate=VALUE"),
        ({}, {"rate": (1.5,)}, r"'rate': a constant of \(1.5,\); give numbers of the type int64"),
        ({}, {"rate": (1, 2)}, r"a constant of 2 numbers for the shape \(\); give one number"),
        ({"y": (1, 2)}, {"rate": (1,)}, "--input-shape y=.*: the model has no such name; it has x"),
        ({"x": (1, 2, 3)}, {"rate": (1,)}, r"--input-shape 1x2x3 for an input of shape \(1, 64\); give 2 sizes"),
    ],
)
def test_inconsistent_shapes_and_constants_are_refused(shapes: Shapes, constants: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        importer.imported(
            gained(File(3)), io_options=importer.IoOptions(shapes=shapes, constants=constants)
        ).survey.whole()


def test_an_open_size_names_the_option() -> None:
    file = File(1)
    file.output(file.op("Relu", [file.input((1, 64))], (1, 64)))
    model = file.model()
    retyped(model, "x", TensorProto.FLOAT, ["N", "samples", 7])
    with pytest.raises(InputError, match="--input-shape"):
        importer.imported(model).survey.whole()


def test_inspect_accepts_shapes_and_constants(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(gained(File(3)), path)
    options = ("--input-shape", "x=1x32", "--constant", "rate=16000", "--json")
    described = json.loads(command_line.run("inspect", path, *options).stdout)
    assert described["exports"] and described["layers"][0]["shape"] == [32]


def test_validation_feeds_both(tmp_path: Path) -> None:
    model, values = gained(File(3)), random(1, 48)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    graph = importer.load(
        tmp_path / "net.onnx", io_options=importer.IoOptions(shapes={"x": (1, 48)}, constants={"rate": (8000.0,)})
    )
    np.save(tmp_path / "x.npy", values)
    layers = [node.name for node in graph.nodes if not node.operator.is_input]
    end = graph.outputs[0]
    work({"model": str(tmp_path / "net.onnx"), "inputs": {"x": str(tmp_path / "x.npy")}, "numbers": [],
          "input_ranges": {}, "input_shapes": {"x": [1, 48]}, "constants": {"rate": [8000.0]}, "layers": layers,
          "outputs": [{"name": end.name, "layers": list(end.layers), "steps": 0}], "count": 1, "layer_pictures": 1,
          "out": str(tmp_path)})  # fmt: skip
    outputs = reference.run(graph, {"x": values[0]}, mode="float")[end.name]
    assert np.abs(np.load(tmp_path / outputs_file(0))[0] - outputs).max() < 1e-4
    assert json.loads((tmp_path / ABOUT).read_text("utf-8"))["layers"]


def recurrent(file: File, kind: str, *, constant_state: bool = False, bidirectional: bool = False) -> Any:
    """Return a layer with all outputs, whose states are inputs, or one of them a constant."""
    gates, directions = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], 1 + bidirectional
    weights = [file.random(directions, gates * 5, 7), file.random(directions, gates * 5, 5),
               file.random(directions, 2 * gates * 5)]  # fmt: skip
    state = (directions, 1, 5)
    states = [file.constant(random(*state)) if constant_state else file.input(state, "h")]
    states += [file.input(state, "c")] if kind == "LSTM" else []
    count = len(states)
    options = {"direction": "bidirectional"} if bidirectional else {}
    inputs, shapes = [file.input((3, 1, 7)), *weights, "", *states], [(3, directions, 1, 5), *[state] * count]
    outputs = file.several(kind, inputs, shapes, hidden_size=5, **options)
    for name in outputs:
        file.output(name)
    return file.model()


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize(("constant_state", "bidirectional"), [(False, False), (False, True), (True, False)])
def test_states_are_inputs_and_outputs(kind: str, constant_state: bool, bidirectional: bool) -> None:
    model = recurrent(File(4), kind, constant_state=constant_state, bidirectional=bidirectional)
    shapes = {value.name: [size.dim_value for size in value.type.tensor_type.shape.dim] for value in model.graph.input}
    compared(model, {name: random(*shape, seed=index) for index, (name, shape) in enumerate(shapes.items())})


def test_the_batch_axis_of_a_state_is_found() -> None:
    """An axis named like another input's batch has one entry."""
    file = File(5)
    x, h = file.input((1, 8)), file.input((2, 1, 4), "h")
    flat = file.op("Reshape", [h, file.constant([1, 8], "int64")], (1, 8))
    file.output(file.op("Add", [x, flat], (1, 8)))
    model = file.model()
    retyped(model, "x", TensorProto.FLOAT, ["batch", 8])
    retyped(model, "h", TensorProto.FLOAT, [2, "batch", 4])
    imported = importer.imported(model)
    assert imported.inputs["h"].shape == (2, 1, 4) and not imported.survey.problems


def test_a_cache_of_many_axes_is_an_input() -> None:
    file = File(6)
    cache = file.input((2, 1, 3, 2, 2), "cache")
    flat = file.op("Reshape", [cache, file.constant([1, 24], "int64")], (1, 24))
    file.output(file.op("Add", [file.input((1, 24)), flat], (1, 24)))
    compared(file.model(), {"x": random(1, 24), "cache": random(2, 1, 3, 2, 2)})
