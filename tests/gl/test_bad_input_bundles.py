"""classify refuses damaged, foreign, hostile or too large bundles in one line; an interrupted export leaves none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundle_files import members_of, ordinary_user
from command_line import Capture, refused
from tiny import tiny_bundle, write_tiny

import glsl_infer
from glsl_infer import bundle
from glsl_infer.bundle.manifest import VERSION
from glsl_infer.cli import main
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import gles2
from glsl_infer.support.resources import default_model

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"
AGAIN, GIVE = "export or copy the file again", "give a *.glslnn file"
UPDATE = "update glsl-infer: git pull in its checkout, then "


def model_refused(capfd: Capture, model: Path) -> str:
    message = refused(capfd, ["classify", "--model", model, EXAMPLE])
    assert message.startswith(f"error: {model}: ")
    return message


def test_another_suffix_does_not_matter(capfd: Capture, tmp_path: Path) -> None:
    assert main(["classify", "--model", str(write_tiny(tmp_path, "model.zip")), str(EXAMPLE)]) == 0
    assert capfd.readouterr().out.count("%") == len(tiny_bundle().labels)


def foreign_zip(*names: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "{}")

    return write


FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), AGAIN),
    "a picture": (lambda path: path.write_bytes(EXAMPLE.read_bytes()), AGAIN),
    "text": (lambda path: path.write_text("glass\npaper\n"), AGAIN),
    "an archive": (foreign_zip("photos/1.txt", "photos/2.txt"), GIVE),
    "a document": (foreign_zip("[Content_Types].xml", "_rels/.rels", "word/document.xml"), GIVE),
    "a browser extension": (foreign_zip("manifest.json", "background.js"), GIVE),
    "an empty archive": (foreign_zip(), GIVE),
    "a folder": (lambda path: path.mkdir(), GIVE),
    "a pipe": (os.mkfifo, GIVE),
    "a dead link": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "nothing": (lambda path: None, "no such file"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_other_kinds_of_files_are_refused_with_advice(capfd: Capture, tmp_path: Path, kind: str) -> None:
    make, advice = FOREIGN[kind]
    make(tmp_path / "foreign.glslnn")
    assert advice in model_refused(capfd, tmp_path / "foreign.glslnn")


def test_a_device_is_refused(capfd: Capture) -> None:
    assert "is a device" in model_refused(capfd, Path("/dev/zero"))


def test_a_socket_is_refused(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # socket names are limited in length
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("model.glslnn")
        assert "is a socket" in model_refused(capfd, Path("model.glslnn"))


def test_a_keras_model_is_refused(capfd: Capture, tmp_path: Path) -> None:
    model = tmp_path / "model.keras"
    foreign_zip("metadata.json", "config.json", "model.weights.h5")(model)
    assert "glsl-infer export" in model_refused(capfd, model)


def test_an_unreadable_file_is_refused(capfd: Capture) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = write_tiny(Path(folder))
        Path(folder).chmod(0o755)
        model.chmod(0)
        with ordinary_user():
            assert "cannot be read (Permission denied)" in model_refused(capfd, model)
        Path(folder).chmod(0)
        with ordinary_user():
            assert "cannot be read (Permission denied)" in model_refused(capfd, model)


NEWER = {
    "only the number": {},
    "other keys": {"manifest": {"quantization": {"bits": 16}}},
    "other members": {"member": "code/kernel.wgsl"},
    "another manifest": {"manifest": dict.fromkeys(("inputs", "passes", "textures", "probe"), None)},
}


@pytest.mark.parametrize("change", NEWER)
@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_newer_version_is_reported_before_other_faults(
    capfd: Capture, tmp_path: Path, change: str, compression: int
) -> None:
    """A newer version is reported as such, for any other changes in the file."""
    members = members_of(write_tiny(tmp_path).read_bytes(), tmp_path)
    manifest = {**json.loads(members.pop("manifest.json")), "version": VERSION + 1, **NEWER[change].get("manifest", {})}
    model = tmp_path / "newer.glslnn"
    with zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, data in {**members, NEWER[change].get("member", "weights/new.f32"): b"new"}.items():
            archive.writestr(name, data, compression)
    message = model_refused(capfd, model)
    assert f"format version {VERSION + 1}" in message
    assert UPDATE in message


LIMITS = {
    "texture_units": ("GL_MAX_TEXTURE_IMAGE_UNITS", "use another driver or GPU"),
    "texture_size": ("GL_MAX_TEXTURE_SIZE", "use a model of smaller images or fewer channels"),
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
def test_limits_are_compared_before_compiling(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str, model: str
) -> None:
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


WRITES_HALF = """
import sys, time, zipfile

from glsl_infer import bundle

put = zipfile.ZipFile.writestr
left = int(sys.argv[3])

def slowly(archive, info, data, **options):
    global left
    put(archive, info, data, **options)
    archive.fp.flush()
    left -= 1
    if left == 0:
        print("half", flush=True)
        time.sleep(600)

given = bundle.read(sys.argv[1])
zipfile.ZipFile.writestr = slowly
bundle.write(given, sys.argv[2])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("members", [1, 8])
def test_a_killed_export(capfd: Capture, tmp_path: Path, how: signal.Signals, members: int) -> None:
    old = write_tiny(tmp_path, "old.glslnn", "baked")
    new, folder = write_tiny(tmp_path, "new.glslnn"), tmp_path / "folder"
    folder.mkdir()
    target = folder / "model.glslnn"
    shutil.copy(old, target)
    shutil.copy(EXAMPLE, folder)
    with subprocess.Popen(
        [sys.executable, "-c", WRITES_HALF, str(new), str(target), str(members)],
        cwd=Path(glsl_infer.__file__).parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(how)
        assert process.wait(60) != 0
    assert target.read_bytes() == old.read_bytes()
    assert main(["classify", "--model", str(target), str(folder)]) == 0
    output = capfd.readouterr()
    assert output.err == ""
    assert output.out.count("%") == len(tiny_bundle().labels)  # one image: the temporary file is not one
    bundle.write(bundle.read(new), target)
    assert target.read_bytes() == new.read_bytes()
