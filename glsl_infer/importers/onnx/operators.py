"""The table of operators: from the name in the file to what converts it."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.errors import ModelError, with_article
from glsl_infer.importers.onnx import (
    activations,
    arithmetic,
    convolutions,
    geometry,
    norm_pieces,
    normalizations,
    parts,
    pooling,
    products,
    quantized,
    reductions,
    resizing,
)
from glsl_infer.importers.onnx.call import Call, Converter, Given

OPERATORS: Mapping[str, Converter] = {
    **activations.CONVERTERS,
    **arithmetic.CONVERTERS,
    **convolutions.CONVERTERS,
    **geometry.CONVERTERS,
    **normalizations.CONVERTERS,
    **parts.CONVERTERS,
    **pooling.CONVERTERS,
    **products.CONVERTERS,
    **quantized.CONVERTERS,
    **reductions.CONVERTERS,
    **resizing.CONVERTERS,
}
"""Converters by the operator's type, of ONNX itself."""

OF_MICROSOFT: Mapping[str, Converter] = {**quantized.OF_MICROSOFT, **activations.OF_MICROSOFT, **products.OF_MICROSOFT}
"""Converters of operators of the domain ``com.microsoft``, which ONNX Runtime's tools write."""

_BY_DOMAIN = {"": OPERATORS, "com.microsoft": OF_MICROSOFT}


def convert(call: Call) -> list[Given]:
    """Return what an operator makes.

    Raises:
        ModelError: it cannot be exported, naming it.
    """
    kind, domain = call.kind, call.operator.domain
    table = _BY_DOMAIN.get(domain)
    if table is None:
        known = "operators of ONNX and of com.microsoft are known; let the exporter write it in pieces"
        raise ModelError.layer(call.nodes.name, f"{kind:.60} of the domain '{domain:.60}' cannot be exported", known)
    if kind == "DynamicQuantizeLinear" and not domain:
        return list(quantized.dynamic(call))
    if kind == norm_pieces.NORM:
        return list(normalizations.in_pieces(call))
    if kind.startswith(activations.FUNCTION):
        return list(activations.in_one(call))
    if kind not in table:
        what = f"{with_article(f'{kind:.60}')} cannot be exported"
        raise ModelError.layer(call.nodes.name, what, f"these can: {', '.join(sorted(table))}")
    return list(table[kind](call))
