"""Quantised files: their ranges are used, and each layer agrees with LiteRT within a step for equal inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tflite_files import File, litert, parsed, schema

from glsl_infer import bundle as bundles
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.picture import input_values, picture_range
from glsl_infer.importers.tflite.reader import tensors_of, to_graph
from glsl_infer.tools.export import export

SIZE = (1, 12, 10, 3)
SAME_RANGE = ("MAX_POOL_2D", "AVERAGE_POOL_2D", "PAD", "RESIZE_NEAREST_NEIGHBOR")


def random_network(seed: int, length: int = 6) -> tuple[File, int]:
    """Return a chain with sums and gates, of the operators of quantised files."""
    file = File(seed)
    x = file.conv(file.input(SIZE), 8, fused=1)
    for _ in range(length):
        _, height, width, channels = file.shape(x)
        kind = file.rng.choice(["conv", "wide", "add", "pool", "mean", "gate", "swish", "pad", "nearest"])
        if kind == "conv":
            x = file.conv(x, int(file.rng.choice([4, 6, 12])), stride=int(file.rng.choice([1, 2])), fused=3)
        elif kind == "wide":
            options = {"strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "depthMultiplier": 1}
            weights = [file.random(1, 3, 3, channels), file.random(channels)]
            x = file.op("DEPTHWISE_CONV_2D", [x, *weights], file.shape(x), {"DepthwiseConv2D": options})
        elif kind == "add":
            x = file.op("ADD", [x, file.conv(x, channels)], file.shape(x), {"Add": {"fusedActivationFunction": 1}})
        elif kind in ("pool", "mean"):
            options = {"filterHeight": 2, "filterWidth": 2, "strideH": 1, "strideW": 1, "padding": 0}
            op = "MAX_POOL_2D" if kind == "pool" else "AVERAGE_POOL_2D"
            x = file.op(op, [x], file.shape(x), {"Pool2D": options})
        elif kind == "gate":
            x = file.op("MUL", [file.op("LOGISTIC", [x], file.shape(x)), x], file.shape(x), {"Mul": {}})
        elif kind == "swish":
            x = file.op("HARD_SWISH", [x], file.shape(x))
        elif kind == "pad":
            around = file.constant([[0, 0], [1, 0], [0, 2], [0, 0]], "i4")
            x = file.op("PAD", [x, around], (1, height + 1, width + 2, channels))
        elif height * width < 200:
            size = file.constant([2 * height, 2 * width], "i4")
            options = {"ResizeNearestNeighbor": {}}
            x = file.op("RESIZE_NEAREST_NEIGHBOR", [x, size], (1, 2 * height, 2 * width, channels), options)
    return file, file.conv(x, 5, 1)


def quantize(file: File, output: int, kind: str, *, per_channel: bool = True) -> bytes:
    """Convert a file of floats to ``INT8`` or ``UINT8``, with ranges of random images."""
    data = file.bytes([output])
    pictures = [file.rng.uniform(0.0, 1.0, SIZE[1:]) for _ in range(3)]
    runs = [litert(data, {"image": picture}) for picture in pictures]
    lowest = -128 if kind == "INT8" else 0
    tensors, constants = file.graph.tensors, {i for i, t in enumerate(file.graph.tensors) if t.buffer}

    def activation(index: int, low: float, high: float) -> None:
        low, high = min(low, 0.0), max(high, 1e-3)
        scale = np.float32((high - low) / 255.0)
        tensors[index].type = getattr(schema.TensorType, kind)
        file.quantize(index, scale, round(-low / float(scale)) + lowest)

    activation(file.graph.inputs[0], 0.0, 1.0)
    for operator, code in zip(file.graph.operators, file.model.operatorCodes):
        (out,), first = operator.outputs, operator.inputs[0]
        name = next(key for key, value in vars(schema.BuiltinOperator).items() if value == code.builtinCode)
        code.version = 3 if "CONV" in name else 1 if name == "HARD_SWISH" else 2
        values = np.stack([run.tensor(out) for run in runs])
        # Wider than observed, so nothing saturates between two operators fused here.
        activation(out, 1.5 * float(values.min()), 1.5 * float(values.max()))
        if name == "LOGISTIC":
            file.quantize(out, 1.0 / 256.0, lowest)
        elif name in SAME_RANGE:
            tensors[out].quantization = tensors[first].quantization
        elif "CONV" in name:
            weights, bias = operator.inputs[1:]
            axis = 3 if name.startswith("DEPTH") else 0
            scales = _weights(file, weights, axis, kind, per_channel=per_channel)
            _bias(file, bias, scales * tensors[first].quantization.scale[0])
    assert constants
    return file.bytes([output])


def _weights(file: File, index: int, axis: int, kind: str, *, per_channel: bool) -> NDArray[np.float32]:
    tensor = file.graph.tensors[index]
    values = file.model.buffers[tensor.buffer].data.view("<f4").reshape(tensor.shape)
    largest = np.abs(values).max(axis=tuple(i for i in range(4) if i != axis)) if per_channel else np.abs(values).max()
    scales = np.atleast_1d(np.maximum(largest, 1e-6) / 127.0).astype(np.float32)
    shape = [1] * 4
    shape[axis] = len(scales)
    zero = 0 if kind == "INT8" else 128
    stored = np.round(values / scales.reshape(shape)) + zero
    file.model.buffers[tensor.buffer].data = stored.astype("i1" if kind == "INT8" else "u1").view(np.uint8).ravel()
    tensor.type = getattr(schema.TensorType, kind)
    file.quantize(index, scales, zero, axis)
    return scales


def _bias(file: File, index: int, scales: NDArray[np.float32]) -> None:
    tensor = file.graph.tensors[index]
    values = file.model.buffers[tensor.buffer].data.view("<f4")
    file.model.buffers[tensor.buffer].data = np.round(values / scales).astype("<i4").view(np.uint8)
    tensor.type = schema.TensorType.INT32
    file.quantize(index, scales)


def prepared(data: bytes) -> Graph:
    return prepare(optimize(to_graph(parsed(data)))).graph


def agrees(data: bytes, seed: int) -> int:
    """Compare every layer with LiteRT's, given LiteRT's own inputs; return the number of layers."""
    graph, model = prepared(data), parsed(data)
    (image,) = graph.inputs
    picture = np.random.default_rng(seed).integers(0, 256, SIZE[1:]).astype(np.uint8)
    runner = litert(data, {"image": input_values(image, picture)})
    tensors, ranges, compared = tensors_of(model), ranges_of(graph), 0
    values = {image.name: input_values(image, picture)}
    for node in graph.nodes[1:]:
        if node.name.endswith("-before"):  # a layer that optimisation has put before its neighbour
            values[node.name] = reference.layer(node, [values[name] for name in node.inputs], stored=True)
            continue
        tensor = tensors.get((node.name, *node.attrs.get("fused", ()))[-1])
        expected = None if tensor is None else runner.tensor(tensor)
        assert expected is not None, f"{node.name}: a layer without a tensor"
        expected = expected.reshape(graph.shapes[node.name])
        output = reference.layer(node, [values[name] for name in node.inputs], stored=True)
        step = max(max(ranges[node.name].scales) / 255.0, float(model.tensors[tensor].quantization.scales[0]))
        # LiteRT also rounds intermediate results: the convolution before a sum, the sigmoid of a gate.
        between = [tensors[name] for name in (node.name, *node.attrs.get("fused", ()))[:-1] if name in tensors]
        step += 0.5 * sum(model.tensors[index].quantization.scales[0] for index in between)
        step += 0.5 * max(ranges[node.inputs[0]].scales) / 255.0 * ("silu" in node.activation.text)
        assert np.abs(output - expected).max() <= 1.02 * step, node.name
        values[node.name] = expected.astype(np.float64)
        compared += 1
    return compared


@pytest.mark.parametrize("kind", ["INT8", "UINT8"])
def test_each_layer_within_a_step_of_litert(kind: str) -> None:
    compared = 0
    for seed in range(20):
        compared += agrees(quantize(*random_network(seed), kind, per_channel=kind == "INT8"), seed)
    assert compared > 60


def test_per_tensor_weights() -> None:
    assert agrees(quantize(*random_network(50), "INT8", per_channel=False), 50) > 2


def test_ranges_are_those_of_the_file() -> None:
    data = quantize(*random_network(1), "INT8")
    model, graph = parsed(data), prepared(data)
    assert picture_range(graph.input) == ((1.0,), (0.0,))
    tensors = tensors_of(model)
    checked = 0
    for node in graph.nodes[1:]:
        quantization = model.tensors[tensors[(node.name, *node.attrs.get("fused", ()))[-1]]].quantization
        assert "seen" not in node.attrs
        if node.op == "conv2d":
            assert node.attrs["scales"] == pytest.approx((255.0 * quantization.scales[0],), rel=1e-5)
            assert node.attrs["zeros"] == (quantization.zeros[0] + 128,)
            checked += 1
    assert checked > 1


def test_a_file_without_ranges_needs_images() -> None:
    bundle, output = random_network(2)
    with pytest.raises(ModelError, match="--images"):
        prepared(bundle.bytes([output]))


def test_floats_quantised_at_once_set_the_input_range() -> None:
    """The converter's default has float inputs and outputs around a network of bytes."""
    file = File()
    image = file.input(SIZE)
    x = file.op("QUANTIZE", [image], SIZE, {"Quantize": {}}, type_="INT8")
    file.quantize(x, 2.0 / 255.0, 0)
    y = file.op("DEQUANTIZE", [x], SIZE, {"Dequantize": {}})
    (scale,), (zero,) = picture_range(to_graph(parsed(file.bytes([file.conv(y)]))).input)
    assert (scale, zero) == pytest.approx((2.0, 128.0))


@pytest.mark.parametrize("kind", ["INT16", "INT8"])
def test_ranges_of_16_bits_do_not_set_the_input_range(kind: str) -> None:
    """16-bit ranges are symmetric even for the result of a ReLU; 8-bit ranges need not be."""
    file = File()
    x = file.op("QUANTIZE", [file.input(SIZE)], SIZE, {"Quantize": {}}, type_=kind)
    half = 2 ** (15 if kind == "INT16" else 7)
    file.quantize(x, 1.0 / half, 0)
    y = file.conv(file.op("DEQUANTIZE", [x], SIZE, {"Dequantize": {}}), 4)
    z = file.op("RELU", [y], (*SIZE[:3], 4), type_=kind)
    file.quantize(z, 3.0 / half, 0 if kind == "INT16" else -128)
    end = file.op("DEQUANTIZE", [z], (*SIZE[:3], 4), {"Dequantize": {}})
    (scale,), (zero,) = picture_range(to_graph(parsed(file.bytes([file.conv(end)]))).input)
    assert (scale, zero) == pytest.approx((1.0, 0.0) if kind == "INT16" else (255 / 128, 128.0), rel=1e-3)


def test_a_product_on_the_cpu_is_written(tmp_path: Path) -> None:
    """The file's range of a CPU product does not become an attribute of the layer, which readers would refuse."""
    file = File()
    x = file.quantize(file.op("QUANTIZE", [file.input(SIZE)], SIZE, {"Quantize": {}}, type_="INT8"), 1 / 255, -128)
    y = file.conv(file.op("DEQUANTIZE", [x], SIZE, {"Dequantize": {}}), 4)
    rows = (1, SIZE[1] * SIZE[2], 4)
    flat = file.op("RESHAPE", [y, file.constant(rows, "i4")], rows, {"Reshape": {}})
    flat = file.quantize(file.op("QUANTIZE", [flat], rows, {"Quantize": {}}, type_="INT8"), 0.05)
    square = (1, rows[1], rows[1])
    product = file.op("BATCH_MATMUL", [flat, flat], square, {"BatchMatMul": {"adjY": True}}, type_="INT8")
    end = file.op("DEQUANTIZE", [file.quantize(product, 0.2)], square, {"Dequantize": {}})
    path = tmp_path / "net.tflite"
    path.write_bytes(file.bytes([end]))
    Image.fromarray(np.random.default_rng(0).integers(0, 256, SIZE[1:]).astype(np.uint8)).save(tmp_path / "0.png")
    export(path, tmp_path / "net.glslnn", calibration=[tmp_path / "0.png"])
    parts = bundles.read(tmp_path / "net.glslnn").parts
    assert "matmul" in [node.op for part in parts for node in getattr(part, "nodes", ())]
