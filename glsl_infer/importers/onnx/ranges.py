"""The ranges in quantised files: the representable range of a result is stored with the node that computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glsl_infer import ops
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.io_options import Range
from glsl_infer.importers.onnx import types
from glsl_infer.importers.onnx.call import Call, Operand
from glsl_infer.importers.onnx.model import Operator
from glsl_infer.importers.onnx.view import View
from glsl_infer.ops.operator import CopyOperator

_RESULT: Mapping[str, tuple[int, int]] = {
    "QLinearConv": (6, 7),
    "QLinearMatMul": (6, 7),
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "QGemm": (7, 8),
    "QLinearAdd": (6, 7),
    "QLinearAveragePool": (3, 4),
    "QLinearConcat": (0, 1),
    "QLinearGlobalAveragePool": (3, 4),
    "QLinearLeakyRelu": (3, 4),
    "QLinearMul": (6, 7),
    "QLinearSigmoid": (3, 4),
    "QLinearSoftmax": (3, 4),
}
"""Input indices of the scale and the zero point of a result."""


def represented_range(operator: Operator, operands: Sequence[Operand]) -> Range | None:
    """Return the lowest and the highest value that the result of an operator can represent, or None."""
    indices = _RESULT.get(operator.kind)
    if indices is None:
        return None
    scale, zero = (operands[index] if index < len(operands) else None for index in indices)
    if not isinstance(scale, np.ndarray) or scale.size != 1 or isinstance(zero, View):
        return None
    stored = np.zeros(1, np.uint8) if zero is None else zero.reshape(-1)
    if stored.size != 1 or "int" not in str(stored.dtype) or stored.dtype.itemsize > 2:
        return None
    ends = types.ends(str(stored.dtype))
    low, high = (float(np.float32(scale.reshape(-1)[0]) * np.float32(end - int(stored[0]))) for end in ends)
    return (low, high) if low < high else None


def saturated(call: Call, views: Sequence[Operand]) -> list[Operand]:
    """Return the outputs of an operator, clamped to their range if it begins at 0.

    Quantisation tools omit a ReLU if the range of the result has the same effect.
    """
    span = represented_range(call.operator, call.operands)
    if span is None or span[0] != 0.0 or call.kind == "DequantizeLinear":
        return list(views)
    return [_clamped_from_0(call, view, span[1]) if isinstance(view, View) else view for view in views]


def _clamped_from_0(call: Call, view: View, high: float) -> View:
    if call.nodes.is_positive(view.node):
        return view
    return view.at(call.nodes.function(view.node, f"relu({high:.9g})"))


def store_range(
    builder: GraphBuilder,
    operator: Operator,
    operands: Sequence[Operand],
    views: Sequence[Operand],
    first: int,
    known_ranges: Mapping[str, Range],
) -> dict[str, Range]:
    """Store the range of a result with the node that computes it, not with the nodes after it that only move values.

    Args:
        builder: all nodes so far.
        operator: the operator of the file.
        operands: its inputs.
        views: its outputs.
        first: number of nodes before this operator. A quantisation or dequantisation also sets the range of earlier
            nodes.
        known_ranges: known ranges of inputs.

    Returns:
        The range of an input, by its name, if the result is an input.
    """
    span, view = represented_range(operator, operands), views[0] if views else None
    if span is None or not isinstance(view, View):
        return {}
    positions = {node.name: index for index, node in enumerate(builder.nodes)}
    name, looks_back = view.node, operator.kind in ("QuantizeLinear", "DequantizeLinear")
    while name in positions and (looks_back or positions[name] >= first):
        node = builder.nodes[positions[name]]
        if node.operator.is_input:
            return {} if name in known_ranges else {name: span}
        builder.nodes[positions[name]] = node.with_attrs(**{OBSERVED_RANGE: node.attrs.get(OBSERVED_RANGE, span)})
        kind = ops.get(node.op)
        own = kind.keeps_range and positions[name] >= first
        if not (own or kind.only_reshapes or isinstance(kind, CopyOperator)) or len(node.inputs) != 1:
            break
        (name,) = node.inputs
    return {}
