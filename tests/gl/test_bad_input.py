"""classify refuses damaged, foreign or hostile bundles and images in one line each."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundle_files import members_of, ordinary_user
from command_line import Capture, refused, run_python
from PIL import ExifTags, Image, ImageOps
from preprocessing_images import noise, saved
from tiny import tiny_bundle, write_tiny

import glsl_infer
from glsl_infer import bundle
from glsl_infer.bundle.manifest import VERSION
from glsl_infer.cli import main
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import gles2
from glsl_infer.support.resources import default_model

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"
COPY_AGAIN, GIVE_MODEL = "export or copy the file again", "give a *.glslnn file"
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
    "empty": (lambda path: path.write_bytes(b""), COPY_AGAIN),
    "a picture": (lambda path: path.write_bytes(EXAMPLE.read_bytes()), COPY_AGAIN),
    "text": (lambda path: path.write_text("glass\npaper\n"), COPY_AGAIN),
    "an archive": (foreign_zip("photos/1.txt", "photos/2.txt"), GIVE_MODEL),
    "a document": (foreign_zip("[Content_Types].xml", "_rels/.rels", "word/document.xml"), GIVE_MODEL),
    "a browser extension": (foreign_zip("manifest.json", "background.js"), GIVE_MODEL),
    "an empty archive": (foreign_zip(), GIVE_MODEL),
    "a folder": (lambda path: path.mkdir(), GIVE_MODEL),
    "a pipe": (os.mkfifo, GIVE_MODEL),
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
    gl, replaced_limits = gles2(), {getattr(GL, name): value for name, value in limits.items()}
    real = gl.GetIntegerv

    def reported(name: int, values: Any) -> None:
        real(name, values)
        if name in replaced_limits:
            values[0] = replaced_limits[name]

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


def answers(capfd: Capture, *arguments: object) -> list[dict[str, float]]:
    """Return the probability by label of each image."""
    assert main(["classify", "--json", *map(str, arguments)]) == 0
    output = capfd.readouterr()
    assert output.err == ""
    return [
        {prediction["label"]: prediction["probability"] for prediction in answer["predictions"]}
        for answer in json.loads(output.out)
    ]


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (20_000, 30)])
def test_an_image_of_any_size_has_an_answer(capfd: Capture, tmp_path: Path, size: tuple[int, int]) -> None:
    path = saved(tmp_path, Image.fromarray(noise(*size)))
    assert len(answers(capfd, "--model", write_tiny(tmp_path), path)) == 1


def test_a_photograph_in_many_forms(capfd: Capture, tmp_path: Path) -> None:
    with Image.open(EXAMPLE) as opened:
        photo = opened.convert("RGB")
    turned, exif = photo.transpose(Image.Transpose.ROTATE_90), Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # displayed after a quarter turn clockwise
    ink = [*(ImageOps.invert(channel) for channel in photo.split()), Image.new("L", photo.size)]
    wide = Image.new("RGB", (20_000, photo.height), "white")
    wide.paste(photo, ((20_000 - photo.width) // 2, 0))
    saved(tmp_path, photo, "plain.png")
    saved(tmp_path, photo.convert("RGBA"), "alpha.png")
    saved(tmp_path, photo, "moving.gif", save_all=True, append_images=[Image.new("RGB", photo.size)])
    saved(tmp_path, photo, "webp.webp", quality=95)
    saved(tmp_path, turned, "turned.jpg", quality=95, exif=exif)
    saved(tmp_path, Image.merge("CMYK", ink), "cmyk.jpg")
    saved(tmp_path, photo, "two.mpo", save_all=True, append_images=[turned]).rename(tmp_path / "two.jpg")
    saved(tmp_path, wide, "wide.jpg", quality=95)
    saved(tmp_path, photo.quantize(256), "palette.png")
    best = [max(answer, key=answer.__getitem__) for answer in answers(capfd, tmp_path)]
    assert best == ["Lemon"] * 9


def content(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def cut(suffix: str, share: float) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        complete = saved(path.parent, Image.fromarray(noise(64, 48)), f"whole.{suffix}").read_bytes()
        path.write_bytes(complete[: int(len(complete) * share)])

    return make


def png_of(width: int, height: int) -> Callable[[Path], object]:
    """Return a writer of a small PNG whose header claims a large size."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    return content(b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\x04IDATxxxx\0\0\0\0")


def jpeg_of(width: int, height: int) -> Callable[[Path], object]:
    """Return a writer of a small JPEG whose header claims a large size."""

    def make(path: Path) -> None:
        data = saved(path.parent, Image.new("RGB", (64, 48)), "whole.jpg").read_bytes()
        sizes = struct.pack(">HH", 48, 64)
        assert data.count(sizes) == 1
        path.write_bytes(data.replace(sizes, struct.pack(">HH", height, width)))

    return make


def icon(path: Path) -> None:
    Image.new("RGB", (64, 64)).save(path, "ICO")


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (content(b"This is no picture.\n"), "not an image"),
    "no bytes": (content(b""), "the file is empty; copy it again"),
    "PostScript": (content(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n"), "save it as PNG"),
    "an icon": (icon, "save it as PNG"),
    "most of a JPEG": (cut("jpg", 0.97), "damaged"),
    "most of a PNG": (cut("png", 0.97), "damaged"),
    "60000x60000 PNG": (png_of(60_000, 60_000), "shrink it first"),
    "20000x15000 JPEG": (jpeg_of(20_000, 15_000), "shrink it first"),
    "a pipe": (os.mkfifo, "is a pipe"),
    "a dead link": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "an empty folder": (lambda path: path.mkdir(), "no images in this folder"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_pictures_are_refused_with_their_path(capfd: Capture, tmp_path: Path, kind: str) -> None:
    make, wording = BAD[kind]
    model, path = write_tiny(tmp_path), tmp_path / "picture.jpg"
    make(path)
    message = refused(capfd, ["classify", "--model", model, path])
    assert message.startswith(f"error: {path}: ")
    assert wording in message


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A named pipe is refused without waiting, in a separate process without a traceback."""
    pipe = tmp_path / "pipe.jpg"
    os.mkfifo(pipe)
    for arguments in ([str(pipe)], ["--model", str(pipe), str(EXAMPLE)]):
        done = run_python("-m", "glsl_infer", "classify", *arguments, folder=Path(glsl_infer.__file__).parent.parent)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {pipe}: is a pipe, not a")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_as_image_is_refused(capfd: Capture, device: str) -> None:
    assert f"{device}: is a device, not an image" in refused(capfd, ["classify", device])


def test_an_unreadable_image_is_refused(capfd: Capture, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        model, picture = write_tiny(folder), folder / "private.png"
        Image.new("RGB", (4, 4)).save(picture)
        argv = ["classify", "--model", model, picture]
        picture.chmod(0)
        with ordinary_user():
            assert f"{picture}: cannot be read (Permission denied)" in refused(capfd, argv)
        (folder / "inside").mkdir(mode=0)
        with ordinary_user():
            message = refused(capfd, ["classify", "--model", model, folder / "inside"])
            assert f"{folder / 'inside'}: cannot be read (Permission denied)" in message


def test_a_folder_of_good_and_bad_pictures(capfd: Capture, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    for name in ("a.jpg", "m.jpg", "z.jpg"):
        shutil.copy(EXAMPLE, folder / name)
    bad = {"b.jpg": "text", "c.png": "no bytes", "d.jpg": "most of a JPEG", "n.png": "60000x60000 PNG"}
    for name, kind in bad.items():
        BAD[kind][0](folder / name)
    (folder / "whole.jpg").unlink(missing_ok=True)
    (folder / "notes.txt").write_text("not looked at")
    os.mkfifo(folder / "o.jpg")  # not a regular file, so it is skipped
    assert main(["classify", "--top", "1", str(folder)]) == 2
    output = capfd.readouterr()
    assert [line for line in output.out.splitlines() if line.endswith(":")] == [
        f"{folder / name}:" for name in ("a.jpg", "m.jpg", "z.jpg")
    ]
    assert output.out.count("Lemon") == 3
    assert [line.split(": ")[:2] for line in output.err.splitlines()] == [["error", str(folder / name)] for name in bad]
