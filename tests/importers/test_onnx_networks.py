"""Random networks compared with ONNX Runtime; ``scripts/bench/onnx_agreement.py`` tries 200."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run_python
from onnx_networks import File, agreement, network, onnx
from PIL import Image

from glsl_infer import bundle as bundles
from glsl_infer.errors import InputError, ModelError
from glsl_infer.importers import onnx as importer
from glsl_infer.importers import survey
from glsl_infer.importers.onnx import survey as survey_of

ROOT = Path(__file__).resolve().parents[2]
IN_CI = range(1000, 1040)
"""Seeds outside the committed report."""


def test_random_networks() -> None:
    errors = [agreement(network(seed)[0], seed=seed) for seed in IN_CI]
    assert len(errors) == 40 and max(errors) <= 1e-4, errors


def operators(graph: object) -> list[str]:
    return [node.attrs.get("function", node.op) for node in graph.nodes]


def test_channels_last_pieces_need_no_transposition() -> None:
    """Pixel shuffles, channel shuffles and decomposed transpositions are one operator each, in the engine's order."""
    file = File(2)
    x = file.conv(file.input((1, 3, 8, 6)), 12)
    wide = file.transpose(file.reshape(x, (1, 3, 2, 2, 8, 6)), (0, 1, 4, 2, 5, 3))
    y = file.conv(file.reshape(wide, (1, 3, 16, 12)), 8)
    y = file.reshape(file.transpose(file.reshape(y, (1, 2, 4, 16, 12)), (0, 2, 1, 3, 4)), (1, 8, 16, 12))
    y = file.conv(file.transpose(y, (0, 1, 3, 2)), 4, 1)
    rows = file.reshape(file.transpose(y, (0, 2, 3, 1)), (1, 192, 4))
    file.output(file.op("Softmax", [rows], (1, 192, 4), axis=2))
    assert agreement(file.model()) < 1e-5
    graph = importer.load(file.model())
    assert operators(graph) == [
        "input", "conv2d", "depth_to_space", "conv2d", "transpose", "channel_gather", "conv2d", "softmax",
    ]  # fmt: skip
    assert [step.step for step in graph.outputs[0].steps] == ["rows"]


@pytest.mark.parametrize(
    "settings",
    [
        {"group": 2, "strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 2, 1]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        {"auto_pad": "SAME_UPPER", "group": 4},
    ],
)
def test_layers_of_constants_are_computed_once(settings: dict[str, object]) -> None:
    """Layers of constants, such as projected positions and standardised weights, are computed once."""
    file, rng = File(6), np.random.default_rng(6)

    def constant(*shape: int) -> str:
        return file.constant(rng.normal(size=shape).astype(np.float32))

    groups = settings.get("group", 1)
    kernel = file.op("BatchNormalization", [
        constant(4, 4 // groups, 3, 3), *(constant(4 // groups) for _ in range(2)),
        file.constant(np.zeros(4 // groups, np.float32)), file.constant(np.ones(4 // groups, np.float32)),
    ], (4, 4 // groups, 3, 3), epsilon=1e-3)  # fmt: skip
    sizes = (5, 4) if "pads" in settings else (4, 4) if "strides" in settings else (8, 7)
    projected = file.op("Conv", [constant(1, 4, 8, 7), kernel, constant(4)], (1, 4, *sizes), **settings)
    x = file.conv(file.input((1, 3, *sizes)), 4)
    file.output(file.op("Add", [x, projected], (1, 4, *sizes)))
    assert agreement(file.model()) < 1e-5
    assert operators(importer.load(file.model())) == ["input", "conv2d", "constant_map", "add"]


def test_functions_in_pieces() -> None:
    file = File(5)
    x = file.conv(file.input((1, 3, 8, 6)), 4)

    def op(kind: str, *inputs: str) -> str:
        return file.op(kind, inputs, (1, 4, 8, 6))

    above = op("Add", file.constant(1.0), op("Erf", op("Mul", x, file.constant(0.5**0.5))))
    gelu = op("Mul", file.constant(0.5), op("Mul", above, x))
    swish = op("Mul", op("Sigmoid", gelu), gelu)
    clipped = op("Min", op("Max", op("Add", swish, file.constant(3.0)), file.constant(0.0)), file.constant(6.0))
    hard = op("Mul", swish, op("Div", clipped, file.constant(6.0)))
    mean = file.op("ReduceMean", [hard], (1, 4, 1, 1), axes=[2, 3])
    centred = op("Sub", hard, mean)
    variance = file.op("ReduceMean", [op("Mul", centred, centred)], (1, 4, 1, 1), axes=[2, 3])
    root = file.op("Sqrt", [file.op("Add", [variance, file.constant(1e-5)], (1, 4, 1, 1))], (1, 4, 1, 1))
    file.output(op("Div", centred, root))
    assert agreement(file.model()) < 1e-5
    assert operators(importer.load(file.model())) == [
        "input", "conv2d", "gelu", "silu", "hard_silu", "global_average_pool", "global_deviation", "map_norm",
    ]  # fmt: skip


def test_products_after_norms_in_pieces_run_on_the_gpu() -> None:
    """The rows of a transformer stay a map, from a norm in pieces through products and sums."""
    file = File(5)
    shape, reduced = (1, 48, 4), (1, 48, 1)
    y = file.conv(file.input((1, 3, 8, 6)), 4)
    y = file.transpose(file.reshape(y, (1, 4, 48)), (0, 2, 1))
    for _ in range(2):
        centred = file.op("Sub", [y, file.op("ReduceMean", [y], reduced, axes=[-1])], shape)
        squares = file.op("Pow", [centred, file.constant(2.0)], shape)
        variance = file.op("Add", [file.op("ReduceMean", [squares], reduced, axes=[-1]), file.constant(1e-5)], reduced)
        normed = file.op("Div", [centred, file.op("Sqrt", [variance], reduced)], shape)
        scaled = file.op("Mul", [normed, file.random(4)], shape)
        y = file.op("Add", [y, file.op("MatMul", [scaled, file.random(4, 4)], shape)], shape)
    file.output(file.conv(file.reshape(file.transpose(y, (0, 2, 1)), (1, 4, 8, 6)), 4))
    assert agreement(file.model()) < 1e-5
    result = operators(importer.load(file.model()))
    assert result == ["input", "conv2d", *2 * ["channel_norm", "conv2d", "add"], "conv2d"]


def test_channels_last_as_converters_write_them() -> None:
    """An input transposed at once and an output transposed back need no operator."""
    file = File(6)
    x = file.transpose(file.input(("N", "height", "width", 3)), (0, 3, 1, 2))
    file.shapes[x] = (1, 3, 9, 7)
    file.output(file.transpose(file.conv(x, 4), (0, 2, 3, 1)))
    graph = importer.load(file.model(), io_options=importer.IoOptions(sizes={"": (9, 7)}))
    assert operators(graph) == ["input", "conv2d"]
    assert graph.shapes[graph.output] == (9, 7, 4)


def test_operations_with_channels_last_move_no_data() -> None:
    """Padding, resizing and means before a transposition to channels first, as from TensorFlow, move no data."""
    file = File(16)
    y = file.input((1, 9, 6, 1))
    y = file.op("Pad", [y, file.constant((0, 1, 2, 0, 0, 0, 1, 0), "int64")], (1, 10, 9, 1))
    y = file.op("Reshape", [y, file.constant((1, 1, 10, 9), "int64")], (1, 1, 10, 9))
    y = file.transpose(file.conv(y, 4), (0, 2, 3, 1))
    sizes = file.constant((1, 2 * file.shapes[y][1], file.shapes[y][2], 4), "int64")
    y = file.op("Resize", [y, "", "", sizes], (1, 2 * file.shapes[y][1], file.shapes[y][2], 4))
    file.output(file.op("ReduceMean", [y], (1, 4), axes=[1, 2], keepdims=0))
    assert agreement(file.model()) < 1e-5
    result = operators(importer.load(file.model()))
    assert result == [
        "input",
        "zero_padding",
        "conv2d",
        "upsample_nearest",
        "global_average_pool",
        "reshape",
        "reshape",
    ]


def test_sizes_that_the_file_leaves_open() -> None:
    file = File(7)
    x = file.input(("N", 3, "height", "width"))
    file.shapes[x] = (1, 3, 8, 6)
    file.output(file.conv(x, 4))
    with pytest.raises(ModelError, match="'x'"):
        importer.load(file.model())
    assert importer.load(file.model(), io_options=importer.IoOptions(sizes={"x": (20, 30)})).input.attrs["shape"] == (
        20,
        30,
        3,
    )


@pytest.mark.parametrize("target", [(-1, 48), (1, 1, 6, 8), (1, 12, 4)])
def test_a_picture_without_channels(target: tuple[int, ...]) -> None:
    file = File(8)
    y = file.op("Reshape", [file.input(("n", 6, 8)), file.constant(target, "int64")], [abs(size) for size in target])
    y = file.op("Flatten", [file.op("Neg", [y], file.shapes[y])], (1, 48))
    file.output(file.op("MatMul", [y, file.random(48, 3)], (1, 3)))
    (graph_input,) = importer.load(file.model()).inputs
    assert agreement(file.model()) < 1e-5
    assert graph_input.attrs["shape"] == ((1, 6, 8) if len(target) == 3 else (6, 8, 1))


def test_io_options_choose_other_outputs() -> None:
    file = File(8)
    x = file.conv(file.input((1, 3, 8, 6)), 4)
    file.output(file.op("Unique", [file.op("Relu", [x], (1, 4, 8, 6))], (192,)))
    with pytest.raises(ModelError, match="Unique cannot be exported; export the model without it, or give a function"):
        importer.load(file.model())
    graph = importer.load(file.model(), io_options=importer.IoOptions(outputs=(x,)))
    assert [output.name for output in graph.outputs] == [x]
    with pytest.raises(ModelError, match="'y'"):
        importer.load(file.model(), io_options=importer.IoOptions(outputs=("y",)))


def test_survey_without_the_framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(network(3)[0], path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # only the comparison needs it
    result = survey(path)
    assert result.graph is not None and {row.runs for row in result.rows} <= {"shader", "CPU", "dropped"}
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match="pip install onnx"):
        survey(path)


BATCHES = {
    "Conv": ((5, 3, 8, 9), [(4, 3, 3, 2)], {"pads": [1, 1, 1, 1]}),
    "Conv of lines": ((5, 4, 20), [(4, 2, 3)], {"group": 2, "strides": [2], "pads": [1, 0]}),
    "ConvTranspose": ((3, 4, 5, 6), [(4, 2, 3, 3)], {"strides": [2, 2]}),
    "ConvTranspose of lines": ((3, 4, 10), [(4, 2, 3)], {"strides": [2]}),
    "MaxPool": ((5, 3, 8, 9), [], {"kernel_shape": [3, 2], "strides": [2, 1]}),
    "AveragePool of lines": ((5, 3, 20), [], {"kernel_shape": [3], "strides": [2], "pads": [1, 1], "ceil_mode": 1}),
    "GlobalAveragePool": ((5, 3, 8, 9), [], {}),
    "GlobalMaxPool of lines": ((5, 3, 20), [], {}),
    "InstanceNormalization": ((3, 4, 5, 6), [(4,), (4,)], {}),
    "DepthToSpace": ((3, 8, 4, 5), [], {"blocksize": 2}),
}


@pytest.mark.parametrize("case", BATCHES)
def test_operators_on_a_batch_inside_of_a_network(case: str) -> None:
    """Networks reshape parts of an input to a batch, such as the frames of a signal."""
    shape, weights, attributes = BATCHES[case]
    file = File(3)
    x = file.reshape(file.input((1, math.prod(shape))), shape)
    constants = [file.random(*sizes) for sizes in weights]
    file.output(file.op(case.partition(" ")[0], [x, *constants], [1] * len(shape), **attributes))
    assert agreement(file.model()) <= 2e-5


CONSTANT = {
    "Einsum": ([(4, 5), (5, 6)], (4, 6), {"equation": "ij,jk->ik"}),
    "Softmax": ([(4, 6)], (4, 6), {"axis": 0}),
    "Gemm": ([(5, 4), (5, 6), (6,)], (4, 6), {"transA": 1}),
    "LayerNormalization": ([(4, 6), (6,)], (4, 6), {}),
    "ReduceL2": ([(4, 3, 6)], (4, 6), {"axes": [1], "keepdims": 0}),
    "Selu": ([(4, 6)], (4, 6), {}),
    "Sinh": ([(4, 6)], (4, 6), {}),
    "ArgMax": ([(4, 3, 6)], (4, 6), {"axis": 1, "keepdims": 0}),
    "DepthToSpace": ([(1, 4, 2, 3)], (1, 1, 4, 6), {"blocksize": 2}),
}


@pytest.mark.parametrize("kind", CONSTANT)
def test_operators_on_constants(kind: str) -> None:
    """Exporters leave operators whose inputs are all constants: they are computed once, as those of a network."""
    inputs, shape, attributes = CONSTANT[kind]
    file = File(4)
    result = file.op(kind, [file.random(*size) for size in inputs], shape, **attributes)
    result = file.op("Cast", [result], shape, to=1) if kind == "ArgMax" else result
    x = file.input((1, 3, 4, 6))
    file.output(file.op("Mul", [x, file.reshape(result, (4, 6))], (1, 3, 4, 6)))
    model = file.model()
    assert agreement(model) <= 1e-5
    assert {row.kind for row in survey_of(model).rows} == {"input", "Mul"}


def test_the_largest_two_constants() -> None:
    file = File(4)
    x = file.input((1, 3, 4, 6))
    count = file.constant([2], "int64")
    values, places = file.several("TopK", [file.random(3, 4, 5), count], [(3, 4, 2), (3, 4, 2)])
    total = file.op("Add", [values, file.op("Cast", [places], (3, 4, 2), to=1)], (3, 4, 2))
    file.output(
        file.op("Mul", [x, file.op("ReduceSum", [total, file.constant([2], "int64")], (3, 4, 1))], (1, 3, 4, 6))
    )
    assert agreement(file.model()) <= 1e-5


def test_constants_that_are_too_large_are_refused() -> None:
    file = File(0)
    vectors = [file.constant(np.zeros(2**18)), file.constant(np.zeros(2**18))]
    huge = file.op("ReduceL2", [file.op("Einsum", vectors, (2**18, 2**18), equation="i,j->ij")], (1, 1), keepdims=1)
    file.output(file.op("Add", [file.input((1, 4, 8, 6)), huge], (1, 4, 8, 6)))
    with pytest.raises(ModelError, match="Einsum: "):
        importer.load(file.model())


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "glsl_infer", *arguments)


def test_export_and_validate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the README: a network with a free size, drawn and compared layer by layer."""
    monkeypatch.setenv("LIBGL_ALWAYS_SOFTWARE", "1")
    file = File(9)
    x = file.input(("N", 3, "height", "width"))
    file.shapes[x] = (1, 3, 24, 20)
    y = file.op("Relu", [file.conv(x, 8, stride=2)], (1, 8, 12, 10))
    y = file.op("Mul", [y, file.op("Sigmoid", [y], (1, 8, 12, 10))], (1, 8, 12, 10))
    rows = [file.reshape(file.conv(feature_map, 4, 1), (1, 4, -1)) for feature_map in (y, file.conv(y, 8, stride=2))]
    concatenated = file.op("Concat", rows, (1, 4, 150), axis=2)
    parts = file.split(concatenated, 1, [2, 2])
    file.output(file.op("Concat", [file.op("Mul", [parts[0], file.random(1, 1, 150)], (1, 2, 150)),
                                   file.op("Sigmoid", [parts[1]], (1, 2, 150))], (1, 4, 150), axis=1))  # fmt: skip
    onnx.save(file.model(), tmp_path / "net.onnx")
    photos = tmp_path / "photos"
    photos.mkdir()
    for index in range(3):
        values = np.random.default_rng(index).integers(0, 256, (3, 4, 3)).astype(np.uint8)
        Image.fromarray(values).resize((40, 30), Image.Resampling.BICUBIC).save(photos / f"{index}.png")
    listed = command("inspect", tmp_path / "net.onnx", "--input-size", "24x20")
    assert listed.returncode == 0 and "silu in pieces" in listed.stdout, listed.stderr
    out = tmp_path / "net.glslnn"
    done = command("export", tmp_path / "net.onnx", "-o", out, "--calibrate", photos, "--input-size", "24x20")
    assert done.returncode == 0, done.stderr
    assert bundles.read(out).manifest.outputs[0].shape == (150, 4)
    checked = command("validate", tmp_path / "net.onnx", out, "--data", photos)
    assert checked.returncode == 0 and "ONNX Runtime" in checked.stdout, checked.stderr + checked.stdout


def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(network(1)[0].SerializeToString()[:-40])
    done = command("export", path, "-o", tmp_path / "net.glslnn")
    assert done.returncode == 2 and "Traceback" not in done.stderr and "net.onnx" in done.stderr
