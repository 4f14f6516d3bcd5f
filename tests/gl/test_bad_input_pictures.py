"""classify reads images in many forms, and reports each file that is not an image in one line.

tests/unit/test_preprocess_*.py compares the pixels of every kind of image.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from bundle_files import ordinary_user
from command_line import Capture, refused
from PIL import ExifTags, Image, ImageOps
from preprocessing_images import noise, saved
from tiny import write_tiny

import glsl_infer
from glsl_infer.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"


def answers(capfd: Capture, *arguments: object) -> list[dict[str, float]]:
    """Return the probability by label of each image."""
    assert main(["classify", "--json", *map(str, arguments)]) == 0
    output = capfd.readouterr()
    assert output.err == ""
    return [
        {prediction["label"]: prediction["probability"] for prediction in entry["predictions"]}
        for entry in json.loads(output.out)
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
        whole = saved(path.parent, Image.fromarray(noise(64, 48)), f"whole.{suffix}").read_bytes()
        path.write_bytes(whole[: int(len(whole) * share)])

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
        done = subprocess.run(
            [sys.executable, "-m", "glsl_infer", "classify", *arguments],
            cwd=Path(glsl_infer.__file__).parent.parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {pipe}: is a pipe, not a")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_is_refused(capfd: Capture, device: str) -> None:
    assert f"{device}: is a device, not an image" in refused(capfd, ["classify", device])


def test_an_unreadable_file_is_refused(capfd: Capture, tmp_path: Path) -> None:
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
