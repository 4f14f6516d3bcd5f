"""A bundle that exceeds the limits of the format is refused in a bounded time and memory."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bundle_data
import pytest
import tiny
from bundle_files import members_of, peak_memory_below, refusal, rehashed, zipped
from oversized_manifests import GOOD, HUGE_QUAD, HUGE_TEXTURE, PASS, TOO_MUCH

from glsl_infer.bundle import format_constants, manifest_json
from glsl_infer.bundle.manifest_check import check, check_caps
from glsl_infer.errors import BundleError

SIZES = {name: len(data) for name, data in tiny.tiny_bundle().members.items()}


@pytest.mark.parametrize("excess", TOO_MUCH)
def test_manifests_beyond_a_limit_are_refused(excess: str) -> None:
    manifest, message = TOO_MUCH[excess]
    with pytest.raises(BundleError, match=message):
        check(manifest, SIZES)


def test_as_much_as_is_allowed() -> None:
    """Values exactly at a limit are accepted."""
    most = replace(
        GOOD, textures=(replace(HUGE_TEXTURE, height=8192),), passes=(replace(PASS, quads=(HUGE_QUAD,) * 4),)
    )
    check_caps(most, {"shaders/a.frag": format_constants.MAX_SHADER_BYTES})


def test_a_huge_shader(tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    name = GOOD.programs[0].fragment
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
    entry = data[start : data.index(b"PK\5\6")]
    count = 1_000_000
    path = tmp_path / "entries.glslnn"
    path.write_bytes(
        data[:start] + entry * count + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(entry) * count, start, 0)
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
