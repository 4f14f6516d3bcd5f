"""A driver with limits too small for the model is reported with a remedy before any compilation.

Mesa has no variable for lower limits, so the tests change the reported values of a real context.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import Capture, refused
from tiny import write_tiny

from glsl_infer import bundle
from glsl_infer.cli import main
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import gles2
from glsl_infer.support.resources import default_model

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"
LIMITS = {
    "texture_units": ("GL_MAX_TEXTURE_IMAGE_UNITS", "use another driver or GPU"),
    "texture_size": ("GL_MAX_TEXTURE_SIZE", "use a model of smaller pictures or fewer channels"),
    "fragment_uniform_vectors": ("GL_MAX_FRAGMENT_UNIFORM_VECTORS", "export the model with --weights baked"),
    "varying_vectors": ("GL_MAX_VARYING_VECTORS", "use another driver or GPU"),
    "vertex_attributes": ("GL_MAX_VERTEX_ATTRIBS", "use another driver or GPU"),
}


def report(monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]) -> None:
    """Make glGetIntegerv report the given limits, by name."""
    gl, numbers = gles2(), {getattr(GL, name): value for name, value in limits.items()}
    real = gl.GetIntegerv

    def reported(name: int, values: Any) -> None:
        real(name, values)
        if name in numbers:
            values[0] = numbers[name]

    monkeypatch.setattr(gl, "GetIntegerv", reported)


@pytest.mark.parametrize("field", LIMITS)
@pytest.mark.parametrize("model", [pytest.param("tiny", marks=pytest.mark.drivers("all")), "shipped"])
def test_too_small(capfd: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str, model: str) -> None:
    path = write_tiny(tmp_path) if model == "tiny" else default_model()
    needed = getattr(bundle.read(path).manifest.limits, field)
    name, advice = LIMITS[field]
    argv = ["classify", "--model", str(path), str(EXAMPLE)]
    report(monkeypatch, {name: needed - 1})
    monkeypatch.setattr(gles2(), "CompileShader", lambda *_: pytest.fail("compiled before the limits were compared"))
    message = refused(capfd, argv)
    assert f"{name} is {needed - 1}, the model needs {needed}; " in message
    assert message.endswith(f"; {advice}\n") or (advice in message and "OpenGL ES 2.0 promises 8" in message)
    monkeypatch.undo()
    report(monkeypatch, {name: needed})
    assert main(argv) == 0


@pytest.mark.drivers("all")
def test_all_too_small(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    report(monkeypatch, {name: 1 for name, _ in LIMITS.values()})
    message = refused(capfd, ["classify", EXAMPLE])
    for name, advice in LIMITS.values():
        assert f"{name} is 1, the model needs " in message
        assert message.count(advice) == 1


@pytest.mark.drivers("all")
def test_a_baked_model_fits_where_uniforms_do_not(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The advised baked weights fit into the 16 uniform vectors guaranteed by OpenGL ES 2.0."""
    report(monkeypatch, {"GL_MAX_FRAGMENT_UNIFORM_VECTORS": 16})
    uniform, baked = (write_tiny(tmp_path, f"{weights}.glslnn", weights) for weights in ("uniform", "baked"))
    assert "--weights baked" in refused(capfd, ["classify", "--model", uniform, EXAMPLE])
    assert main(["classify", "--model", str(baked), str(EXAMPLE)]) == 0
