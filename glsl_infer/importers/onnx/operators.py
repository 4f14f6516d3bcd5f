"""The table of operators: the converter of each operator type in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from glsl_infer.cpu.custom import CUSTOM, function_of
from glsl_infer.errors import ModelError, with_article
from glsl_infer.importers.onnx import (
    activations,
    arithmetic,
    attention,
    convolutions,
    geometry,
    normalizations,
    places,
    pooling,
    products,
    quantized,
    reductions,
    resizing,
    sequences,
    slice_concat_pad,
)
from glsl_infer.importers.onnx.call import Call, Converter, Operand, as_in_file
from glsl_infer.importers.onnx.norm_pieces import NORM
from glsl_infer.importers.onnx.view import fresh

OPERATORS: Mapping[str, Callable[[Call], Sequence[Operand]]] = {
    "DynamicQuantizeLinear": quantized.dynamic,
    "Split": slice_concat_pad.split,
    **activations.CONVERTERS,
    **arithmetic.CONVERTERS,
    **attention.CONVERTERS,
    **convolutions.CONVERTERS,
    **geometry.CONVERTERS,
    **normalizations.CONVERTERS,
    **slice_concat_pad.CONVERTERS,
    **places.CONVERTERS,
    **pooling.CONVERTERS,
    **products.CONVERTERS,
    **quantized.CONVERTERS,
    **reductions.CONVERTERS,
    **resizing.CONVERTERS,
    **sequences.CONVERTERS,
}
"""Converters of ONNX's own operators, by type."""

ONNX_RUNTIME_OPERATORS: Mapping[str, Converter] = {
    **quantized.ONNX_RUNTIME_OPERATORS,
    **products.ONNX_RUNTIME_OPERATORS,
}
"""Converters of the operators of ONNX Runtime's domain that ``contrib`` does not rewrite."""

_BY_DOMAIN: Mapping[str, Mapping[str, Callable[[Call], Sequence[Operand]]]] = {
    "": OPERATORS,
    "com.microsoft": ONNX_RUNTIME_OPERATORS,
}


_LEGACY_BROADCAST = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
"""Operators with the attributes ``broadcast`` and ``axis`` before opset 7."""

_RUNTIME = ("com.microsoft", "com.ms.")
"""Prefixes of the domains whose operators only ONNX Runtime supports."""

_UNOPTIMIZED = (
    "use the file from before that, or save it from ONNX Runtime with graph_optimization_level = ORT_ENABLE_BASIC, and "
    "quantise with quant_format=QuantFormat.QDQ; or give a function of yours that computes it on the CPU: "
    "--operator {0:.60}=MODULE:FUNCTION"
)

_ADVICE = (
    "export the model without it, or give a function of yours that computes it on the CPU: "
    "--operator {0:.60}=MODULE:FUNCTION"
)


def convert(call: Call) -> list[Operand]:
    """Return the outputs of an operator. A function of the user replaces the built-in converter.

    Raises:
        ModelError: the operator is not supported. The message names it.
    """
    kind, domain = call.kind, call.operator.domain
    function = function_of(kind)
    if function is not None:
        return _custom_function(call, function)
    if kind == NORM and not domain:  # an operator of ``norm_pieces``, in place of a decomposed normalisation
        return list(normalizations.in_pieces(call))
    table = _BY_DOMAIN.get(domain)
    if table is None or kind not in table:
        raise _unsupported(call)
    if call.opset < 7 and kind in _LEGACY_BROADCAST and "axis" in call.operator.attributes:
        call = arithmetic.aligned(call)
    return list(table[kind](call))


def _unsupported(call: Call) -> ModelError:
    """Return the error for an operator without a converter."""
    kind, domain = call.kind, call.operator.domain
    if domain.startswith(_RUNTIME):
        problem = f"{with_article(f'{kind:.60}')} of ONNX Runtime, which has optimised or quantised the file"
        return ModelError.layer(call.nodes.name, problem, _UNOPTIMIZED.format(kind))
    if domain not in _BY_DOMAIN:
        problem = f"{kind:.60} of the domain '{domain:.60}' cannot be exported"
    else:
        problem = f"{with_article(f'{kind:.60}')} cannot be exported"
    return ModelError.layer(call.nodes.name, problem, _ADVICE.format(kind))


def _custom_function(call: Call, function: str) -> list[Operand]:
    """Return the result of the user's function on tensors in the file's shapes.

    The computed tensors are its positional arguments. Its keyword arguments are the constants, named ``constant0`` and
    so on by their input index, and ``attributes``: the attributes of the operator that are numbers or texts.
    """
    if call.declared is None or None in call.declared or len([name for name in call.operator.outputs if name]) != 1:
        raise call.refused("of unknown shape", "give it one output, with its shape in the file")
    json_attributes = {
        name: value for name, value in call.operator.attributes.items() if isinstance(value, (int, float, str, tuple))
    }
    sources, weights = as_in_file(call, call.operands, [f"constant{index}" for index in range(len(call.operands))])
    attrs = {"calls": function, "shape": call.declared, "settings": json.dumps({"attributes": json_attributes})}
    return [fresh(call.nodes.emit(CUSTOM, *sources, part="function", weights=weights, **attrs), call.declared)]
