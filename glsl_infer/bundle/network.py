"""graph.json: the network as a graph, for the reference, validation and inspection. Runners do not read it.

It contains every layer, including those without passes: operator, attributes, the shapes of the weights and the members
with their values, and the location of the output.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glsl_infer.bundle.described import Described
from glsl_infer.bundle.manifest_json import MAKE, OWN, steps_to_json, value_to_json
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import ModelError
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.operators import operator
from glsl_infer.program.layout import Value
from glsl_infer.program.quantize import plain

MEMBER = "graph.json"
MAX_DIMENSIONS = 4
"""Maximum number of dimensions of a weight."""


@dataclass(frozen=True)
class Layer:
    """A node of the graph: its operator for the reference, and the location of its output in a runner."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    weights: Mapping[str, tuple[int, ...]]
    members: tuple[str, ...]
    output: Value


@dataclass(frozen=True)
class NetworkOutput:
    """An output of the manifest: its layers, and the host steps on their values."""

    name: str
    layers: tuple[str, ...]
    steps: tuple[HostStep, ...] = ()


@dataclass(frozen=True)
class Network:
    """All outputs in the manifest's order, and all layers, each after its inputs."""

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
        network: Network = READERS.read("graph", data, "graph")
        return network


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


def layers_of(
    nodes: Sequence[Any], values: Mapping[str, Value], members: Mapping[str, tuple[str, ...]]
) -> tuple[Layer, ...]:
    """Return the layers of a program's nodes.

    Args:
        nodes: of its graph.
        values: the locations of their outputs.
        members: the members from which their weights can be read.
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


READERS = Described({**MAKE, "graph": Network, "graph_output": NetworkOutput, "graph_layer": Layer}, OWN)
