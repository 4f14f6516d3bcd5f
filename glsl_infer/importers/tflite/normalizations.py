"""Normalisations by a map's own statistics -> nodes."""

from __future__ import annotations

from glsl_infer.graph import Node
from glsl_infer.importers.shared.norms import over_channels, over_map
from glsl_infer.importers.tflite.call import Call, Converter, function
from glsl_infer.importers.tflite.written import NORMALIZATION


def _norm(call: Call) -> list[Node]:
    norm, (source,), (shape,) = call.option("Norm"), call.inputs[:1], call.shapes[:1]
    if norm.groups is None:
        nodes = [over_channels(call.name, source, shape, norm.kind, norm.epsilon, norm.gamma, norm.beta)]
    else:
        nodes = over_map(call.name, source, shape, norm.groups, norm.epsilon, norm.gamma, norm.beta)
    then = str(call.option("Then", ""))
    nodes += function(f"{call.name}-function", nodes[-1].name, then) if then else []
    return call.activated(nodes)


def _unit(call: Call) -> list[Node]:
    if len(call.inputs) != 1:
        raise call.refused("of a constant", "the file is damaged; convert the model anew")
    return call.activated([over_channels(call.name, call.inputs[0], call.shapes[0], "unit", 0.0)])


CONVERTERS: dict[str, Converter] = {"L2_NORMALIZATION": _unit, NORMALIZATION: _norm}
