"""graph.json: what the network means, for the reference, validation and inspection. No runner reads it.

Every layer is there, those too that draw nothing: its operator, attributes, the shapes of its weights and the members
that hold them, and where its output lies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glsl_infer.bundle import json_fields as strict
from glsl_infer.bundle.format_constants import MAX_LAYERS
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.bundle.manifest_check import check_value
from glsl_infer.bundle.manifest_json import MAX_COUNT, value_from_json, value_to_json
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph.operators import operator
from glsl_infer.program.layout import FeatureMap, Value, textures_of
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
class Network:
    """All layers in order, and the layer whose output is the result."""

    output: str
    layers: tuple[Layer, ...]


def to_bytes(network: Network) -> bytes:
    """Return the member graph.json."""
    data = {"output": network.output, "layers": [_layer_to_json(layer) for layer in network.layers]}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def from_json(data: Any) -> Network:
    """Read a network from JSON data, strictly.

    Raises:
        BundleError: anything missing, unknown, of the wrong type or out of range.
    """
    fields = Fields(data, "graph")
    entries = fields.items("layers")
    if len(entries) > MAX_LAYERS:
        raise BundleError(f"graph: {len(entries)} layers; a model has at most {MAX_LAYERS}")
    network = Network(fields.text("output"), tuple(_layer(entry, f"layers[{i}]") for i, entry in enumerate(entries)))
    fields.done()
    return network


def check(network: Network, manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a network that is not what the manifest draws, or whose operators and attributes nobody knows.

    Args:
        network: what ``from_json`` returned.
        manifest: of the same bundle, whose parts fit together.
        sizes: bytes of every member.

    Raises:
        BundleError: naming the layer.
    """
    textures = {texture.name: texture for texture in manifest.textures}
    written = {entry.target for entry in manifest.passes}
    before: set[str] = set()
    for layer in network.layers:
        where = f"layer '{layer.name}'"
        if layer.name in before:
            raise BundleError(f"two layers are called '{layer.name}'")
        unknown = [name for name in layer.inputs if name not in before]
        if unknown:
            raise BundleError(f"{where}: reads '{unknown[0]}', which is no layer before it")
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
    if network.output not in before:
        raise BundleError(f"graph: its output '{network.output}' is no layer")
    _check_ends(network, manifest)
    _check_sharing(network, manifest)


def _layer_to_json(layer: Layer) -> dict[str, Any]:
    return {
        "name": layer.name,
        "op": layer.op,
        "inputs": list(layer.inputs),
        "attrs": {key: plain(value) for key, value in layer.attrs.items()},
        "weights": {key: list(shape) for key, shape in layer.weights.items()},
        "members": list(layer.members),
        "output": value_to_json(layer.output),
    }


def _layer(data: Any, where: str) -> Layer:
    fields = Fields(data, where)
    layer = Layer(
        fields.text("name"),
        fields.text("op"),
        fields.texts("inputs"),
        {key: _attribute(value, f"{where}.attrs['{key:.60}']") for key, value in fields.mapping("attrs").items()},
        {
            key: tuple(
                strict.integer(size, f"{where}.weights['{key:.60}']", 1, MAX_COUNT)
                for size in strict.items(shape, where)
            )
            for key, shape in fields.mapping("weights").items()
        },
        fields.texts("members"),
        value_from_json(fields.any("output"), f"{where}.output"),
    )
    fields.done()
    return layer


def _attribute(value: Any, where: str) -> Any:
    return tuple(_scalar(item, where) for item in value) if isinstance(value, list) else _scalar(value, where)


def _scalar(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return strict.text(value, where)
    number = strict.number(value, where)
    return value if isinstance(value, int) else number


def _check_operator(layer: Layer, size: int) -> None:
    """Refuse an operator that no bundle has, attributes that are not exactly its own, and more weights than bytes.

    What the graph can do without, its defaults, is required in a file: another reader may not know them.
    """
    where = f"layer '{layer.name}'"
    try:
        known = operator(layer.op).attrs if operator(layer.op).has_shader else None
    except ModelError:
        known = None
    if known is None:
        raise BundleError(f"{where}: '{layer.op:.40}' is no operator of a bundle")
    if isinstance(layer.output, FeatureMap) == ("scale" in known):
        raise BundleError(f"{where}: its output has another number of bits than '{layer.op}' stores")
    for key in known:
        if key not in layer.attrs:
            raise BundleError(f"{where}: attribute '{key}' is missing")
        if key in ("scale", "scales", "zeros") and layer.attrs[key] != getattr(layer.output, key, None):
            raise BundleError(f"{where}: attribute '{key}' is not that of its output")
    for key in layer.attrs:
        if key not in known and key != "fused":
            raise BundleError(f"{where}: unknown attribute '{key:.40}'")
    if sum(math.prod(shape) for shape in layer.weights.values()) > size:
        raise BundleError(f"{where}: its weights do not fit into its members")


def _check_ends(network: Network, manifest: Manifest) -> None:
    pictures = [layer for layer in network.layers if layer.op == "input"]
    if len(pictures) != 1:
        raise BundleError("graph: exactly one layer must be the input")
    if pictures[0].output != manifest.input.value:
        raise BundleError(f"input: the picture is not what layer '{pictures[0].name}' says")
    outputs = {layer.name: layer.output for layer in network.layers}
    if outputs[network.output] != manifest.outputs[0].value:
        raise BundleError(f"output '{manifest.outputs[0].name}' is not that of layer '{network.output}'")
    for entry in manifest.probe.layers:
        if outputs.get(entry.layer) != entry.value:
            raise BundleError(f"probe: layer '{entry.layer}' is not where the graph says")


def _check_sharing(network: Network, manifest: Manifest) -> None:
    """Refuse a texture that holds something else when it is read: layers may share one, each in its time."""
    drawn = set(manifest.layers)
    behind: dict[str, set[str]] = {}  # whose passes draw a layer's output: its own, or where it has none its inputs'
    readable: dict[str, set[str]] = {}
    for layer in network.layers:
        readable[layer.name] = {name for source in layer.inputs for name in behind[source]}
        behind[layer.name] = {layer.name} if layer.name in drawn else readable[layer.name]
    holds: dict[str, str] = {}
    for index, entry in enumerate(manifest.passes):
        for name in entry.textures:
            if name in holds and holds[name] not in readable[entry.layer] | {entry.layer}:
                raise BundleError(
                    f"pass {index} (layer '{entry.layer}'): reads texture '{name}', which by then holds "
                    f"layer '{holds[name]}', none of its inputs"
                )
        holds[entry.target] = entry.layer
    for name in textures_of(manifest.outputs[0].value):
        if holds[name] not in behind[network.output]:
            raise BundleError(f"output: texture '{name}' holds layer '{holds[name]}' at the end of a frame")


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
