"""classify reads unusual images as plain ones, and reports each file that is not an image in one line."""

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

import numpy as np
import pytest
from bundle_files import ordinary_user
from command_line import Capture, refused
from pictures_made import Pixels, noise, saved
from PIL import ExifTags, Image
from tiny import write_tiny

import glsl_infer
from glsl_infer.cli import main
from glsl_infer.support.resources import default_model

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"
Made = tuple[Path, Pixels]
"""A file, and its pixels as a plain RGB image."""


def answers(capfd: Capture, *arguments: object) -> list[dict[str, float]]:
    """Return the probability by label of each image."""
    assert main(["classify", "--json", *map(str, arguments)]) == 0
    output = capfd.readouterr()
    assert output.err == ""
    return [{one["label"]: one["probability"] for one in entry["predictions"]} for entry in json.loads(output.out)]


def few_colours(width: int, height: int) -> Pixels:
    """Return noise of 8 colours, which are multiples of 5."""
    return (noise(width, height) // 128 * 200 + 5).astype(np.uint8)


def rotated() -> Image.Exif:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # displayed after a quarter turn clockwise
    return exif


def png_16(folder: Path, pixels: Pixels) -> Path:
    """Write a colour PNG with 16 bits per channel, which Pillow cannot write."""
    rows = b"".join(b"\0" + (row.astype(">u2") * 257).astype(">u2").tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 16, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    data = b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    (folder / "deep.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    return folder / "deep.png"


def plain(width: int, height: int) -> Callable[[Path], Made]:
    def make(folder: Path) -> Made:
        pixels = noise(width, height)
        return saved(folder, Image.fromarray(pixels)), pixels

    return make


def of_mode(mode: str, suffix: str = "png") -> Callable[[Path], Made]:
    def make(folder: Path) -> Made:
        picture = Image.fromarray(few_colours(14, 11)).convert(mode)
        return saved(folder, picture, f"picture.{suffix}"), np.asarray(picture.convert("RGB"))

    return make


def cmyk_tiff(folder: Path) -> Made:
    pixels = noise(14, 11)
    ink = np.dstack([255 - pixels, np.zeros((11, 14), np.uint8)])
    return saved(folder, _cmyk(ink), "a.tif"), pixels


def grey_16(folder: Path) -> Made:
    grey = noise(14, 11)[..., 0]
    return saved(folder, Image.fromarray(grey.astype(np.uint16) * 257)), np.dstack([grey] * 3)


def colour_16(folder: Path) -> Made:
    pixels = noise(14, 11)
    return png_16(folder, pixels), pixels


def with_alpha(folder: Path) -> Made:
    pixels, alpha = few_colours(14, 11), (noise(14, 11, seed=1)[..., 0] // 86 * 51).astype(np.uint8)
    over_white = (pixels * (alpha[..., None] / 255) + 255 - alpha[..., None]).round().astype(np.uint8)
    return saved(folder, Image.fromarray(np.dstack([pixels, alpha]))), over_white


def grey_with_alpha(folder: Path) -> Made:
    grey, alpha = noise(14, 11)[..., 0], noise(14, 11, seed=1)[..., 0] // 128 * 255
    picture = Image.merge("LA", [Image.fromarray(grey), Image.fromarray(alpha)])
    return saved(folder, picture), np.dstack([np.where(alpha, grey, 255)] * 3)


def palette_with_transparency(folder: Path) -> Made:
    indices = noise(14, 11)[..., 0] % 3
    picture = Image.fromarray(indices).convert("P")
    picture.putdata(indices.ravel().tolist())
    picture.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    shown = np.array([[255, 255, 255], [204, 255, 204], [0, 0, 255]], np.uint8)
    return saved(folder, picture, transparency=bytes([0, 51, 255])), shown[indices]


def animated(suffix: str, **options: object) -> Callable[[Path], Made]:
    def make(folder: Path) -> Made:
        pixels = few_colours(14, 11)
        more = [Image.new("RGB", (14, 11), colour) for colour in ("red", "green")]
        path = saved(folder, Image.fromarray(pixels), f"moving.{suffix}", save_all=True, append_images=more, **options)
        with Image.open(path) as opened:
            assert opened.n_frames == 3
        return path, pixels

    return make


def rotated_png(folder: Path) -> Made:
    pixels = noise(14, 11)
    return saved(folder, Image.fromarray(np.ascontiguousarray(np.rot90(pixels))), exif=rotated()), pixels


def wrong_suffix(folder: Path) -> Made:
    pixels = noise(14, 11)
    return saved(folder, Image.fromarray(pixels)).rename(folder / "notes.txt"), pixels


EXACT: dict[str, Callable[[Path], Made]] = {
    "1x1": plain(1, 1),
    "1x5000": plain(1, 5000),
    "5000x1": plain(5000, 1),
    "20000 wide": plain(20_000, 30),
    "20000 high": plain(11, 20_000),
    "1 bit": of_mode("1"),
    "grey": of_mode("L"),
    "palette": of_mode("P"),
    "palette with transparency": palette_with_transparency,
    "16-bit grey": grey_16,
    "16-bit colour": colour_16,
    "RGBA": with_alpha,
    "LA": grey_with_alpha,
    "CMYK TIFF": cmyk_tiff,
    "animated GIF": animated("gif"),
    "animated PNG": animated("png"),
    "animated WebP": animated("webp", lossless=True),
    "EXIF rotated": rotated_png,
    "wrong suffix": wrong_suffix,
}


@pytest.mark.parametrize("kind", EXACT)
def test_exactly_the_answer_of_a_plain_png(capfd: Capture, tmp_path: Path, kind: str) -> None:
    path, pixels = EXACT[kind](tmp_path)
    same = saved(tmp_path, Image.fromarray(np.ascontiguousarray(pixels, np.uint8)), "plain.png")
    given, expected = answers(capfd, "--model", write_tiny(tmp_path), path, same)
    assert given == expected


def blocks(width: int, height: int) -> Image.Image:
    """Return an image that JPEG compression hardly changes."""
    side = min(width, height)
    centre = Image.fromarray(noise(4, 4)).resize((side, side), Image.Resampling.BICUBIC)
    picture = Image.new("RGB", (width, height), (90, 120, 50))
    picture.paste(centre, ((width - side) // 2, (height - side) // 2))
    return picture


def cmyk_jpeg(folder: Path) -> Made:
    pixels = np.asarray(blocks(96, 64))
    ink = _cmyk(np.dstack([255 - pixels, np.zeros((64, 96), np.uint8)]))
    path = saved(folder, ink, "cmyk.jpg", quality=100)
    assert b"Adobe" in path.read_bytes()[:400]  # so its inks are stored inverted
    return path, pixels


def wide_jpeg(folder: Path) -> Made:
    picture = blocks(20_000, 64)
    return saved(folder, picture, "wide.jpg", quality=100, subsampling=0), np.asarray(picture)


def rotated_jpeg(folder: Path) -> Made:
    picture = blocks(96, 64)
    stored = picture.transpose(Image.Transpose.ROTATE_90)
    return saved(folder, stored, "turned.jpg", quality=100, subsampling=0, exif=rotated()), np.asarray(picture)


def mpo(folder: Path) -> Made:
    picture, other = blocks(96, 64), Image.new("RGB", (96, 64), "red")
    path = saved(folder, picture, "two.mpo", save_all=True, append_images=[other], quality=100, subsampling=0)
    with Image.open(path) as opened:
        assert (opened.format, opened.n_frames) == ("MPO", 2)
    return path.rename(folder / "two.jpg"), np.asarray(picture)


@pytest.mark.parametrize("make", [cmyk_jpeg, wide_jpeg, rotated_jpeg, mpo], ids=lambda make: make.__name__)
def test_nearly_the_answer_of_a_plain_png(capfd: Capture, tmp_path: Path, make: Callable[[Path], Made]) -> None:
    path, pixels = make(tmp_path)
    same = saved(tmp_path, Image.fromarray(pixels), "plain.png")
    given, expected = answers(capfd, "--model", write_tiny(tmp_path), path, same)
    assert max(given, key=given.__getitem__) == max(expected, key=expected.__getitem__)
    assert all(abs(given[label] - expected[label]) < 0.02 for label in expected)


def test_a_photograph_in_many_forms(capfd: Capture, tmp_path: Path) -> None:
    with Image.open(EXAMPLE) as opened:
        photo = opened.convert("RGB")
    turned = photo.transpose(Image.Transpose.ROTATE_90)
    wide = Image.new("RGB", (20_000, photo.height), "white")
    wide.paste(photo, ((20_000 - photo.width) // 2, 0))
    saved(tmp_path, photo, "plain.png")
    saved(tmp_path, photo.convert("RGBA"), "alpha.png")
    saved(tmp_path, photo, "moving.gif", save_all=True, append_images=[Image.new("RGB", photo.size)])
    saved(tmp_path, photo, "webp.webp", quality=95)
    saved(tmp_path, turned, "turned.jpg", quality=95, exif=rotated())
    saved(tmp_path, _cmyk(np.dstack([255 - np.asarray(photo), np.zeros(photo.size[::-1], np.uint8)])), "cmyk.jpg")
    saved(tmp_path, wide, "wide.jpg", quality=95)
    saved(tmp_path, photo.quantize(256), "palette.png")
    best = [max(one, key=one.__getitem__) for one in answers(capfd, tmp_path)]
    assert best == ["Lemon"] * 8


def _cmyk(ink: Pixels) -> Image.Image:
    return Image.merge("CMYK", [Image.fromarray(np.ascontiguousarray(ink[..., i])) for i in range(4)])


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
