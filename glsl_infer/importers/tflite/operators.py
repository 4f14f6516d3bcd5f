"""The table of operators: from the name in the file to what converts it."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph import Node
from glsl_infer.importers.tflite import activations, arithmetic, convolutions, geometry, pooling
from glsl_infer.importers.tflite.call import Call, Converter

OPERATORS: Mapping[str, Converter] = {
    **activations.CONVERTERS,
    **arithmetic.CONVERTERS,
    **geometry.CONVERTERS,
    **pooling.CONVERTERS,
    "CONV_2D": convolutions.convolution,
    "DEPTHWISE_CONV_2D": convolutions.depthwise,
    "FULLY_CONNECTED": convolutions.fully_connected,
    "TRANSPOSE_CONV": convolutions.transposed_convolution,
}
"""Converters by the operator's name in the schema."""

CUSTOM: Mapping[str, Converter] = {"Convolution2DTransposeBias": convolutions.transposed_with_bias}
"""Converters of custom operators, by the name that their author gave them."""


def convert(call: Call) -> list[Node]:
    """Return the nodes of an operator.

    Raises:
        ModelError: it cannot be exported, naming it.
    """
    kind, custom = call.kind, call.operator.custom
    converter = (CUSTOM if custom else OPERATORS).get(kind)
    if converter is not None:
        return converter(call)
    what = f"the custom operator '{kind:.60}'" if custom else with_article(kind)
    known = ", ".join(sorted(CUSTOM if custom else OPERATORS))
    raise ModelError.layer(call.name, f"{what} cannot be exported", f"these can: {known}")
