"""What .onnx files of strangers had: operators out of order, scales of a turned matrix, ranges symmetric about 0."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_networks import File, agreement

from glsl_infer.graph.picture import picture_range
from glsl_infer.importers import onnx as importer
from glsl_infer.importers.onnx.file import parse
from glsl_infer.importers.onnx.model import in_order


def test_operators_out_of_order() -> None:
    """Tools that make 16 bits of a file append the casts that they put in between; runtimes sort them."""
    made = File(3)
    x = made.conv(made.input((1, 3, 8, 6)), 4)
    y = made.op("Relu", [made.conv(x, 4)], (1, 4, 8, 6))
    made.output(made.op("Add", [x, y], (1, 4, 8, 6)))
    made.nodes.reverse()
    assert agreement(made.model()) < 1e-5


def test_operators_in_order_stay_as_they_are() -> None:
    made = File(3)
    x = made.input((1, 3, 8, 6))
    ends = [made.op(kind, [made.conv(x, 4)], (1, 4, 8, 6)) for kind in ("Relu", "Tanh", "Sigmoid")]
    for end in ends:
        made.output(end)
    read = in_order(parse(made.model()).part.operators)
    assert [operator.outputs[0] for operator in read] == [node.output[0] for node in made.nodes]


@pytest.mark.parametrize("turned", [0, 1])
def test_scales_of_each_output_of_a_dense_layer(turned: int) -> None:
    made = File(4)
    rows = made.reshape(made.input((1, 3, 4, 4)), (1, 48))
    scale, zero = made.constant(0.04), made.constant(128, "uint8")
    stored = made.op("QuantizeLinear", [rows, scale, zero], (1, 48))
    weights = made.rng.integers(-60, 61, (5, 48) if turned else (48, 5))
    scales, zeros = made.constant(made.rng.uniform(0.002, 0.012, 5)), made.constant(np.zeros(5), "int8")
    end, middle = made.constant(0.2), made.constant(128, "uint8")
    given = [stored, scale, zero, made.constant(weights, "int8"), scales, zeros, "", end, middle]
    product = made.op("QGemm", given, (1, 5), domain="com.microsoft", transB=turned)
    made.output(made.op("DequantizeLinear", [product, end, middle], (1, 5)))
    assert agreement(made.model()) < 0.08  # what ONNX Runtime rounds to 8 bits


def in_8_bits(made: File, x: str, scale: float, zero: int) -> str:
    numbers = [made.constant(scale), made.constant(zero, "int8")]
    return made.op("DequantizeLinear", [made.op("QuantizeLinear", [x, *numbers], made.shapes[x]), *numbers],
                   made.shapes[x])  # fmt: skip


@pytest.mark.parametrize(
    ("of_picture", "of_relu", "expected"),
    [
        (0, 0, (1.0, 0.0)),  # a ReLU has that range, too: it says nothing of black
        (0, -128, (255 / 127, 128.0)),  # here it does
        (-128, 0, (255 / 127, 0.0)),
    ],
)
def test_what_bytes_of_a_picture_stand_for(of_picture: int, of_relu: int, expected: tuple[float, float]) -> None:
    made = File(5)
    x = in_8_bits(made, made.input((1, 3, 8, 6), "image"), 1 / 127, of_picture)
    y = in_8_bits(made, made.op("Relu", [made.conv(x, 4)], (1, 4, 8, 6)), 0.03, of_relu)
    made.output(made.conv(y, 2))
    (image,) = importer.load(made.model()).inputs
    found = [numbers[0] for numbers in picture_range(image)]
    assert np.allclose(found, expected)
    (image,) = importer.load(made.model(), input_range=(-1.0, 1.0)).inputs
    assert np.allclose([numbers[0] for numbers in picture_range(image)], (2.0, 127.5))
