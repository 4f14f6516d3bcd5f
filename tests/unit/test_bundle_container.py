"""Foreign, truncated, damaged and hostile containers are refused in one line."""

from __future__ import annotations

import random
import struct
import zipfile
from pathlib import Path

import pytest
import tiny
from bundle_files import members_of, peak_memory_below, refusal, rehashed, zipped

from glsl_infer import bundle as bundles
from glsl_infer.errors import BundleError


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
