"""graph.json and manifests: contradicting entries and values beyond the format's limits are refused."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import bundle_data
import pytest
import tiny
from bundle_files import Members, members_of, peak_memory_below, refusal, rehashed, zipped
from oversized_manifests import GOOD as MANIFEST
from oversized_manifests import HUGE_QUAD, HUGE_TEXTURE, PASS, TOO_MUCH

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, format_constants, manifest_json, network
from glsl_infer.bundle.manifest_check import check, check_caps
from glsl_infer.bundle.network import Layer, Network
from glsl_infer.errors import BundleError
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.program.layout import FixedPoint, View

BUNDLE = tiny.tiny_bundle(memory="naive")
"""Bundle in which every texture has the name of its layer."""

GOOD = BUNDLE.network
SIZES = {name: len(data) for name, data in BUNDLE.members.items()}

Change = Callable[[Network], Network]


def test_the_network_itself_is_right() -> None:
    network.check(GOOD, BUNDLE.manifest, SIZES)
    assert network.from_json(json.loads(network.to_bytes(GOOD))) == GOOD


def layer(name: str, /, **fields: Any) -> Change:
    def change(network: Network) -> Network:
        layers = tuple(replace(node, **fields) if node.name == name else node for node in network.layers)
        return replace(network, layers=layers)

    return change


def without(name: str) -> Change:
    return lambda network: replace(network, layers=tuple(node for node in network.layers if node.name != name))


def output(**fields: Any) -> Change:
    return lambda network: replace(network, outputs=(replace(network.outputs[0], **fields),))


def output_of(name: str, /, **fields: Any) -> Change:
    (value,) = (node.output for node in GOOD.layers if node.name == name)
    return layer(name, output=replace(value, **fields))


EXPAND: Layer = next(entry for entry in GOOD.layers if entry.name == "expand")

BROKEN: dict[str, tuple[Change, str]] = {
    "two layers": (layer("expand", name="stem"), "two layers are called 'stem'"),
    "no layers": (lambda parsed: replace(parsed, layers=()), "graph: input 'image' differs from the manifest"),
    "layer's member": (layer("stem", members=("weights/none.f32",)), "'weights/none.f32' is missing"),
    "unknown input": (layer("expand", inputs=("none",)), "layer 'expand': reads 'none', which is not a layer"),
    "input of a later layer": (layer("stem", inputs=("expand",)), "layer 'stem': reads 'expand'"),
    "its own input": (layer("stem", inputs=("stem",)), "layer 'stem': reads 'stem'"),
    "no input layer": (
        layer("image", **{key: getattr(EXPAND, key) for key in ("op", "attrs", "members")}),
        "input 'image'",
    ),
    "output layer": (output(layers=("none",)), "graph: output 'softmax': 'none' is not a layer"),
    "another output": (output(layers=("pool",)), "output 'softmax' differs from its layers and steps in the graph"),
    "other steps": (output(steps=(HostStep("argmax"),)), "output 'softmax' differs from its layers and steps"),
    "another name": (output(name="other"), "graph: its outputs are not those of the manifest"),
    "an output more": (lambda parsed: replace(parsed, outputs=parsed.outputs * 2), "graph: its outputs are not those"),
    "number of views": (output_of("stem", channels=9), "layer 'stem': 2 views for 9 channels"),
    "view in no texture": (output_of("stem", views=(View("none", 0, 0),) * 2), "layer 'stem': a view is outside"),
    "view too far right": (output_of("stem", views=(View("stem", 9, 0),) * 2), "layer 'stem': a view is outside"),
    "view too far down": (output_of("stem", views=(View("stem", 0, 99),) * 2), "layer 'stem': a view is outside"),
    "vector in no texture": (output_of("pool", texture="none"), "layer 'pool': its values do not fit texture"),
    "vector too long": (output_of("pool", length=65), "layer 'pool': its values do not fit texture"),
    "too many sums": (output_of("dense", columns=5), "layer 'dense': its values do not fit texture"),
    "output that no pass draws": (
        layer("pool", output=FixedPoint("dense.weights", 0, 2, 1.0)),
        "layer 'pool': nothing is drawn into texture 'dense.weights'",
    ),
    "not where the probe says": (
        output_of("stem", views=(View("stem", 0, 0),) * 2),
        "probe: layer 'stem' has another place than in the graph",
    ),
    "a layer that draws is missing": (
        lambda parsed: layer("dense", inputs=("unit-dw",))(without("pool")(parsed)),
        "probe: layer 'pool' has another place than in the graph",
    ),
    "dimensions": (layer("expand", weights={"kernel": (1,) * 5}), "'expand': a weight has more than 4 dimensions"),
    "more weights than bytes": (layer("expand", weights={"kernel": (1, 1, 600, 64)}), "do not fit into its members"),
    "operator": (layer("expand", op="transformer"), "layer 'expand': 'transformer' is not an operator of bundles"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_refused(name: str) -> None:
    change, message = BROKEN[name]
    with pytest.raises(BundleError, match=message) as caught:
        network.check(change(GOOD), BUNDLE.manifest, SIZES)
    assert "\n" not in str(caught.value)


def test_a_second_picture_is_refused() -> None:
    image = GOOD.layers[0]
    twice = replace(GOOD, layers=(image, replace(image, name="again"), *GOOD.layers[1:]))
    with pytest.raises(BundleError, match="input 'again'"):
        network.check(twice, BUNDLE.manifest, SIZES)


def test_a_texture_that_holds_another_layer_by_then() -> None:
    passes = BUNDLE.manifest.passes
    index = next(index for index, draw in enumerate(passes) if draw.target == "unit-dw")
    textures = ("stem", *passes[index].textures[1:])
    changed = (*passes[:index], replace(passes[index], textures=textures), *passes[index + 1 :])
    with pytest.raises(
        BundleError, match=rf"pass {index} \(layer 'unit-dw'\): reads texture 'stem', which by then holds layer 'stem'"
    ):
        network.check(GOOD, replace(BUNDLE.manifest, passes=changed), SIZES)


def test_an_output_that_another_layer_overwrites() -> None:
    last = replace(BUNDLE.manifest.passes[-1], layer="pool", clear=True)
    manifest = replace(BUNDLE.manifest, passes=(*BUNDLE.manifest.passes, last))
    with pytest.raises(BundleError, match="output 'softmax'"):
        network.check(GOOD, manifest, SIZES)


def with_graph(folder: Path, members: Members, text: bytes) -> Bundle:
    """Read a bundle with another graph.json and a matching hash. The reader accepts it: no runner uses the graph."""
    return bundles.read(zipped(folder / "graph.glslnn", rehashed(members, {"graph.json": text})))


def test_every_name_and_number_of_a_graph_is_checked(tmp_path: Path) -> None:
    """Each key of each kind of layer is removed, and then given another type."""
    members = tiny.tiny_members()
    data = json.loads(members["graph.json"])
    changed = [{**data, "extra": 1}, {"layers": data["layers"]}, {"outputs": data["outputs"]}, {**data, "outputs": []}]
    (end,) = data["outputs"]
    for key in end:
        for other in ({name: value for name, value in end.items() if name != key}, {**end, key: 5}):
            changed.append({**data, "outputs": [other]})
    changed.append({**data, "outputs": [{**end, "layers": []}]})
    for index in (0, 1, len(data["layers"]) - 1):
        record = data["layers"][index]
        for key in record:
            for other in ({name: value for name, value in record.items() if name != key}, {**record, key: 5}):
                changed.append({**data, "layers": [*data["layers"][:index], other, *data["layers"][index + 1 :]]})
        changed.append({**data, "layers": [*data["layers"][:index], {**record, "extra": 1}]})
    for graph in changed:
        with pytest.raises(BundleError):
            network.from_json(graph)
    bundle = with_graph(tmp_path, members, json.dumps(changed[-1]).encode())
    with pytest.raises(BundleError, match="'extra'"):
        _ = bundle.network


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"output":NaN}',
        b'{"output":"a","output":"a","layers":[]}',
        b'{"output":"\\ud800","layers":[]}',
    ],
    ids=lambda text: text[:30].decode("latin-1"),
)
def test_invalid_graphs_are_refused(tmp_path: Path, text: bytes) -> None:
    bundle = with_graph(tmp_path, tiny.tiny_members(), text)
    for read in (lambda: bundle.network, lambda: bundle.graph, lambda: bundle.values):
        with pytest.raises(BundleError, match=r"graph\.glslnn: graph") as caught:
            read()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("literal", ["1" + "0" * 400, "1e999", "1e39", "NaN", "Infinity"])
def test_numbers_that_no_float_holds(tmp_path: Path, literal: str) -> None:
    members = tiny.tiny_members()
    text = members["graph.json"].replace(b'"attrs":{', b'"attrs":{"x":' + literal.encode() + b",", 1)
    with pytest.raises(BundleError):
        _ = with_graph(tmp_path, members, text).network


@pytest.mark.parametrize("depth", [2, 300, 600, 900])
def test_attributes_are_not_nested(tmp_path: Path, depth: int) -> None:
    members = tiny.tiny_members()
    text = members["graph.json"].replace(b'"attrs":{', b'"attrs":{"x":' + b"[" * depth + b"]" * depth + b",", 1)
    assert text != members["graph.json"]
    with pytest.raises(BundleError):
        _ = with_graph(tmp_path, members, text).network


def test_a_graph_of_another_manifest_is_refused(tmp_path: Path) -> None:
    data = tiny.tiny_manifest()
    data["graph"]["layers"][0]["name"] = "line\nfeed"
    bundle = bundles.read(zipped(tmp_path / "m.glslnn", bundle_data.members_from(data, tiny.tiny_members())))
    with pytest.raises(BundleError) as caught:
        _ = bundle.network
    assert (
        str(caught.value)
        == f"{tmp_path / 'm.glslnn'}: layer 'stem': reads 'image', which is not a layer before it (rule: graph)"
    )
    data["graph"]["layers"][1]["inputs"] = ["other\nline"]
    bundle = bundles.read(zipped(tmp_path / "m.glslnn", bundle_data.members_from(data, tiny.tiny_members())))
    with pytest.raises(BundleError, match=r"reads 'other\\x0aline'") as caught:
        _ = bundle.graph
    assert "\n" not in str(caught.value)


def test_more_layers_than_any_network_has() -> None:
    data = json.loads(network.to_bytes(GOOD))
    with pytest.raises(
        BundleError, match=f"graph: 'layers' is a list of 2049, not of 0 to {format_constants.MAX_LAYERS}"
    ):
        network.from_json({**data, "layers": data["layers"][:1] * 2049})


MEMBER_SIZES = {name: len(data) for name, data in tiny.tiny_bundle().members.items()}


@pytest.mark.parametrize("excess", TOO_MUCH)
def test_manifests_beyond_a_limit_are_refused(excess: str) -> None:
    manifest, message = TOO_MUCH[excess]
    with pytest.raises(BundleError, match=message):
        check(manifest, MEMBER_SIZES)


def test_as_much_as_is_allowed() -> None:
    """Values exactly at a limit are accepted."""
    most = replace(
        MANIFEST, textures=(replace(HUGE_TEXTURE, height=8192),), passes=(replace(PASS, quads=(HUGE_QUAD,) * 4),)
    )
    check_caps(most, {"shaders/a.frag": format_constants.MAX_SHADER_BYTES})


def test_a_huge_shader(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    name = MANIFEST.programs[0].fragment
    longer = members[name] + b"//" + b"x" * format_constants.MAX_SHADER_BYTES
    assert f"member '{name}' has {len(longer)} bytes of GLSL" in refusal(
        zipped(tmp_path / "shader.glslnn", rehashed(members, {name: longer}))
    )


def test_a_huge_manifest_is_not_unpacked(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    members["manifest.json"] += b" " * format_constants.MAX_MANIFEST_BYTES
    path = zipped(tmp_path / "manifest.glslnn", members)
    with peak_memory_below(4 << 20):
        assert "manifest.json unpacks to more than 16 MiB" in refusal(path)


@pytest.mark.parametrize(
    ("member", "added", "megabytes", "message"),
    [
        ("labels.txt", b"\n" * (format_constants.MAX_LABELS_BYTES + 1), 4, "labels.txt unpacks to more than 16 MiB"),
        ("labels.txt", b"\n" * (4 << 20), 24, "labels for 3 classes"),  # a list of them would take 240 MiB
        ("graph.json", b" " * format_constants.MAX_GRAPH_BYTES, 4, "graph.json unpacks to more than 16 MiB"),
        ("passes.bin", bytes(format_constants.MAX_TABLE_BYTES), 4, "passes.bin unpacks to more than 32 MiB"),
    ],
    ids=["labels", "four million labels", "graph", "passes"],
)
def test_a_huge_member_is_not_unpacked(
    member: str, added: bytes, megabytes: int, message: str, tmp_path: Path, good: bytes
) -> None:
    members = members_of(good, tmp_path)
    members[member] += added
    path = zipped(tmp_path / "huge.glslnn", rehashed(members))
    with peak_memory_below(megabytes << 20):
        assert message in refusal(path)


@pytest.mark.parametrize(
    "keys, count, message",
    [
        (("passes", "count"), 65537, "65537, not an integer from 1 to 65536"),
        (("passes", "quads"), 262145, "262145, not an integer from 1 to 262144"),
        (("layers",), 2049, "'layers' is a list of 2049, not of 1 to 2048 (rule: caps)"),
        (("floats",), 16385, "'floats' is a list of 16385, not of 0 to 16384 (rule: caps)"),
        (("programs", 0, "uniforms"), 65, "'uniforms' is a list of 65, not of 0 to 64 (rule: programs)"),
    ],
    ids=str,
)
def test_more_than_a_table_can_have(
    tmp_path: Path, good: bytes, keys: tuple[str | int, ...], count: int, message: str
) -> None:
    members = members_of(good, tmp_path)
    manifest = json.loads(members["manifest.json"])
    holder = manifest
    for key in keys[:-1]:
        holder = holder[key]
    many: dict[str | int, list[object]] = {"uniforms": [[f"u{index}", 1] for index in range(count)]}
    names: list[object] = [f"weights/{index}.f32" for index in range(count)]
    holder[keys[-1]] = count if keys[0] == "passes" else many.get(keys[-1], names)
    path = zipped(tmp_path / "many.glslnn", {**members, "manifest.json": json.dumps(manifest).encode()})
    assert message in refusal(path)


def test_many_layers_without_a_pass_take_no_time(tmp_path: Path) -> None:
    """The lookup of a layer among those drawn takes one comparison, not one for each pass."""
    data = tiny.tiny_manifest()
    table, manifest = bundle_data.table(data), bundle_data.manifest_data(data)
    manifest["layers"] += [f"idle {index}" for index in range(2000)]

    class Counted(str):
        compared = 0

        def __hash__(self) -> int:
            Counted.compared += 1
            return super().__hash__()

    manifest["layers"] = [Counted(name) for name in manifest["layers"]]
    with pytest.raises(BundleError, match="layers: 'idle 0' has no pass"):
        manifest_json.from_json(manifest, table)
    assert Counted.compared < 10 * len(manifest["layers"])


def directory_of(size: int) -> bytes:
    return struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, size, 0, 0)


HUGE_DIRECTORIES: dict[str, Callable[[], bytes]] = {
    "declared": lambda: directory_of(format_constants.MAX_DIRECTORY_BYTES + 1),
    "64-bit": lambda: struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) + directory_of(0),
    "before a comment": lambda: directory_of(1 << 31)[:-2] + b"\5\0hello",
}


@pytest.mark.parametrize("kind", HUGE_DIRECTORIES)
def test_a_huge_directory_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "entries.glslnn"
    path.write_bytes(bytes(1000) + HUGE_DIRECTORIES[kind]())
    # 64-bit records and comments, which bundles never use, are not read.
    larger = "the directory of the zip is larger than 16 MiB"
    assert (larger if kind == "declared" else "not a glsl-infer model") in refusal(path)


def test_a_million_entries_take_no_memory(tmp_path: Path) -> None:
    """A directory entry takes 46 bytes and a name; the standard library would create an object for each."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("labels.txt", b"")
    data = buffer.getvalue()
    start = data.index(b"PK\1\2")
    record = data[start : data.index(b"PK\5\6")]
    count = 1_000_000
    path = tmp_path / "entries.glslnn"
    path.write_bytes(
        data[:start] + record * count + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(record) * count, start, 0)
    )
    with peak_memory_below(1 << 20):
        assert "the directory of the zip" in refusal(path)


def test_a_long_name_makes_no_long_message(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    manifest = json.loads(members["manifest.json"])
    manifest["programs"][0]["vertex"] = "shaders/" + "9" * 10_000
    path = zipped(tmp_path / "long.glslnn", {**members, "manifest.json": json.dumps(manifest).encode()})
    message = refusal(path)
    assert "member 'shaders/999" in message
    assert len(message) < 500 + len(str(path))
