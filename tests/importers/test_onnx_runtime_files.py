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


def rows(made: File) -> str:
    return made.reshape(made.input((1, 1, 5, 8)), ROWS)


def own(kind: str, *constants: tuple[int, ...], shape: tuple[int, ...] = ROWS, **attributes: Any) -> Build:
    def build(made: File, x: str) -> str:
        return made.op(kind, [x, *(made.random(*size) if size else "" for size in constants)], shape, MICROSOFT,
                       **attributes)  # fmt: skip

    return build


def skipped(kind: str, *constants: tuple[int, ...], read_sum: bool = False) -> Build:
    """Return a builder of a sum of two tensors and its normalisation."""

    def build(made: File, x: str) -> str:
        y = made.op("Tanh", [x], ROWS)
        given = [x, y, *(made.random(*size) for size in constants)]
        outputs = made.several(kind, given, [ROWS, (1,), (1,), ROWS], MICROSOFT, epsilon=1e-3)
        made.nodes[-1].output[1:3] = ["", ""]
        return made.op("Add", [outputs[0], outputs[3]], ROWS) if read_sum else outputs[0]

    return build


def in_8_bits(made: File, x: str, scale: float = 0.03, zero: int = 0) -> list[str]:
    """Return an 8-bit tensor, its scale and its zero point."""
    ends = [made.constant(scale), made.constant(zero, "int8")]
    return [made.op("QuantizeLinear", [x, *ends], made.shapes[x]), *ends]


def quantized(kind: str, **attributes: Any) -> Build:
    def build(made: File, x: str) -> str:
        ends = [made.constant(0.05), made.constant(-3, "int8")]
        given = in_8_bits(made, x)
        if kind == "QLinearWhere":
            chosen = made.op("Greater", [x, made.constant(0.0)], ROWS)
            given = [chosen, *given, *in_8_bits(made, made.op("Tanh", [x], ROWS), 0.01, 5)]
        made_ = made.op(kind, [*given, *ends], ROWS, MICROSOFT, **attributes)
        return made.op("DequantizeLinear", [made_, *ends], ROWS)

    return build


def whole_weights(kind: str, *, each: bool) -> Build:
    """Return a builder of a product with 8-bit weights, with one scale or one for each column."""

    def build(made: File, x: str) -> str:
        weights = made.constant(made.rng.integers(-90, 91, (8, 6)), "int8")
        scale = made.constant(made.rng.uniform(0.002, 0.01, 6) if each else 0.005)
        zero = made.constant(np.full(6, 3) if each else 3, "int8")
        bias = made.random(6)
        if kind == "DynamicQuantizeMatMul":
            return made.op(kind, [x, weights, scale, zero, bias], (1, 5, 6), MICROSOFT)
        low, factor, middle = made.several("DynamicQuantizeLinear", [x], [ROWS, (), ()])
        return made.op(kind, [low, weights, factor, scale, middle, zero, bias], (1, 5, 6), MICROSOFT)

    return build


def few_bits(zero: bool) -> Build:
    def build(made: File, x: str) -> str:
        wide = made.op("Concat", [x] * 4, (1, 5, 32), axis=2)
        weights = made.constant(made.rng.integers(0, 256, (6, 2, 8)), "uint8")
        scales = made.constant(made.rng.uniform(0.01, 0.05, 12))
        zeros = [made.constant(made.rng.integers(0, 256, 6), "uint8")] if zero else []
        return made.op("MatMulNBits", [wide, weights, scales, *zeros], (1, 5, 6), MICROSOFT, K=32, N=6, bits=4,
                       block_size=16)  # fmt: skip

    return build


def lstm(made: File, x: str) -> str:
    steps = made.op("Transpose", [x], (5, 1, 8), perm=[1, 0, 2])
    kernels = [made.constant(made.rng.integers(-90, 91, shape), "int8") for shape in ((1, 8, 24), (1, 6, 24))]
    scales = [made.constant(made.rng.uniform(0.002, 0.01, (1, 24))) for _ in kernels]
    zeros = [made.constant(np.zeros((1, 24)), "int8") for _ in kernels]
    given = [steps, *kernels, made.random(1, 48), "", "", "", "", scales[0], zeros[0], scales[1], zeros[1]]
    return made.op("DynamicQuantizeLSTM", given, (5, 1, 1, 6), MICROSOFT, hidden_size=6)


def fused_product(made: File, x: str) -> str:
    return made.op("FusedMatMul", [x, made.random(6, 8)], (1, 5, 6), MICROSOFT, transB=1, alpha=0.5)


def fused_product_of_two(made: File, x: str) -> str:
    return made.op("FusedMatMul", [x, made.op("Tanh", [x], ROWS)], (1, 8, 8), MICROSOFT, transA=1, alpha=2.0)


def fused_gemm(made: File, x: str) -> str:
    flat = made.reshape(x, (1, 40))
    return made.op("FusedGemm", [flat, made.random(40, 4), made.random(4)], (1, 4), MICROSOFT, activation="LeakyRelu",
                   activation_alpha=0.25)  # fmt: skip


def attention(made: File, x: str) -> str:
    return made.op("Attention", [x, made.random(8, 24), made.random(24)], ROWS, MICROSOFT, num_heads=2)


def many_heads(made: File, x: str) -> str:
    return made.op("MultiHeadAttention", [x, made.op("Tanh", [x], ROWS), x, made.random(24)], ROWS, MICROSOFT,
                   num_heads=2)  # fmt: skip


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
def test_as_onnx_runtime(build: Build) -> None:
    made = File(5)
    made.output(build(made, rows(made)))
    assert agreement(made.model()) <= 2e-5


@pytest.mark.parametrize("build", [pytest.param(build, id=name) for name, build in ROUNDED.items()])
def test_as_onnx_runtime_but_for_8_bits(build: Build) -> None:
    made = File(5)
    made.output(build(made, rows(made)))
    assert agreement(made.model()) <= 0.05


def test_channels_last() -> None:
    """As ONNX Runtime converts quantised files for ARM: convolutions and pools of (batch, height, width, channels)."""
    made = File(2)
    x = in_8_bits(made, made.transpose(made.conv(made.input((1, 3, 8, 6)), 4), (0, 2, 3, 1)), 0.05)
    weights = [made.constant(made.rng.integers(-90, 91, (5, 4, 3, 3)), "int8"), made.constant(0.005),
               made.constant(0, "int8")]  # fmt: skip
    ends = [made.constant(0.04), made.constant(2, "int8")]
    y = made.op("QLinearConv", [*x, *weights, *ends], (1, 6, 4, 5), MICROSOFT, channels_last=1)
    pooled = made.op("QLinearAveragePool", [y, *ends, *ends], (1, 3, 2, 5), MICROSOFT, kernel_shape=[2, 2],
                     strides=[2, 2], channels_last=1)  # fmt: skip
    made.output(made.op("DequantizeLinear", [pooled, *ends], (1, 3, 2, 5)))
    assert agreement(made.model()) <= 0.03


@pytest.mark.parametrize("function", ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"])
def test_convolutions_that_onnx_runtime_fuses(function: str, tmp_path: Path) -> None:
    """The file saved by ONNX Runtime has operators of its domain and the same results as the original file."""
    made = File(3, 13)
    x = made.input((1, 3, 8, 6))
    c = made.conv(x, 4)
    if function == "Clip":
        c = made.clip(c, -0.5, 0.75)
    else:
        options = {"alpha": 0.2} if function in ("LeakyRelu", "HardSigmoid") else {}
        c = made.op(function, [c], made.shapes[c], **options)
    total = made.op("Add", [made.conv(c, 4), c], made.shapes[c])
    made.output(made.conv(made.op("Relu", [total], made.shapes[c]), 3))
    model, values = made.model(), np.random.default_rng(1).normal(size=(1, 3, 8, 6)).astype(np.float32)
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    settings.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    saved = onnx.load(tmp_path / "optimized.onnx")
    assert "FusedConv" in {node.op_type for node in saved.graph.node}
    imported = importer.imported(tmp_path / "optimized.onnx", ends=importer.IoOptions(fits={"": "none"}))
    graph = imported.survey.whole()
    (name,) = imported.outputs
    drawn = imported.returned(name, reference.run(graph, {"x": imported.given("x", values)}, mode="float")[name])
    assert np.abs(drawn - run(model, {"x": values})[0]).max() <= 2e-5


@pytest.mark.parametrize("kind", ["int16", "uint16"])
def test_16_bits_before_opset_21(kind: str) -> None:
    """As quantize_static writes 16-bit activations: the operators of ONNX 21 in ONNX Runtime's domain."""
    made = File(4, 13)

    def rounded(name: str, scale: float, zero: int) -> str:
        ends = [made.constant(scale), made.constant(zero, kind)]
        low = made.op("QuantizeLinear", [name, *ends], made.shapes[name], MICROSOFT)
        return made.op("DequantizeLinear", [low, *ends], made.shapes[name], MICROSOFT)

    middle = 0 if kind == "int16" else 32768
    x = rounded(made.input((1, 3, 8, 6)), 2e-4, middle + 100)
    stored, ends = made.constant(made.rng.integers(-90, 91, (4, 3, 3, 3)), "int8"), made.constant(np.full(4, 0.004))
    kernel = made.op("DequantizeLinear", [stored, ends, made.constant(np.zeros(4), "int8")], (4, 3, 3, 3), MICROSOFT,
                     axis=0)  # fmt: skip
    made.output(rounded(made.op("Conv", [x, kernel], (1, 4, 6, 4)), 3e-4, middle - 7))
    assert agreement(made.model()) <= 1e-3


def test_what_is_not_read_says_who_wrote_it() -> None:
    made = File(6)
    x = rows(made)
    made.output(made.op("LongformerAttention", [x] * 7, ROWS, MICROSOFT, num_heads=2, window=2))
    with pytest.raises(ModelError, match=r"LongformerAttention of ONNX Runtime.*ORT_ENABLE_BASIC") as refusal:
        importer.imported(made.model(), ends=importer.IoOptions(fits={"": "none"})).survey.whole()
    assert "pip install" not in str(refusal.value)
