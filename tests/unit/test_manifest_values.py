"""Ranges, 16-bit maps, clear colours, images and attributes of a bundle, broken once each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import bundle_data
import pytest
import ranged
import tiny
from bundle_files import members_of, refusal, rehashed, zipped

from glsl_infer import bundle as bundles
from glsl_infer.bundle import network
from glsl_infer.bundle.manifest import Manifest, ProbeOutput
from glsl_infer.bundle.manifest_check import check
from glsl_infer.bundle.network import Layer, Network
from glsl_infer.errors import BundleError
from glsl_infer.program.layout import LAYOUTS, FixedPoint, View

GOOD = {end: ranged.ranged_bundle(end) for end in ranged.ENDS}
LAYERS: dict[str, Layer] = {layer.name: layer for layer in GOOD["logits"].network.layers}
Change = Callable[[Network], Network]


def sizes_of(bundle: bundles.Bundle) -> dict[str, int]:
    return {name: len(data) for name, data in bundle.members.items()}


def refused(bundle: bundles.Bundle, change: Callable[[Manifest], Manifest], message: str) -> None:
    check(bundle.manifest, sizes_of(bundle))
    with pytest.raises(BundleError, match=message) as caught:
        check(change(bundle.manifest), sizes_of(bundle))
    assert "\n" not in str(caught.value)


def with_layer(name: str, **fields: Any) -> Change:
    def change(network: Network) -> Network:
        layers = tuple(replace(layer, **fields) if layer.name == name else layer for layer in network.layers)
        assert layers != network.layers
        return replace(network, layers=layers)

    return change


def value(name: str, **fields: Any) -> Change:
    return with_layer(name, output=replace(LAYERS[name].output, **fields))


def attrs(name: str, **changed: Any) -> Change:
    """Change attributes of a layer; ``...`` removes one."""
    merged = {**LAYERS[name].attrs, **changed}
    return with_layer(name, attrs={key: value for key, value in merged.items() if value is not ...})


def with_network(change: Change) -> bundles.Bundle:
    """Return the bundle with another, unread graph.json."""
    bundle = GOOD["logits"]
    return bundles.Bundle(
        bundle.manifest, {**bundle.members, "graph.json": network.to_bytes(change(bundle.network))}, bundle.path
    )


SUMS = LAYERS["wide-products"].output

BROKEN: dict[str, tuple[Change, str]] = {
    "two scales for six": (value("peak", scales=(1.0, 2.0)), "'peak': 2 scales, 6 zeros; give one, or one a channel"),
    "no scales": (value("peak", scales=()), "'scales' is a list of 0, not of 1 or more|'peak': 0 scales"),
    "seven zeros": (value("peak", zeros=(1.0,) * 7), "'peak': 6 scales, 7 zeros"),
    "a scale of 0": (
        value("peak", scales=(1.0,) * 5 + (0.0,)),
        r"scales\[\d\] is 0; give another number|'peak': a scale is 0",
    ),
    "a scale of -0": (value("peak", scales=(-0.0,)), r"scales\[\d\] is 0; give another number|'peak': a scale is 0"),
    "16-bit channels": (value("wide-products", channels=14), "'wide-products': 8 views for 14 channels"),
    "16-bit views": (value("wide-products", views=SUMS.views[:-1]), "'wide-products': 7 views for 16 channels"),
    "8-bit views": (value("first", views=(View("first", 1, 1),) * 20), "'first': 20 views for 40 channels"),
    "16-bit view outside": (
        value("wide-products", views=(replace(SUMS.views[0], x=10), *SUMS.views[1:])),
        "'wide-products': a view is outside its texture",
    ),
    "16-bit view nowhere": (
        value("wide-products", views=(View("none", 0, 0),) * 8),
        "'wide-products': a view is outside its texture",
    ),
    "16-bit too high": (value("wide-products", height=10), "'wide-products': a view is outside its texture"),
    "scale that is not the output's": (attrs("wide-products", scale=0.5), "'wide-products': attribute 'scale' is not"),
    "scale of a vector": (attrs("pool", scale=0.5), "'pool': attribute 'scale' is not that of its output"),
    "scales that are not the output's": (attrs("more", scales=(1.0,)), "'more': attribute 'scales' is not that"),
    "zeros that are not the output's": (attrs("image", zeros=(0.0,)), "'image': attribute 'zeros' is not that"),
    "scales of another kind": (attrs("more", scales="wide"), "'more': attribute 'scales' is not that"),
    "missing attribute": (attrs("first", alpha=...), "layer 'first': attribute 'alpha' is missing"),
    "all of them": (with_layer("first", attrs={}), "layer 'first': attribute 'strides' is missing"),
    "unknown attribute": (attrs("first", dilation=2), "layer 'first': unknown attribute 'dilation'"),
    "attribute of another": (attrs("peak", scales=(1.0,)), "layer 'peak': unknown attribute 'scales'"),
    "unknown operator": (with_layer("peak", op="fft"), "layer 'peak': 'fft' is not an operator of bundles"),
    "operator of graphs": (with_layer("peak", op="softmax"), "layer 'peak': 'softmax' is not an operator of bundles"),
    "no operator": (with_layer("peak", op="operator"), "layer 'peak': 'operator' is not an operator of bundles"),
    "weights larger than their members": (
        with_layer("more", weights={"kernel": (1 << 20,) * 4}),
        "layer 'more': its weights do not fit into its members",
    ),
    "weights without members": (with_layer("more", members=()), "layer 'more': its weights do not fit into its"),
    "8 bits for 16": (
        with_layer("pool", output=LAYERS["more"].output),
        "layer 'pool': its output has another number of bits than 'global_average_pool' stores",
    ),
    "16 bits for 8": (with_layer("peak", output=SUMS), "layer 'peak': its output has another number of bits"),
    "picture elsewhere": (
        value("image", views=(View("image", 0, 0),)),
        "graph: input 'image' differs from the manifest",
    ),
    "a grey picture": (value("image", channels=1), "graph: input 'image' differs from the manifest"),
    "a picture in 16 bits": (
        with_layer("image", output=FixedPoint("image", 0, 3, 1.0)),
        "layer 'image': its output has another number of bits than 'input' stores",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_refused(name: str) -> None:
    change, message = BROKEN[name]
    with pytest.raises(BundleError, match=f"bundle: .*{message}") as caught:
        _ = with_network(change).network
    assert "\n" not in str(caught.value)


VALUES = ("views", "16-bit", "scales", "seven zeros", "a scale of")


@pytest.mark.parametrize("name", [name for name in BROKEN if any(word in name for word in VALUES)])
def test_values_of_layers_are_checked_without_the_graph(name: str) -> None:
    """Runners read the location of a probe's value, so the same rules hold without the graph."""
    change, message = BROKEN[name]
    outputs = {layer.name: layer.output for layer in change(GOOD["logits"].network).layers}
    if all(outputs[layer] == LAYERS[layer].output for layer in outputs):
        return  # the case changes an attribute

    def as_expected(manifest: Manifest) -> Manifest:
        entries = tuple(replace(probe, value=outputs[probe.layer]) for probe in manifest.probe.layers)
        return replace(manifest, probe=replace(manifest.probe, layers=entries))

    refused(GOOD["logits"], as_expected, f"probe: layer {message}")


def test_fused_is_free() -> None:
    assert with_network(attrs("first", fused=("a", "b"))).graph.by_name["first"].attrs["fused"] == ("a", "b")


def test_the_result_is_that_of_the_last_layer() -> None:
    for end, changes in (("logits", {"scale": 9.0}), ("image", {"scales": (9.0,)})):
        bundle = GOOD[end]
        old = bundle.manifest.outputs[0]
        changed: Any = replace(old.values[0], **changes)  # type: ignore[arg-type]
        other = bundles.Bundle(replace(bundle.manifest, outputs=(replace(old, values=(changed,)),)), bundle.members)
        with pytest.raises(BundleError, match=f"bundle: output '{old.name}' differs from its layers and steps"):
            _ = other.network


def test_an_image_has_no_logits_and_no_labels(tmp_path: Path) -> None:
    bundle = GOOD["image"]
    probe_outputs = (ProbeOutput((1.0,), 0.0),)
    refused(
        bundle,
        lambda old: replace(old, probe=replace(old.probe, outputs=probe_outputs)),
        "probe: 1 numbers of output 'large'",
    )
    path = ranged.write_ranged(tmp_path, "image")
    members = rehashed(members_of(path.read_bytes(), tmp_path), {"labels.txt": b"cat\n"})
    assert "1 labels for 0 classes" in refusal(zipped(path, members))


def test_outputs_of_images_are_in_targets() -> None:
    bundle = GOOD["image"]

    def change(manifest: Manifest) -> Manifest:
        return replace(manifest, outputs=(replace(manifest.outputs[0], values=(manifest.input.value,)),))

    refused(bundle, change, "output 'large': nothing is drawn into texture 'image'")


def test_attributes_are_checked_on_first_use_of_the_graph(tmp_path: Path) -> None:
    data = tiny.tiny_manifest()
    (shuffle,) = (layer for layer in data["graph"]["layers"] if layer["name"] == "unit-shuffle")
    shuffle["attrs"] = {}
    path = zipped(tmp_path / "m.glslnn", bundle_data.members_from(data, tiny.tiny_members()))
    bundle = bundles.read(path)
    for read in (lambda: bundle.network, lambda: bundle.graph, lambda: bundle.values):
        with pytest.raises(BundleError) as caught:
            read()
        assert str(caught.value) == f"{path}: layer 'unit-shuffle': attribute 'step' is missing (rule: graph)"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("end", ranged.ENDS)
def test_written_bundles_are_read_back(tmp_path: Path, end: str, layout: str) -> None:
    """Also for windows that begin before the texture, in the padding."""
    bundle = ranged.ranged_bundle(end, layout)
    read = bundles.read(ranged.write_ranged(tmp_path, end, layout))
    assert read.manifest == bundle.manifest
    assert min(x for draw in read.manifest.passes for quad in draw.quads for origin in quad.origins for x in origin) < 0
    assert read.graph.nodes[-1].name == read.network.outputs[0].layers[0]


@pytest.mark.parametrize(
    "attribute, hostile",
    [
        ("scales", [1e-300]),
        ("scales", [1e18]),
        ("scales", [-1.0]),
        ("zeros", [1e18]),
        ("zeros", [-5.5]),
        ("scale", 1e-300),
        ("activation", [1]),
        ("activation", "relu(0)"),
        ("activation", "relu(1e99)"),
        ("groups", 0),
        ("strides", [0]),
        ("block", 0),
        ("block", -1),
        ("blocks", 10**9),
        ("pool", "wide"),
        ("padding", None),
        ("alpha", "yes"),
    ],
)
def test_hostile_attributes_end_in_a_bundle_error_or_a_graph(attribute: str, hostile: Any) -> None:
    """For every value, the result is an error or a graph, without warnings, other exceptions or endless loops."""
    reached: set[bool] = set()
    for name, layer in LAYERS.items():
        if attribute in layer.attrs:
            plain = tuple(hostile) if isinstance(hostile, list) else hostile
            fields: dict[str, Any] = {"attrs": {**layer.attrs, attribute: plain}}
            if hasattr(layer.output, attribute):
                fields["output"] = replace(layer.output, **{attribute: plain})
            bundle = with_network(with_layer(name, **fields))
            manifest = bundle.manifest
            entries = tuple(
                replace(probe, value=fields.get("output", probe.value)) if probe.layer == name else probe
                for probe in manifest.probe.layers
            )
            manifest = replace(manifest, probe=replace(manifest.probe, layers=entries))
            try:
                _ = bundles.Bundle(manifest, bundle.members).graph
            except BundleError as error:
                assert str(error).startswith("bundle: ")
                reached.add("layers do not fit together" in str(error))
            else:
                reached.add(True)
    assert True in reached, "nothing got as far as the graph"


def test_layer_values_of_another_kind_or_shape_are_refused() -> None:
    for name in ("first", "wide-products", "peak", "more", "each"):
        for output in (FixedPoint("pool", 0, 2, 1.0), SUMS, LAYERS["image"].output):
            if output is not LAYERS[name].output:
                with pytest.raises(BundleError, match=f"layer '{name}'|layers do not fit together"):
                    _ = with_network(with_layer(name, output=output)).graph


def test_clear_colours_are_restored() -> None:
    for bundle in (*GOOD.values(), tiny.tiny_bundle()):
        for texture in bundle.manifest.textures:
            if texture.kind != "target":
                assert texture.clear == (0, 0, 0, 0)
    (more,) = (texture for texture in GOOD["logits"].manifest.textures if texture.name == "more")
    zero = int(LAYERS["more"].output.zeros[0])
    assert more.clear == (zero,) * 4 and zero > 0
