"""Paths, Pillow images and arrays as image sources, and files that are not images."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairwise import each_of
from PIL import ExifTags, Image
from preprocessing_images import BLUE, GREEN, RED, WHITE, Pixels, linear_rgb, noise, only_colour, saved

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
