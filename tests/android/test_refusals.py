"""The Java runner measures a device, and refuses drivers, inputs and full memory."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from bundle_files import members_of, rehashed, zipped
from jvm import Jvm, input_words
from phone import ROOT, SMALL
from several import several_bundle, several_inputs
from toolchain import Tools

from glsl_infer import bundle as bundles
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of, is_llvmpipe, wants_ordered_fetches
from glsl_infer.runtime.session import Session


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny.write_tiny(tmp_path_factory.mktemp("good")).read_bytes()


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


def test_commands_report_the_error(runner: Jvm, tmp_path: Path) -> None:
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


def test_a_driver_with_wrong_results_is_refused(runner: Jvm, tmp_path: Path, good: bytes) -> None:
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


@pytest.mark.parametrize("case", INPUTS)
def test_inputs_that_do_not_fit(runner: Jvm, tmp_path: Path, case: str) -> None:
    bundle, model = several_bundle("several"), tmp_path / "several.glslnn"
    bundles.write(bundle, model)
    changes, message = INPUTS[case]
    inputs = {
        name: array for name, array in {**several_inputs(bundle.graph, 1), **changes}.items() if array is not None
    }
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


@pytest.mark.exhaustive
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
    for expected, verdict in zip(tables, small.verdicts(paths)):
        assert re.match(expected, verdict), (expected, verdict)


@pytest.mark.exhaustive
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


RENDERERS = ("VC4 V3D 2.1", "VideoCore IV HW", "V3D 4.2", "llvmpipe (LLVM 15.0.6, 256 bits)", "Mali-T830", "")


@pytest.fixture(scope="module")
def device(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Jvm:
    classes = tmp_path_factory.mktemp("device")
    folders = [ROOT / "android" / name / "src" / "main" / "java" for name in ("runner", "desktop")]
    tools.javac([*folders, ROOT / "tests" / "android" / "java"], classes, classpath=[tools.jna], android=False)
    return Jvm(tools.java([classes], "glslinfer.runner.DeviceMain"))


def test_java_and_python_detect_the_same_driver_properties(device: Jvm) -> None:
    facts = device.json("facts", *RENDERERS)
    with Context() as context:
        assert facts["threshold"] == context.store_threshold
    assert facts["late"] == [wants_ordered_fetches(name) for name in RENDERERS]
    assert facts["rolled"] == [is_llvmpipe(name) for name in RENDERERS]
    assert set(facts["late"]) == set(facts["rolled"]) == {True, False}, "RENDERERS has no driver of a kind"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lines", [("ROUND_STORES",), ("LATE_FETCH",), ("ROUND_STORES", "LATE_FETCH")])
def test_a_frame_on_a_device_that_needs_these_lines(device: Jvm, tmp_path: Path, lines: tuple[str, ...]) -> None:
    size = bundles.read(SMALL).manifest.input.size
    pixels = np.random.default_rng(8).integers(0, 256, (size, size, 3), np.uint8)
    with Context() as context:
        vars(driver_of(context)).update(
            rounds_stores="ROUND_STORES" in lines,
            ordered_fetches="LATE_FETCH" in lines,
            nearest_sums=False,  # Java's runner only writes LATE_FETCH
        )
        with Session(SMALL, context=context) as session:
            expected = session.run(pixels).astype("<f4").tobytes()
    (tmp_path / "picture").write_bytes(pixels.tobytes())
    device.json("told", ",".join(lines), SMALL, tmp_path / "picture", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == expected


@pytest.mark.parametrize(
    "constant, name, advice",
    [
        (GL.GL_MAX_TEXTURE_IMAGE_UNITS, "GL_MAX_TEXTURE_IMAGE_UNITS", "use another device"),
        (GL.GL_MAX_TEXTURE_SIZE, "GL_MAX_TEXTURE_SIZE", "use a model of smaller images"),
        (GL.GL_MAX_FRAGMENT_UNIFORM_VECTORS, "GL_MAX_FRAGMENT_UNIFORM_VECTORS", "--weights baked"),
        (GL.GL_MAX_VARYING_VECTORS, "GL_MAX_VARYING_VECTORS", "use another device"),
        (GL.GL_MAX_VERTEX_ATTRIBS, "GL_MAX_VERTEX_ATTRIBS", "use another device"),
    ],
)
def test_a_device_that_is_too_small(device: Jvm, constant: int, name: str, advice: str) -> None:
    message = device.json("small", constant, 1, SMALL)
    assert f"{name} is 1, the model needs " in message
    assert advice in message
    assert message.count(" the model needs ") == 1


def test_two_sessions_of_a_device(device: Jvm, other_model: Path) -> None:
    assert device.json("two", SMALL, other_model) is True
    assert device.json("two", other_model, SMALL) is True
