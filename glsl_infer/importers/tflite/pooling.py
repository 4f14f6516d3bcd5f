"""Converters of pooling, reductions and normalisations."""

from __future__ import annotations

from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.emit import over_channels
from glsl_infer.importers.core.pooling import pooled
from glsl_infer.importers.tflite.call import Call, Converter

_POOLS = {"AVERAGE_POOL_2D": "average_pool", "L2_POOL_2D": "l2_pool", "MAX_POOL_2D": "max_pool"}
REDUCTIONS = {
    "MEAN": "mean",
    "SUM": "sum",
    "REDUCE_ALL": "min",
    "REDUCE_ANY": "max",
    "REDUCE_MAX": "max",
    "REDUCE_MIN": "min",
    "REDUCE_PROD": "product",
}
"""Reductions along axes by the operator's name in the schema."""


def pool(call: Call) -> list[Node]:
    """Convert a pooling by a window."""
    window = call.window((call.option("FilterHeight"), call.option("FilterWidth")))
    return call.activated(pooled(call.name, call.inputs[0], call.shapes[0], _POOLS[call.kind], window))


def reduced(call: Call) -> list[Node]:
    """Convert a reduction along axes. Booleans are 1 and 0, so their maximum is ``any``."""
    axes = [call.axis(axis) for axis in call.integers(1, "axes")]
    keep = bool(call.option("KeepDims", False))
    return emit.reduced(call.name, call.inputs[0], call.shapes[0], REDUCTIONS[call.kind], axes, keep=keep)


def normalized(call: Call) -> list[Node]:
    """Convert a LOCAL_RESPONSE_NORMALIZATION across channels."""
    call.feature_map()
    names = {"alpha": "Alpha", "beta": "Beta", "bias": "Bias"}
    attrs = {key: float(call.option(name)) for key, name in names.items()}
    return [call.node("local_response_norm", {**attrs, "size": 2 * call.option("Radius") + 1, "region": "across"})]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_POOLS, pool),
    **dict.fromkeys(REDUCTIONS, reduced),
    "LOCAL_RESPONSE_NORMALIZATION": normalized,
}


def _unit(call: Call) -> list[Node]:
    if len(call.inputs) != 1:
        raise call.refused("of a constant", "the file is damaged; convert the model anew")
    return call.activated([over_channels(call.name, call.inputs[0], call.shapes[0], "unit", 0.0)])


NORMS: dict[str, Converter] = {"L2_NORMALIZATION": _unit}
