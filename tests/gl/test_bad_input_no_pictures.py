"""Damaged, oversized and non-image files: `classify` reports each in one line and continues."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bundle_files import ordinary_user
from command_line import Capture, refused
from pictures_made import noise, saved
from PIL import Image
from tiny import write_tiny

import glsl_infer
from glsl_infer.cli import main
from glsl_infer.support.resources import default_model

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"


def content(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def cut(suffix: str, kept: float) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        whole = saved(path.parent, Image.fromarray(noise(64, 48)), f"whole.{suffix}").read_bytes()
        path.write_bytes(whole[: int(len(whole) * kept)])

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


def float_tiff(path: Path) -> None:
    Image.fromarray(np.full((4, 4), 0.5, np.float32)).save(path, "TIFF")


def icon(path: Path) -> None:
    Image.new("RGB", (64, 64)).save(path, "ICO")


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (content(b"This is no picture.\n"), "not a picture that Pillow can read"),
    "a model": (content(default_model().read_bytes()), "not a picture that Pillow can read"),
    "no bytes": (content(b""), "not a picture that Pillow can read"),
    "zeros": (content(bytes(5000)), "not a picture that Pillow can read"),
    "an SVG": (content(b'<svg xmlns="http://www.w3.org/2000/svg"/>'), "not a picture that Pillow can read"),
    "PostScript": (content(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n"), "save it as PNG"),
    "an icon": (icon, "ICO pictures are not read; save it as PNG or JPEG"),
    "a JPEG's first bytes": (cut("jpg", 0.05), "damaged or cannot be read"),
    "a third of a JPEG": (cut("jpg", 0.34), "damaged or cannot be read"),
    "most of a JPEG": (cut("jpg", 0.97), "damaged or cannot be read"),
    "a third of a PNG": (cut("png", 0.3), "damaged or cannot be read"),
    "most of a PNG": (cut("png", 0.97), "damaged or cannot be read"),
    "half of a GIF": (cut("gif", 0.5), "damaged or cannot be read"),
    "half of a WebP": (cut("webp", 0.5), "damaged or cannot be read"),
    "half of a TIFF": (cut("tif", 0.5), "damaged or cannot be read"),
    "60000x60000 PNG": (png_of(60_000, 60_000), "more than 179 million); shrink it first"),
    "60000x60000 JPEG": (jpeg_of(60_000, 60_000), "more than 179 million); shrink it first"),
    "20000x15000 JPEG": (jpeg_of(20_000, 15_000), "more than 179 million); shrink it first"),
    "floating point": (float_tiff, "more than 16 bits a channel are not supported; save it with 8 or 16"),
    "a pipe": (os.mkfifo, "is a pipe, not a picture"),
    "a dead link": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "an empty folder": (lambda path: path.mkdir(), "a folder without pictures"),
    "nothing": (lambda path: None, "no such file"),
}


@pytest.mark.parametrize("kind", BAD)
def test_refused(capfd: Capture, tmp_path: Path, kind: str) -> None:
    make, said = BAD[kind]
    model, path = write_tiny(tmp_path), tmp_path / "picture.jpg"
    make(path)
    message = refused(capfd, ["classify", "--model", model, path])
    assert message.startswith(f"error: {path}: ")
    assert said in message


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A named pipe is refused without waiting, in a separate process without a traceback."""
    pipe = tmp_path / "pipe.jpg"
    os.mkfifo(pipe)
    for arguments in ([str(pipe)], ["--model", str(pipe), str(EXAMPLE)]):
        done = subprocess.run(
            [sys.executable, "-m", "glsl_infer", "classify", *arguments],
            cwd=Path(glsl_infer.__file__).parent.parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {pipe}: is a pipe, not a ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device(capfd: Capture, device: str) -> None:
    assert f"{device}: is a device, not a picture" in refused(capfd, ["classify", device])


def test_no_permission(capfd: Capture, tmp_path: Path) -> None:
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
