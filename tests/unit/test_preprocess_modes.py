"""Alpha, palettes, 16 bits, animations: every kind of image becomes 8-bit RGB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import ExifTags, Image
from preprocessing_images import WHITE, only_colour, palette_picture, saved

from glsl_infer.errors import ImageError
from glsl_infer.runtime.pictures import preprocess


def over_white(colour: tuple[int, ...], alpha: int) -> NDArray[np.float64]:
    return (np.array(colour) * alpha + 255.0 * (255 - alpha)) / 255


@pytest.mark.parametrize("alpha", [0, 1, 100, 254, 255])
def test_alpha_is_shown_over_white(tmp_path: Path, alpha: int) -> None:
    colour = (200, 30, 0)
    rgba = saved(tmp_path, Image.new("RGBA", (3, 3), (*colour, alpha)))
    assert np.abs(preprocess.load(rgba, 2) - over_white(colour, alpha)).max() <= 1
    grey = saved(tmp_path, Image.new("LA", (3, 3), (90, alpha)), "grey.png")
    assert np.abs(preprocess.load(grey, 2) - over_white((90, 90, 90), alpha)).max() <= 1


def test_palette(tmp_path: Path) -> None:
    expected = [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    assert preprocess.load(saved(tmp_path, palette_picture()), 3)[0].tolist() == expected


def test_palette_with_transparency_is_shown_over_white(tmp_path: Path) -> None:
    path = saved(tmp_path, palette_picture(), transparency=bytes([0, 51, 255]))
    assert preprocess.load(path, 3)[0].tolist() == [[255, 255, 255], [204, 255, 204], [0, 0, 255]]


@pytest.mark.parametrize(("mode", "transparent", "opaque"), [("L", 7, 8), ("RGB", (7, 7, 7), (8, 8, 8)), ("1", 0, 255)])
def test_a_transparent_colour_is_white(tmp_path: Path, mode: str, transparent: object, opaque: object) -> None:
    picture = Image.new(mode, (2, 2), transparent)
    picture.paste(opaque, (1, 0, 2, 2))
    row = preprocess.load(saved(tmp_path, picture, transparency=transparent), 2)[0]
    assert row[0].tolist() == [255, 255, 255]
    assert row[1].tolist() == ([255] * 3 if mode == "1" else [8, 8, 8])


def test_one_bit(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.fromarray(np.array([[0, 255], [255, 0]], np.uint8)).convert("1"))
    assert preprocess.load(path, 2)[..., 1].tolist() == [[0, 255], [255, 0]]


@pytest.mark.parametrize(
    ("ink", "expected"), [((0, 0, 0, 0), WHITE), ((0, 0, 0, 255), (0, 0, 0)), ((255, 0, 0, 0), (0, 255, 255))]
)
def test_cmyk(tmp_path: Path, ink: tuple[int, ...], expected: tuple[int, ...]) -> None:
    picture = Image.new("CMYK", (8, 8), ink)
    assert only_colour(preprocess.load(saved(tmp_path, picture, "picture.tif"), 4)) == expected
    jpeg = preprocess.load(saved(tmp_path, picture, "picture.jpg", quality=100), 4)
    assert np.abs(jpeg.astype(int) - expected).max() <= 2


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_16_bit_grey_is_scaled_not_clipped(tmp_path: Path, suffix: str) -> None:
    values = np.array([[0, 128, 129], [32768, 32896, 33024], [256, 65406, 65535]], np.uint16)
    path = saved(tmp_path, Image.fromarray(values), f"picture.{suffix}")
    expected = np.floor(values / 257 + 0.5)
    assert expected.tolist() == [[0, 0, 1], [128, 128, 128], [1, 254, 255]]
    assert (preprocess.load(path, 3) == expected[..., None]).all()


def test_16_bit_grey_with_a_transparent_value(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.fromarray(np.array([[257, 258], [514, 257]], np.uint16)), transparency=257)
    assert preprocess.load(path, 2)[..., 0].tolist() == [[255, 1], [2, 255]]


def test_16_bit_grey_is_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 3
    path = saved(tmp_path, Image.fromarray(np.array([[0, 257], [514, 771]], np.uint16)), exif=exif)
    assert preprocess.load(path, 2)[..., 0].tolist() == [[3, 2], [1, 0]]


def test_more_than_16_bits_are_refused(tmp_path: Path) -> None:
    for picture in (Image.new("F", (2, 2), 0.5), Image.new("I", (2, 2), 65536), Image.new("I", (2, 2), -1)):
        with pytest.raises(ImageError, match=r"picture\.tif"):
            preprocess.load(saved(tmp_path, picture, "picture.tif"), 2)


@pytest.mark.parametrize("suffix", ["gif", "png", "webp"])
def test_an_animation_is_its_first_frame(tmp_path: Path, suffix: str) -> None:
    frames = [Image.new("RGB", (6, 6), colour) for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255))]
    options = {"lossless": True} if suffix == "webp" else {}
    path = saved(tmp_path, frames[0], f"picture.{suffix}", save_all=True, append_images=frames[1:], **options)
    with Image.open(path) as opened:
        assert opened.n_frames == 3
    assert only_colour(preprocess.load(path, 3)) == (255, 0, 0)


@pytest.mark.parametrize("mode", ["L", "YCbCr", "HSV", "RGBX", "RGBa", "PA", "LAB"])
def test_every_mode_becomes_rgb(mode: str) -> None:
    pixels = preprocess.load(Image.new(mode, (5, 4)), 3)
    assert pixels.shape == (3, 3, 3)
    assert pixels.dtype == np.uint8


@pytest.mark.parametrize("mode", ["LA", "PA", "RGBA", "RGBa"])
def test_every_mode_with_alpha_is_shown_over_white(mode: str) -> None:
    assert only_colour(preprocess.load(Image.new(mode, (3, 3)), 2)) == WHITE
