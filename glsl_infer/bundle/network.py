"""graph.json: the network as a graph, for the reference, validation and inspection. Runners do not read it.

It contains every layer, including those without passes: operator, attributes, the shapes of the weights and the members
with their values, and the location of the output. ``check`` has rules G1 to G4 of docs/reference/graph-format.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glsl_infer.bundle.described import Described
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.bundle.manifest_check import check_value
from glsl_infer.bundle.manifest_json import CUSTOM_READERS, MAKE, steps_to_json, value_to_json
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.operators import operator
from glsl_infer.program.layout import FeatureMap, SixteenBitMap, Value, textures_of
from glsl_infer.support.json_values import plain

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
        described = operator(op)
    except ModelError:
        return False
    return key in described.implied and plain(value) == plain(described.attrs[key])


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


READERS = Described({**MAKE, "graph": Network, "graph_output": NetworkOutput, "graph_layer": Layer}, CUSTOM_READERS)


def check(network: Network, manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a network that contradicts the manifest, or has unknown operators or attributes.

    Args:
        network: the result of ``from_json``.
        manifest: of the same bundle, already checked.
        sizes: bytes of every member.

    Raises:
        BundleError: names the layer.
    """
    with rule("graph"):
        _check_layers(network, manifest, sizes)
        _check_inputs_and_outputs(network, manifest)
        _check_sharing(network, manifest)


def _check_layers(network: Network, manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse layers with unknown inputs, members or operators, or with an output that nothing draws."""
    textures = {texture.name: texture for texture in manifest.textures}
    written = {entry.target for entry in manifest.passes}
    before: set[str] = set()
    for layer in network.layers:
        where = f"layer '{layer.name}'"
        if layer.name in before:
            raise BundleError(f"two layers are called '{layer.name}'")
        unknown = [name for name in layer.inputs if name not in before]
        if unknown:
            raise BundleError(f"{where}: reads '{unknown[0]}', which is not a layer before it")
        before.add(layer.name)
        check_value(layer.output, where, textures)
        undrawn = [name for name in textures_of(layer.output) if name not in written and textures[name].kind != "input"]
        if undrawn:
            raise BundleError(f"{where}: nothing is drawn into texture '{undrawn[0]}', where its output should be")
        missing = [name for name in layer.members if name not in sizes]
        if missing:
            raise BundleError(f"member '{missing[0]}' is missing")
        if any(len(shape) > MAX_DIMENSIONS for shape in layer.weights.values()):
            raise BundleError(f"{where}: a weight has more than {MAX_DIMENSIONS} dimensions")
        _check_operator(layer, sum(sizes[name] for name in layer.members))


def _check_operator(layer: Layer, size: int) -> None:
    """Refuse an unknown operator, missing or unknown attributes, and more weights than the members have bytes for.

    A file must also contain the attributes with a default in the graph, because other readers can lack the default.
    Only attributes newer than the format can be missing (``Operator.implied``).
    """
    where = f"layer '{layer.name}'"
    try:
        attributes = operator(layer.op).attrs if operator(layer.op).has_shader else None
        implied = operator(layer.op).implied
    except ModelError:
        attributes = None
    if attributes is None:
        raise BundleError(f"{where}: '{layer.op:.40}' is not an operator of bundles")
    bits = layer.attrs.get("bits", attributes.get("bits"))
    ranged = isinstance(layer.output, (FeatureMap, SixteenBitMap))
    if ranged == ("scale" in attributes) or (
        ranged and bits not in (None, 16 if isinstance(layer.output, SixteenBitMap) else 8)
    ):
        raise BundleError(f"{where}: its output has another number of bits than '{layer.op}' stores")
    for key in attributes:
        if key not in layer.attrs and key not in implied:
            raise BundleError(f"{where}: attribute '{key}' is missing")
        if key in ("scale", "scales", "zeros") and layer.attrs[key] != getattr(layer.output, key, None):
            raise BundleError(f"{where}: attribute '{key}' is not that of its output")
    for key in layer.attrs:
        if key not in attributes and key != "fused":
            raise BundleError(f"{where}: unknown attribute '{key:.40}'")
    if sum(math.prod(shape) for shape in layer.weights.values()) > size:
        raise BundleError(f"{where}: its weights do not fit into its members")


def _check_inputs_and_outputs(network: Network, manifest: Manifest) -> None:
    """Refuse inputs, outputs or probed layers that differ from those of the manifest."""
    values = {layer.name: layer.output for layer in network.layers}
    of_graph = {layer.name: layer.output for layer in network.layers if operator(layer.op).is_input}
    of_manifest = {entry.name: entry.value for entry in manifest.inputs}
    different = [name for name in {**of_manifest, **of_graph} if of_graph.get(name) != of_manifest.get(name)]
    if different:
        raise BundleError(f"graph: input '{different[0]}' differs from the manifest")
    if [output.name for output in network.outputs] != [output.name for output in manifest.outputs]:
        raise BundleError("graph: its outputs are not those of the manifest, in the same order")
    for output, entry in zip(network.outputs, manifest.outputs):
        unknown = [name for name in output.layers if name not in values]
        if unknown:
            raise BundleError(f"graph: output '{output.name}': '{unknown[0]}' is not a layer")
        if tuple(values[name] for name in output.layers) != entry.values or output.steps != entry.steps:
            raise BundleError(f"output '{output.name}' differs from its layers and steps in the graph")
    for probed in manifest.probe.layers:
        if values.get(probed.layer) != probed.value:
            raise BundleError(f"probe: layer '{probed.layer}' has another place than in the graph")


def _check_sharing(network: Network, manifest: Manifest) -> None:
    """Refuse a texture whose contents have been replaced before they are read, because layers can share a texture."""
    drawn = set(manifest.layers)
    # Layers whose passes draw the output of a layer: itself, or without passes those of its inputs.
    drawing_layers: dict[str, set[str]] = {}
    readable: dict[str, set[str]] = {}
    for layer in network.layers:
        readable[layer.name] = {name for source in layer.inputs for name in drawing_layers[source]}
        drawing_layers[layer.name] = {layer.name} if layer.name in drawn else readable[layer.name]
    contents: dict[str, list[str]] = {}
    for index, entry in enumerate(manifest.passes):
        for name in entry.textures:
            if name in contents and not {*contents[name]} & (readable[entry.layer] | {entry.layer}):
                raise BundleError(
                    f"pass {index} (layer '{entry.layer}'): reads texture '{name}', which by then holds "
                    f"layer '{contents[name][-1]}', none of its inputs"
                )
        before = [] if entry.clear else contents[entry.target]
        contents[entry.target] = before if entry.layer in before else [*before, entry.layer]
    for output, described in zip(network.outputs, manifest.outputs):
        for source, value in zip(output.layers, described.values):
            for name in textures_of(value):
                if not {*contents[name]} & drawing_layers[source]:
                    raise BundleError(
                        f"output '{output.name}': texture '{name}' holds layer '{contents[name][-1]}' at the end of a "
                        f"frame, not '{source}'"
                    )
