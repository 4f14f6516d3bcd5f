"""Fusion of PyTorch's group norm: Reshape to (1, groups, -1), InstanceNormalization, Reshape back, Mul and Add."""

from __future__ import annotations

from dataclasses import replace

from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.onnx.graph_view import Network
from glsl_infer.importers.onnx.model import Operator, Part
from glsl_infer.importers.onnx.norm_pieces import NORM

GROUP = "group"
"""The attribute ``norm`` of the fused operator. Its other attributes are ``groups``, ``epsilon``, and ``shape``: the
result's shape in the file, or nothing. Its inputs are the tensor, a factor and an offset per group, and a factor and an
offset per channel, or nothing."""


def whole(part: Part) -> Part:
    """Return the operators of a file with each group normalisation fused into its last operator."""
    network = Network(part)
    changed: dict[int, Operator] = {}
    for operator in part.operators:
        if operator.domain or operator.kind != "InstanceNormalization" or len(operator.inputs) != 3:
            continue
        try:
            found = _whole(network, operator)
        except MISFITS:
            continue
        if found is not None:
            changed[found[0]] = found[1]
    return network.replaced(changed) if changed else part


def _whole(network: Network, norm: Operator) -> tuple[int, Operator] | None:
    """Return the index and the operator into which the operators around an instance normalisation are fused."""
    apart, after = network.maker(norm.inputs[0], "Reshape"), network.only_reader(norm.outputs[0])
    if apart is None or after is None or after[1].domain or after[1].kind != "Reshape":
        return None
    source, place, last = apart.inputs[0], *after
    groups = network.constant(apart.inputs[1])
    if groups is None or groups.size != 3 or groups[0] not in (0, 1) or groups[2] != -1 or groups[1] < 1:
        return None
    shape = network.constant(last.inputs[1])
    measured = network.maker(last.inputs[1], "Shape")
    if shape is None and (measured is None or measured.inputs[0] != source or measured.attributes):
        return None
    weights = ["", ""]
    for number, step in ((0, "Mul"), (1, "Add")):
        more = network.only_reader(last.outputs[0])
        if more is None or more[1].domain or more[1].kind != step or len(more[1].inputs) != 2:
            continue
        other = more[1].inputs[1 - more[1].inputs.index(last.outputs[0])]
        value = network.constant(other)
        if value is not None and value.ndim in (3, 4) and value.size == value.shape[-3] and value.dtype.kind == "f":
            weights[number] = other
            place, last = more
    attributes = {
        "norm": GROUP,
        "groups": int(groups[1]),
        "epsilon": float(norm.attributes.get("epsilon", 1e-5)),
        "shape": () if shape is None else tuple(int(size) for size in shape),
    }
    inputs = (source, *norm.inputs[1:], *weights)
    return place, replace(last, kind=NORM, domain="", inputs=inputs, attributes=attributes)
