"""Consistency checks of graph.json: rules G1 to G4 of docs/reference/graph-format.md."""

from __future__ import annotations

import math
from collections.abc import Mapping

from glsl_infer.bundle.ends_check import check_value
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.bundle.network import MAX_DIMENSIONS, Layer, Network
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph.operators import operator
from glsl_infer.program.layout import FeatureMap, SixteenBitMap, textures_of


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


def _check_operator(layer: Layer, size: int) -> None:
    """Refuse an unknown operator, missing or unknown attributes, and more weights than the members have bytes for.

    A file must also contain the attributes with a default in the graph, because other readers can lack the default.
    Only attributes newer than the format can be missing (``Operator.implied``).
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
    ranged = isinstance(layer.output, (FeatureMap, SixteenBitMap))
    if ranged == ("scale" in known) or (
        ranged and bits not in (None, 16 if isinstance(layer.output, SixteenBitMap) else 8)
    ):
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
    """Refuse a texture whose contents have been replaced before they are read, because layers can share a texture."""
    drawn = set(manifest.layers)
    behind: dict[str, set[str]] = {}  # layers whose passes draw a layer's output: itself, or without passes its inputs'
    readable: dict[str, set[str]] = {}
    for layer in network.layers:
        readable[layer.name] = {name for source in layer.inputs for name in behind[source]}
        behind[layer.name] = {layer.name} if layer.name in drawn else readable[layer.name]
    holds: dict[str, list[str]] = {}
    for index, entry in enumerate(manifest.passes):
        for name in entry.textures:
            if name in holds and not {*holds[name]} & (readable[entry.layer] | {entry.layer}):
                raise BundleError(
                    f"pass {index} (layer '{entry.layer}'): reads texture '{name}', which by then holds "
                    f"layer '{holds[name][-1]}', none of its inputs"
                )
        before = [] if entry.clear else holds[entry.target]
        holds[entry.target] = before if entry.layer in before else [*before, entry.layer]
    for output, wanted in zip(network.outputs, manifest.outputs):
        for source, value in zip(output.layers, wanted.values):
            for name in textures_of(value):
                if not {*holds[name]} & behind[source]:
                    raise BundleError(
                        f"output '{output.name}': texture '{name}' holds layer '{holds[name][-1]}' at the end of a "
                        f"frame, not '{source}'"
                    )
