"""The bundle file: the same bytes every time, and one clear line for every way in which a file can be wrong."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import tempfile
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.errors import BundleError, InputError

Members = dict[str, bytes]

SECOND_TILE = tiny.tiny_manifest()["model"]["layers"][1]["output"]["views"][1][1:]
"""Where the second slice of the first convolution lies; the probe's first record belongs to the first."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny.write_tiny(tmp_path_factory.mktemp("good")).read_bytes()


def refusal(path: Path) -> str:
    """The message with which a file is refused; it names the file."""
    with pytest.raises(BundleError) as caught:
        bundles.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def members_of(data: bytes, folder: Path) -> Members:
    path = folder / "source.zip"
    path.write_bytes(data)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, members: Mapping[str, bytes], extra: tuple[tuple[str, bytes], ...] = ()) -> Path:
    """Write a zip of members as they are, in any order, with repetitions in ``extra``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names that are there already
        for name, data in extra:
            archive.writestr(name, data)
    return path


def rehashed(members: Members, changes: Mapping[str, bytes] | None = None) -> Members:
    """Change members, with their sha256 in the manifest kept right."""
    manifest = json.loads(members["manifest.json"])
    changed = {**members, **(changes or {})}
    manifest["members"] = {
        name: hashlib.sha256(data).hexdigest() for name, data in changed.items() if name != "manifest.json"
    }
    return {**changed, "manifest.json": json.dumps(manifest).encode()}


# Writing ---------------------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    made = tiny.tiny_bundle()
    read = bundles.read(tiny.write_tiny(tmp_path))
    assert read.manifest == made.manifest
    assert read.members == made.members
    assert read.labels == made.labels == tiny.LABELS
    assert read.path == tmp_path / "tiny.glslnn"


def test_the_graph_comes_back_with_the_weights_of_the_shaders(tmp_path: Path) -> None:
    read, made = bundles.read(tiny.write_tiny(tmp_path)).graph, tiny.tiny_program().graph
    assert [node.name for node in read.nodes] == [node.name for node in made.nodes]
    for ours, theirs in zip(read.nodes, made.nodes):
        assert (ours.op, ours.inputs, dict(ours.attrs)) == (theirs.op, theirs.inputs, dict(theirs.attrs))
        assert ours.weights.keys() == theirs.weights.keys()
        for key, weights in theirs.weights.items():
            assert ours.weights[key].dtype == np.float32
            assert np.array_equal(ours.weights[key], weights)


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
    bundles.write(bundles.make(tiny.tiny_program(), labels), path)
    assert bundles.read(path).labels == labels


@pytest.mark.parametrize("label", ["two\nlines", "carriage return\r", "\r", "\n"])
def test_labels_that_a_line_cannot_hold_are_refused(label: str) -> None:
    with pytest.raises(InputError, match="one label a line"):
        bundles.make(tiny.tiny_program(), ("a", label, "c"))


@pytest.mark.parametrize("labels", [(), ("a", "b"), ("a", "b", "c", "d")])
def test_the_number_of_labels_is_that_of_the_classes(labels: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=f"{len(labels)} labels for 3 classes"):
        bundles.make(tiny.tiny_program(), labels)


def test_only_line_feeds_end_a_label() -> None:
    assert bundles.split_labels("a\nb\n") == ("a", "b")
    assert bundles.split_labels("a\nb") == ("a", "b")
    assert bundles.split_labels("a\r\nb\r\n") == ("a", "b")
    assert bundles.split_labels("a\rb\n\n c \n") == ("a\rb", "", " c ")
    assert bundles.split_labels("") == ()


def test_writing_replaces_a_file_and_leaves_nothing_else(tmp_path: Path, good: bytes) -> None:
    (tmp_path / "tiny.glslnn").write_bytes(b"old")
    assert tiny.write_tiny(tmp_path).read_bytes() == good
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.glslnn"]


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/tiny\.glslnn: cannot be written \(No such file"):
        tiny.write_tiny(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(InputError, match="cannot be written"):
        tiny.write_tiny(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["x" * 300, "nul\0", "."])
def test_impossible_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        bundles.write(tiny.tiny_bundle(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "tiny.glslnn").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        tiny.write_tiny(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.glslnn"]


def test_a_read_only_folder() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tiny.glslnn").write_bytes(b"old")
        folder.chmod(0o555)
        try:
            with ordinary_user(), pytest.raises(InputError, match=r"tiny\.glslnn: cannot be written \(Permission"):
                tiny.write_tiny(folder)
        finally:
            folder.chmod(0o755)
        assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("tiny.glslnn", b"old")]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def writestr(archive: zipfile.ZipFile, info: zipfile.ZipInfo, data: bytes, **options: Any) -> None:
        written.append(info.filename)
        if len(written) == 3:
            raise OSError(28, "No space left on device")

    (tmp_path / "tiny.glslnn").write_bytes(b"old")
    monkeypatch.setattr(zipfile.ZipFile, "writestr", writestr)
    with pytest.raises(InputError, match="No space left on device"):
        tiny.write_tiny(tmp_path)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("tiny.glslnn", b"old")]


# Reading: the container ------------------------------------------------------------------------------


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "none.glslnn")
    assert "is a folder" in refusal(tmp_path)
    refusal(tmp_path / ("x" * 300))
    (tmp_path / "file").write_bytes(b"")
    refusal(tmp_path / "file" / "below.glslnn")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x89PNG\r\n\x1a\n", b"a,b\n" * 999])
def test_foreign_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "foreign.glslnn"
    path.write_bytes(data)
    assert "not a glsl-infer model" in refusal(path)


def test_a_foreign_zip(tmp_path: Path) -> None:
    assert "no manifest.json" in refusal(zipped(tmp_path / "foreign.zip", {"readme.txt": b"hello"}))


def test_truncated_files(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "cut.glslnn"
    lengths = {*range(0, len(good), 97), *range(len(good) - 64, len(good)), *range(64)}
    for length in sorted(lengths):
        path.write_bytes(good[:length])
        assert "not a glsl-infer model, or cut off" in refusal(path)


def test_damaged_bytes_never_raise_anything_else(tmp_path: Path, good: bytes) -> None:
    path, rng, refused = tmp_path / "damaged.glslnn", random.Random(3), 0
    directory = struct.unpack("<I", good[-6:-2])[0]
    for trial in range(600):
        data = bytearray(good)
        start = directory if trial % 2 else 0
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(start, len(data))] = rng.choice((0, 255, rng.randrange(256)))
        path.write_bytes(data)
        try:
            assert bundles.read(path).members == tiny.tiny_bundle().members  # what was hit does not matter
        except BundleError as error:
            refused += 1
            assert str(error).startswith(f"{path}: ")
    assert refused > 300


@pytest.mark.parametrize("member", ["labels.txt", "shaders/prelude.glsl", "weights/stem.f32", "weights/probe.bin"])
def test_a_damaged_member(tmp_path: Path, good: bytes, member: str) -> None:
    members = members_of(good, tmp_path)
    data = bytearray(members[member])
    data[len(data) // 2] ^= 1
    path = zipped(tmp_path / "damaged.glslnn", {**members, member: bytes(data)})
    assert f"member '{member}' is damaged" in refusal(path)


@pytest.mark.parametrize("member", ["labels.txt", "shaders/stem.0.frag", "weights/dense.rgba"])
def test_a_missing_member(tmp_path: Path, good: bytes, member: str) -> None:
    members = members_of(good, tmp_path)
    del members[member]
    assert f"member '{member}' is missing" in refusal(zipped(tmp_path / "less.glslnn", members))
    assert f"member '{member}' is missing" in refusal(zipped(tmp_path / "less.glslnn", rehashed(members)))


def test_an_extra_member(tmp_path: Path, good: bytes) -> None:
    members = {**members_of(good, tmp_path), "weights/extra.f32": bytes(4)}
    assert "member 'weights/extra.f32' is not in the manifest" in refusal(zipped(tmp_path / "more.glslnn", members))


@pytest.mark.parametrize("member", ["labels.txt", "manifest.json", "weights/stem.f32"])
def test_a_duplicate_member(tmp_path: Path, good: bytes, member: str) -> None:
    members = members_of(good, tmp_path)
    path = zipped(tmp_path / "twice.glslnn", members, ((member, members[member]),))
    assert f"not allowed in a model: member '{member}'" in refusal(path)


@pytest.mark.parametrize(
    "member",
    [
        "../outside.f32",
        "/etc/passwd",
        "weights/../../outside",
        "weights/..",
        "weights/.hidden",
        "weights/deeper/still.f32",
        "weights\\back.f32",
        "C:/windows.f32",
        "weights/",
        "weights/gr\u00f6\u00dfe.f32",
        "weights/line\nfeed.f32",
        "code.py",
        "Manifest.json",
    ],
)
def test_member_names_that_lead_elsewhere(tmp_path: Path, good: bytes, member: str) -> None:
    path = zipped(tmp_path / "names.glslnn", members_of(good, tmp_path), ((member, b"x"),))
    assert "not allowed in a model" in refusal(path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["names.glslnn", "source.zip"]


def test_other_compression_is_refused(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "packed.glslnn"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in members_of(good, tmp_path).items():
            archive.writestr(name, data)
    assert "compressed in a way that is not supported" in refusal(path)


def test_encrypted_members_are_refused(tmp_path: Path, good: bytes) -> None:
    data = bytearray(good)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    path = tmp_path / "secret.glslnn"
    path.write_bytes(data)
    assert "encrypted" in refusal(path)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, good: bytes) -> None:
    path = zipped(tmp_path / "bomb.glslnn", members_of(good, tmp_path))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("weights/bomb.f32", "w") as member:
        for _ in range(257):
            member.write(bytes(1 << 20))
    with peak_memory_below(32 << 20):
        assert "unpacks to more than 256 MiB" in refusal(path)


def test_a_zip_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path: Path, good: bytes) -> None:
    members = {**members_of(good, tmp_path), "weights/bomb.f32": bytes(64 << 20)}
    path = zipped(tmp_path / "bomb.glslnn", members)
    data = path.read_bytes()
    assert data.count(struct.pack("<I", 64 << 20)) == 2
    path.write_bytes(data.replace(struct.pack("<I", 64 << 20), struct.pack("<I", 1000)))
    del members, data
    with peak_memory_below(16 << 20):
        refusal(path)


# Reading: what is inside -----------------------------------------------------------------------------


def test_a_newer_version(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    members["manifest.json"] = members["manifest.json"].replace(b'"version":1', b'"version":2')
    message = refusal(zipped(tmp_path / "newer.glslnn", members))
    assert "format version 2" in message
    assert "pip install -U glsl-infer" in message


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"format":"other"}',
        b'{"format":"glslnn","version":NaN}',
        b'{"format":"glslnn","version":1,"version":1}',
        b'{"format":"glslnn","version":' + b"9" * 5000 + b"}",
        b'{"format":"glslnn","version":1e999}',
    ],
    ids=lambda text: text[:30].decode("latin-1"),
)
def test_manifests_that_are_none(tmp_path: Path, good: bytes, text: bytes) -> None:
    assert "manifest" in refusal(zipped(tmp_path / "m.glslnn", {**members_of(good, tmp_path), "manifest.json": text}))


def test_numbers_that_no_float_holds(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    for number in (b"1" + b"0" * 400, b"1e999", b"-1e999", b"1e39", b"NaN", b"Infinity"):
        changed = members["manifest.json"].replace(b'"texel":[', b'"texel":[' + number + b",", 1)
        assert changed != members["manifest.json"]
        refusal(zipped(tmp_path / "numbers.glslnn", {**members, "manifest.json": changed}))


def test_attributes_are_not_nested(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    for depth in (2, 300, 600, 900):
        nested = b'"attrs":{"x":' + b"[" * depth + b"]" * depth + b","
        changed = members["manifest.json"].replace(b'"attrs":{', nested, 1)
        refusal(zipped(tmp_path / "nested.glslnn", {**members, "manifest.json": changed}))


def test_text_that_is_half_a_surrogate_pair(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    changed = members["manifest.json"].replace(b'"name":"tiny"', b'"name":"\\ud800"')
    assert changed != members["manifest.json"]
    refusal(zipped(tmp_path / "half.glslnn", {**members, "manifest.json": changed}))


def test_labels_that_are_no_text(tmp_path: Path, good: bytes) -> None:
    members = rehashed(members_of(good, tmp_path), {"labels.txt": b"a\n\xff\xfe\nc\n"})
    assert "not UTF-8" in refusal(zipped(tmp_path / "labels.glslnn", members))


@pytest.mark.parametrize("labels", [b"", b"a\nb\n", b"a\nb\nc\nd\n", b"a\nb\nc\n\n"])
def test_the_wrong_number_of_labels(tmp_path: Path, good: bytes, labels: bytes) -> None:
    members = rehashed(members_of(good, tmp_path), {"labels.txt": labels})
    message = refusal(zipped(tmp_path / "labels.glslnn", members))
    assert f"{len(bundles.split_labels(labels.decode()))} labels for 3 classes" in message


@pytest.mark.parametrize("labels", [b"a\nb\nc", b"a\r\nb\r\nc\r\n"])
def test_labels_of_other_editors(tmp_path: Path, good: bytes, labels: bytes) -> None:
    members = rehashed(members_of(good, tmp_path), {"labels.txt": labels})
    assert bundles.read(zipped(tmp_path / "labels.glslnn", members)).labels == ("a", "b", "c")


@pytest.mark.parametrize(
    "change",
    [
        lambda records: records[:-1],
        lambda records: b"\xff\xff" + records[2:],
        lambda records: records[:2] + b"\xff\xff" + records[4:],
        lambda records: struct.pack("<HH", *SECOND_TILE) + records[4:],
        lambda records: records[:-8] + b"\x02\x00\x00\x00" + records[-4:],
    ],
    ids=["half a record", "x outside", "y outside", "another tile", "beyond the vector"],
)
def test_probe_records_lie_inside_their_layer(tmp_path: Path, good: bytes, change: Callable[[bytes], bytes]) -> None:
    members = members_of(good, tmp_path)
    members = rehashed(members, {"weights/probe.bin": change(members["weights/probe.bin"])})
    assert "probe" in refusal(zipped(tmp_path / "probe.glslnn", members))


@pytest.mark.parametrize(
    ("layer", "attrs"),
    [
        ("stem", {"strides": (0, 2)}),
        ("stem", {"groups": 0}),
        ("stem", {"groups": 100}),
        ("stem", {"padding": "none"}),
        ("stem", {"activation": "other"}),
        ("unit-shuffle", {"step": 0}),
        ("unit-shuffle", {}),
        ("dense", {"count": 0}),
        ("dense-products", {"columns": -1}),
    ],
    ids=str,
)
def test_a_graph_that_cannot_be_is_a_bundle_error(layer: str, attrs: dict[str, Any]) -> None:
    with pytest.raises(BundleError, match="layers do not fit together"):
        _ = with_layer(tiny.tiny_bundle(), layer, attrs).graph


# Helpers ---------------------------------------------------------------------------------------------


def with_layer(bundle: Bundle, name: str, attrs: dict[str, Any]) -> Bundle:
    """Return the bundle with other attributes of one layer; an empty dict removes them all."""
    model = bundle.manifest.model
    layers = [
        replace(layer, attrs={**layer.attrs, **attrs} if attrs else {}) if layer.name == name else layer
        for layer in model.layers
    ]
    manifest = replace(bundle.manifest, model=replace(model, layers=tuple(layers)))
    return Bundle(manifest, bundle.members)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Give up root's right to write anywhere, where the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextmanager
def peak_memory_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()
