"""The Java runner measures a device and configures shaders like the Python runner, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jvm import Jvm
from phone import ROOT, SMALL
from toolchain import Tools

from glsl_infer import bundle as bundles
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of, is_llvmpipe, wants_ordered_fetches
from glsl_infer.runtime.session import Session

RENDERERS = ("VC4 V3D 2.1", "VideoCore IV HW", "V3D 4.2", "llvmpipe (LLVM 15.0.6, 256 bits)", "Mali-T830", "")


@pytest.fixture(scope="module")
def device(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Jvm:
    classes = tmp_path_factory.mktemp("device")
    folders = [ROOT / "android" / name / "src" / "main" / "java" for name in ("runner", "desktop")]
    tools.javac([*folders, ROOT / "tests" / "android" / "java"], classes, classpath=[tools.jna], android=False)
    return Jvm(tools.java([classes], "glslinfer.runner.DeviceMain"))


def test_java_and_python_detect_the_same_driver_properties(device: Jvm) -> None:
    facts = device.json("facts", *RENDERERS)
    context = Context()
    assert facts["threshold"] == context.store_threshold
    context.close()
    assert facts["late"] == [wants_ordered_fetches(name) for name in RENDERERS]
    assert facts["rolled"] == [is_llvmpipe(name) for name in RENDERERS]
    assert set(facts["late"]) == set(facts["rolled"]) == {True, False}, "RENDERERS has no driver of a kind"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lines", [("ROUND_STORES",), ("LATE_FETCH",), ("ROUND_STORES", "LATE_FETCH")])
def test_a_frame_on_a_device_that_needs_these_lines(device: Jvm, tmp_path: Path, lines: tuple[str, ...]) -> None:
    context = Context()
    driver_of(context).__dict__["rounds_stores"] = "ROUND_STORES" in lines
    driver_of(context).__dict__["ordered_fetches"] = "LATE_FETCH" in lines
    driver_of(context).__dict__["nearest_sums"] = False  # Java's runner only writes LATE_FETCH
    size = bundles.read(SMALL).manifest.input.size
    pixels = np.random.default_rng(8).integers(0, 256, (size, size, 3), np.uint8)
    with Session(SMALL, context=context) as session:
        expected = session.run(pixels).astype("<f4").tobytes()
    context.close()
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
