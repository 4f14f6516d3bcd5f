"""EXIF orientation, in valid and damaged metadata."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from pairwise import each_of, pairs_of
from PIL import ExifTags, Image
from preprocessing_images import noise, saved

from glsl_infer.runtime.pictures import preprocess

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
