"""Files optimised or quantised by ONNX Runtime: operators of its domain, compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx_networks import File, agreement, onnx, run

from glsl_infer.errors import ModelError
from glsl_infer.graph import reference
from glsl_infer.importers import onnx as importer

MICROSOFT = "com.microsoft"
Build = Callable[[File, str], str]
"""Adds an operator after rows (1, 5, 8)."""

ROWS = (1, 5, 8)


def rows(file: File) -> str:
    return file.reshape(file.input((1, 1, 5, 8)), ROWS)


def own(kind: str, *constants: tuple[int, ...], shape: tuple[int, ...] = ROWS, **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        return file.op(kind, [x, *(file.random(*size) if size else "" for size in constants)], shape, MICROSOFT,
                       **attributes)  # fmt: skip

    return build


def skipped(kind: str, *constants: tuple[int, ...], read_sum: bool = False) -> Build:
    """Return a builder of a sum of two tensors and its normalisation."""

    def build(file: File, x: str) -> str:
        y = file.op("Tanh", [x], ROWS)
        inputs = [x, y, *(file.random(*size) for size in constants)]
        outputs = file.several(kind, inputs, [ROWS, (1,), (1,), ROWS], MICROSOFT, epsilon=1e-3)
        file.nodes[-1].output[1:3] = ["", ""]
        return file.op("Add", [outputs[0], outputs[3]], ROWS) if read_sum else outputs[0]

    return build


def in_8_bits(file: File, x: str, scale: float = 0.03, zero: int = 0) -> list[str]:
    """Return an 8-bit tensor, its scale and its zero point."""
    ends = [file.constant(scale), file.constant(zero, "int8")]
    return [file.op("QuantizeLinear", [x, *ends], file.shapes[x]), *ends]


def quantized(kind: str, **attributes: Any) -> Build:
    """Return a builder of an operator on 8-bit tensors."""

    def build(file: File, x: str) -> str:
        ends = [file.constant(0.05), file.constant(-3, "int8")]
        inputs = in_8_bits(file, x)
        if kind == "QLinearWhere":
            chosen = file.op("Greater", [x, file.constant(0.0)], ROWS)
            inputs = [chosen, *inputs, *in_8_bits(file, file.op("Tanh", [x], ROWS), 0.01, 5)]
        output = file.op(kind, [*inputs, *ends], ROWS, MICROSOFT, **attributes)
        return file.op("DequantizeLinear", [output, *ends], ROWS)

    return build


def whole_weights(kind: str, *, each: bool) -> Build:
    """Return a builder of a product with 8-bit weights, with one scale or one for each column."""

    def build(file: File, x: str) -> str:
        weights = file.constant(file.rng.integers(-90, 91, (8, 6)), "int8")
        scale = file.constant(file.rng.uniform(0.002, 0.01, 6) if each else 0.005)
        zero = file.constant(np.full(6, 3) if each else 3, "int8")
        bias = file.random(6)
        if kind == "DynamicQuantizeMatMul":
            return file.op(kind, [x, weights, scale, zero, bias], (1, 5, 6), MICROSOFT)
        low, factor, middle = file.several("DynamicQuantizeLinear", [x], [ROWS, (), ()])
        return file.op(kind, [low, weights, factor, scale, middle, zero, bias], (1, 5, 6), MICROSOFT)

    return build


def few_bits(zero: bool) -> Build:
    """Return a builder of a product with 4-bit weights, with zero points or without."""

    def build(file: File, x: str) -> str:
        wide = file.op("Concat", [x] * 4, (1, 5, 32), axis=2)
        weights = file.constant(file.rng.integers(0, 256, (6, 2, 8)), "uint8")
        scales = file.constant(file.rng.uniform(0.01, 0.05, 12))
        zeros = [file.constant(file.rng.integers(0, 256, 6), "uint8")] if zero else []
        return file.op("MatMulNBits", [wide, weights, scales, *zeros], (1, 5, 6), MICROSOFT, K=32, N=6, bits=4,
                       block_size=16)  # fmt: skip

    return build


def lstm(file: File, x: str) -> str:
    steps = file.op("Transpose", [x], (5, 1, 8), perm=[1, 0, 2])
    kernels = [file.constant(file.rng.integers(-90, 91, shape), "int8") for shape in ((1, 8, 24), (1, 6, 24))]
    scales = [file.constant(file.rng.uniform(0.002, 0.01, (1, 24))) for _ in kernels]
    zeros = [file.constant(np.zeros((1, 24)), "int8") for _ in kernels]
    inputs = [steps, *kernels, file.random(1, 48), "", "", "", "", scales[0], zeros[0], scales[1], zeros[1]]
    return file.op("DynamicQuantizeLSTM", inputs, (5, 1, 1, 6), MICROSOFT, hidden_size=6)


def fused_product(file: File, x: str) -> str:
    return file.op("FusedMatMul", [x, file.random(6, 8)], (1, 5, 6), MICROSOFT, transB=1, alpha=0.5)


def fused_product_of_two(file: File, x: str) -> str:
    return file.op("FusedMatMul", [x, file.op("Tanh", [x], ROWS)], (1, 8, 8), MICROSOFT, transA=1, alpha=2.0)


def fused_gemm(file: File, x: str) -> str:
    flat = file.reshape(x, (1, 40))
    return file.op("FusedGemm", [flat, file.random(40, 4), file.random(4)], (1, 4), MICROSOFT, activation="LeakyRelu",
                   activation_alpha=0.25)  # fmt: skip


def attention(file: File, x: str) -> str:
    return file.op("Attention", [x, file.random(8, 24), file.random(24)], ROWS, MICROSOFT, num_heads=2)


def many_heads(file: File, x: str) -> str:
    return file.op("MultiHeadAttention", [x, file.op("Tanh", [x], ROWS), x, file.random(24)], ROWS, MICROSOFT,
                   num_heads=2)  # fmt: skip


def pad(file: File, x: str) -> str:
    pads = [file.constant([0, 1, 2, 0, 0, 3], "int64"), file.constant(1.5)]
    return file.op("Pad", [x, *pads], (1, 6, 13), MICROSOFT)


def triangle(file: File, x: str) -> str:
    return file.op("Trilu", [x, file.constant([1], "int64")], ROWS, MICROSOFT, upper=1)


def points(file: File, x: str) -> str:
    return file.op("GatherND", [x, file.constant([[0, 3], [0, 1]], "int64")], (2, 8), MICROSOFT)


def sum_with_a_range(file: File, x: str) -> str:
    steps = file.op("Range", [file.constant(0.0), file.constant(4.0), file.constant(0.5)], (8,), MICROSOFT)
    return file.op("Add", [x, steps], ROWS)


def grid(mode: str) -> Build:
    def build(file: File, x: str) -> str:
        places = file.constant(file.rng.uniform(-1.0, 1.0, (1, 4, 3, 2)))
        picture = file.reshape(x, (1, 1, 5, 8))
        return file.op("GridSample", [picture, places], (1, 1, 4, 3), MICROSOFT, mode=mode, padding_mode="border")

    return build


EXACT: dict[str, Build] = {
    "BiasGelu": own("BiasGelu", (8,)),
    "FastGelu": own("FastGelu"),
    "FastGelu with a bias": own("FastGelu", (8,)),
    "Gelu": own("Gelu"),
    "QuickGelu": own("QuickGelu"),
    "QuickGelu with alpha": own("QuickGelu", alpha=0.9),
    "SkipLayerNormalization": skipped("SkipLayerNormalization", (8,), (8,), (8,)),
    "SkipLayerNormalization with its sum": skipped("SkipLayerNormalization", (8,), (8,), read_sum=True),
    "SkipSimplifiedLayerNormalization": skipped("SkipSimplifiedLayerNormalization", (8,)),
    "FusedMatMul": fused_product,
    "FusedMatMul of two": fused_product_of_two,
    "FusedGemm": fused_gemm,
    "MatMulNBits": few_bits(True),
    "MatMulNBits about 8": few_bits(False),
    "Attention": attention,
    "MultiHeadAttention": many_heads,
    "Pad": pad,
    "Trilu": triangle,
    "GatherND": points,
    "Range": sum_with_a_range,
    "GridSample": grid("bilinear"),
    "GridSample of the nearest": grid("nearest"),
}
ROUNDED: dict[str, Build] = {
    "DynamicQuantizeMatMul": whole_weights("DynamicQuantizeMatMul", each=False),
    "DynamicQuantizeMatMul by columns": whole_weights("DynamicQuantizeMatMul", each=True),
    "MatMulIntegerToFloat": whole_weights("MatMulIntegerToFloat", each=True),
    "DynamicQuantizeLSTM": lstm,
    "QLinearSigmoid": quantized("QLinearSigmoid"),
    "QLinearLeakyRelu": quantized("QLinearLeakyRelu", alpha=0.1),
    "QLinearWhere": quantized("QLinearWhere"),
}
"""Operators whose inputs or outputs ONNX Runtime rounds to 8 bits, unlike the engine."""


@pytest.mark.parametrize("build", [pytest.param(build, id=name) for name, build in EXACT.items()])
def test_operators_agree_with_onnx_runtime(build: Build) -> None:
    file = File(5)
    file.output(build(file, rows(file)))
    assert agreement(file.model()) <= 2e-5


@pytest.mark.parametrize("build", [pytest.param(build, id=name) for name, build in ROUNDED.items()])
def test_operators_in_8_bits_are_near_onnx_runtimes(build: Build) -> None:
    file = File(5)
    file.output(build(file, rows(file)))
    assert agreement(file.model()) <= 0.05


def test_channels_last() -> None:
    """As ONNX Runtime converts quantised files for ARM: convolutions and pools of (batch, height, width, channels)."""
    file = File(2)
    x = in_8_bits(file, file.transpose(file.conv(file.input((1, 3, 8, 6)), 4), (0, 2, 3, 1)), 0.05)
    weights = [file.constant(file.rng.integers(-90, 91, (5, 4, 3, 3)), "int8"), file.constant(0.005),
               file.constant(0, "int8")]  # fmt: skip
    ends = [file.constant(0.04), file.constant(2, "int8")]
    y = file.op("QLinearConv", [*x, *weights, *ends], (1, 6, 4, 5), MICROSOFT, channels_last=1)
    pooled = file.op("QLinearAveragePool", [y, *ends, *ends], (1, 3, 2, 5), MICROSOFT, kernel_shape=[2, 2],
                     strides=[2, 2], channels_last=1)  # fmt: skip
    file.output(file.op("DequantizeLinear", [pooled, *ends], (1, 3, 2, 5)))
    assert agreement(file.model()) <= 0.03


@pytest.mark.parametrize("function", ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"])
def test_convolutions_that_onnx_runtime_fuses(function: str, tmp_path: Path) -> None:
    """The file saved by ONNX Runtime has operators of its domain and the same results as the original file."""
    file = File(3, 13)
    x = file.input((1, 3, 8, 6))
    c = file.conv(x, 4)
    if function == "Clip":
        c = file.clip(c, -0.5, 0.75)
    else:
        options = {"alpha": 0.2} if function in ("LeakyRelu", "HardSigmoid") else {}
        c = file.op(function, [c], file.shapes[c], **options)
    total = file.op("Add", [file.conv(c, 4), c], file.shapes[c])
    file.output(file.conv(file.op("Relu", [total], file.shapes[c]), 3))
    model, values = file.model(), np.random.default_rng(1).normal(size=(1, 3, 8, 6)).astype(np.float32)
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    settings.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    saved = onnx.load(tmp_path / "optimized.onnx")
    assert "FusedConv" in {node.op_type for node in saved.graph.node}
    imported = importer.imported(tmp_path / "optimized.onnx", io_options=importer.IoOptions(fits={"": "none"}))
    graph = imported.survey.whole()
    (name,) = imported.outputs
    drawn = imported.file_output(
        name, reference.run(graph, {"x": imported.stored_input("x", values)}, mode="float")[name]
    )
    assert np.abs(drawn - run(model, {"x": values})[0]).max() <= 2e-5


@pytest.mark.parametrize("kind", ["int16", "uint16"])
def test_16_bits_before_opset_21(kind: str) -> None:
    """As quantize_static writes 16-bit activations: the operators of ONNX 21 in ONNX Runtime's domain."""
    file = File(4, 13)

    def rounded(name: str, scale: float, zero: int) -> str:
        ends = [file.constant(scale), file.constant(zero, kind)]
        low = file.op("QuantizeLinear", [name, *ends], file.shapes[name], MICROSOFT)
        return file.op("DequantizeLinear", [low, *ends], file.shapes[name], MICROSOFT)

    middle = 0 if kind == "int16" else 32768
    x = rounded(file.input((1, 3, 8, 6)), 2e-4, middle + 100)
    stored, ends = file.constant(file.rng.integers(-90, 91, (4, 3, 3, 3)), "int8"), file.constant(np.full(4, 0.004))
    kernel = file.op("DequantizeLinear", [stored, ends, file.constant(np.zeros(4), "int8")], (4, 3, 3, 3), MICROSOFT,
                     axis=0)  # fmt: skip
    file.output(rounded(file.op("Conv", [x, kernel], (1, 4, 6, 4)), 3e-4, middle - 7))
    assert agreement(file.model()) <= 1e-3


def test_unread_files_are_refused_with_their_writer() -> None:
    file = File(6)
    x = rows(file)
    file.output(file.op("LongformerAttention", [x] * 7, ROWS, MICROSOFT, num_heads=2, window=2))
    with pytest.raises(ModelError, match=r"LongformerAttention of ONNX Runtime.*ORT_ENABLE_BASIC") as refusal:
        importer.imported(file.model(), io_options=importer.IoOptions(fits={"": "none"})).survey.whole()
    assert "pip install" not in str(refusal.value)
