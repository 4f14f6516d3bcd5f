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

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.ends_check import check_value
from glsl_infer.bundle.ends_json import steps_from_json, steps_to_json
from glsl_infer.bundle.format_constants import MAX_LAYERS, MAX_OUTPUTS, MAX_VALUES, RANGES
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.bundle.rules import rule
from glsl_infer.bundle.values_json import value_from_json, value_to_json
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.operators import operator
from glsl_infer.program.layout import FeatureMap, FineMap, Value, textures_of
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


def check(network: Network, manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a network that is not what the manifest draws, or whose operators and attributes nobody knows.

    Args:
        network: what ``from_json`` returned.
        manifest: of the same bundle, whose parts fit together.
        sizes: bytes of every member.

    Raises:
        BundleError: naming the layer.
    """
    with rule("graph"):
        _check_layers(network, manifest, sizes)
        _check_ends(network, manifest)
        _check_sharing(network, manifest)


def _check_layers(network: Network, manifest: Manifest, sizes: Mapping[str, int]) -> None:
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


def _check_operator(layer: Layer, size: int) -> None:
    """Refuse an operator that no bundle has, attributes that are not exactly its own, and more weights than bytes.

    What the graph can do without, its defaults, is required in a file: another reader may not know them. Only what is
    younger than the format may be missing (``Operator.implied``).
    """
    where = f"layer '{layer.name}'"
    try:
        known = operator(layer.op).attrs if operator(layer.op).has_shader else None
        implied = operator(layer.op).implied
    except ModelError:
        known = None
    if known is None:
        raise BundleError(f"{where}: '{layer.op:.40}' is no operator of a bundle")
    bits = layer.attrs.get("bits", known.get("bits"))
    ranged = isinstance(layer.output, (FeatureMap, FineMap))
    if ranged == ("scale" in known) or (ranged and bits not in (None, 16 if isinstance(layer.output, FineMap) else 8)):
        raise BundleError(f"{where}: its output has another number of bits than '{layer.op}' stores")
    for key in known:
        if key not in layer.attrs and key not in implied:
            raise BundleError(f"{where}: attribute '{key}' is missing")
        if key in ("scale", "scales", "zeros") and layer.attrs[key] != getattr(layer.output, key, None):
            raise BundleError(f"{where}: attribute '{key}' is not that of its output")
    for key in layer.attrs:
        if key not in known and key != "fused":
            raise BundleError(f"{where}: unknown attribute '{key:.40}'")
    if sum(math.prod(shape) for shape in layer.weights.values()) > size:
        raise BundleError(f"{where}: its weights do not fit into its members")


def _check_ends(network: Network, manifest: Manifest) -> None:
    values = {layer.name: layer.output for layer in network.layers}
    given = {layer.name: layer.output for layer in network.layers if operator(layer.op).is_input}
    wanted = {entry.name: entry.value for entry in manifest.inputs}
    different = [name for name in {**wanted, **given} if given.get(name) != wanted.get(name)]
    if different:
        raise BundleError(f"graph: input '{different[0]}' is not what the manifest says")
    if [output.name for output in network.outputs] != [output.name for output in manifest.outputs]:
        raise BundleError("graph: its outputs are not those of the manifest, in the same order")
    for output, entry in zip(network.outputs, manifest.outputs):
        unknown = [name for name in output.layers if name not in values]
        if unknown:
            raise BundleError(f"graph: output '{output.name}': '{unknown[0]}' is no layer")
        if tuple(values[name] for name in output.layers) != entry.values or output.steps != entry.steps:
            raise BundleError(f"output '{output.name}' is not what its layers and steps in the graph say")
    for probed in manifest.probe.layers:
        if values.get(probed.layer) != probed.value:
            raise BundleError(f"probe: layer '{probed.layer}' is not where the graph says")


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
    for output, wanted in zip(network.outputs, manifest.outputs):
        for source, value in zip(output.layers, wanted.values):
            for name in textures_of(value):
                if holds[name] not in behind[source]:
                    raise BundleError(
                        f"output '{output.name}': texture '{name}' holds layer '{holds[name]}' at the end of a frame, "
                        f"not '{source}'"
                    )


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
