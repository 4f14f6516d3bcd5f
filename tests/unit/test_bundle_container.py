"""Foreign, truncated, damaged and hostile files, members and values are refused in one line."""

from __future__ import annotations

import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from bundle_files import SECOND_TILE, members_of, peak_memory_below, refusal, rehashed, with_layer, zipped

from glsl_infer import bundle as bundles
from glsl_infer.bundle import container
from glsl_infer.cli.number_files import as_json, read_input
from glsl_infer.errors import BundleError, GlslInferError, InputError
from glsl_infer.support import json_text
from glsl_infer.tasks import reading
from glsl_infer.tools import ranges_file


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "none.glslnn")
    assert "is a folder" in refusal(tmp_path)
    refusal(tmp_path / ("x" * 300))
    (tmp_path / "file").write_bytes(b"")
    refusal(tmp_path / "file" / "below.glslnn")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x89PNG\r\n\x1a\n", b"a,b\n" * 999])
def test_foreign_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "foreign.glslnn"
    path.write_bytes(data)
    assert "not a glsl-infer model" in refusal(path)


def test_a_foreign_zip_is_refused(tmp_path: Path) -> None:
    assert "no manifest.json" in refusal(zipped(tmp_path / "foreign.zip", {"readme.txt": b"hello"}))


@pytest.mark.slow
def test_truncated_files_are_refused(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "cut.glslnn"
    lengths = {*range(0, len(good), 97), *range(len(good) - 64, len(good)), *range(64)}
    for length in sorted(lengths):
        path.write_bytes(good[:length])
        assert "not a glsl-infer model, or cut off" in refusal(path)


@pytest.mark.slow
def test_damaged_bytes_only_raise_bundle_errors(tmp_path: Path, good: bytes) -> None:
    path, rng, refused = tmp_path / "damaged.glslnn", random.Random(3), 0
    directory = struct.unpack("<I", good[-6:-2])[0]
    for trial in range(600):
        data = bytearray(good)
        start = directory if trial % 2 else 0
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(start, len(data))] = rng.choice((0, 255, rng.randrange(256)))
        path.write_bytes(data)
        try:
            assert bundles.read(path).members == tiny.tiny_bundle().members  # the damage hit unused bytes
        except BundleError as error:
            refused += 1
            assert str(error).startswith(f"{path}: ")
    assert refused > 300


@pytest.mark.parametrize(
    "member",
    ["labels.txt", "graph.json", "passes.bin", "shaders/prelude.glsl", "weights/stem.f32", "weights/probe.bin"],
)
def test_a_damaged_member_is_refused(tmp_path: Path, good: bytes, member: str) -> None:
    members = members_of(good, tmp_path)
    data = bytearray(members[member])
    data[len(data) // 2] ^= 1
    path = zipped(tmp_path / "damaged.glslnn", {**members, member: bytes(data)})
    assert f"member '{member}' is damaged" in refusal(path)


@pytest.mark.parametrize(
    "member", ["labels.txt", "graph.json", "passes.bin", "shaders/stem.frag", "weights/dense.rgba"]
)
def test_a_missing_member_is_refused(tmp_path: Path, good: bytes, member: str) -> None:
    members = members_of(good, tmp_path)
    del members[member]
    assert f"member '{member}' is missing" in refusal(zipped(tmp_path / "less.glslnn", members))
    assert f"member '{member}' is missing" in refusal(zipped(tmp_path / "less.glslnn", rehashed(members)))


def test_an_extra_member_is_refused(tmp_path: Path, good: bytes) -> None:
    members = {**members_of(good, tmp_path), "weights/extra.f32": bytes(4)}
    assert "member 'weights/extra.f32' is not in the manifest" in refusal(zipped(tmp_path / "more.glslnn", members))


@pytest.mark.parametrize("member", ["labels.txt", "manifest.json", "graph.json", "passes.bin", "weights/stem.f32"])
def test_a_duplicate_member_is_refused(tmp_path: Path, good: bytes, member: str) -> None:
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
        "graph.json.bak",
        "weights.json",
        "passes_bin",
        "shaders/passes.bin/x",
    ],
)
def test_member_names_outside_the_folder_are_refused(tmp_path: Path, good: bytes, member: str) -> None:
    path = zipped(tmp_path / "names.glslnn", members_of(good, tmp_path), ((member, b"x"),))
    assert "not allowed in a model" in refusal(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["names.glslnn", "source.zip"]


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


@pytest.mark.slow
def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, good: bytes) -> None:
    path = zipped(tmp_path / "bomb.glslnn", members_of(good, tmp_path))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("weights/bomb.f32", "w") as member:
        for _ in range(257):
            member.write(bytes(1 << 20))
    with peak_memory_below(32 << 20):
        assert "unpacks to more than 256 MiB" in refusal(path)


def test_a_zip_bomb_with_a_false_size_is_not_unpacked(tmp_path: Path, good: bytes) -> None:
    members = {**members_of(good, tmp_path), "weights/bomb.f32": bytes(64 << 20)}
    path = zipped(tmp_path / "bomb.glslnn", members)
    data = path.read_bytes()
    assert data.count(struct.pack("<I", 64 << 20)) == 2
    path.write_bytes(data.replace(struct.pack("<I", 64 << 20), struct.pack("<I", 1000)))
    del members, data
    with peak_memory_below(16 << 20):
        refusal(path)


def test_a_newer_version_is_refused(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    members["manifest.json"] = members["manifest.json"].replace(b'"version":2', b'"version":3')
    message = refusal(zipped(tmp_path / "newer.glslnn", members))
    assert "format version 3" in message
    assert "git pull in its checkout, then " in message


def test_version_1_is_refused_with_advice(tmp_path: Path, good: bytes) -> None:
    """A version 1 file has neither graph.json nor passes.bin, and its manifest has other keys."""
    members = members_of(good, tmp_path)
    old = {name: data for name, data in members.items() if name not in ("graph.json", "passes.bin")}
    old["manifest.json"] = b'{"format":"glslnn","version":1,"model":{},"input":{},"passes":[]}'
    path = zipped(tmp_path / "older.glslnn", old)
    assert (
        refusal(path)
        == f"{path}: the model has format version 1, this program reads version 2; export it again (rule: version)"
    )


def test_another_profile_is_refused(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    members["manifest.json"] = members["manifest.json"].replace(b'"profile":"es2"', b'"profile":"es3\\n"')
    path = zipped(tmp_path / "profile.glslnn", members)
    expected = "needs profile 'es3\\x0a'; this runner has es2 and es2+cpu; update the runner (rule: version)"
    assert refusal(path) == f"{path}: {expected}"


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
        b'{"format":"glslnn","version":2,"version":2}',
        b'{"format":"glslnn","version":' + b"9" * 5000 + b"}",
        b'{"format":"glslnn","version":1e999}',
    ],
    ids=lambda text: text[:30].decode("latin-1"),
)
def test_invalid_manifests_are_refused(tmp_path: Path, good: bytes, text: bytes) -> None:
    assert "manifest" in refusal(zipped(tmp_path / "m.glslnn", {**members_of(good, tmp_path), "manifest.json": text}))


def test_numbers_that_no_float_holds(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    for literal in (b"1" + b"0" * 400, b"1e999", b"-1e999", b"1e39", b"NaN", b"Infinity"):
        changed = members["manifest.json"].replace(b'"numbers":[', b'"numbers":[' + literal + b",", 1)
        assert changed != members["manifest.json"]
        refusal(zipped(tmp_path / "numbers.glslnn", {**members, "manifest.json": changed}))


def test_values_are_not_nested(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    for depth in (2, 300, 600, 900):
        nested = b'"scales":[' + b"[" * depth + b"]" * depth + b","
        changed = members["manifest.json"].replace(b'"scales":[', nested, 1)
        assert changed != members["manifest.json"]
        refusal(zipped(tmp_path / "nested.glslnn", {**members, "manifest.json": changed}))


def test_text_that_is_half_a_surrogate_pair(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    changed = members["manifest.json"].replace(b'"name":"tiny"', b'"name":"\\ud800"')
    assert changed != members["manifest.json"]
    refusal(zipped(tmp_path / "half.glslnn", {**members, "manifest.json": changed}))


def test_labels_in_invalid_utf8_are_refused(tmp_path: Path, good: bytes) -> None:
    members = rehashed(members_of(good, tmp_path), {"labels.txt": b"a\n\xff\xfe\nc\n"})
    assert "not UTF-8" in refusal(zipped(tmp_path / "labels.glslnn", members))


@pytest.mark.parametrize("labels", [b"", b"a\nb\n", b"a\nb\nc\nd\n", b"a\nb\nc\n\n"])
def test_the_wrong_number_of_labels_is_refused(tmp_path: Path, good: bytes, labels: bytes) -> None:
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
def test_probe_records_are_inside_their_layer(tmp_path: Path, good: bytes, change: Callable[[bytes], bytes]) -> None:
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
        ("dense", {"activation": "other"}),
    ],
    ids=str,
)
def test_a_graph_that_cannot_be_is_a_bundle_error(layer: str, attrs: dict[str, Any]) -> None:
    with pytest.raises(BundleError, match="layers do not fit together"):
        _ = with_layer(tiny.tiny_bundle(), layer, attrs).graph


BIG = "1" + "0" * 400
RANGES = '{"format": "glsl-infer ranges", "version": 1, "model": "m", "fingerprint": "f", '


@pytest.mark.parametrize("digits", [1, 299])
def test_whole_numbers(digits: int) -> None:
    assert json_text.loads("1" + "0" * digits) == 10**digits


@pytest.mark.parametrize(
    "text",
    [
        RANGES + f'"scales": {{"a": {BIG}}}, "maps": {{}}, "fine": {{}}}}',
        RANGES + f'"scales": {{}}, "maps": {{"a": {{"scales": [{BIG}], "zeros": [0]}}}}, "fine": {{}}}}',
        RANGES + f'"scales": {{}}, "maps": {{"a": {{"scales": [1.0], "zeros": [{BIG}]}}}}, "fine": {{}}}}',
    ],
)
def test_a_damaged_file_of_ranges_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "ranges.json").write_text(text)
    with pytest.raises(InputError, match=r"ranges\.json"):
        ranges_file.read(tmp_path / "ranges.json")


def test_a_task(tmp_path: Path) -> None:
    data = json.loads((reading.FOLDER / "faces.json").read_text())
    (tmp_path / "task.json").write_text(json.dumps({**data, "threshold": int(BIG)}))
    with pytest.raises(InputError, match="a whole number of 401 digits"):
        reading.read(tmp_path / "task.json")


def test_a_manifest() -> None:
    with pytest.raises(GlslInferError, match=r"manifest\.json"):
        container.parse(f'{{"a": {BIG}}}'.encode(), "manifest.json")


@pytest.mark.parametrize("text", [f"[{BIG}]", '{"a": 1}', '["x"]', "[" * 100_000, "[[1], 2]"])
def test_numbers_of_an_input(text: str, tmp_path: Path) -> None:
    model_input = tiny.tiny_bundle().manifest.inputs[0]
    (tmp_path / "in.json").write_text(text)
    with pytest.raises(InputError, match=r"in.json: (does not contain numbers|input)"):
        read_input(tmp_path / "in.json", model_input if model_input.kind != "picture" else _numbers(model_input))


def test_nan_and_infinity_become_null() -> None:
    """A CPU part can output NaN, which only Python's JSON reader accepts."""
    for result in (np.array([[1.5, np.nan], [-np.inf, 0]], np.float32), np.array(np.nan), np.array([1.0, 2.0])):
        text = json.dumps(as_json({"a": result}), allow_nan=False)
        expected = [None if not np.isfinite(value) else value for value in result.ravel()]
        values = np.array(json.loads(text)["a"]["numbers"], object).ravel().tolist()
        assert values == expected


def _numbers(entry: object) -> object:
    from dataclasses import replace

    from glsl_infer.bundle.manifest import NUMBERS

    return replace(entry, kind=NUMBERS)  # type: ignore[type-var]
