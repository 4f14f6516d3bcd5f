"""Quantised files: their ranges are used, and each layer agrees with ONNX Runtime within a step for equal inputs."""

from __future__ import annotations

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_networks import File, TensorProto, agreement, numpy_helper, onnx, run

from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.errors import ModelError
from glsl_infer.graph import reference
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.graph.picture import input_values, picture_range
from glsl_infer.importers import onnx as importer

SIZE = (3, 12, 10)


def random_network(seed: int, length: int = 6) -> File:
    """Return a chain with sums, concatenations and gates, of the operators of quantised files."""
    file = File(seed, 17)
    x = file.op("Relu", [file.conv(file.input((1, *SIZE)), 8)], (1, 8, 12, 10))
    for _ in range(length):
        _, channels, height, width = file.shapes[x]
        kind = file.rng.choice(["conv", "wide", "add", "pool", "mean", "join", "sigmoid", "nearest"])
        if kind == "conv":
            stride = int(file.rng.choice([1, 2]))
            x = file.conv(x, int(file.rng.choice([4, 6, 12])), stride=stride)
            x = file.op("Relu", [x], file.shapes[x])
        elif kind == "wide":
            x = file.conv(x, channels, groups=channels)
        elif kind == "add":
            x = file.op("Add", [x, file.conv(x, channels)], file.shapes[x])
        elif kind in ("pool", "mean"):
            op = "MaxPool" if kind == "pool" else "AveragePool"
            x = file.op(op, [x], file.shapes[x], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        elif kind == "join":
            x = file.op("Concat", [x, file.conv(x, 4)], (1, channels + 4, height, width), axis=1)
        elif kind == "sigmoid":
            x = file.op("Mul", [x, file.op("Sigmoid", [file.conv(x, channels)], file.shapes[x])], file.shapes[x])
        elif height * width < 200:
            options = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            x = file.resize(x, (2, 2), **options)
    file.output(file.conv(x, 5, 1))
    return file


def quantized(file: File, folder: Path, *, qdq: bool, signed: bool, per_channel: bool) -> Any:
    """Return an 8-bit file from ONNX Runtime's own tools, with ranges of random images."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnxruntime import quantization as tools

        class Pictures(tools.CalibrationDataReader):
            def __init__(self) -> None:
                # The compared image is among them, so nothing saturates between two operators fused here.
                values = [picture(seed).astype(np.float32) / np.float32(255.0) for seed in range(8)]
                self._left = [{"x": value.transpose(2, 0, 1)[None]} for value in values]

            def get_next(self) -> dict[str, Any] | None:
                return self._left.pop() if self._left else None

        onnx.save(file.model(), folder / "float.onnx")
        logging.disable(logging.WARNING)
        kind = tools.QuantType.QInt8 if signed else tools.QuantType.QUInt8
        tools.quantize_static(
            folder / "float.onnx",
            folder / "quantized.onnx",
            Pictures(),
            quant_format=tools.QuantFormat.QDQ if qdq else tools.QuantFormat.QOperator,
            activation_type=kind,
            weight_type=tools.QuantType.QInt8,
            per_channel=per_channel,
            reduce_range=not qdq,  # sums of two u8 and s8 products saturate on CPUs without VNNI
        )
        logging.disable(logging.NOTSET)
    return onnx.load(folder / "quantized.onnx")


def picture(seed: int) -> np.ndarray:
    """Return a random image."""
    return np.random.default_rng(seed).integers(0, 256, (SIZE[1], SIZE[2], SIZE[0])).astype(np.uint8)


def agrees(model: Any, seed: int) -> int:
    """Compare every layer with ONNX Runtime's, given its own inputs; return the number of layers."""
    imported = importer.imported(model)
    graph = prepare(optimize(imported.survey.whole())).graph
    (image,) = graph.inputs
    values = {image.name: input_values(image, picture(seed))}
    names = {name: imported.names[name] for name in imported.tensors}
    tensors = tensors_of(
        model,
        sorted(set(names.values())),
        {"x": imported.inputs["x"].as_in_file(values[image.name]).astype(np.float32)},
    )
    ranges, compared = ranges_of(graph), 0
    spans: dict[str, Any] = {}
    observed = {node.name: node.attrs.get(OBSERVED_RANGE) for node in imported.survey.whole().nodes}
    for node in graph.nodes[1:]:
        last = (node.name, *node.attrs.get("fused", ()))[-1]
        output = reference.layer(node, [values[name] for name in node.inputs], stored=True)
        values[node.name] = output
        if last not in names:
            continue
        span = observed[last] or spans.get(node.inputs[0])  # for operators that only move values
        expected = imported.tensors[last].as_stored(real(tensors[names[last]], span)).reshape(graph.shapes[node.name])
        spans[node.name] = span
        if node.name in ranges:
            step = max(ranges[node.name].scales) / 255.0
            # ONNX Runtime also rounds intermediate results: the convolution before a sum or a function.
            step += sum(0.5 * (observed[name][1] - observed[name][0]) / 255.0
                        for name in (node.name, *node.attrs.get("fused", ()))[:-1] if observed.get(name))  # fmt: skip
            if node.op == "average_pool" and span is not None:  # up to 1.72 of its steps off an exact mean
                step += 1.25 * (span[1] - span[0]) / 255.0
            assert np.abs(output - expected).max() <= 1.02 * step, (node.name, node.op, seed)
            compared += 1
        values[node.name] = np.asarray(expected, np.float64)
    return compared


def tensors_of(model: Any, names: list[str], feeds: dict[str, Any]) -> dict[str, Any]:
    """Return tensors between operators, as ONNX Runtime computes them."""
    combined = onnx.ModelProto()
    combined.CopyFrom(model)
    expected = [name for name in names if name not in feeds]
    del combined.graph.output[:]
    combined.graph.output.extend(onnx.ValueInfoProto(name=name) for name in expected)
    return {**feeds, **dict(zip(expected, run(combined, feeds)))}


def real(stored: np.ndarray, span: tuple[float, float] | None) -> np.ndarray:
    """Return the real values of stored integers."""
    if span is None:
        assert stored.dtype.kind == "f"
        return stored
    if stored.dtype.kind == "f":  # not yet rounded to its readers' input
        step = (span[1] - span[0]) / 255.0
        return span[0] + step * np.round((np.clip(stored, *span) - span[0]) / step)
    info = np.iinfo(stored.dtype)
    return span[0] + (stored.astype(np.float64) - info.min) * (span[1] - span[0]) / 255.0


@pytest.mark.parametrize(("qdq", "signed"), [(True, True), (True, False), (False, False)])
def test_each_layer_within_a_step(tmp_path: Path, qdq: bool, signed: bool) -> None:
    compared = 0
    for seed in range(8):
        model = quantized(random_network(seed), tmp_path, qdq=qdq, signed=signed, per_channel=seed % 2 == 0)
        compared += agrees(model, seed)
    assert compared > 40


def test_ranges_are_those_of_the_file(tmp_path: Path) -> None:
    model = quantized(random_network(1), tmp_path, qdq=True, signed=False, per_channel=False)
    graph = importer.load(model)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    scales, zeros = picture_range(graph.input)
    scale = float(constants[next(name for name in constants if name == "x_scale")])
    assert scales == pytest.approx((255.0 * scale,), rel=1e-5)
    assert zeros == (float(constants["x_zero_point"]),)
    with_ranges = [node for node in graph.nodes if OBSERVED_RANGE in node.attrs]
    assert len(with_ranges) > 5
    for node in with_ranges:
        low, high = node.attrs[OBSERVED_RANGE]
        assert low < high


def test_products_of_whole_numbers() -> None:
    """DynamicQuantizeLinear, ConvInteger and MatMulInteger become the equivalent products of floats."""
    file = File(3, 17)
    x = file.input((1, 4, 6, 6))
    stored, scale, zero = file.several("DynamicQuantizeLinear", [x], [(1, 4, 6, 6), (), ()])
    weights = file.constant(file.rng.integers(-127, 128, (5, 4, 3, 3)), "int8")
    integers = file.op("ConvInteger", [stored, weights, zero], (1, 5, 4, 4))
    output = file.op("Cast", [integers], (1, 5, 4, 4), to=TensorProto.FLOAT)
    factor = file.op("Mul", [scale, file.constant(0.01)], ())
    rows = file.reshape(file.op("Mul", [output, factor], (1, 5, 4, 4)), (1, 80))
    stored, scale, zero = file.several("DynamicQuantizeLinear", [rows], [(1, 80), (), ()])
    matrix = [file.constant(file.rng.integers(0, 256, (80, 3)), "uint8"), zero, file.constant(128, "uint8")]
    product = file.op("Cast", [file.op("MatMulInteger", [stored, *matrix], (1, 3))], (1, 3), to=TensorProto.FLOAT)
    file.output(file.op("Mul", [product, file.op("Mul", [scale, file.constant(0.02)], ())], (1, 3)))
    assert agreement(file.model()) < 0.03  # the rounding of ONNX Runtime to 8 bits


def test_half_and_packed_weights() -> None:
    """Weights of 16 and of 4 bits, and in blocks with a scale each."""
    file = File(4, 21)
    x = file.input((1, 16))
    half = file.op(
        "Cast", [file.constant(file.rng.normal(0, 0.3, (16, 16)), "float16")], (16, 16), to=TensorProto.FLOAT
    )
    y = file.op("MatMul", [x, half], (1, 16))
    packed = onnx.helper.make_tensor("packed", TensorProto.INT4, (16, 8), file.rng.integers(-8, 8, 128).tolist())
    file.constants.append(packed)
    scales = file.constant(file.rng.uniform(0.01, 0.1, (4, 8)))
    weights = file.op("DequantizeLinear", ["packed", scales], (16, 8), axis=0, block_size=4)
    file.output(file.op("MatMul", [y, weights], (1, 8)))
    assert agreement(file.model()) < 1e-5


@pytest.mark.parametrize("by_type", [True, False])
def test_weights_that_the_file_rounds_to_4_bits(by_type: bool) -> None:
    """The rounding saturates at the ends of the type of the zero point, or of ``output_dtype``."""
    file = File(5, 21)
    x, scale = file.input((1, 16)), file.constant(0.2)
    zero = [] if by_type else ["zero"]
    file.constants.append(onnx.helper.make_tensor("zero", TensorProto.INT4, (), [0]))
    options = {"output_dtype": TensorProto.INT4} if by_type else {}
    stored = file.op("QuantizeLinear", [file.random(16, 8, spread=2.0), scale, *zero], (16, 8), **options)
    file.output(file.op("MatMul", [x, file.op("DequantizeLinear", [stored, scale, *zero], (16, 8))], (1, 8)))
    assert agreement(file.model()) < 1e-5


@pytest.mark.parametrize("kind", ["INT2", "INT4", "UINT4"])
def test_a_cast_to_few_bits_is_refused(kind: str) -> None:
    """Values beyond the type would wrap around."""
    file = File(6, 25)
    file.constants.append(onnx.helper.make_tensor("like", getattr(TensorProto, kind), (1,), [1]))
    file.output(file.op("CastLike", [file.input((1, 16)), "like"], (1, 16)))
    with pytest.raises(ModelError, match=f"a cast to {kind.lower()} of what the network computes"):
        importer.load(file.model())


@pytest.mark.parametrize("lowest", [-np.inf, -3e38])
def test_infinite_calibration_values(lowest: float) -> None:
    """A mask of a transformer can be minus infinity or the least float, for which there is no range."""
    file = File(7)
    file.output(file.op("MatMul", [file.input((1, 16), "mask"), file.random(16, 4)], (1, 4)))
    values = np.zeros(16)
    values[3] = lowest
    with pytest.raises(
        ModelError, match=r"'mask': calibration values that are infinite or beyond 2.5e\+29; .*--input-range mask="
    ):
        prepare(optimize(importer.load(file.model())), Calibration([{"mask": values}]))


def test_a_file_without_ranges_needs_images() -> None:
    with pytest.raises(ModelError, match="--images"):
        prepare(optimize(importer.load(random_network(2).model())))


def dynamic(kind: str, opset: int) -> tuple[Any, Any]:
    """Return a network and the same with dynamic quantisation, of before opset 11 in pieces or of ONNX Runtime."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    file = File(5, opset)
    x = file.conv(file.input((1, 4, 9, 8)), 6)
    file.output(file.op("MatMul", [file.reshape(x, (1, 6 * 9 * 8)), file.random(6 * 9 * 8, 5, spread=0.05)], (1, 5)))
    with tempfile.TemporaryDirectory() as folder:
        plain, quantized = Path(folder) / "plain.onnx", Path(folder) / "quantized.onnx"
        onnx.save(file.model(), plain)
        quantize_dynamic(plain, quantized, weight_type=getattr(QuantType, kind))
        return file.model(), onnx.load(quantized)


@pytest.mark.parametrize("kind", ["QInt8", "QUInt8"])
@pytest.mark.parametrize("opset", [10, 13])
def test_scales_that_the_network_computes(kind: str, opset: int) -> None:
    """Before opset 11, dynamic quantisation is ReduceMin, ReduceMax, Sub, Div, Floor and QuantizeLinear."""
    plain, model = dynamic(kind, opset)
    assert "Integer" in str({node.op_type for node in model.graph.node})
    graph = importer.imported(model, io_options=importer.IoOptions(fits={"": "none"})).survey.whole()
    assert not {node.op for node in graph.nodes} & {"tensor_binary", "tensor_reduce"}
    assert agreement(model) <= 0.02 and agreement(plain) <= 1e-5


def test_constants_of_quantised_tensors() -> None:
    """A quantised tensor is padded with its zero point, and a table of quantised rows is gathered from."""
    file = File(2, 17)
    x, ends = file.input((1, 6, 5, 7)), [file.constant(0.03), file.constant(40, "uint8")]
    stored = file.op("QuantizeLinear", [x, *ends], (1, 6, 5, 7))
    pads, value = file.constant([0, 0, 1, 1, 0, 0, 1, 1], "int64"), file.constant(40, "uint8")
    stored = file.op("Pad", [stored, pads, value], (1, 6, 7, 9), mode="constant")
    stored = file.op("MaxPool", [stored], (1, 6, 3, 4), kernel_shape=[2, 2], strides=[2, 2])
    table = file.constant(file.rng.integers(0, 255, (5, 6, 3, 4)), "uint8")
    row = file.op("Gather", [table, file.constant([3], "int64")], (1, 6, 3, 4), axis=0)
    concatenated = file.op("Concat", [stored, row], (1, 12, 3, 4), axis=1)
    file.output(file.op("DequantizeLinear", [concatenated, *ends], (1, 12, 3, 4)))
    feeds = {"x": np.random.default_rng(0).uniform(-1.1, 6.4, (1, 6, 5, 7)).astype(np.float32)}
    imported = importer.imported(file.model(), io_options=importer.IoOptions(fits={"": "none"}))
    (expected,) = run(file.model(), feeds)
    computed = reference.run(imported.survey.whole(), {"x": imported.stored_input("x", feeds["x"])}, mode="float")
    (name,) = imported.outputs
    assert np.abs(imported.file_output(name, computed[name]) - expected).max() <= 0.0151
