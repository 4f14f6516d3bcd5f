"""The Java runner refuses bundles that would crash a driver or fill the memory: other vertex shaders, excess sizes."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from bundle_files import HOSTILE_VERTEX_SHADERS, Members, hostile_vertex_shader, members_of, rehashed, zipped
from jvm import Jvm
from too_much import GOOD, TOO_MUCH

from glsl_infer.bundle import format_constants, manifest_json

pytestmark = pytest.mark.exhaustive

SHADER = GOOD.programs[0].fragment

LISTS = {
    "layers": "layers has 2049 entries; 1 to 2048 are possible",
    "textures": "textures has 16385 entries",
    "programs": "programs has 16385 entries",
    "passes": r"passes\.count is 65537; a model has at most 65536",
    "quads": r"passes\.quads is 262145; a model has at most 262144",
}
"""The reader's messages about lists and counts beyond the limits of the format."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny.write_tiny(tmp_path_factory.mktemp("good")).read_bytes()


def test_vertex_shaders_that_are_not_the_format_s(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    paths = []
    for index, kind in enumerate(HOSTILE_VERTEX_SHADERS):
        paths.append(hostile_vertex_shader(tmp_path, good, kind).rename(tmp_path / f"{index}.glslnn"))
    wanted = "program 'unit-pw': 'shaders/quads4.vert' is not the vertex shader of this format for 4 varyings"
    for line in runner.verdicts(paths):
        assert line.startswith(wanted)


def test_a_manifest_that_asks_for_too_much(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    paths = []
    for what, (manifest, _) in TOO_MUCH.items():
        text = json.dumps(manifest_json.to_json(manifest), separators=(",", ":")).encode()
        assert len(text) <= format_constants.MAX_MANIFEST_BYTES
        table = manifest_json.pass_table(replace(GOOD, passes=manifest.passes))
        changed = rehashed({**members, "manifest.json": text, "passes.bin": table})
        paths.append(zipped(tmp_path / f"{what}.glslnn", changed))
    for (what, (_, message)), line in zip(TOO_MUCH.items(), runner.verdicts(paths)):
        assert re.search(f"{LISTS.get(what, message)}.* \\(rule: caps\\)", line), what


def shader_of(size: int) -> Callable[[Members], Members]:
    return lambda members: rehashed(members, {SHADER: members[SHADER].ljust(size, b"\n")})


def manifest_of(size: int) -> Callable[[Members], Members]:
    return lambda members: {**members, "manifest.json": members["manifest.json"].ljust(size)}


def graph_of(size: int) -> Callable[[Members], Members]:
    return lambda members: rehashed(members, {"graph.json": b" " * size})


def passes_of(size: int) -> Callable[[Members], Members]:
    return lambda members: rehashed(members, {"passes.bin": members["passes.bin"].ljust(size, b"\1")})


SIZES: dict[str, tuple[Callable[[Members], Members], str]] = {
    "shader": (shader_of((256 << 10) + 1), f"'{SHADER}' has 262145 bytes of GLSL; a shader has at most 262144"),
    "largest shader": (shader_of(256 << 10), ""),
    "manifest": (manifest_of((16 << 20) + 1), "manifest.json unpacks to more than 16 MiB"),
    "largest manifest": (manifest_of(16 << 20), ""),
    "graph": (graph_of((16 << 20) + 1), "graph.json unpacks to more than 16 MiB"),
    "largest graph, which is no JSON": (graph_of(16 << 20), ""),  # a runner does not parse it
    "passes": (passes_of((32 << 20) + 1), "passes.bin unpacks to more than 32 MiB (rule: container)"),
    "all members": (lambda members: {**members, "weights/more.f32": bytes(256 << 20)}, "more than 256 MiB"),
}


def test_a_table_of_passes_that_fills_the_memory(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    """Large counts in a manifest allocate no memory until the table has the entries; large tables may be refused."""
    members = members_of(good, tmp_path)
    manifest = json.loads(members["manifest.json"])
    manifest["passes"] = {"count": 1 << 16, "quads": 1 << 18}
    text = json.dumps(manifest).encode()
    quads = members["passes.bin"][:20] + struct.pack("<I", 1 << 18)
    tables = {
        r"pass 0: passes.bin ends within it": quads,
        r"pass \d+: passes.bin ends within it": members["passes.bin"],
        r"needs more memory than this program has; use a smaller model": quads.ljust(32 << 20, b"\1"),
    }
    paths = []
    for index, table in enumerate(tables.values()):
        changed = rehashed({**members, "manifest.json": text, "passes.bin": table})
        paths.append(zipped(tmp_path / f"{index}.glslnn", changed))
    small = Jvm([runner.command[0], "-Xmx24m", *runner.command[1:]])
    for expected, given in zip(tables, small.verdicts(paths)):
        assert re.match(expected, given), (expected, given)


def test_members_that_are_too_large(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    paths = [zipped(tmp_path / f"{what}.glslnn", change(members)) for what, (change, _) in SIZES.items()]
    for (what, (_, message)), line in zip(SIZES.items(), runner.verdicts(paths)):
        assert message in line if message else not line, (what, line)


def test_millions_of_empty_members_take_little_memory(runner: Jvm, tmp_path: Path) -> None:
    """A million empty members without a directory do not become gigabytes of objects.

    Each has a header of 30 bytes and a name.
    """
    path = tmp_path / "entries.glslnn"
    header = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, 0, 0, 0, 7, 0)
    path.write_bytes(b"".join(header + b"%07d" % index for index in range(1_000_000)))
    small = Jvm([runner.command[0], "-Xmx192m", *runner.command[1:]])
    (line,) = small.verdicts([path])
    assert line.startswith("not a glsl-infer model, or cut off before its end")
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, (16 << 20) + 1, 0, 0)
    path.write_bytes(path.read_bytes() + end)
    (line,) = small.verdicts([path])
    assert line == "the directory of the zip is larger than 16 MiB; export or copy the file again (rule: container)"
