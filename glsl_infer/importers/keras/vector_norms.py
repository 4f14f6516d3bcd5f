"""Keras' normalisations of vectors by their own statistics -> nodes; those of maps have separate converters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glsl_infer.errors import with_article
from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.weights import array


def _layer(call: Call) -> list[Node]:
    layer = call.layer
    if getattr(layer, "rms_scaling", False):
        raise call.refused("rms_scaling=True, which divides by the deviation", "use RMSNormalization")
    gamma, beta = layer.gamma if layer.scale else None, layer.beta if layer.center else None
    return [_node(call, "layer", float(layer.epsilon), gamma, beta)]


def _rms(call: Call) -> list[Node]:
    return [_node(call, "rms", float(call.layer.epsilon), call.layer.scale)]


def _unit(call: Call) -> list[Node]:
    return [_node(call, "unit", 0.0)]


def _node(call: Call, kind: str, epsilon: float, gamma: Any = None, beta: Any = None) -> Node:
    call.require_channel_axis()
    numbers = {"gamma": (1.0,) if gamma is None else tuple(array(gamma).reshape(-1).tolist())}
    numbers["beta"] = (0.0,) if beta is None else tuple(array(beta).reshape(-1).tolist())
    return call.node("vector_norm", {"kind": kind, "epsilon": epsilon, **numbers})


_OF_VECTORS: Mapping[str, Converter] = {
    "LayerNormalization": _layer,
    "RMSNormalization": _rms,
    "UnitNormalization": _unit,
}
"""Converters of layers by class name."""


def with_vectors(converters: Mapping[str, Converter]) -> dict[str, Converter]:
    """Return converters that also support normalisations of vectors. Those of maps are left to ``converters``."""
    return {**converters, **{name: _either(own, converters.get(name)) for name, own in _OF_VECTORS.items()}}


def _either(own: Converter, other: Converter | None) -> Converter:
    def convert(call: Call) -> list[Node]:
        if len(call.shapes[0]) == 1:
            return own(call)
        if other is not None:
            return other(call)
        kind = type(call.layer).__name__
        raise call.refused(
            f"{with_article(kind)} cannot be exported",
            f"these layers can be exported: BatchNormalization, and {with_article(kind)} of a vector",
        )

    return convert
