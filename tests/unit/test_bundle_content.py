"""A bundle with invalid content is refused in one line."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
from bundle_files import SECOND_TILE, members_of, refusal, rehashed, with_layer, zipped

from glsl_infer import bundle as bundles
from glsl_infer.errors import BundleError


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
    for number in (b"1" + b"0" * 400, b"1e999", b"-1e999", b"1e39", b"NaN", b"Infinity"):
        changed = members["manifest.json"].replace(b'"numbers":[', b'"numbers":[' + number + b",", 1)
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
