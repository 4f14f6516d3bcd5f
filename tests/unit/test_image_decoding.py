"""Image files and arrays become 8-bit RGB: formats, modes, orientation and colour profiles."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pairwise import each_of, pairs_of
from PIL import ExifTags, Image, ImageCms
from preprocessing_images import (
    BLUE,
    D50,
    GREEN,
    LINEAR,
    RED,
    WHITE,
    Pixels,
    icc_profile,
    linear_rgb,
    noise,
    only_colour,
    palette_picture,
    saved,
    xyz,
)

from glsl_infer.errors import ImageError
from glsl_infer.runtime.pictures import preprocess


def test_paths_images_and_arrays_are_the_same(tmp_path: Path) -> None:
    pixels = noise(11, 7)
    path = saved(tmp_path, Image.fromarray(pixels))
    expected = preprocess.load(path, 5)
    for source in (str(path), Image.fromarray(pixels), pixels, np.asfortranarray(pixels)):
        assert (preprocess.load(source, 5) == expected).all()


def test_arrays_of_grey_and_of_rgba() -> None:
    pixels = noise(6, 6)
    grey = np.ascontiguousarray(pixels[..., 0])
    assert (preprocess.load(grey, 6) == grey[..., None]).all()
    opaque = np.dstack([pixels, np.full((6, 6), 255, np.uint8)])
    assert (preprocess.load(opaque, 6) == pixels).all()
    assert only_colour(preprocess.load(np.dstack([pixels, np.zeros((6, 6), np.uint8)]), 6)) == WHITE


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 4, 3), np.float32),
        np.zeros((4, 4, 3), np.int64),
        np.zeros((4, 4, 3), np.uint16),
        np.zeros((4, 4, 3), bool),
        np.zeros((4, 4, 1), np.uint8),
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((4, 4, 5), np.uint8),
        np.zeros((1, 4, 4, 3), np.uint8),
        np.zeros(4, np.uint8),
        np.zeros((), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 0), np.uint8),
    ],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)
def test_other_arrays_are_refused(array: Pixels) -> None:
    with pytest.raises(ImageError, match=r"not an image; give uint8 of shape") as error:
        preprocess.load(array, 2)
    assert str(array.dtype) in str(error.value)
    assert str(array.shape) in str(error.value)


def test_a_pillow_image_is_not_modified() -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    stream = io.BytesIO()
    Image.fromarray(noise(9, 6)).save(stream, "PNG", exif=exif, icc_profile=linear_rgb(GREEN, RED, BLUE))
    image = Image.open(stream)
    image.load()
    before = (image.tobytes(), image.size, image.mode, dict(image.info), dict(image.getexif()))
    preprocess.load(image, 4)
    assert (image.tobytes(), image.size, image.mode, dict(image.info), dict(image.getexif())) == before


def test_open_image_returns_a_new_image() -> None:
    image = Image.new("RGB", (4, 4))
    preprocess.open_image(image).putpixel((0, 0), WHITE)
    assert image.getpixel((0, 0)) == (0, 0, 0)


def test_a_pillow_image_that_cannot_be_used() -> None:
    stream = io.BytesIO()
    Image.fromarray(noise(40, 40)).save(stream, "PNG")
    for image in (Image.new("La", (2, 2)), Image.new("RGB", (0, 3)), Image.open(io.BytesIO(stream.getvalue()[:900]))):
        with pytest.raises(ImageError, match="the Pillow image: "):
            preprocess.load(image, 2)


def refusal(path: Path) -> str:
    """Return the message about ``path``, one line that starts with the path."""
    with pytest.raises(ImageError) as error:
        preprocess.load(path, 4)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("source", [None, 5, b"\xff\xd8\xff\xe0", ["a.jpg"], io.BytesIO(b"GIF89a")])
def test_sources_of_other_types_are_refused(source: Any) -> None:
    """A source of another type, such as the bytes of a file, is refused by its type without quoting the value."""
    with pytest.raises(ImageError) as error:
        preprocess.open_image(source)
    assert str(error.value) == f"an image is a path, a Pillow image or an array, not {type(source).__name__}"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "nothing.jpg")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"This is no picture.\n", bytes(1000), b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"])
def test_files_other_than_images_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "picture.jpg"
    path.write_bytes(content)
    assert ("not an image" if content else "the file is empty; copy it again") in refusal(path)


@each_of(("suffix", ["jpg", "png", "gif", "webp", "bmp", "tif"]), ("share", [0.3, 0.6, 0.9]))
def test_a_truncated_picture_is_refused(tmp_path: Path, suffix: str, share: float) -> None:
    path = saved(tmp_path, Image.fromarray(noise(40, 40)), f"picture.{suffix}")
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    assert "damaged" in (message := refusal(path)) or "not an image" in message


def test_a_name_that_no_file_can_have() -> None:
    refusal(Path("a\0b.png"))
    refusal(Path("a" * 300))


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, Image.new("RGB", (10, 10)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 49)
    assert "too many pixels" in refusal(path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 51)  # over Pillow's warning, within its limit
    assert only_colour(preprocess.load(path, 4)) == (0, 0, 0)


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


STORED_AS = {
    1: lambda upright: upright,
    2: lambda upright: upright[:, ::-1],
    3: lambda upright: upright[::-1, ::-1],
    4: lambda upright: upright[::-1],
    5: lambda upright: upright.transpose(1, 0, 2),
    6: np.rot90,  # displayed after a quarter turn clockwise
    7: lambda upright: upright[::-1, ::-1].transpose(1, 0, 2),
    8: lambda upright: np.rot90(upright, -1),
}


@each_of(("suffix", ["png", "tif", "webp"]), ("orientation", list(STORED_AS)))
def test_all_exif_orientations_give_the_same_picture(tmp_path: Path, orientation: int, suffix: str) -> None:
    upright = noise(12, 9)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    options = {"lossless": True} if suffix == "webp" else {}
    stored = Image.fromarray(np.ascontiguousarray(STORED_AS[orientation](upright)))
    path = saved(tmp_path, stored, f"picture.{suffix}", exif=exif, **options)
    opened = preprocess.open_image(path)
    assert (np.asarray(opened) == upright).all()
    assert (np.asarray(preprocess.open_image(opened)) == upright).all(), "turned once more"
    assert (preprocess.load(path, 4) == preprocess.load(upright, 4)).all()


@pairs_of(
    ("size", [(9, 4), (4, 9), (10, 4), (4, 10), (5, 5)]),
    ("orientation", list(STORED_AS)),
    ("mode", ["RGB", "RGBA", "L", "P"]),
)
def test_the_square_is_cut_out_of_the_upright_picture(
    tmp_path: Path, orientation: int, size: tuple[int, int], mode: str
) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    path = saved(tmp_path, Image.fromarray(noise(*size)).convert(mode), exif=exif)
    upright = np.asarray(preprocess.open_image(path))
    side = min(size)
    top, left = (upright.shape[0] - side) // 2, (upright.shape[1] - side) // 2
    assert (preprocess.load(path, side) == upright[top : top + side, left : left + side]).all()


def exif_block(*entries: bytes) -> bytes:
    return b"Exif\0\0II*\0" + struct.pack("<IH", 8, len(entries)) + b"".join(entries) + bytes(4)


def test_the_orientation_counts_even_if_other_metadata_is_damaged(tmp_path: Path) -> None:
    orientation = struct.pack("<HHIHH", ExifTags.Base.Orientation, 3, 1, 6, 0)
    text_for_a_number = struct.pack("<HHI4s", ExifTags.Base.XResolution, 2, 4, b"abc\0")
    exif = exif_block(orientation, text_for_a_number)
    path = saved(tmp_path, Image.new("RGB", (8, 4)), "picture.jpg", exif=exif)
    assert preprocess.open_image(path).size == (4, 8)


@each_of(
    ("suffix", ["jpg", "png", "webp"]),
    (
        "exif",
        [b"Exif\0\0", b"Exif\0\0garbage", b"Exif\0\0MM\0*\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", exif_block() + b"II"],
    ),
)
def test_damaged_metadata_is_ignored(tmp_path: Path, exif: bytes, suffix: str) -> None:
    path = saved(tmp_path, Image.new("RGB", (8, 4)), f"picture.{suffix}", exif=exif)
    assert preprocess.open_image(path).size == (8, 4)


def srgb_curve(linear: Pixels) -> NDArray[np.float64]:
    """Convert bytes of linear light to bytes of sRGB (IEC 61966-2-1)."""
    light = linear / 255.0
    return 255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_a_linear_profile_is_converted_to_srgb(tmp_path: Path, suffix: str) -> None:
    pixels = noise(8, 8)
    path = saved(tmp_path, Image.fromarray(pixels), f"a.{suffix}", icc_profile=linear_rgb(RED, GREEN, BLUE))
    assert np.abs(preprocess.load(path, 8) - srgb_curve(pixels)).max() <= 1.5
    assert np.abs(preprocess.load(path, 8).astype(int) - pixels).max() > 40


def test_a_profile_with_red_and_green_exchanged(tmp_path: Path) -> None:
    pixels = noise(8, 8)
    path = saved(tmp_path, Image.fromarray(pixels), icc_profile=linear_rgb(GREEN, RED, BLUE))
    assert np.abs(preprocess.load(path, 8) - srgb_curve(pixels[..., [1, 0, 2]])).max() <= 1.5


def test_a_profile_of_a_palette_picture_and_of_one_with_alpha(tmp_path: Path) -> None:
    exchanged = linear_rgb(GREEN, RED, BLUE)
    palette = saved(tmp_path, palette_picture(), icc_profile=exchanged)
    assert np.abs(preprocess.load(palette, 3)[0] - [[0.0, 255, 0], [255, 0, 0], [0, 0, 255]]).max() <= 1
    alpha = Image.new("RGBA", (3, 3), (255, 0, 0, 0))
    alpha.paste((255, 0, 0, 255), (0, 0, 1, 3))
    row = preprocess.load(saved(tmp_path, alpha, "alpha.png", icc_profile=exchanged), 3)[0]
    assert np.abs(row - [[0.0, 255, 0], [255, 255, 255], [255, 255, 255]]).max() <= 1


def test_a_grey_profile(tmp_path: Path) -> None:
    grey = noise(8, 8)[..., 0]
    profile = icc_profile(b"GRAY", {b"wtpt": xyz(D50), b"kTRC": LINEAR})
    pixels = preprocess.load(saved(tmp_path, Image.fromarray(grey), icc_profile=profile), 8)
    light = grey >= 16  # LittleCMS interpolates grey profiles coarsely near black
    assert light.any()
    assert np.abs(pixels - srgb_curve(grey)[..., None])[light].max() <= 1.5


def test_the_srgb_profile_keeps_pixels(tmp_path: Path) -> None:
    pixels = noise(16, 16)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    path = saved(tmp_path, Image.fromarray(pixels), icc_profile=srgb)
    assert np.abs(preprocess.load(path, 16).astype(int) - pixels).max() <= 1


@pytest.mark.parametrize(
    "profile",
    [b"no profile", linear_rgb(GREEN, RED, BLUE)[:200], icc_profile(b"GRAY", {b"wtpt": xyz(D50), b"kTRC": LINEAR})],
    ids=["garbage", "truncated", "of another colour space"],
)
def test_a_profile_that_cannot_be_used_is_ignored(tmp_path: Path, profile: bytes) -> None:
    pixels = noise(8, 8)
    path = saved(tmp_path, Image.fromarray(pixels), icc_profile=profile)
    assert (preprocess.load(path, 8) == pixels).all()
