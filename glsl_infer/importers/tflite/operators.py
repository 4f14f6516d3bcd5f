"""The table of operators: the converter of each operator type in a file."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.cpu import custom
from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph import Node
from glsl_infer.importers.tflite import arithmetic, convolutions, detections, geometry, pooling, tensors
from glsl_infer.importers.tflite.batches import map_by_map
from glsl_infer.importers.tflite.call import Call, Converter
from glsl_infer.program.layout import TEXTURE_RANKS

OPERATORS: Mapping[str, Converter] = {
    **arithmetic.CONVERTERS,
    **geometry.CONVERTERS,
    **pooling.NORMS,
    **pooling.CONVERTERS,
    "CONV_2D": convolutions.convolution,
    "DEPTHWISE_CONV_2D": convolutions.depthwise,
    "FULLY_CONNECTED": convolutions.fully_connected,
    "TRANSPOSE_CONV": convolutions.transposed_convolution,
}
"""Converters by the operator's name in the schema."""

_ANY_RANK = {
    *(*arithmetic.CONVERTERS, *pooling.REDUCTIONS, "EXPAND_DIMS", "RESHAPE", "REVERSE_V2", "SLICE", "SPLIT", "SPLIT_V"),
    *("CAST", "DEQUANTIZE", "FULLY_CONNECTED", "MIRROR_PAD", "PAD", "PADV2", "QUANTIZE", "SQUEEZE", "STRIDED_SLICE"),
    "TRANSPOSE",
} - {"PRELU"}
"""Operators whose converters take tensors of any rank."""

CUSTOM: Mapping[str, Converter] = {
    "Convolution2DTransposeBias": convolutions.transposed_with_bias,
    "TFLite_Detection_PostProcess": detections.post_process,
}
"""Converters of custom operators, by the name that the author chose."""


def convert(call: Call) -> list[Node]:
    """Return the nodes of an operator: those with shaders if they take its shapes, else kernels.

    Raises:
        ModelError: the operator is not supported. The message names it.
    """
    kind = call.kind
    if call.operator.custom:
        return _custom(call)
    to_kernels = tensors.TENSORS.get(kind)
    in_textures = all(len(shape) in TEXTURE_RANKS for shape in (*call.shapes, call.shape))
    converter = OPERATORS.get(kind)
    if converter is None and to_kernels is None:
        raise ModelError.layer(
            call.name, f"{with_article(kind)} cannot be exported", _known({*OPERATORS, *tensors.TENSORS})
        )
    if converter is not None and to_kernels is None and _is_batch(call) and kind not in _ANY_RANK:
        return map_by_map(call, converter)
    if converter is None or (to_kernels is not None and not in_textures):
        assert to_kernels is not None
        return to_kernels(call)
    try:
        return converter(call)
    except ModelError:
        if to_kernels is None:
            raise
        try:
            return to_kernels(call)
        except ModelError:
            pass
        raise


def _is_batch(call: Call) -> bool:
    """Return whether it reads a batch of several maps."""
    return len(call.shapes) == 1 and len(call.shapes[0]) == 4 and call.shapes[0][0] > 1 == len(call.inputs)


def _custom(call: Call) -> list[Node]:
    converter, function = CUSTOM.get(call.kind), custom.function_of(call.kind)
    if function is not None:
        return tensors.custom(call, function)
    if converter is not None:
        return converter(call)
    raise ModelError.layer(
        call.name,
        f"the custom operator '{call.kind:.60}' cannot be exported",
        f"give a function of yours that computes it on the CPU: --operator {call.kind:.60}=MODULE:FUNCTION",
    )


def _known(kinds: set[str]) -> str:
    return f"these can: {', '.join(sorted(kinds))}"
