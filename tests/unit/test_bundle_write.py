"""Bundles, also those of parts, are written with the same bytes every time, and are read back."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import parted
import pytest
import tiny
from bundle_files import members_of, ordinary_user
from conformance_parts import sound_members
from conformance_zip import zipped
from graphs import conv_node, input_node, pool_node
from PIL import Image
from test_bundle_schema import SCHEMA

from glsl_infer import bundle as bundles
from glsl_infer.bundle import MANIFEST, Bundle, container, manifest_json
from glsl_infer.bundle.parts import CpuPart, operator_problem
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.delegate import build
from glsl_infer.errors import BundleError, InputError, ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.importers.core.report import ImportReport
from glsl_infer.tools.export import export


def test_round_trip(tmp_path: Path) -> None:
    bundle = tiny.tiny_bundle()
    read = bundles.read(tiny.write_tiny(tmp_path))
    assert read.manifest == bundle.manifest
    assert read.members == bundle.members
    assert read.labels == bundle.labels == tiny.LABELS
    assert read.path == tmp_path / "tiny.glslnn"


def test_the_graph_comes_back_with_the_weights_of_the_shaders(tmp_path: Path) -> None:
    read, graph = bundles.read(tiny.write_tiny(tmp_path)).graph, tiny.tiny_program().graph
    assert [node.name for node in read.nodes] == [node.name for node in graph.nodes]
    for read_node, written_node in zip(read.nodes, graph.nodes):
        assert (read_node.op, read_node.inputs, dict(read_node.attrs)) == (
            written_node.op,
            written_node.inputs,
            dict(written_node.attrs),
        )
        assert read_node.weights.keys() == written_node.weights.keys()
        for key, weights in written_node.weights.items():
            assert read_node.weights[key].dtype == np.float32
            # Shaders store them in units of the activation's line, so a last bit can differ.
            np.testing.assert_allclose(read_node.weights[key], weights, rtol=3e-7, atol=1e-6)


def test_the_same_bytes_twice(tmp_path: Path, good: bytes) -> None:
    path = tiny.write_tiny(tmp_path)
    assert path.read_bytes() == good
    bundles.write(bundles.read(path), tmp_path / "again.glslnn")
    assert (tmp_path / "again.glslnn").read_bytes() == good


def test_the_same_bytes_from_a_fresh_start(tmp_path: Path, good: bytes) -> None:
    tiny.tiny_program.cache_clear()
    tiny.tiny_bundle.cache_clear()
    assert tiny.write_tiny(tmp_path).read_bytes() == good


def test_members_are_sorted_and_dated_1980(tmp_path: Path, good: bytes) -> None:
    with zipfile.ZipFile(tiny.write_tiny(tmp_path)) as archive:
        infos = archive.infolist()
        assert archive.comment == b""
    assert [info.filename for info in infos] == sorted(info.filename for info in infos)
    for info in infos:
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
        assert info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        assert (info.create_system, info.external_attr, info.extra, info.comment) == (3, 0o644 << 16, b"", b"")


def test_the_manifest_lists_every_member_with_its_sha256(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    manifest = json.loads(members.pop("manifest.json"))
    assert manifest["members"] == {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}


@pytest.mark.parametrize(
    "labels",
    [
        (" leading", "trailing ", "\ttab\t"),
        ("größte Katze", "猫", "🐈\u200d⬛"),
        ("next\x85line", "line\u2028separator", "form\x0cfeed"),
        ("", "empty before", ""),
        ("inner\rreturn", "# not a comment", '"quoted"'),
    ],
)
def test_labels_are_verbatim(tmp_path: Path, labels: tuple[str, ...]) -> None:
    path = tmp_path / "labels.glslnn"
    bundles.write(to_bundle(tiny.tiny_program(), labels), path)
    assert bundles.read(path).labels == labels


@pytest.mark.parametrize("label", ["two\nlines", "carriage return\r", "\r", "\n"])
def test_labels_that_a_line_cannot_hold_are_refused(label: str) -> None:
    with pytest.raises(InputError, match="one label a line"):
        to_bundle(tiny.tiny_program(), ("a", label, "c"))


@pytest.mark.parametrize("labels", [(), ("a", "b"), ("a", "b", "c", "d")])
def test_the_number_of_labels_is_that_of_the_classes(labels: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=f"{len(labels)} labels for 3 classes"):
        to_bundle(tiny.tiny_program(), labels)


def test_only_line_feeds_end_a_label() -> None:
    assert bundles.split_labels("a\nb\n") == ("a", "b")
    assert bundles.split_labels("a\nb") == ("a", "b")
    assert bundles.split_labels("a\r\nb\r\n") == ("a", "b")
    assert bundles.split_labels("a\rb\n\n c \n") == ("a\rb", "", " c ")
    assert bundles.split_labels("") == ()


def test_writing_replaces_a_file_and_leaves_no_others(tmp_path: Path, good: bytes) -> None:
    (tmp_path / "tiny.glslnn").write_bytes(b"old")
    assert tiny.write_tiny(tmp_path).read_bytes() == good
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.glslnn"]


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/tiny\.glslnn"):
        tiny.write_tiny(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(InputError, match="cannot be written"):
        tiny.write_tiny(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["x" * 300, "nul\0"])
def test_impossible_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        bundles.write(tiny.tiny_bundle(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "tiny.glslnn").mkdir()
    with pytest.raises(InputError, match="is a folder; name a file"):
        tiny.write_tiny(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.glslnn"]


def test_a_read_only_folder() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tiny.glslnn").write_bytes(b"old")
        folder.chmod(0o555)
        try:
            with ordinary_user(), pytest.raises(InputError, match=r"tiny\.glslnn"):
                tiny.write_tiny(folder)
        finally:
            folder.chmod(0o755)
        assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("tiny.glslnn", b"old")]


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member_names: list[str] = []

    def writestr(archive: zipfile.ZipFile, info: zipfile.ZipInfo, data: bytes, **options: Any) -> None:
        member_names.append(info.filename)
        if len(member_names) == 3:
            raise OSError(28, "No space left on device")

    (tmp_path / "tiny.glslnn").write_bytes(b"old")
    monkeypatch.setattr(zipfile.ZipFile, "writestr", writestr)
    with pytest.raises(InputError, match="No space left on device"):
        tiny.write_tiny(tmp_path)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("tiny.glslnn", b"old")]


def files_of(folder: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in folder.iterdir()]


def test_read_back_writes_the_same_bytes(tmp_path: Path, good: bytes) -> None:
    bundles.write(tiny.tiny_bundle(), tmp_path / "tiny.glslnn", read_back=True)
    assert files_of(tmp_path) == [("tiny.glslnn", good)]


def test_an_unreadable_bundle_does_not_replace_a_file(tmp_path: Path) -> None:
    bundle = tiny.tiny_bundle()
    damaged = Bundle(bundle.manifest, {**bundle.members, "labels.txt": b"other\n"})
    path = tmp_path / "tiny.glslnn"
    path.write_bytes(b"old")
    message = f"{path}: not written, for no reader would take it: member 'labels.txt' is damaged"
    with pytest.raises(ModelError, match=re.escape(message)):
        bundles.write(damaged, path, read_back=True)
    assert files_of(tmp_path) == [("tiny.glslnn", b"old")]


def exported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Export the tiny network over an older file, with a placeholder for the Keras importer."""
    survey = ImportReport((), tiny.tiny_graph())
    monkeypatch.setattr("glsl_infer.importers.keras.survey", lambda *_, **__: survey)
    (folder / "labels.txt").write_text("a\nb\nc\n")
    (folder / "tiny.glslnn").write_bytes(b"old")
    export("tiny.keras", folder / "tiny.glslnn", folder / "labels.txt")
    return folder / "tiny.glslnn"


def test_an_export_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bundles.read(exported(tmp_path, monkeypatch)).labels == ("a", "b", "c")


def manifest_bytes(good: bytes, folder: Path) -> int:
    return len(members_of(good, folder)["manifest.json"])


def test_an_export_with_too_long_a_manifest(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = manifest_bytes(good, tmp_path_factory.mktemp("good"))
    monkeypatch.setitem(container.MAX_MEMBER_BYTES, "manifest.json", size - 1)
    with pytest.raises(ModelError, match=r"tiny\.glslnn"):
        exported(tmp_path, monkeypatch)
    assert sorted(files_of(tmp_path))[1] == ("tiny.glslnn", b"old")
    assert len(files_of(tmp_path)) == 2


def test_too_many_passes_are_refused_before_the_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(_: object) -> None:
        pytest.fail("the probe of a model that no reader takes")

    monkeypatch.setattr("glsl_infer.compiler.probe.make", slow)
    count = len(tiny.tiny_program().passes)
    monkeypatch.setattr("glsl_infer.compiler.assemble.MAX_PASSES", count - 1)
    with pytest.raises(ModelError, match=rf"the model takes {count} passes of .* a reader takes {count - 1} and"):
        to_bundle(tiny.tiny_program(), tiny.LABELS)
    monkeypatch.setattr("glsl_infer.compiler.assemble.MAX_PASSES", count)
    quads = sum(len(draw.quads) for draw in tiny.tiny_program().passes)
    monkeypatch.setattr("glsl_infer.compiler.assemble.MAX_QUADS", quads - 1)
    with pytest.raises(ModelError, match=f"the model takes {count} passes of {quads} quads; .* give the network fewer"):
        to_bundle(tiny.tiny_program(), tiny.LABELS)


def test_a_bundle_in_memory_is_the_one_that_is_read(tmp_path: Path) -> None:
    """The uniforms of a bundle in memory are rounded to 32 bits, although they were computed as doubles."""
    program, bundle = tiny.tiny_program(), tiny.tiny_bundle()
    computed, stored = (
        [coordinate for draw in passes for coordinate in draw.uniforms.get("source_texel", ())]
        for passes in (program.passes, bundle.manifest.passes)
    )
    assert stored == np.array(computed, np.float32).tolist() != computed
    assert bundles.read(tiny.write_tiny(tmp_path)).manifest.passes == bundle.manifest.passes


def test_a_quad_that_no_table_holds_is_refused_when_it_is_read_back(tmp_path: Path) -> None:
    """A texture of 40,000 columns is refused: it exceeds signed 16 bits."""
    bundle = tiny.tiny_bundle()
    first = bundle.manifest.passes[0]
    wide = replace(first, quads=(replace(first.quads[0], x=40_000), *first.quads[1:]))
    manifest = replace(bundle.manifest, passes=(wide, *bundle.manifest.passes[1:]))
    table = manifest_json.pass_table(manifest)
    members = {**bundle.members, "passes.bin": table}
    hashes = {**bundle.manifest.members, "passes.bin": hashlib.sha256(table).hexdigest()}
    with pytest.raises(ModelError, match=r"not written, .*: pass 0: a quad beyond 8192 texels; give the network fewer"):
        bundles.write(Bundle(replace(manifest, members=hashes), members), tmp_path / "wide.glslnn", read_back=True)
    assert files_of(tmp_path) == []


def test_classes_without_labels_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = ImportReport((), tiny.tiny_graph())
    monkeypatch.setattr("glsl_infer.importers.keras.survey", lambda *_, **__: survey)
    report = export("tiny.keras", tmp_path / "tiny.glslnn")
    assert bundles.read(tmp_path / "tiny.glslnn").labels == ("0", "1", "2")
    assert report.classes == 3
    assert any(
        "3 classes have no labels and are numbered from 0; give --labels FILE" in text for text in report.warnings
    )


@pytest.mark.parametrize(("count", "warned"), [(2, True), (16, False)])
def test_few_images_for_learnt_ranges_are_warned_of(tmp_path: Path, count: int, warned: bool) -> None:
    rng = np.random.default_rng(4)
    for index in range(count):
        Image.fromarray(rng.integers(0, 256, (9, 9, 3), np.uint8)).save(tmp_path / f"{index:02}.png")
    nodes = (input_node(9), conv_node(rng, "conv", ("image",), 3, 4, activation="linear"), pool_node("pool", "conv"))
    report = export(
        Graph("few", nodes, "pool"),
        tmp_path / "few.glslnn",
        calibration=sorted(tmp_path.glob("*.png")),
        verify_seconds=0,
    )
    warnings = [text for text in report.warnings if text.startswith("only 2 images for the ranges of 1 layer, ")]
    assert bool(warnings) == warned, report.warnings
    assert not warned or "give --images with 16 or more" in warnings[0]


Data = dict[str, Any]


def write_changed(folder: Path, change: Callable[[Data], object], extra: dict[str, bytes] | None = None) -> Path:
    """Write a file with a changed manifest, and extra members with their digests."""
    data: Data = json.loads(sound_members()[MANIFEST])
    data["members"].update({name: hashlib.sha256(content).hexdigest() for name, content in (extra or {}).items()})
    change(data)
    path = folder / "m.glslnn"
    path.write_bytes(zipped({**sound_members(), **(extra or {}), MANIFEST: json.dumps(data).encode()}))
    return path


def operators(data: Data) -> list[Data]:
    entries: list[Data] = data["parts"][1]["operators"]
    return entries


def unchanged(data: Data) -> None:
    """Leave the data unchanged."""


def test_written_bundles_are_read_back(tmp_path: Path) -> None:
    bundle = parted.parted_bundle()
    bundles.write(bundle, tmp_path / "a.glslnn", read_back=True)
    read = bundles.read(tmp_path / "a.glslnn")
    assert read.manifest == bundle.manifest and read.members == bundle.members and len(read.parts) == 3
    bundles.write(read, tmp_path / "b.glslnn")
    assert (tmp_path / "a.glslnn").read_bytes() == (tmp_path / "b.glslnn").read_bytes()
    assert isinstance(read.parts[1], CpuPart) and read.parts[1].inputs == ("a",)
    assert [node.name for node in read.graph.nodes if node.op.startswith("upload")] == ["peak@2"]
    with pytest.raises(InputError, match="some of them on the CPU"):
        read.require_one_part("this test")


def test_attributes_newer_than_a_bundle_can_be_missing(tmp_path: Path) -> None:
    body = [
        input_node(5),
        conv_node(np.random.default_rng(1), "a", ("image",), 3, 4),
        Node("part", "tensor_slice", ("a",), {"begin": (1, 0, 0), "size": (2, 5, 4), "strides": ()}),
        Node("sum", "tensor_reduce", ("part",), {"reduction": "sum", "axes": (0, 1), "keep": False}),
    ]
    bundle = build(Graph("m", body, "sum"), ("a", "b", "c", "d")).bundle
    bundles.write(bundle, tmp_path / "m.glslnn", read_back=True)
    (cpu_part,) = (cpu_part for cpu_part in bundle.parts if isinstance(cpu_part, CpuPart))
    assert cpu_part.nodes[0].attrs["strides"] == ()
    with zipfile.ZipFile(tmp_path / "m.glslnn") as file:
        assert b"strides" not in file.read(MANIFEST).split(b"tensor_slice")[1]


def test_the_schema_describes_bundles_of_parts() -> None:
    data = json.loads(sound_members()[MANIFEST])
    schema = {**SCHEMA["$defs"]["parted"], "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(data)
    data["parts"][0]["operators"] = []
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(data))


REFUSED: dict[str, tuple[Callable[[Data], object], str, str]] = {
    "an operator with a shader": (
        lambda data: operators(data)[1].update(op="max_pool"),
        "'max_pool' is not an operator of a CPU part",
        "parts",
    ),
    "a moved input": (
        lambda data: operators(data)[1].update(op="cpu:input"),
        "'cpu:input' is not an operator",
        "parts",
    ),
    "moved twice": (lambda data: operators(data)[1].update(op="cpu:cpu:add"), "is not an operator", "parts"),
    "an attribute less": (
        lambda data: operators(data)[2]["attrs"].pop("heads"),
        "attribute 'heads' is missing",
        "parts",
    ),
    "one more": (lambda data: operators(data)[2]["attrs"].update(x=1), "attribute 'x' is unknown", "parts"),
    "heads": (lambda data: operators(data)[2]["attrs"].update(heads=3), "attention of 3 heads on shapes", "parts"),
    "a text for a number": (lambda data: operators(data)[2]["attrs"].update(heads="x"), r"operator 'mixed'", "parts"),
    "an output without a producer": (
        lambda data: data["parts"][1].update(outputs=["x"]),
        "which nothing before it",
        "parts",
    ),
    "a name twice": (lambda data: operators(data)[1].update(name="rows"), "two tensors are called 'rows'", "parts"),
    "unknown key": (lambda data: data.update(surprise=1), "unknown key 'surprise'", "keys"),
    "one part": (lambda data: data.update(parts=data["parts"][:1]), "'parts' is a list of 1, not of 2 to 64", "parts"),
    "a kind": (lambda data: data["parts"][0].update(kind="npu"), "not one of gpu, cpu", "parts"),
    "another fit": (
        lambda data: data["inputs"][0].update(fit="stretch/area-average"),
        r"its input 'image' is picture \(11, 11, 3\)",
        "parts",
    ),
    "another size": (lambda data: data["inputs"][0].update(shape=[9, 9, 3]), "not picture", "parts"),
    "channels": (lambda data: data["inputs"][0].update(shape=[9, 9, 2]), "a picture of shape", "inputs"),
    "a scale of 0": (lambda data: data["inputs"][0].update(scales=[0]), r"inputs\[0\].scales\[0\] is 0", "inputs"),
    "no tensor": (lambda data: data["outputs"][0].update(tensors=["x"]), "output 'dense': reads 'x'", "parts"),
    "an image": (lambda data: data["outputs"][0].update(purpose="image"), "an 'image' is one 8-bit", "outputs"),
    "labels": (lambda data: data["outputs"][0].update(purpose="values"), "3 labels for 0 classes", "labels"),
    "a profile": (lambda data: data.update(profile="es2"), "not allowed in a model: member 'parts/", "container"),
    "a digest": (lambda data: data["members"].pop("parts/0/labels.txt"), "is not in the manifest", "container"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_damaged_bundles_of_parts_are_refused(tmp_path: Path, name: str) -> None:
    change, message, rule = REFUSED[name]
    with pytest.raises(BundleError, match=message) as caught:
        bundles.read(write_changed(tmp_path, change))
    assert caught.value.rule == rule and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "extra, message",
    [
        ("parts/1/weights/other.f32", "member 'weights/other.f32' is not one of a CPU part"),
        ("parts/9/labels.txt", "is of no part; there are 3"),
        ("parts/100/labels.txt", "not allowed in a model"),
        ("parts/0/parts/0/labels.txt", "not allowed in a model"),
        ("graph.json", "not allowed in a model"),
    ],
)
def test_members_of_no_part(tmp_path: Path, extra: str, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        bundles.read(write_changed(tmp_path, unchanged, {extra: b"\0\0\0\0"}))


def test_a_damaged_gpu_part_is_named(tmp_path: Path) -> None:
    data = json.loads(sound_members()["parts/2/manifest.json"])
    data["limits"]["texture_units"] += 1
    changed = json.dumps(data).encode()
    with pytest.raises(BundleError, match=r"parts\[2\]: limits are") as caught:
        bundles.read(write_changed(tmp_path, unchanged, {"parts/2/manifest.json": changed}))
    assert caught.value.rule == "limits"


def test_a_few_kilobytes_fill_no_memory(tmp_path: Path) -> None:
    """Each tensor is within its own limit, but two thousand of them would take 512 GB."""
    assert len(bundles.read(write_changed(tmp_path, lambda data: parted.filling(data, 8))).parts) == 3
    with pytest.raises(BundleError, match="numbers in its tensors; a CPU part has at most 536870912"):
        bundles.read(write_changed(tmp_path, lambda data: parted.filling(data, 2000)))


@pytest.mark.parametrize("settings", ["", "[]", "{", "[" * 100_000, 5, '{"a": 1, "a": 2}'])
def test_settings_of_a_custom_operator_are_an_object(settings: object) -> None:
    node = Node("n", "custom", ("a",), {"calls": "mine:own", "shape": (1,), "settings": settings})
    assert operator_problem(node) == "'settings' is not an object in JSON"
