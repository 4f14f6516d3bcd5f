"""Image pairs for super-resolution: a sharp crop, and the same crop at half its width and height.

The small image is the exact 2x2 area average of the sharp one, rounded to bytes, because the network reads bytes on a
device as well.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.decoding import missing_decoder
from glsl_infer.runtime.pictures.paths import SUFFIXES, is_hidden, is_image
from glsl_infer.runtime.pictures.preprocess import open_image
from training import reading
from training.class_folders import SPLITS, draw

Picture = NDArray[np.uint8]

VAL_RATIO, TEST_RATIO = 0.15, 0.1
"""Shares of images outside train, val and test folders."""


def find(folder: Path) -> dict[str, list[Path]]:
    """List the images below ``folder`` by split, following links and ignoring hidden names.

    The innermost folder called train, val or test determines the split, otherwise a hash of the path below ``folder``.

    Raises:
        InputError: the folder does not exist, or the train or val split has no images.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    splits: dict[str, list[Path]] = {name: [] for name in SPLITS}
    visited = set()  # a link can lead to a parent folder
    for name, folders, files in os.walk(folder, followlinks=True):
        visited.add(os.path.realpath(name))
        visible = sorted(entry for entry in folders if not is_hidden(entry))
        folders[:] = [entry for entry in visible if os.path.realpath(Path(name, entry)) not in visited]
        for file in sorted(files):
            path = Path(name, file)
            if is_image(path) and missing_decoder(path) is None:
                splits[_split(path.relative_to(folder))].append(path)
    for name in ("train", "val"):
        if not splits[name]:
            raise InputError(f"{folder}: no images in the {name} split (any of {', '.join(sorted(SUFFIXES))})")
    return splits


def read(paths: list[Path], crop: int, *, strict: bool = False) -> list[Picture]:
    """Read the images that are large enough for sharp crops of side ``crop``.

    Large images are halved first. This removes the artefacts of JPEG and the blur of the lens, which a network would
    otherwise imitate. Images with a side below ``crop``, or that cannot be read, are left out with a warning; with
    ``strict`` an unreadable image is an error. Sides of results are even.

    Raises:
        InputError: all images are too small or unreadable, or with ``strict`` an image is unreadable.
    """
    pixels_of: dict[int, Picture] = {}

    def load(index: int) -> None:
        pixels = _even(np.asarray(open_image(paths[index]), np.uint8))
        pixels_of[index] = _even(halve(pixels)) if min(pixels.shape[:2]) >= 2 * crop else pixels

    bad = reading.each(paths, load, strict=strict)
    good = [index for index in range(len(paths)) if index not in bad]
    pictures = [pixels_of[index] for index in good if min(pixels_of[index].shape[:2]) >= crop]
    if not pictures:
        raise InputError(f"none of the {len(paths)} images is at least {crop} pixels wide and high")
    return pictures


def halve(pixels: Picture) -> Picture:
    """Return the exact 2x2 area average of uint8 ``(..., 2h, 2w, channels)``, rounded half up."""
    *batch, height, width, channels = pixels.shape
    blocks = pixels.reshape(*batch, height // 2, 2, width // 2, 2, channels)
    result: Picture = ((blocks.sum(axis=(-4, -2), dtype=np.uint16) + 2) // 4).astype(np.uint8)
    return result


def batch(pictures: list[Picture], crop: int, count: int, rng: np.random.Generator) -> tuple[Picture, Picture]:
    """Draw ``count`` random crops, randomly mirrored and rotated by multiples of 90 degrees.

    Returns:
        The small crops, uint8 ``(count, crop / 2, crop / 2, 3)``, and the sharp ones, ``(count, crop, crop, 3)``.
    """
    sharp = np.stack([_crop(pictures[int(rng.integers(len(pictures)))], crop, rng) for _ in range(count)])
    return halve(sharp), sharp


def _crop(picture: Picture, side: int, rng: np.random.Generator) -> Picture:
    top, left = (int(rng.integers(length - side + 1)) for length in picture.shape[:2])
    window = picture[top : top + side, left : left + side]
    if rng.random() < 0.5:
        window = window[:, ::-1]
    return np.rot90(window, int(rng.integers(4)))


def _even(pixels: Picture) -> Picture:
    return np.ascontiguousarray(pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2])


def _split(path: Path) -> str:
    split_folders = [folder for folder in path.parts[:-1] if folder in SPLITS]
    return split_folders[-1] if split_folders else draw(path.as_posix(), VAL_RATIO, TEST_RATIO)
