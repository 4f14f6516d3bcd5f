"""Operators of quantised files, computed on real values. The ranges stay with the layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glsl_infer.importers.onnx import activations, arithmetic, convolutions, pooling, products, reductions
from glsl_infer.importers.onnx.call import Call, Converter, Operand
from glsl_infer.importers.onnx.folding import dequantized
from glsl_infer.importers.onnx.slice_concat_pad import concat_operands
from glsl_infer.importers.onnx.view import View


def real(call: Call, index: int, axis: int = -1) -> Operand:
    """Return the real values of the input at ``index``, whose scale and zero point are the next inputs.

    The scale is one value, or one per index of a kernel's first axis or of another tensor's ``axis``.
    """
    value = call.operands[index] if index < len(call.operands) else None
    if not isinstance(value, np.ndarray):
        return value
    zero = call.operands[index + 2] if index + 2 < len(call.operands) else None
    return dequantized([value, call.constant(index + 1, "a scale"), zero], {"axis": 0 if value.ndim == 4 else axis})


def _same(call: Call) -> list[View]:
    """Return the input unchanged: its values are real already."""
    return [call.view()]


def _with(call: Call, kind: str, operands: Sequence[Operand], **attributes: object) -> Call:
    """Return the call of another operator, with the same attributes and other inputs."""
    operator = replace(
        call.operator, kind=kind, domain="", opset=21, attributes={**call.operator.attributes, **attributes}
    )
    return Call(operator, operands, call.nodes)


def _real_bias(call: Call, index: int) -> Operand:
    """Return the real values of a bias, whose scale is the product of the scales of the input and of the weights."""
    bias = call.operands[index] if call.has(index) else None
    if not isinstance(bias, np.ndarray):
        return bias
    scale = call.constant(1, "a scale").reshape(-1).astype(np.float64) * call.constant(4, "a scale").reshape(-1)
    return np.asarray(bias * scale, np.float32)


def _convolution(call: Call) -> list[View]:
    return convolutions.convolution(_with(call, "Conv", [call.operands[0], real(call, 3), _real_bias(call, 8)]))


def _matmul(call: Call) -> list[View]:
    return products.CONVERTERS["MatMul"](_with(call, "MatMul", [real(call, 0), real(call, 3)]))


def _gemm(call: Call) -> list[View]:
    bias = _real_bias(call, 6)
    alpha = float(call.attribute("alpha", 1.0))
    operands: list[Operand] = [call.operands[0], real(call, 3, 0 if call.attribute("transB", 0) else -1), None]
    results = products.CONVERTERS["Gemm"](_with(call, "Gemm", operands, alpha=alpha))
    if bias is None:
        return results
    return [arithmetic.binary_operation(call, "add", results[0], bias)]


def _binary(operation: str) -> Converter:
    return lambda call: [arithmetic.binary_operation(call, operation, real(call, 0), real(call, 3))]


def _mean(call: Call) -> list[View]:
    return pooling.CONVERTERS["GlobalAveragePool"](_with(call, "GlobalAveragePool", call.operands[:1]))


def _pool(call: Call) -> list[View]:
    return pooling.pool(_with(call, "AveragePool", call.operands[:1]))


def _sigmoid(call: Call) -> list[View]:
    return activations.applied(call, "sigmoid")


def _leaky(call: Call) -> list[View]:
    return activations.CONVERTERS["LeakyRelu"](_with(call, "LeakyRelu", call.operands[:1]))


def _softmax(call: Call) -> list[View]:
    view = call.view()
    return [reductions.probabilities(call, view, call.axis(int(call.attribute("axis", -1)), len(view.axes)))]


def _concat(call: Call) -> list[View]:
    return concat_operands(call, [real(call, index) for index in range(2, len(call.operands), 3)])


def _integers(kind: str) -> Converter:
    """Return the converter of a product of integers: of their real values, minus their zero points."""

    def convert(call: Call) -> list[View]:
        weights = call.constant(1, "weights").astype(np.float32)
        if call.has(3):
            zero = call.constant(3, "a zero point").astype(np.float32)
            weights = weights - (
                zero.reshape(-1, *(1,) * (weights.ndim - 1)) if kind == "Conv" and zero.size > 1 else zero
            )
        operands: list[Operand] = [call.operands[0], weights]
        table = convolutions.CONVERTERS if kind == "Conv" else products.CONVERTERS
        return table[kind](_with(call, kind, operands))

    return convert


def dynamic(call: Call) -> list[Operand]:
    """Convert a DynamicQuantizeLinear: values stay unchanged, so their scale is 1 and their zero point 0."""
    return [call.view(), np.ones((), np.float32), np.zeros((), np.uint8)]


CONVERTERS: dict[str, Converter] = {
    "ConvInteger": _integers("Conv"),
    "DequantizeLinear": _same,
    "MatMulInteger": _integers("MatMul"),
    "QLinearConv": _convolution,
    "QLinearMatMul": _matmul,
    "QuantizeLinear": _same,
}

ONNX_RUNTIME_OPERATORS: Mapping[str, Converter] = {
    "QGemm": _gemm,
    "QLinearAdd": _binary("add"),
    "QLinearAveragePool": _pool,
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _mean,
    "QLinearLeakyRelu": _leaky,
    "QLinearMul": _binary("multiply"),
    "QLinearSigmoid": _sigmoid,
    "QLinearSoftmax": _softmax,
}
