"""Features of published .onnx files: operators out of order, scales of a transposed matrix, symmetric ranges."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx_networks import File, agreement

from glsl_infer.errors import InputError
from glsl_infer.graph.picture import picture_range
from glsl_infer.importers import onnx as importer
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.onnx.file import parse
from glsl_infer.importers.onnx.model import in_order
from glsl_infer.tools.export import export
from glsl_infer.tools.validate.job import ABOUT, layer_file
from glsl_infer.tools.validate.onnx_outputs import work


def test_operators_out_of_order() -> None:
    """Tools that convert a file to 16 bits append the inserted casts, and runtimes sort the operators."""
    file = File(3)
    x = file.conv(file.input((1, 3, 8, 6)), 4)
    y = file.op("Relu", [file.conv(x, 4)], (1, 4, 8, 6))
    file.output(file.op("Add", [x, y], (1, 4, 8, 6)))
    file.nodes.reverse()
    assert agreement(file.model()) < 1e-5


def test_operators_in_order_stay_as_they_are() -> None:
    file = File(3)
    x = file.input((1, 3, 8, 6))
    ends = [file.op(kind, [file.conv(x, 4)], (1, 4, 8, 6)) for kind in ("Relu", "Tanh", "Sigmoid")]
    for end in ends:
        file.output(end)
    read = in_order(parse(file.model()).part.operators)
    assert [operator.outputs[0] for operator in read] == [node.output[0] for node in file.nodes]


def test_an_even_split_with_unread_last_parts() -> None:
    file = File(5, opset=13)
    parts = file.several("Split", [file.conv(file.input((1, 3, 8, 6)), 8)], [(1, 2, 8, 6)] * 4, axis=1)
    file.output(file.op("Relu", [parts[1]], (1, 2, 8, 6)))
    assert agreement(file.model()) < 1e-5


@pytest.mark.parametrize("turned", [0, 1])
def test_scales_of_each_output_of_a_dense_layer(turned: int) -> None:
    file = File(4)
    rows = file.reshape(file.input((1, 3, 4, 4)), (1, 48))
    scale, zero = file.constant(0.04), file.constant(128, "uint8")
    stored = file.op("QuantizeLinear", [rows, scale, zero], (1, 48))
    weights = file.rng.integers(-60, 61, (5, 48) if turned else (48, 5))
    scales, zeros = file.constant(file.rng.uniform(0.002, 0.012, 5)), file.constant(np.zeros(5), "int8")
    end, middle = file.constant(0.2), file.constant(128, "uint8")
    inputs = [stored, scale, zero, file.constant(weights, "int8"), scales, zeros, "", end, middle]
    product = file.op("QGemm", inputs, (1, 5), domain="com.microsoft", transB=turned)
    file.output(file.op("DequantizeLinear", [product, end, middle], (1, 5)))
    assert agreement(file.model()) < 0.08  # the rounding of ONNX Runtime to 8 bits


def in_8_bits(file: File, x: str, scale: float, zero: int) -> str:
    quantization = [file.constant(scale), file.constant(zero, "int8")]
    return file.op("DequantizeLinear", [file.op("QuantizeLinear", [x, *quantization], file.shapes[x]), *quantization],
                   file.shapes[x])  # fmt: skip


@pytest.mark.parametrize(
    ("of_picture", "of_relu", "expected"),
    [
        (0, 0, (1.0, 0.0)),  # a ReLU has this range, too, so it does not define black
        (0, -128, (255 / 127, 128.0)),  # this range does
        (-128, 0, (255 / 127, 0.0)),
    ],
)
def test_the_file_sets_the_values_of_bytes(of_picture: int, of_relu: int, expected: tuple[float, float]) -> None:
    file = File(5)
    x = in_8_bits(file, file.input((1, 3, 8, 6), "image"), 1 / 127, of_picture)
    y = in_8_bits(file, file.op("Relu", [file.conv(x, 4)], (1, 4, 8, 6)), 0.03, of_relu)
    file.output(file.conv(y, 2))
    (image,) = importer.load(file.model()).inputs
    results = [bounds[0] for bounds in picture_range(image)]
    assert np.allclose(results, expected)
    (image,) = importer.load(file.model(), input_range=(-1.0, 1.0)).inputs
    assert np.allclose([bounds[0] for bounds in picture_range(image)], (2.0, 127.5))


@pytest.mark.parametrize("cut", [True, False])
def test_validation_of_as_many_boxes_as_there_are(cut: bool, tmp_path: Path) -> None:
    """A layer with fewer rows than its maximum is not compared; such an output is refused by name."""
    file = File(7)
    x = file.conv(file.input((1, 3, 8, 6)), 4)
    rows = file.reshape(file.transpose(x, (0, 2, 3, 1)), (1, 48, 4))
    corner = file.op("Add", [file.slice(rows, 2, range(2)), file.constant(np.arange(48).reshape(1, 48, 1) * 10.0)],
                     (1, 48, 2))  # fmt: skip
    boxes = file.op("Concat", [corner, file.op("Add", [corner, file.constant(2.0)], (1, 48, 2))], (1, 48, 4), axis=2)
    heights = file.transpose(file.slice(rows, 2, range(2, 3)), (0, 2, 1))
    mean = file.op("ReduceMean", [heights], (1, 1, 1), axes=[2])
    scores = file.op("Sigmoid", [file.op("Sub", [heights, mean], (1, 1, 48))], (1, 1, 48))  # half of them above 0.5
    limits = [file.constant([40], "int64"), file.constant([0.5]), file.constant([0.5])]
    chosen = file.op("NonMaxSuppression", [boxes, scores, *limits], (40, 3))
    places = file.op("Squeeze", [file.slice(chosen, 1, range(2, 3)), file.constant([1], "int64")], (40,))
    output = file.op("Gather", [file.reshape(boxes, (48, 4)), places], (40, 4), axis=0)
    end = file.slice(output, 0, range(2)) if cut else output
    file.output(end)
    path = tmp_path / "net.onnx"
    path.write_bytes(file.model().SerializeToString())
    graph = importer.load(path)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).integers(0, 256, (1, 8, 6, 3)).astype(np.uint8))
    layers = [node.name for node in graph.nodes if not node.operator.is_input]
    job = {"model": str(path), "inputs": {"x": str(tmp_path / "x.npy")}, "numbers": [], "input_ranges": {},
           "outputs": [{"name": end, "layers": list(graph.outputs[0].layers), "steps": 0}], "layers": layers,
           "count": 1, "layer_pictures": 1, "out": str(tmp_path)}  # fmt: skip
    if cut:
        work(job)
        about = json.loads((tmp_path / ABOUT).read_text("utf-8"))
        lengths = [np.load(tmp_path / layer_file(0, at)).size for at in range(len(about["layers"]))]
        sizes = [int(np.prod(graph.shapes[name])) for name in about["layers"]]
        assert sum(length != size for length, size in zip(lengths, sizes)) >= 1 and lengths[-1] == sizes[-1]
    else:
        with pytest.raises(InputError, match=r"has as many rows as the network finds.*always 160 here"):
            work(job)


def test_more_outputs_than_a_bundle_has(tmp_path: Path) -> None:
    file = File(8)
    x = file.input((1, 3, 8, 6))
    for _ in range(17):
        file.output(file.op("Sigmoid", [file.conv(x, 4)], (1, 4, 8, 6)))
    path = tmp_path / "net.onnx"
    path.write_bytes(file.model().SerializeToString())
    with pytest.raises(InputError, match="--outputs"):
        export(path, tmp_path / "net.glslnn")
    names = tuple(output.name for output in file.outputs[:2])
    export(path, tmp_path / "net.glslnn", io_options=IoOptions(outputs=names))


def test_ellipses_of_different_axes_are_refused(tmp_path: Path) -> None:
    file = File(9)
    x = file.op("Relu", [file.input((1, 3, 8, 6))], (1, 3, 8, 6))
    y = file.op("Einsum", [x, file.random(3, 6, 5)], (1, 3, 8, 5), equation="...ij,...jk->...ik")
    path = tmp_path / "net.onnx"
    file.output(y)
    path.write_bytes(file.model().SerializeToString())
    with pytest.raises(InputError, match=r"the equation '\.\.\.ij,\.\.\.jk->\.\.\.ik'; name every axis by a letter"):
        importer.load(path)
