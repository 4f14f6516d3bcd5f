"""Unusual image files: `classify` gives the same answer as for a plain RGB PNG."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import Capture
from pictures_made import Pixels, noise, saved
from PIL import ExifTags, Image
from tiny import write_tiny

from glsl_infer.cli import main

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
