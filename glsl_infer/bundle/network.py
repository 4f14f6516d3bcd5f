"""graph.json: what the network means, for the reference, validation and inspection. No runner reads it.

Every layer is there, those too that draw nothing: its operator, attributes, the shapes of its weights and the members
that hold them, and where its output lies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.ends_json import steps_from_json, steps_to_json
from glsl_infer.bundle.format_constants import MAX_LAYERS, MAX_OUTPUTS, MAX_VALUES, RANGES
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.rules import rule
from glsl_infer.bundle.values_json import value_from_json, value_to_json
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.operators import operator
from glsl_infer.program.layout import Value
from glsl_infer.program.quantize import plain

MEMBER = "graph.json"
MAX_DIMENSIONS = 4
"""Sizes in the shape of a weight."""


@dataclass(frozen=True)
class Layer:
    """A node of the graph: how to compute it in the reference, and where the runner finds its output."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    weights: Mapping[str, tuple[int, ...]]
    members: tuple[str, ...]
    output: Value


@dataclass(frozen=True)
class NetworkOutput:
    """An output of the manifest: the layers that it is made of, and what the CPU does with their numbers."""

    name: str
    layers: tuple[str, ...]
    steps: tuple[HostStep, ...] = ()


@dataclass(frozen=True)
class Network:
    """All outputs, in the manifest's order, and all layers, each behind its inputs."""

    outputs: tuple[NetworkOutput, ...]
    layers: tuple[Layer, ...]


def to_bytes(network: Network) -> bytes:
    """Return the member graph.json."""
    data = {
        "outputs": [
            {"name": output.name, "layers": list(output.layers), "steps": steps_to_json(output.steps)}
            for output in network.outputs
        ],
        "layers": [_layer_to_json(layer) for layer in network.layers],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def from_json(data: Any) -> Network:
    """Read a network from JSON data, strictly.

    Raises:
        BundleError: anything missing, unknown, of the wrong type or out of range.
    """
    with rule("graph"):
        fields = Fields(data, "graph")
        outputs, layers = fields.items("outputs"), fields.items("layers")
        fields.done()
        if len(layers) > MAX_LAYERS:
            raise BundleError(f"graph: {len(layers)} layers; a model has at most {MAX_LAYERS}")
        if not 1 <= len(outputs) <= MAX_OUTPUTS:
            raise BundleError(f"graph: {len(outputs)} outputs; a model has 1 to {MAX_OUTPUTS}")
        return Network(
            tuple(_output(entry, f"outputs[{i}]") for i, entry in enumerate(outputs)),
            tuple(_layer(entry, f"layers[{i}]") for i, entry in enumerate(layers)),
        )


def _output(data: Any, where: str) -> NetworkOutput:
    fields = Fields(data, where)
    name, layers = fields.text("name"), fields.texts("layers")
    if not 1 <= len(layers) <= MAX_VALUES:
        raise BundleError(f"{where}: {len(layers)} layers; an output has 1 to {MAX_VALUES}")
    output = NetworkOutput(name, layers, steps_from_json(fields.items("steps"), where))
    fields.done()
    return output


def _layer_to_json(layer: Layer) -> dict[str, Any]:
    return {
        "name": layer.name,
        "op": layer.op,
        "inputs": list(layer.inputs),
        "attrs": {key: plain(value) for key, value in layer.attrs.items() if not _is_implied(layer.op, key, value)},
        "weights": {key: list(shape) for key, shape in layer.weights.items()},
        "members": list(layer.members),
        "output": value_to_json(layer.output),
    }


def _is_implied(op: str, key: str, value: Any) -> bool:
    try:
        known = operator(op)
    except ModelError:
        return False
    return key in known.implied and plain(value) == plain(known.attrs[key])


def _layer(data: Any, where: str) -> Layer:
    fields = Fields(data, where)
    layer = Layer(
        fields.text("name"),
        fields.text("op"),
        fields.texts("inputs"),
        {
            key: attribute_from_json(value, f"{where}.attrs['{key:.60}']")
            for key, value in fields.mapping("attrs").items()
        },
        {
            key: tuple(
                json_fields.integer(size, f"{where}.weights['{key:.60}']", *RANGES["count"])
                for size in json_fields.items(shape, where)
            )
            for key, shape in fields.mapping("weights").items()
        },
        fields.texts("members"),
        value_from_json(fields.any("output"), f"{where}.output"),
    )
    fields.done()
    return layer


def attribute_from_json(value: Any, where: str) -> Any:
    """Read an attribute of an operator: a number, a text, true, false, null, or a list of these, as a tuple.

    Raises:
        BundleError: it is something else.
    """
    return tuple(_scalar(item, where) for item in value) if isinstance(value, list) else _scalar(value, where)


def _scalar(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return json_fields.text(value, where)
    number = json_fields.number(value, where)
    return value if isinstance(value, int) else number


def layers_of(
    nodes: Sequence[Any], values: Mapping[str, Value], members: Mapping[str, tuple[str, ...]]
) -> tuple[Layer, ...]:
    """Return the layers of a program's nodes.

    Args:
        nodes: of its graph.
        values: where their outputs lie.
        members: what their weights can be read back from.
    """
    return tuple(
        Layer(
            node.name,
            node.op,
            node.inputs,
            node.attrs,
            {key: weights.shape for key, weights in node.weights.items()},
            members.get(node.name, ()),
            values[node.name],
        )
        for node in nodes
    )
