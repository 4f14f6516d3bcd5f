"""The Java runner refuses the bundles that the Python runner refuses, with a one-line message that names the file."""

from __future__ import annotations

import copy
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from bundle_files import members_of, rehashed, zipped
from jvm import Jvm, input_words
from several import several_bundle, several_inputs

from glsl_infer import bundle as bundles
from glsl_infer.bundle.format_constants import RULES
from glsl_infer.errors import BundleError

RULE = re.compile(rf" \(rule: ({'|'.join(re.escape(name) for name in RULES)})\)$")
JSON_VALUES = (None, True, -1, 0, 1, 3, 2**40, 0.5, 1e39, "", "image", [], {}, [1, 2, 3], ["image", 0, 0])


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny.write_tiny(tmp_path_factory.mktemp("good")).read_bytes()


def python_refuses(path: Path) -> bool:
    try:
        bundles.read(path)
    except BundleError:
        return True
    return False


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (container, key) of JSON data, in order."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from places(value)


@pytest.mark.parametrize("name", ["tiny", "several"])
def test_manifests_changed_in_one_place(runner: Jvm, tmp_path: Path, good: bytes, name: str) -> None:
    if name == "several":
        bundles.write(several_bundle(name), tmp_path / "several.glslnn")
        good = (tmp_path / "several.glslnn").read_bytes()
    members, rng = members_of(good, tmp_path), random.Random(11)
    manifest, paths = json.loads(members["manifest.json"]), []
    count = sum(1 for _ in places(manifest))
    for trial in range(400):
        changed = copy.deepcopy(manifest)
        # The first places are the rarest types: change all of these, and a sample of the others.
        where = trial if trial < 40 else rng.randrange(count)
        container, key = next(place for index, place in enumerate(places(changed)) if index == where)
        value = container[key]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        kind = rng.randrange(4)
        if kind == 0:
            del container[key]
        elif kind == 1 and isinstance(container, dict):
            container["unknown"] = value
        elif kind == 2 and number:
            container[key] = value + rng.choice((-1, 1, 0.5))
        else:
            container[key] = rng.choice(JSON_VALUES)
        paths.append(zipped(tmp_path / f"{trial}.glslnn", {**members, "manifest.json": json.dumps(changed).encode()}))
    verdicts = runner.verdicts(paths)
    assert [bool(line) for line in verdicts] == [python_refuses(path) for path in paths]
    assert 250 < sum(map(bool, verdicts)) < 400
    assert all(RULE.search(line) for line in verdicts if line)


def test_numbers_are_what_they_are_in_python(runner: Jvm, good: bytes, tmp_path: Path) -> None:
    """Integers and floats of any size are accepted or refused as by the Python reader."""
    members, paths = members_of(good, tmp_path), []
    manifest = members["manifest.json"].decode()
    for key in ("max_error", "scale", "width", "version"):
        (found, *_) = re.finditer(rf'"{key}": ?([-.e\d]+)', manifest)
        for number in (2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**38, 10**39, "1E+2", "-0", "1e400", "0x1", "01"):
            text = f"{manifest[: found.start(1)]}{number}{manifest[found.end(1) :]}"
            path = tmp_path / f"{len(paths)}.glslnn"
            paths.append(zipped(path, {**members, "manifest.json": text.encode()}))
    refused = [python_refuses(path) for path in paths]
    assert [bool(line) for line in runner.verdicts(paths)] == refused
    assert 0 < sum(refused) < len(paths)


def first_pass(*changes: tuple[int, bytes]) -> Callable[[bytes], bytes]:
    """Return a function that overwrites bytes of the first pass.

    They are: layer, program, target (u16 each), clear, number of textures ...
    """

    def change(table: bytes) -> bytes:
        for at, data in changes:
            table = table[:at] + data + table[at + len(data) :]
        return table

    return change


# The first pass of the tiny bundle: 6 bytes of indices, clear at 6, one texture (7 to 9), one source (10 to 19), quads.
TABLES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "layer": (first_pass((0, b"\xff\xff")), r"pass 0: there is no layer 65535; the manifest has \d+"),
    "program": (first_pass((2, b"\xff\x7f")), r"pass 0: there is no program 32767; the manifest has \d+"),
    "target": (first_pass((4, b"\xff\xff")), "pass 0: there is no texture 65535"),
    "clear": (first_pass((6, b"\2")), "pass 0: 'clear' is 2, not 0 or 1"),
    "texture": (first_pass((8, b"\xff\xff")), "pass 0: there is no texture 65535"),
    "no source": (first_pass((10, b"\0")), "pass 0: 0 sources; a pass has 1 to 14"),
    "15 sources": (first_pass((10, b"\x0f")), "pass 0: 15 sources"),
    "unit": (first_pass((11, b"\x20")), "pass 0: source 0 reads texture unit 32, not one from 0 to 31"),
    "infinity": (
        first_pass((12, struct.pack("<f", float("inf")))),
        "pass 0: a number that is not finite, or too large",
    ),
    "not a number": (
        first_pass((16, struct.pack("<f", float("nan")))),
        "pass 0: a number that is not finite, or too large",
    ),
    "no quad": (first_pass((20, b"\0\0\0\0")), "pass 0: 0 quads"),
    "quads without end": (first_pass((20, b"\xff\xff\xff\xff")), "pass 0: 4294967295 quads; .* leaves it "),
    "far quad": (first_pass((24, b"\1\x20")), "pass 0: a quad has the number 8193, not one from 0 to 8192"),
    "far origin": (first_pass((32, b"\xff\xdf")), "pass 0: a quad has the number -8193, not one from -8192 to 8192"),
    "empty": (lambda table: b"", "pass 0: passes.bin ends within it"),
    "cut off": (lambda table: table[:-1], r"pass \d+: passes.bin ends within it"),
    "more": (lambda table: table + b"\0", "passes.bin: 1 bytes behind the last pass of"),
}
"""Changes to passes.bin, and patterns of the runner's messages."""


def test_tables_of_passes_that_are_broken(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    paths = []
    for what, (change, _) in TABLES.items():
        changed = rehashed(members, {"passes.bin": change(members["passes.bin"])})
        paths.append(zipped(tmp_path / f"{what}.glslnn", changed))
    for (what, (_, message)), line in zip(TABLES.items(), runner.verdicts(paths)):
        assert re.match(message, line), (what, line)
    assert all(python_refuses(path) for path in paths)


def test_tables_of_passes_changed_in_one_byte(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members, rng, paths = members_of(good, tmp_path), random.Random(12), []
    for trial in range(150):
        table = bytearray(members["passes.bin"])
        table[rng.randrange(200) if trial % 2 else rng.randrange(len(table))] = rng.choice(
            (0, 1, 2, rng.randrange(256))
        )
        paths.append(zipped(tmp_path / f"{trial}.glslnn", rehashed(members, {"passes.bin": bytes(table)})))
    java = [bool(line) for line in runner.verdicts(paths)]
    assert java == [python_refuses(path) for path in paths]
    assert 20 < sum(java) < 150


def test_counts_that_are_not_those_of_the_table(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    manifest, paths = json.loads(members["manifest.json"]), []
    count, quads = (manifest["passes"][key] for key in ("count", "quads"))
    cases = {  # the last pass has one quad
        f"pass {count}: passes.bin ends within it": (count + 1, quads + 1),
        "bytes behind the last pass": (count - 1, quads - 1),
        f"passes.bin: {quads} quads, where the manifest says {quads + 1}": (count, quads + 1),
        f"pass {count - 1}: 1 quads; it must have one or more, and the manifest leaves it 0": (count, quads - 1),
    }
    for index, (passes, allowed) in enumerate(cases.values()):
        changed = {**manifest, "passes": {"count": passes, "quads": allowed}}
        entries = {**members, "manifest.json": json.dumps(changed).encode()}
        paths.append(zipped(tmp_path / f"{index}.glslnn", entries))
    for expected, given in zip(cases, runner.verdicts(paths)):
        assert expected in given
    assert all(python_refuses(path) for path in paths)


def test_the_container(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    damaged = bytearray(members["weights/stem.f32"])
    damaged[7] ^= 1
    less = {name: data for name, data in members.items() if name != "labels.txt"}
    older, newer = (members["manifest.json"].replace(b'"version":2', b'"version":%d' % version) for version in (1, 3))
    profile = members["manifest.json"].replace(b'"profile":"es2"', b'"profile":"es3"')
    no_graph = {name: data for name, data in members.items() if name != "graph.json"}
    bare = {name: data for name, data in members.items() if name != "manifest.json"}
    cases = {
        "member 'weights/stem.f32' is damaged": {**members, "weights/stem.f32": bytes(damaged)},
        "member 'labels.txt' is missing": less,
        "member 'weights/more.f32' is not in the manifest": {**members, "weights/more.f32": b"abcd"},
        "format version 1; export it again": {**members, "manifest.json": older},
        "format version 3, this program reads up to 2": {**members, "manifest.json": newer},
        "needs profile 'es3'; this runner has es2; update the runner": {**members, "manifest.json": profile},
        "member 'graph.json' is missing": rehashed(no_graph),
        "member 'passes.bin' is missing": rehashed({n: data for n, data in members.items() if n != "passes.bin"}),
        "no manifest.json": bare,
        "manifest.json is no JSON": {**members, "manifest.json": b"["},
        "not UTF-8": {**members, "manifest.json": b"\xff\xfe"},
        "the same key twice": {**members, "manifest.json": b'{"a":1,"a":2}'},
        "nested more than 64 deep": {**members, "manifest.json": b"[" * 100_000},
        "this is no glsl-infer model": {**members, "manifest.json": b'{"format":"other"}'},
        "2 labels for 3 classes": rehashed(members, {"labels.txt": b"a\nb\n"}),
        **{
            f"not allowed in a model: member '{name}'": {**members, name: b"x"}
            for name in ("../outside.f32", "/etc/passwd", "weights/.hidden", "weights/a/b.f32", "weights\\b", "code.py")
        },
    }
    paths = [zipped(tmp_path / f"{index}.glslnn", entries) for index, entries in enumerate(cases.values())]
    for expected, given in zip(cases, runner.verdicts(paths)):
        assert expected in given


def test_files_that_are_no_zip_or_cut_off(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    paths = []
    for index, data in enumerate([b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x89PNG\r\n\x1a\n", b"a,b\n" * 999]):
        paths.append(tmp_path / f"foreign{index}.glslnn")
        paths[-1].write_bytes(data)
    (start,) = struct.unpack("<I", good[-6:-2])  # offset of the directory, which follows all members
    for length in range(10, start, start // 60):
        paths.append(tmp_path / f"cut{length}.glslnn")
        paths[-1].write_bytes(good[:length])
    assert all(runner.verdicts(paths))


def test_damaged_bytes(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    rng, paths = random.Random(5), []
    for trial in range(150):
        data = bytearray(good)
        for _ in range(rng.choice((1, 2, 8))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        paths.append(tmp_path / f"{trial}.glslnn")
        paths[-1].write_bytes(data)
    assert sum(bool(line) for line in runner.verdicts(paths)) > 100  # only BundleError gets here


def test_a_zip_bomb(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    path = zipped(tmp_path / "bomb.glslnn", members_of(good, tmp_path))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("weights/bomb.f32", "w") as member:
        for _ in range(257):
            member.write(bytes(1 << 20))
    lies = zipped(tmp_path / "lies.glslnn", {**members_of(good, tmp_path), "weights/bomb.f32": bytes(64 << 20)})
    lies.write_bytes(lies.read_bytes().replace(struct.pack("<I", 64 << 20), struct.pack("<I", 1000)))
    small = Jvm([runner.command[0], "-Xmx48m", *runner.command[1:]])
    first, second = small.verdicts([path, lies])
    assert "unpacks to more than 256 MiB" in first
    assert "or it is not as large as is declared" in second


def test_a_command_says_what_is_wrong(runner: Jvm, tmp_path: Path) -> None:
    (tmp_path / "a.glslnn").write_text("no zip")
    assert "not a glsl-infer model" in runner.refused("check", tmp_path / "a.glslnn")
    assert "give one of: run" in runner.refused("frobnicate")


def test_a_shader_that_the_driver_refuses(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    name = "shaders/stem.frag"
    broken = members[name].replace(b"void main() {", b"void main() {\n    float twice = 1.0;\n    float twice = 2.0;")
    assert broken != members[name]
    done = runner.start("check", zipped(tmp_path / "broken.glslnn", rehashed(members, {name: broken})))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: layer 'stem' on ")
    assert "the driver refuses the fragment shader:\n" in done.stderr
    assert "\tat " not in done.stderr  # no traceback


def test_a_driver_that_computes_something_else(runner: Jvm, tmp_path: Path, good: bytes) -> None:
    members = members_of(good, tmp_path)
    weights = bytearray(members["weights/expand.f32"])
    weights[: len(weights) // 2] = bytes(len(weights) // 2)  # in a uniform array: the shader gets wrong values
    path = zipped(tmp_path / "wrong.glslnn", rehashed(members, {"weights/expand.f32": bytes(weights)}))
    message = runner.refused("check", path, code=1)
    assert "layer 'expand' comes out wrong on this driver" in message


INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "missing": (
        {"numbers": None},
        "input 'numbers' is missing; the model reads 'image' (picture), 'numbers' (numbers)",
    ),
    "unknown": ({"more": np.zeros(1, np.float32)}, "[image, numbers, more] were given, but the model reads 'image'"),
    "too few": (
        {"numbers": np.zeros(6, np.float32)},
        "input 'numbers' takes 7 numbers (its shape is [7]), 6 were given",
    ),
    "NaN": ({"numbers": np.full(7, np.nan, np.float32)}, "what was given at 0 is not a number"),
    "pixels": (
        {"image": np.zeros((9, 9, 3), np.uint8)},
        "input 'image' reads 256 x 144 pixels of 1 bytes, 243 bytes were given; give a Picture of any size",
    ),
}
"""Unknown, missing or mistyped inputs, and the runner's messages."""


@pytest.mark.parametrize("what", INPUTS)
def test_inputs_that_do_not_fit(runner: Jvm, tmp_path: Path, what: str) -> None:
    made, model = several_bundle("several"), tmp_path / "several.glslnn"
    bundles.write(made, model)
    changes, message = INPUTS[what]
    inputs = {name: array for name, array in {**several_inputs(made.graph, 1), **changes}.items() if array is not None}
    assert message in runner.refused("frame", model, tmp_path / "out", *input_words(inputs, tmp_path))


def test_one_picture_for_a_model_that_reads_more(runner: Jvm, tmp_path: Path) -> None:
    model = tmp_path / "several.glslnn"
    bundles.write(several_bundle("several"), model)
    (tmp_path / "picture").write_bytes(bytes(144 * 256))
    message = runner.refused("run", model, tmp_path / "picture", tmp_path / "out")
    assert "the model reads 'image' (picture), 'numbers' (numbers)" in message


def test_an_output_that_is_wrong_in_the_probe_alone(runner: Jvm, tmp_path: Path) -> None:
    """A wrong expected output is reported even if all layers are right."""
    bundles.write(several_bundle("several"), tmp_path / "several.glslnn")
    members = members_of((tmp_path / "several.glslnn").read_bytes(), tmp_path)
    manifest = json.loads(members["manifest.json"])
    expected = manifest["probe"]["outputs"][0]
    expected["numbers"][1] += 2 * expected["max_error"] + 1
    changed = {**members, "manifest.json": json.dumps(manifest).encode()}
    message = runner.refused("check", zipped(tmp_path / "changed.glslnn", changed), code=1)
    assert "every layer comes out right, but output 'label' of a whole frame is off by" in message
